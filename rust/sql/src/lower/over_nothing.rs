//! The row that a correlated aggregate without GROUP BY has over no rows.
//!
//! The groups by an aggregate's correlation have none for rows of the query around without a match. If the value is an
//! output directly, a failed look-up gives it; any other operator above (HAVING, a filter, a union, a window, another
//! aggregate) reads a row for each different value that the query around has in the correlation (Neumann and Kemper,
//! BTW 2015: the domain D, joined by a group join). Invariant: behind `completed` each of those values has one row.
//! Cost: that of a left join of the different values with the groups.

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{Aggregate, Expr, LogicalPlan, lit};
use ringview_core::Result;

use super::domain::misplaced;
use super::pairs::null_safe;
use super::pending::Pending;
use super::state::Lowering;
use crate::unnested::makes_rows;

impl Lowering<'_> {
    /// The rows of a plan, all of them, for an operator that reads them.
    pub(crate) fn input(&mut self, plan: &LogicalPlan) -> Result<Pending> {
        let rows = self.relation(plan)?;
        match is_one_row(plan) {
            true => self.completed(rows),
            false => Ok(rows),
        }
    }

    /// The same for a filter: the row over nothing is left out where the condition rejects it.
    pub(crate) fn input_of_filter(
        &mut self,
        plan: &LogicalPlan,
        condition: &Expr,
    ) -> Result<Pending> {
        match rejects_nothing(plan, condition) {
            true => self.relation(plan),
            false => self.input(plan),
        }
    }

    /// Groups by what correlates them, and beside them the row of each value that has no group.
    pub(super) fn completed(&mut self, groups: Pending) -> Result<Pending> {
        let (mut rows, may_be_null) = self.with_domain(groups)?;
        if may_be_null.contains(&true) {
            null_safe(&mut rows.outer);
        }
        Ok(rows)
    }

    /// The same, with keys of which some may be NULL.
    pub(super) fn with_domain(&mut self, mut groups: Pending) -> Result<(Pending, Vec<bool>)> {
        if groups.outer.is_empty() {
            return Ok((groups, Vec::new()));
        }
        if !groups.outer_conditions.is_empty() {
            return Err(misplaced());
        }
        let (around, keys): (Vec<Expr>, Vec<Expr>) =
            std::mem::take(&mut groups.outer).into_iter().unzip();
        let (name, stored, may_be_null) = self.values_around(&around)?;
        let mut rows = Pending::over(&name, &stored);
        let pairs = rows.columns.iter().cloned().zip(keys).collect();
        let values = std::mem::take(&mut groups.columns);
        let values = self.looked_up(&mut rows, &mut [], groups, pairs, values)?;
        let own = std::mem::replace(&mut rows.columns, values);
        rows.outer = around.into_iter().zip(own).collect();
        Ok((rows, may_be_null))
    }
}

/// Whether a plan is one row, whatever it reads.
pub(super) fn is_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => {
            is_one_row(&projection.input) && !projection.expr.iter().any(makes_rows)
        }
        LogicalPlan::SubqueryAlias(alias) => is_one_row(&alias.input),
        LogicalPlan::Subquery(subquery) => is_one_row(&subquery.subquery),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// Whether a condition on one row does not hold for that over nothing.
fn rejects_nothing(plan: &LogicalPlan, condition: &Expr) -> bool {
    let found = values(plan).and_then(|values| substituted(condition, plan.schema(), &values));
    let value = found.and_then(|of| ringview_expr::value(&of).ok().flatten());
    value.is_some_and(|value| !matches!(value, ScalarValue::Boolean(Some(true))))
}

/// The columns of one row over nothing; `None` where they are not known.
fn values(plan: &LogicalPlan) -> Option<Vec<Expr>> {
    match plan {
        LogicalPlan::Projection(of) => {
            let below = values(&of.input)?;
            let shown = of.expr.iter();
            shown
                .map(|expr| substituted(expr, of.input.schema(), &below))
                .collect()
        }
        LogicalPlan::SubqueryAlias(alias) => values(&alias.input),
        LogicalPlan::Subquery(subquery) => values(&subquery.subquery),
        LogicalPlan::Aggregate(of) if of.group_expr.is_empty() => {
            let calls = of.aggr_expr.iter().enumerate();
            calls.map(|(at, call)| of_nothing(of, at, call)).collect()
        }
        _ => None,
    }
}

/// Value of an aggregate over no rows.
fn of_nothing(aggregate: &Aggregate, at: usize, call: &Expr) -> Option<Expr> {
    match call {
        Expr::Alias(alias) => of_nothing(aggregate, at, &alias.expr),
        Expr::AggregateFunction(of) => match of.func.name() {
            "count" => Some(lit(0_i64)),
            "sum" | "avg" | "min" | "max" => {
                let ty = aggregate.schema.field(at).data_type();
                ScalarValue::try_from(ty).ok().map(lit)
            }
            _ => None,
        },
        _ => None,
    }
}

/// An expression with values in the place of its columns.
fn substituted(of: &Expr, schema: &DFSchema, values: &[Expr]) -> Option<Expr> {
    let made = of.clone().transform_up(|node| match &node {
        Expr::Column(column) => {
            let at = schema.index_of_column(column)?;
            Ok(Transformed::yes(values[at].clone()))
        }
        Expr::Alias(alias) => Ok(Transformed::yes(Expr::clone(&alias.expr))),
        _ => Ok(Transformed::no(node)),
    });
    made.ok().map(|made| made.data)
}
