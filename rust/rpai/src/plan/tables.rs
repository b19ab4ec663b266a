//! The tables of a bound query, and its terms as aggregates.
//!
//! Invariant: a block reads at each relation the rows that its atom has; a term has the same
//! numbers, exact where they were, and NULL where it was. Cost: linear in them.

use ringview_query::{Bound, Kind, Op, PlanAtom, Polynomial, Predicate, Term};

use crate::machine::{Aggregate, Block, Column, ColumnType, Quantity, Value};

/// Makes a value of two.
type Pair = fn(Box<Value>, Box<Value>) -> Value;

/// A table of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The atom at which its rows are taken: no other reads more of its columns.
    pub(crate) first: usize,
    /// The atom, with its filter.
    pub(crate) atom: PlanAtom,
    /// Predicates evaluated for each row; the last columns of the table.
    pub(crate) verdicts: Vec<Predicate>,
}

/// The tables found so far.
pub(super) struct Tables<'a> {
    atoms: Vec<&'a PlanAtom>,
    pub(super) sources: Vec<Source>,
    pub(super) source_of: Vec<usize>,
}

impl Source {
    pub(super) fn types(&self) -> Vec<ColumnType> {
        let fields = self.atom.schema.fields().iter();
        let columns = fields.map(|field| ColumnType {
            ty: field.ty.clone(),
            nullable: field.nullable,
        });
        let verdicts = self.verdicts.iter().map(|_| ColumnType::verdict());
        columns.chain(verdicts).collect()
    }
}

pub(super) fn column(depth: usize, relation: usize, column: usize) -> Column {
    Column {
        depth,
        relation,
        column,
    }
}

impl<'a> Tables<'a> {
    pub(super) fn new(query: &'a Bound) -> Self {
        let atoms: Vec<&PlanAtom> = query.all_atoms().collect();
        let mut sources: Vec<Source> = Vec::new();
        let mut source_of = vec![0; atoms.len()];
        // An atom receives rows with the columns that it reads: those with most first.
        let mut order: Vec<usize> = (0..atoms.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(atoms[at].columns.len()));
        for at in order {
            let atom = atoms[at];
            let alike = |other: &Source| {
                let has = |column: &usize| other.atom.columns.contains(column);
                other.atom.table == atom.table
                    && other.atom.filter == atom.filter
                    && atom.columns.iter().all(has)
            };
            let found = sources.iter().position(alike);
            source_of[at] = found.unwrap_or_else(|| {
                sources.push(Source {
                    first: at,
                    // Join columns are compared by the block, and NULL equals nothing.
                    atom: PlanAtom {
                        join_columns_not_null: Vec::new(),
                        ..atom.clone()
                    },
                    verdicts: Vec::new(),
                });
                sources.len() - 1
            });
        }
        Self {
            atoms,
            sources,
            source_of,
        }
    }

    /// Gives a block and those within their tables, and gives predicates on single rows their
    /// columns.
    pub(super) fn assign_columns(&mut self, block: &mut Block) {
        let Block {
            condition,
            relations,
            ..
        } = block;
        condition.with_verdicts(&mut |relation, of| self.verdict(relations[relation], of));
        condition.blocks_mut(&mut |within| self.assign_columns(within));
        for relation in relations {
            *relation = self.source_of[*relation];
        }
    }

    /// The column of an atom's table with the verdicts of a predicate.
    fn verdict(&mut self, atom: usize, predicate: &Predicate) -> usize {
        let columns = self.atoms[atom].schema.len();
        let verdicts = &mut self.sources[self.source_of[atom]].verdicts;
        let found = verdicts.iter().position(|other| other == predicate);
        columns
            + found.unwrap_or_else(|| {
                verdicts.push(predicate.clone());
                verdicts.len() - 1
            })
    }
}

/// A term of the query as an aggregate of its outermost block.
pub(super) fn term(term: &Term) -> Aggregate {
    let mut factors = Vec::new();
    for (&atom, factor) in &term.factors {
        factors.push(expression(factor, atom));
    }
    let not_null = term.not_null.iter();
    let present: Vec<Column> = not_null
        .flat_map(|(&atom, columns)| columns.iter().map(move |&of| column(0, atom, of)))
        .collect();
    if !present.is_empty() {
        factors.push(Value::Present(present));
    }
    if !term.coefficient.is_one() || term.coefficient.kind != Kind::Int {
        factors.push(expression(&term.coefficient, 0));
    }
    let product = |a: Value, b: Value| Value::Times(Box::new(a), Box::new(b));
    match factors.into_iter().reduce(product) {
        Some(value) => Aggregate::Sum(value),
        None => Aggregate::Count,
    }
}

/// An expression over the columns of an atom.
fn expression(expr: &Polynomial, atom: usize) -> Value {
    let pair = |of: Pair, left: &Polynomial, right: &Polynomial| -> Value {
        let (left, right) = (expression(left, atom), expression(right, atom));
        of(Box::new(left), Box::new(right))
    };
    match &expr.op {
        Op::Column { column: of, .. } => Value::Column(column(0, atom, *of)),
        Op::Literal { value } => Value::Constant(Quantity::constant(expr.kind, *value)),
        Op::Add { left, right } => pair(Value::Plus, left, right),
        Op::Subtract { left, right } => pair(Value::Minus, left, right),
        Op::Multiply { left, right } => pair(Value::Times, left, right),
        Op::Negate { operand } => {
            let zero = Value::Constant(Quantity::int(0));
            Value::Minus(Box::new(zero), Box::new(expression(operand, atom)))
        }
        Op::Convert { operand } => {
            let value = expression(operand, atom);
            match expr.kind {
                Kind::Real => {
                    let one = Value::Constant(Quantity::Real(1.0));
                    Value::Times(Box::new(value), Box::new(one))
                }
                // Exact numbers of any scale are compared and added as they are.
                _ => value,
            }
        }
    }
}
