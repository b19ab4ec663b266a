//! An aggregate over several relations as sums of products of sums over each.
//!
//! Invariant: multiplied out, each product has at most one factor of each relation, so its sum over
//! all combinations of rows is the product of the relations' own sums, a count where a relation has
//! no factor. A combination where some column is NULL takes no part: then the relation's factors
//! are summed over the rows where its columns are not. Cost: of the query alone.

use crate::machine::indexed::digits::SumKind;
use crate::machine::indexed::selector::{Products, Term};
use crate::machine::query::{Aggregate, Block, Column, ColumnType, Value};
use crate::machine::recognise::kinds::{Why, sum_kind};

/// A product of values of the relations, by relation.
type Product = (i128, Vec<Option<Value>>);

/// Summands of the relations of a block, each with its scale.
pub(crate) type Sums = [Vec<(Value, SumKind)>];

/// An aggregate as sums of products of the relations' own sums, which are noted in `sums`.
pub(crate) fn products(
    tables: &[Vec<ColumnType>],
    block: &Block,
    aggregate: &Aggregate,
    sums: &mut Sums,
) -> Result<Products, Why> {
    let mut all = Products {
        aggregate: aggregate.clone(),
        count: vec![0; sums.len()],
        sum: Vec::new(),
    };
    let value = match aggregate {
        Aggregate::Count => return Ok(all),
        Aggregate::Counted(value) | Aggregate::Sum(value) | Aggregate::Average(value) => value,
        Aggregate::Min(_) | Aggregate::Max(_) => return Err("MIN and MAX have no inverse"),
    };
    let present = present(tables, block, value);
    for (relation, present) in present.iter().enumerate() {
        if let Some(present) = present {
            all.count[relation] = noted(&mut sums[relation], present.clone(), SumKind::Scale(0));
        }
    }
    if matches!(aggregate, Aggregate::Counted(_)) {
        // A quotient may be NULL by itself.
        return multiplied(value, sums.len()).and_then(|products| {
            let factors = products
                .iter()
                .flat_map(|(_, factors)| factors.iter().enumerate());
            for (relation, factor) in factors {
                if let Some(factor) = factor {
                    sum_kind(tables, block.relations[relation], &factor.clone().flat())?;
                }
            }
            Ok(all)
        });
    }
    for (sign, factors) in multiplied(value, sums.len())? {
        let mut term = Term {
            sign,
            factors: all.count.clone(),
            scale: 0,
            reals: vec![false; sums.len()],
        };
        for (relation, factor) in factors.into_iter().enumerate() {
            let Some(value) = factor else { continue };
            let mut value = value.flat();
            if let Some(present) = &present[relation] {
                value = Value::Times(Box::new(value), Box::new(present.clone()));
            }
            let sum_kind = sum_kind(tables, block.relations[relation], &value)?;
            match sum_kind {
                SumKind::Scale(scale) => term.scale = term.scale.saturating_add(scale),
                SumKind::Real => term.reals[relation] = true,
            }
            term.factors[relation] = noted(&mut sums[relation], value, sum_kind);
        }
        all.sum.push(term);
    }
    Ok(all)
}

/// By relation: 1 where its columns in a value are not NULL, where they may be.
fn present(tables: &[Vec<ColumnType>], block: &Block, value: &Value) -> Vec<Option<Value>> {
    let mut columns: Vec<Vec<Column>> = vec![Vec::new(); block.relations.len()];
    value.columns(&mut |column| {
        let own = &mut columns[column.relation];
        let flat = Column {
            depth: 0,
            relation: 0,
            ..column
        };
        let table = block.relations[column.relation];
        if tables[table][column.column].nullable && !own.contains(&flat) {
            own.push(flat);
        }
    });
    let present = |columns: Vec<Column>| (!columns.is_empty()).then_some(Value::Present(columns));
    columns.into_iter().map(present).collect()
}

/// The place of a sum; 0 is the count.
fn noted(sums: &mut Vec<(Value, SumKind)>, value: Value, sum_kind: SumKind) -> usize {
    let found = sums.iter().position(|(other, _)| *other == value);
    let at = found.unwrap_or_else(|| {
        sums.push((value, sum_kind));
        sums.len() - 1
    });
    1 + sums[..at]
        .iter()
        .map(|(_, sum_kind)| sum_kind.lanes())
        .sum::<usize>()
}

/// A value multiplied out over relations.
fn multiplied(value: &Value, relations: usize) -> Result<Vec<Product>, Why> {
    let mut of = Vec::new();
    value.columns(&mut |column| of.push(column.relation));
    of.sort_unstable();
    of.dedup();
    if of.len() <= 1 {
        let mut factors = vec![None; relations];
        factors[of.first().copied().unwrap_or(0)] = Some(value.clone());
        return Ok(vec![(1, factors)]);
    }
    let both = |a: &Value, b: &Value| -> Result<_, Why> {
        Ok((multiplied(a, relations)?, multiplied(b, relations)?))
    };
    match value {
        Value::Plus(a, b) | Value::Minus(a, b) => {
            let (mut all, more) = both(a, b)?;
            let sign = match value {
                Value::Plus(..) => 1,
                _ => -1,
            };
            let more = more.into_iter();
            all.extend(more.map(|(other, factors)| (sign * other, factors)));
            Ok(all)
        }
        Value::Times(a, b) => {
            let (left, right) = both(a, b)?;
            let times = |a: &Option<Value>, b: &Option<Value>| match (a, b) {
                (Some(a), Some(b)) => Some(Value::Times(Box::new(a.clone()), Box::new(b.clone()))),
                (a, b) => a.clone().or_else(|| b.clone()),
            };
            let mut all = Vec::new();
            for (sign, factors) in &left {
                for (other, others) in &right {
                    let both = factors.iter().zip(others);
                    let both = both.map(|(a, b)| times(a, b)).collect();
                    all.push((sign * other, both));
                }
            }
            Ok(all)
        }
        Value::Present(columns) => {
            let mut factors = vec![None; relations];
            for relation in of {
                let own = columns.iter().filter(|column| column.relation == relation);
                factors[relation] = Some(Value::Present(own.copied().collect()));
            }
            Ok(vec![(1, factors)])
        }
        _ => Err("a quotient of columns of two relations is aggregated"),
    }
}
