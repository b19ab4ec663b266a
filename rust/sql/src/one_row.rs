//! Subqueries that have a row whatever is in their tables: an aggregate without GROUP BY.
//!
//! EXISTS of such a query is true, IN and comparisons with ANY or ALL compare with its value. One row a group is the
//! opposite: over nothing there is none, so its value is NULL, also where it counts. Invariant: the plan has the rows that
//! it had. Cost: linear in the plan.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{
    Aggregate, Expr, FetchType, Limit, LogicalPlan, LogicalPlanBuilder, Operator, SkipType,
    Subquery, binary_expr, lit, when,
};

use crate::error::refusal;
use crate::unnested::makes_rows;

/// The same plan, with such subqueries as values.
///
/// # Errors
/// Those of the library, for a plan that contradicts itself.
pub(crate) fn rewritten(plan: LogicalPlan) -> Result<LogicalPlan> {
    let made = plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        let made = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let made = expr.transform_up(value)?;
            Ok(made.update_data(|expr| name.restore(expr)))
        })?;
        match made.transformed {
            true => made.map_data(LogicalPlan::recompute_schema),
            false => Ok(made),
        }
    })?;
    Ok(made.data)
}

/// Refuses aggregates of columns of the query around alone: they are that query's, whose rows are one group then.
pub(crate) fn check_aggregates(plan: &LogicalPlan) -> ringview_core::Result<()> {
    let mut found = None;
    let seen = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            found = aggregate.aggr_expr.iter().find_map(read_around);
        }
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    seen.map_err(|problem| refusal(&problem))?;
    match found {
        // The column is there, in a query around.
        Some(column) => Err(ringview_core::Error::UnknownColumn {
            table: String::new(),
            column,
            known: Vec::new(),
        }),
        None => Ok(()),
    }
}

/// A column of the query around that an aggregate reads, if it reads no other.
fn read_around(aggregate: &Expr) -> Option<String> {
    let Expr::AggregateFunction(of) = aggregate else {
        return None;
    };
    let (mut around, mut is_own) = (None, false);
    for arg in &of.params.args {
        let seen = arg.apply(|node| {
            match node {
                Expr::OuterReferenceColumn(_, column) => around = Some(column.name.clone()),
                Expr::Column(_) | Expr::ScalarSubquery(_) => is_own = true,
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        });
        is_own |= seen.is_err();
    }
    around.filter(|_| !is_own)
}

/// An expression over the value of a subquery's only row, for a use of the subquery.
fn value(node: Expr) -> Result<Transformed<Expr>> {
    match node {
        Expr::Exists(of) if is_one_row(&of.subquery.subquery) => {
            Ok(Transformed::yes(lit(!of.negated)))
        }
        Expr::InSubquery(of) if is_one_row(&of.subquery.subquery) => {
            let op = if of.negated {
                Operator::NotEq
            } else {
                Operator::Eq
            };
            Ok(Transformed::yes(compared(&of.expr, op, &of.subquery)))
        }
        Expr::SetComparison(of) if is_one_row(&of.subquery.subquery) => {
            Ok(Transformed::yes(compared(&of.expr, of.op, &of.subquery)))
        }
        Expr::ScalarSubquery(subquery) => match of_group(&subquery.subquery)? {
            Some(plan) => Ok(Transformed::yes(Expr::ScalarSubquery(over(
                &subquery, plan,
            )))),
            None => Ok(Transformed::no(Expr::ScalarSubquery(subquery))),
        },
        other => Ok(Transformed::no(other)),
    }
}

/// A value compared with the one of a subquery.
fn compared(with: &Expr, op: Operator, subquery: &Subquery) -> Expr {
    binary_expr(with.clone(), op, Expr::ScalarSubquery(subquery.clone()))
}

/// Whether a plan has one row, whatever it reads.
fn is_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(of) => of.group_expr.is_empty(),
        LogicalPlan::Projection(of) => is_one_row(&of.input) && !of.expr.iter().any(makes_rows),
        LogicalPlan::SubqueryAlias(of) => is_one_row(&of.input),
        LogicalPlan::Window(of) => is_one_row(&of.input),
        LogicalPlan::Sort(of) => of.fetch.is_none() && is_one_row(&of.input),
        LogicalPlan::Distinct(of) => is_one_row(of.input()),
        LogicalPlan::Limit(of) => keeps_one(of) && is_one_row(&of.input),
        _ => false,
    }
}

/// Whether a limit leaves one row as it is.
fn keeps_one(limit: &Limit) -> bool {
    let is_first = matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)));
    let fetch = limit.get_fetch_type();
    is_first && matches!(fetch, Ok(FetchType::Literal(most)) if most != Some(0))
}

/// The value of a query's group that is NULL where there is no group.
fn of_group(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Projection(shown) = plan else {
        return Ok(None);
    };
    let (having, input) = match &*shown.input {
        LogicalPlan::Filter(of) => (Some(&of.predicate), &of.input),
        _ => (None, &shown.input),
    };
    let LogicalPlan::Aggregate(groups) = &**input else {
        return Ok(None);
    };
    let is_plain = |expr: &Expr| !matches!(expr, Expr::GroupingSet(_));
    let ([value], Some(count)) = (&shown.expr[..], ringview_expr::aggregate("count")) else {
        return Ok(None);
    };
    if groups.group_expr.is_empty() || !groups.group_expr.iter().all(is_plain) {
        return Ok(None);
    }
    let rows = AggregateFunction::new_udf(count, vec![lit(1_i64)], false, None, vec![], None);
    let rows = Expr::AggregateFunction(rows);
    let name = rows.schema_name().to_string();
    let mut computed = groups.aggr_expr.clone();
    if computed
        .iter()
        .all(|one| one.schema_name().to_string() != name)
    {
        computed.push(rows);
    }
    let counted = Aggregate::try_new(groups.input.clone(), groups.group_expr.clone(), computed)?;
    let mut plan = LogicalPlanBuilder::from(LogicalPlan::Aggregate(counted));
    if let Some(having) = having {
        plan = plan.filter(having.clone())?;
    }
    let is_there = datafusion_expr::ident(name).gt(lit(0_i64));
    let shown_as = value.schema_name().to_string();
    let value = when(is_there, value.clone().unalias()).otherwise(lit(ScalarValue::Null))?;
    Ok(Some(plan.project([value.alias(shown_as)])?.build()?))
}

/// Another plan over the same query around.
fn over(subquery: &Subquery, plan: LogicalPlan) -> Subquery {
    Subquery {
        subquery: Arc::new(plan),
        ..subquery.clone()
    }
}
