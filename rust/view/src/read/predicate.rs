//! Conditions on the rows of an atom, in SQL's three-valued logic, evaluated a column at a time.
//!
//! Invariant: verdicts are ordered FALSE < UNKNOWN < TRUE, so AND is the least of them, OR the
//! greatest, and NOT turns the order round. Cost: O(rows) a node of the condition, without branches
//! on the data; conditions on one string column are decided once a distinct string.

use ringview_core::{Batch, Dictionary, FreedIds, Result, Schema};
use ringview_query::{Comparison, Constant as Literal, Kind, Predicate};

use super::input::Input;
use super::number::{Arithmetic, Decimal, Int, Real, Source, test};
use super::scalar::{Scalar, literal_words};
use super::textual::TextCheck;
use super::units;
use super::verdict::{FALSE, TRUE, UNKNOWN, constant, opposite};

/// A compiled condition.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    node: Node,
    /// Columns of verdicts that no node is using.
    spare: Vec<Vec<u8>>,
}

impl Check {
    /// Compiles a condition on the rows of a table; `place` says whose it is.
    pub(crate) fn compile(predicate: &Predicate, place: &str, schema: &Schema) -> Result<Check> {
        Ok(Check {
            node: Node::compile(predicate, place, schema)?,
            spare: Vec::new(),
        })
    }

    /// The verdict on every row of the batch.
    pub(crate) fn evaluate(
        &mut self,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        let Self { node, spare } = self;
        node.evaluate(batch, dictionary, spare, into)
    }

    /// Drops its verdicts on freed strings.
    pub(crate) fn forget_strings(&mut self, gone: &FreedIds) {
        self.node.forget_strings(gone);
    }

    /// Bytes that grow with the dictionary.
    pub(crate) fn memory_usage(&self) -> usize {
        self.node.memory_usage()
    }
}

#[derive(Clone, Debug)]
enum Node {
    Constant(u8),
    Compare(Comparison, Scalar, Scalar),
    In(Scalar, List, bool),
    Text(TextCheck),
    IsNull(Vec<usize>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// Whether a verdict is this.
    Is(Box<Node>, u8),
}

/// The keys of a list, sorted.
#[derive(Clone, Debug)]
enum List {
    Int(Vec<i64>),
    Decimal(Vec<i128>),
    Real(Vec<i64>),
}

impl Node {
    fn compile(predicate: &Predicate, place: &str, schema: &Schema) -> Result<Node> {
        let scalar = |expr| Scalar::compile(expr, place, schema);
        let all = |operands: &[Predicate]| -> Result<Vec<Node>> {
            let compiled = operands.iter().map(|o| Self::compile(o, place, schema));
            compiled.collect()
        };
        Ok(match predicate {
            Predicate::Constant { value } => Node::Constant(constant(*value)),
            Predicate::Compare {
                comparison,
                left,
                right,
            } => match units::of_both(left, right) {
                Some((left, right)) => Node::Compare(*comparison, scalar(&left)?, scalar(&right)?),
                None => Node::Compare(*comparison, scalar(left)?, scalar(right)?),
            },
            Predicate::In {
                operand,
                list,
                null,
            } => Node::In(scalar(operand)?, List::new(operand.kind, list), *null),
            Predicate::IsNull { columns } => Node::IsNull(columns.clone()),
            Predicate::And { operands } => Node::And(all(operands)?),
            Predicate::Or { operands } => Node::Or(all(operands)?),
            Predicate::Not { operand } => {
                Node::Not(Box::new(Self::compile(operand, place, schema)?))
            }
            Predicate::Is { operand, value } => {
                let operand = Self::compile(operand, place, schema)?;
                Node::Is(Box::new(operand), constant(*value))
            }
            Predicate::Text { column, condition } => {
                Node::Text(TextCheck::compile(*column, condition, schema)?)
            }
        })
    }

    fn evaluate(
        &mut self,
        batch: &Batch,
        dictionary: &Dictionary,
        spare: &mut Vec<Vec<u8>>,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Node::Constant(verdict) => refill(into, batch.rows, *verdict),
            Node::Compare(comparison, left, right) => {
                let input = Input {
                    batch,
                    chosen: None,
                };
                let kind = left.kind();
                let (left, right) = (left.evaluate(&input)?, right.evaluate(&input)?);
                match kind {
                    Kind::Int => compare::<Int>(*comparison, left, right, batch.rows, into),
                    Kind::Decimal { .. } => {
                        compare::<Decimal>(*comparison, left, right, batch.rows, into);
                    }
                    Kind::Real => compare::<Real>(*comparison, left, right, batch.rows, into),
                }
            }
            Node::In(operand, list, null) => {
                let values = operand.evaluate(&Input {
                    batch,
                    chosen: None,
                })?;
                let missing = if *null { UNKNOWN } else { FALSE };
                list.find(values, missing, batch.rows, into);
            }
            Node::Text(check) => check.evaluate(batch, dictionary, into)?,
            Node::IsNull(columns) => {
                refill(into, batch.rows, FALSE);
                for valid in nulls(batch, columns) {
                    for (verdict, valid) in into.iter_mut().zip(valid) {
                        *verdict = (*verdict).max(opposite(constant(Some(*valid))));
                    }
                }
            }
            Node::Not(operand) => {
                operand.evaluate(batch, dictionary, spare, into)?;
                into.iter_mut()
                    .for_each(|verdict| *verdict = opposite(*verdict));
            }
            Node::Is(operand, wanted) => {
                operand.evaluate(batch, dictionary, spare, into)?;
                into.iter_mut()
                    .for_each(|verdict| *verdict = TRUE * u8::from(verdict == wanted));
            }
            Node::And(operands) => {
                refill(into, batch.rows, TRUE);
                fold(operands, batch, dictionary, spare, into, u8::min)?;
            }
            Node::Or(operands) => {
                refill(into, batch.rows, FALSE);
                fold(operands, batch, dictionary, spare, into, u8::max)?;
            }
        }
        self.unknown_where_null(batch, into);
        Ok(())
    }

