//! Conditions, values and terms of a bound query in the words of the machine.
//!
//! Invariant: the same numbers, exact where they were, and NULL where it was. Cost: linear in them.

use std::ops::Range;

use ringview_core::{Error, Result};
use ringview_query::nested::{self, Nested, Where};
use ringview_query::{Bound, Constant, Expr, Kind, Op, PlanAtom, Predicate, Term};

use crate::machine::{
    Aggregate, Block, Column, ColumnType, Comparison, Condition, Quantity, Value,
};

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
pub(super) struct Translator<'a> {
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

impl<'a> Translator<'a> {
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
                    // What joins is compared, and NULL equals nothing.
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

    /// A condition of a query with these atoms.
    pub(super) fn condition(&mut self, one: &Where, own: &Range<usize>) -> Result<Condition> {
        Ok(match one {
            Where::Compare {
                comparison,
                left,
                right,
            } => Condition::Compare(self.value(left)?, *comparison, self.value(right)?),
            Where::IsNull { operand, null } => Condition::IsNull(self.value(operand)?, *null),
            Where::Row { atom, predicate } => {
                let verdict = self.verdict(own.start + atom, predicate);
                let verdict = Value::Column(column(0, *atom, verdict));
                let yes = Value::Constant(Quantity::int(1));
                Condition::Compare(verdict, Comparison::Eq, yes)
            }
            Where::And { operands } => Condition::And(self.conditions(operands, own)?),
            Where::Or { operands } => Condition::Or(self.conditions(operands, own)?),
        })
    }

    fn conditions(&mut self, all: &[Where], own: &Range<usize>) -> Result<Vec<Condition>> {
        all.iter().map(|one| self.condition(one, own)).collect()
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

    fn value(&mut self, value: &nested::Value) -> Result<Value> {
        Ok(match value {
            nested::Value::Constant { kind, value } => Value::Constant(constant(*kind, *value)?),
            nested::Value::Column { column, .. } => Value::Column(Column {
                depth: column.depth,
                relation: column.atom,
                column: column.column,
            }),
            nested::Value::Aggregate { aggregate } => Value::Aggregate(*aggregate),
            nested::Value::Add { left, right } => self.pair(Value::Plus, left, right)?,
            nested::Value::Subtract { left, right } => self.pair(Value::Minus, left, right)?,
            nested::Value::Multiply { left, right } => self.pair(Value::Times, left, right)?,
            nested::Value::Divide { left, right } => self.pair(Value::Over, left, right)?,
            nested::Value::Query { query } => Value::Block(Box::new(self.block(query)?)),
        })
    }

    fn pair(&mut self, of: Pair, left: &nested::Value, right: &nested::Value) -> Result<Value> {
        Ok(of(
            Box::new(self.value(left)?),
            Box::new(self.value(right)?),
        ))
    }

    fn block(&mut self, query: &Nested) -> Result<Block> {
        let condition = self.condition(&query.condition, &query.atoms)?;
        let mut aggregates = Vec::with_capacity(query.aggregates.len());
        for aggregate in &query.aggregates {
            let argument = aggregate.argument().map(|value| self.value(value));
            aggregates.push(match (aggregate, argument.transpose()?) {
                (nested::Aggregate::Count { .. }, None) => Aggregate::Count,
                (nested::Aggregate::Count { .. }, Some(value)) => Aggregate::Counted(value),
                (nested::Aggregate::Avg { .. }, Some(value)) => Aggregate::Average(value),
                (nested::Aggregate::Min { .. }, Some(value)) => Aggregate::Min(value),
                (nested::Aggregate::Max { .. }, Some(value)) => Aggregate::Max(value),
                (_, Some(value)) => Aggregate::Sum(value),
                (_, None) => unreachable!("only rows are counted without an argument"),
            });
        }
        let relations = self.source_of[query.atoms.clone()].to_vec();
        let mut block = Block::new(relations, condition, aggregates);
        block.outputs = vec![self.value(&query.output)?];
        Ok(block)
    }
}

fn constant(kind: Kind, value: Constant) -> Result<Quantity> {
    let units = match value {
        Constant::Real(value) => return Ok(Quantity::Real(value)),
        Constant::Int(value) => i128::from(value),
        Constant::Decimal(units) => units,
    };
    let Kind::Decimal { scale } = kind else {
        return Ok(Quantity::int(units));
    };
    if let Ok(scale) = u8::try_from(scale) {
        return Ok(Quantity::Exact { units, scale });
    }
    let power = 10i128.checked_pow(u32::from(scale.unsigned_abs()));
    let whole = power.and_then(|power| units.checked_mul(power));
    whole.map(Quantity::int).ok_or_else(|| Error::Overflow {
        place: "a constant of a condition".to_owned(),
    })
}

/// A term of the query as an aggregate of its outermost block.
pub(super) fn term(term: &Term) -> Result<Aggregate> {
    let mut factors = Vec::new();
    for (&atom, factor) in &term.factors {
        factors.push(expression(factor, atom)?);
    }
    let not_null = term.not_null.iter();
    let present: Vec<Column> = not_null
        .flat_map(|(&atom, columns)| columns.iter().map(move |&of| column(0, atom, of)))
        .collect();
    if !present.is_empty() {
        factors.push(Value::Present(present));
    }
    if !term.coefficient.is_one() || term.coefficient.kind != Kind::Int {
        factors.push(expression(&term.coefficient, 0)?);
    }
    let product = |a: Value, b: Value| Value::Times(Box::new(a), Box::new(b));
    Ok(match factors.into_iter().reduce(product) {
        Some(value) => Aggregate::Sum(value),
        None => Aggregate::Count,
    })
}

/// An expression over the columns of an atom.
fn expression(expr: &Expr, atom: usize) -> Result<Value> {
    let pair = |of: Pair, left: &Expr, right: &Expr| -> Result<Value> {
        let (left, right) = (expression(left, atom)?, expression(right, atom)?);
        Ok(of(Box::new(left), Box::new(right)))
    };
    Ok(match &expr.op {
        Op::Column { column: of, .. } => Value::Column(column(0, atom, *of)),
        Op::Literal { value } => Value::Constant(constant(expr.kind, *value)?),
        Op::Add { left, right } => pair(Value::Plus, left, right)?,
        Op::Subtract { left, right } => pair(Value::Minus, left, right)?,
        Op::Multiply { left, right } => pair(Value::Times, left, right)?,
        Op::Negate { operand } => {
            let zero = Value::Constant(Quantity::int(0));
            Value::Minus(Box::new(zero), Box::new(expression(operand, atom)?))
        }
        Op::Convert { operand } => {
            let value = expression(operand, atom)?;
            match expr.kind {
                Kind::Real => {
                    let one = Value::Constant(Quantity::Real(1.0));
                    Value::Times(Box::new(value), Box::new(one))
                }
                // Exact numbers of any scale are compared and added as they are.
                _ => value,
            }
        }
    })
}
