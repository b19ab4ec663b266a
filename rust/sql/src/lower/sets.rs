//! GROUPING SETS, ROLLUP and CUBE: one block for each set of groups, and their union.
//!
//! Invariant: a column that a set does not group by is NULL in its rows, and GROUPING(..) distinguishes it from one
//! that is NULL. Cost: that of each set.

use datafusion_common::ScalarValue;
use datafusion_expr::{Aggregate, Expr, lit};
use ringview_core::Result;

use super::engine_calls::Calls;
use super::pairs::null_safe;
use super::pending::Pending;
use super::state::Lowering;
use super::union::branch;
use crate::error::unsupported;

impl Lowering<'_> {
    /// One block for each set of groups, and their union.
    pub(super) fn grouping_sets(
        &mut self,
        rows: &Pending,
        sets: &datafusion_expr::expr::GroupingSet,
        (calls, groupings): (&Calls, &[Option<&[Expr]>]),
        aggregate: &Aggregate,
    ) -> Result<Pending> {
        use datafusion_expr::expr::GroupingSet;
        let subsets: Vec<Vec<Expr>> = match sets {
            GroupingSet::GroupingSets(sets) => sets.clone(),
            GroupingSet::Rollup(all) => {
                (0..=all.len()).rev().map(|to| all[..to].to_vec()).collect()
            }
            GroupingSet::Cube(all) if all.len() < 8 => (0..1u32 << all.len())
                .map(|set| {
                    let in_set = all.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
                    in_set.map(|(_, expr)| expr.clone()).collect()
                })
                .collect(),
            GroupingSet::Cube(_) => {
                return Err(unsupported("a CUBE of so many columns is not kept"));
            }
        };
        let all: Vec<Expr> = sets.distinct_expr().into_iter().cloned().collect();
        let schema = aggregate.input.schema();
        let (mut tables, mut branches) = (Vec::new(), Vec::new());
        let (mut around, mut may_be_null): (Vec<Expr>, Vec<bool>) = Default::default();
        for subset in subsets {
            let groups = subset
                .iter()
                .map(|expr| rows.meant(expr, schema))
                .collect::<Result<Vec<_>>>()?;
            let is_total = groups.is_empty();
            let mut found = match is_total && calls.len() == 0 {
                // All rows are one group, whose count alone shows that it exists.
                true => self.tallied(rows.clone(), groups, &[])?,
                false => self.groups(rows.clone(), groups, calls)?,
            };
            if is_total {
                (found, may_be_null) = self.with_domain(found)?;
            }
            let keys: Vec<Expr>;
            (around, keys) = std::mem::take(&mut found.outer).into_iter().unzip();
            let mut columns: Vec<Expr> = Vec::new();
            for expr in &all {
                let at = subset.iter().position(|other| other == expr);
                columns.push(at.map_or(Expr::Literal(ScalarValue::Null, None), |at| {
                    found.columns[at].clone()
                }));
            }
            let values = found.columns[subset.len()..][..calls.len()].to_vec();
            columns.extend(with_groupings(values, groupings, &subset)?);
            // NULL meets no row, but for the total over none.
            let met = keys.iter().filter(|_| !is_total);
            let met: Vec<Expr> = met.map(|key| key.clone().is_not_null()).collect();
            columns.extend(keys);
            tables.push(found.atoms[0].clone());
            branches.push(branch(&met, columns, false)?);
        }
        let width = all.len() + groupings.len();
        let mut rows = self.summed("sets", &tables, branches, width + around.len())?;
        let keys = rows.columns.split_off(width);
        rows.outer = around.into_iter().zip(keys).collect();
        if may_be_null.contains(&true) {
            null_safe(&mut rows.outer);
        }
        // Behind the groups, the binder has a column for the number of the set.
        rows.columns
            .insert(all.len(), Expr::Literal(ScalarValue::Null, None));
        Ok(rows)
    }
}

/// The most columns of a GROUPING(..), whose bits an int64 holds.
const MOST_GROUPED: usize = 63;

/// The columns of GROUPING(..), if that is what is computed.
pub(super) fn grouping(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Alias(alias) => grouping(&alias.expr),
        Expr::AggregateFunction(of) if of.func.name() == "grouping" => Some(&of.params.args),
        _ => None,
    }
}

/// Aggregates, and among them for each GROUPING(..) which of its columns a set of groups lacks, the first the highest bit.
pub(super) fn with_groupings(
    values: Vec<Expr>,
    groupings: &[Option<&[Expr]>],
    set: &[Expr],
) -> Result<Vec<Expr>> {
    let mut of_groups = groupings.iter().flatten();
    if of_groups.any(|of| of.len() > MOST_GROUPED) {
        return Err(unsupported(&format!(
            "GROUPING(..) of more than {MOST_GROUPED} columns is not kept; take several"
        )));
    }
    let mut values = values.into_iter();
    let one = |grouping: &Option<&[Expr]>| match grouping {
        Some(of) => Some(lit(of.iter().fold(0i64, |bits, column| {
            bits * 2 + i64::from(!set.contains(column))
        }))),
        None => values.next(),
    };
    Ok(groupings.iter().filter_map(one).collect())
}
