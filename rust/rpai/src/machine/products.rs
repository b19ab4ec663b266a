//! An aggregate over several relations as sums of products of sums over each.
//!
//! Invariant: multiplied out, each product has at most one factor of each relation, so its sum over all combinations of
//! rows is the product of the relations' own sums, a count where a relation has no factor. Cost: of the query alone.

use super::indexed::Term;
use super::plan::{Aggregate, Plan, Value};
use super::recognise::{Why, exact, flat_value};

/// A product of values of the relations, by relation.
type Product = (i128, Vec<Option<Value>>);

/// An aggregate as sums of products of the relations' own sums, which are noted in `sums`.
pub(super) fn terms(
    plan: &Plan,
    aggregate: &Aggregate,
    sums: &mut [Vec<(Value, u8)>],
) -> Result<Vec<Term>, Why> {
    let value = match aggregate {
        Aggregate::Count => return Ok(Vec::new()),
        Aggregate::Sum(value) | Aggregate::Average(value) => value,
        Aggregate::Min(_) | Aggregate::Max(_) => return Err("MIN and MAX have no inverse"),
    };
    let mut all = Vec::new();
    for (sign, factors) in products(value, sums.len())? {
        let mut term = Term {
            sign,
            factors: Vec::new(),
            scale: 0,
        };
        for (relation, factor) in factors.into_iter().enumerate() {
            let Some(value) = factor else {
                term.factors.push(0);
                continue;
            };
            let value = flat_value(&value);
            let scale = exact(plan, plan.block.relations[relation], &value)?;
            term.scale = term.scale.saturating_add(scale);
            let noted = sums[relation].iter().position(|(other, _)| *other == value);
            term.factors.push(
                1 + noted.unwrap_or_else(|| {
                    sums[relation].push((value, scale));
                    sums[relation].len() - 1
                }),
            );
        }
        all.push(term);
    }
    Ok(all)
}

/// A value multiplied out over relations.
fn products(value: &Value, relations: usize) -> Result<Vec<Product>, Why> {
    let mut of = Vec::new();
    value.columns(&mut |column| of.push(column.relation));
    of.sort_unstable();
    of.dedup();
    if of.len() <= 1 {
        let mut factors = vec![None; relations];
        factors[of.first().copied().unwrap_or(0)] = Some(value.clone());
        return Ok(vec![(1, factors)]);
    }
    let both = |a: &Value, b: &Value| Ok((products(a, relations)?, products(b, relations)?));
    match value {
        Value::Plus(a, b) | Value::Minus(a, b) => {
            let (mut all, more) = both(a, b)?;
            let sign = if matches!(value, Value::Plus(..)) {
                1
            } else {
                -1
            };
            all.extend(
                more.into_iter()
                    .map(|(other, factors)| (sign * other, factors)),
            );
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
                    let both = factors
                        .iter()
                        .zip(others)
                        .map(|(a, b)| times(a, b))
                        .collect();
                    all.push((sign * other, both));
                }
            }
            Ok(all)
        }
        _ => Err("a quotient of columns of two relations is aggregated"),
    }
}
