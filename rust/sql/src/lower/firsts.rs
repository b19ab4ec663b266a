//! Aggregates that are a value of one row of each group: FIRST, LAST, ARG_MIN and ARG_MAX.
//!
//! Such a row is the first of its group in an order, which a block of the first rows of partitions keeps: no group is
//! computed again when a row of it changes. Invariant: the rows that an aggregate leaves out are behind all others, and have
//! NULL for its value, so a group of such rows alone is a group with NULL. Cost: O(log rows) a change.

use datafusion_expr::{Expr, lit, when};
use ringview_core::Result;
use ringview_query::Rank;

use super::pending::{Function, Pending, Ranking, SortedBy};
use super::state::Lowering;
use crate::error::refusal;

/// A value of the first row in an order.
struct First {
    value: Expr,
    order: Vec<SortedBy>,
    /// The rows that take part, if not all do.
    takes_part: Option<Expr>,
}

impl Lowering<'_> {
    /// The block of groups and aggregates, and the names of its columns; `None` if the aggregates are not of one row of each
    /// group.
    pub(super) fn grouped_by_first(
        &mut self,
        rows: &Pending,
        groups: &[Expr],
        functions: &[Function],
    ) -> Result<Option<(String, Vec<String>)>> {
        let firsts: Option<Vec<First>> = functions.iter().map(first).collect();
        let Some((one, others)) = firsts.as_ref().and_then(|firsts| firsts.split_first()) else {
            return Ok(None);
        };
        let is_alike =
            |other: &First| other.order == one.order && other.takes_part == one.takes_part;
        if groups.is_empty() || self.once || !others.iter().all(is_alike) {
            return Ok(None);
        }
        let mut rows = Pending {
            columns: groups.to_vec(),
            ..rows.clone()
        };
        for first in firsts.iter().flatten() {
            let value = first.value.clone();
            rows.columns.push(match &first.takes_part {
                Some(takes_part) => when(takes_part.clone(), value)
                    .end()
                    .map_err(|problem| refusal(&problem))?,
                None => value,
            });
        }
        let left_out = one.takes_part.clone();
        let left_out = left_out.map(|takes_part| (takes_part.is_not_true(), false, false));
        let ranking = Ranking {
            rank: Rank::RowNumber,
            partition: groups.to_vec(),
            order: left_out.into_iter().chain(one.order.clone()).collect(),
        };
        let width = rows.columns.len();
        let found = self.first(rows, ranking, 1)?;
        let names = (0..width).map(|at| format!("column {at}")).collect();
        let block = found.atoms.into_iter().next();
        Ok(block.map(|block| (block, names)))
    }
}

/// The row that an aggregate is a value of, if it is one.
fn first(function: &Function) -> Option<First> {
    let Function {
        name,
        arguments,
        constants,
        filter,
        order,
        ignore_nulls,
        ..
    } = function;
    let is_known = |value: &Expr| value.clone().is_not_null();
    let (value, order, known) = match (&**name, &arguments[..], &order[..]) {
        ("arg_min" | "argmin" | "min_by", [value, by], []) => {
            let order = vec![(by.clone(), false, false)];
            (value, order, vec![is_known(value), is_known(by)])
        }
        ("arg_max" | "argmax" | "max_by", [value, by], []) => {
            let order = vec![(by.clone(), true, false)];
            (value, order, vec![is_known(value), is_known(by)])
        }
        ("first" | "arbitrary", [value], [_, ..]) => (value, order.clone(), Vec::new()),
        ("any_value", [value], [_, ..]) => (value, order.clone(), vec![is_known(value)]),
        ("last", [value], [_, ..]) => {
            let backwards =
                |(by, descending, nulls_first): &SortedBy| (by.clone(), !descending, !nulls_first);
            let mut order: Vec<SortedBy> = order.iter().map(backwards).collect();
            // Equal rows are in the order of the columns that are read, of which the last row counts.
            order.push((value.clone(), true, false));
            (value, order, Vec::new())
        }
        _ => return None,
    };
    let ignored = (*ignore_nulls && known.is_empty()).then(|| is_known(value));
    let conditions = filter.clone().into_iter().chain(known).chain(ignored);
    let takes_part = conditions.reduce(|all, one| all.and(one));
    constants.is_empty().then(|| First {
        value: value.clone(),
        order,
        takes_part: takes_part.filter(|condition| *condition != lit(true)),
    })
}