    /// Comparisons of numbers ignore NULL: verdicts on them are corrected here.
    fn unknown_where_null(&self, batch: &Batch, into: &mut [u8]) {
        let correct = |columns: &[usize], into: &mut [u8]| {
            for valid in nulls(batch, columns) {
                for (verdict, valid) in into.iter_mut().zip(valid) {
                    *verdict = if *valid { *verdict } else { UNKNOWN };
                }
            }
        };
        match self {
            Node::Compare(_, left, right) => {
                correct(left.columns(), into);
                correct(right.columns(), into);
            }
            Node::In(operand, ..) => correct(operand.columns(), into),
            _ => {}
        }
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        match self {
            Node::Text(check) => check.forget(gone),
            Node::And(operands) | Node::Or(operands) => operands
                .iter_mut()
                .for_each(|operand| operand.forget_strings(gone)),
            Node::Not(operand) | Node::Is(operand, _) => operand.forget_strings(gone),
            _ => {}
        }
    }

    fn memory_usage(&self) -> usize {
        match self {
            Node::Text(check) => check.memory_usage(),
            Node::And(operands) | Node::Or(operands) => {
                operands.iter().map(Node::memory_usage).sum()
            }
            Node::Not(operand) | Node::Is(operand, _) => operand.memory_usage(),
            _ => 0,
        }
    }
}

fn refill(into: &mut Vec<u8>, rows: usize, verdict: u8) {
    into.clear();
    into.resize(rows, verdict);
}

/// The validity of those of the columns that have NULLs.
pub(crate) fn nulls<'a>(batch: &'a Batch, columns: &[usize]) -> impl Iterator<Item = &'a [bool]> {
    columns
        .iter()
        .filter_map(|&column| batch.column(column).valid.as_deref())
}

fn fold(
    operands: &mut [Node],
    batch: &Batch,
    dictionary: &Dictionary,
    spare: &mut Vec<Vec<u8>>,
    into: &mut [u8],
    join: impl Fn(u8, u8) -> u8,
) -> Result<()> {
    let mut one = spare.pop().unwrap_or_default();
    for operand in operands {
        operand.evaluate(batch, dictionary, spare, &mut one)?;
        for (verdict, one) in into.iter_mut().zip(&one) {
            *verdict = join(*verdict, *one);
        }
    }
    spare.push(one);
    Ok(())
}

fn compare<N: Arithmetic>(
    comparison: Comparison,
    left: Source<'_>,
    right: Source<'_>,
    rows: usize,
    into: &mut Vec<u8>,
) {
    // The comparison is chosen outside of the loops.
    let truth = |value: bool| 2 * u8::from(value);
    match comparison {
        Comparison::Eq => test::<N>(left, right, rows, into, |l, r| truth(l == r)),
        Comparison::Ne => test::<N>(left, right, rows, into, |l, r| truth(l != r)),
        Comparison::Lt => test::<N>(left, right, rows, into, |l, r| truth(l < r)),
        Comparison::Le => test::<N>(left, right, rows, into, |l, r| truth(l <= r)),
        Comparison::Gt => test::<N>(left, right, rows, into, |l, r| truth(l > r)),
        Comparison::Ge => test::<N>(left, right, rows, into, |l, r| truth(l >= r)),
    }
}

impl List {
    fn new(kind: Kind, list: &[Literal]) -> List {
        fn keys<N: Arithmetic>(list: &[Literal]) -> Vec<N::Key> {
            let key = |value: &Literal| N::key(N::read(&literal_words(*value)));
            let mut keys: Vec<_> = list.iter().map(key).collect();
            keys.sort_unstable();
            keys
        }
        match kind {
            Kind::Int => List::Int(keys::<Int>(list)),
            Kind::Decimal { .. } => List::Decimal(keys::<Decimal>(list)),
            Kind::Real => List::Real(keys::<Real>(list)),
        }
    }

    fn find(&self, values: Source<'_>, missing: u8, rows: usize, into: &mut Vec<u8>) {
        fn each<N: Arithmetic>(
            list: &[N::Key],
            values: Source<'_>,
            missing: u8,
            rows: usize,
            into: &mut Vec<u8>,
        ) {
            let nothing = Source::Constant([0; 2]);
            test::<N>(values, nothing, rows, into, |key, _| {
                match list.binary_search(&key) {
                    Ok(_) => TRUE,
                    Err(_) => missing,
                }
            });
        }
        match self {
            List::Int(list) => each::<Int>(list, values, missing, rows, into),
            List::Decimal(list) => each::<Decimal>(list, values, missing, rows, into),
            List::Real(list) => each::<Real>(list, values, missing, rows, into),
        }
    }
}
