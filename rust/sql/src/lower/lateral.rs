//! LATERAL: a subquery in FROM that reads the tables before it.
//!
//! An aggregate without groups has one row for each row around it, so its values are looked up; any other subquery is
//! joined by what equals the row around it. Invariant: LEFT JOIN LATERAL keeps each row. Cost: that of the
//! joins.

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, JoinType, ScalarValue};
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, Join, LogicalPlan, Operator, binary_expr, when};
use ringview_core::Result;

use super::pairs::Conditions;
use super::pending::{Pending, any, is_nested, of_atom, renamed, split};
use super::state::Lowering;
use super::subquery::correlated;
use super::unnest;
use crate::error::{refusal, unsupported};
use crate::unnested::makes_rows;

/// The subquery of a LATERAL, if a plan is one.
pub(crate) fn subquery(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => subquery(&alias.input),
        LogicalPlan::Subquery(subquery) if !subquery.outer_ref_columns.is_empty() => {
            Some(&subquery.subquery)
        }
        _ => None,
    }
}

/// Makes columns NULL where something does not hold.
fn null_unless(conditions: Vec<Expr>, columns: &mut [Expr]) -> Result<()> {
    let Some(holds) = conjunction(conditions) else {
        return Ok(());
    };
    for column in columns {
        let value = std::mem::take(column);
        *column = when(holds.clone(), value)
            .end()
            .map_err(|problem| refusal(&problem))?;
    }
    Ok(())
}

/// Whether a plan has one row before filters above it, whatever it reads.
fn is_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => {
            is_one_row(&projection.input) && !projection.expr.iter().any(makes_rows)
        }
        LogicalPlan::SubqueryAlias(alias) => is_one_row(&alias.input),
        LogicalPlan::Filter(filter) => is_one_row(&filter.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

impl Lowering<'_> {
    /// The rows of a join with a LATERAL.
    pub(crate) fn lateral(
        &mut self,
        left: Pending,
        join: &Join,
        subquery: &LogicalPlan,
    ) -> Result<Pending> {
        let schema = join.left.schema();
        let mut conditions = Vec::new();
        if let Some(filter) = &join.filter {
            split(filter, Operator::And, &mut conditions);
        }
        conditions.retain(|one| !matches!(one, Expr::Literal(ScalarValue::Boolean(Some(true)), _)));
        let is_left = join.join_type == JoinType::Left;
        if is_left && conditions.iter().any(|one| any(one, is_nested)) {
            return Err(unsupported("a subquery in ON of an outer join is not kept"));
        }
        if !matches!(join.join_type, JoinType::Left | JoinType::Inner) {
            return Err(unsupported("this join with LATERAL is not kept"));
        }
        let mut left = self.flat(left)?;
        if !is_left && let Some(exprs) = unnest::without_from(subquery) {
            let mut rows = self.of_each(left, schema, exprs)?;
            for condition in conditions {
                let meant = rows.meant(&condition, &join.schema)?;
                rows = self.restricted(rows, meant, &join.schema)?;
            }
            return Ok(rows);
        }
        let inner = self.correlated_rows(subquery, &left, schema)?;
        let mut inner = self.flat(inner)?;
        if is_left {
            self.scopes.push((left.clone(), DFSchema::clone(schema)));
            let found = self.decorrelated(inner);
            self.scopes.pop();
            inner = found?;
        }
        let keys = correlated(&mut inner, &left, schema)?;
        let mut rows = if is_one_row(subquery) {
            // Its conditions are evaluated over the looked-up values: they may hold where the
            // subquery has no rows.
            let filters = std::mem::take(&mut inner.filters);
            let mut values = std::mem::take(&mut inner.columns);
            let width = values.len();
            values.extend(filters);
            let mut found = self.looked_up(&mut left, &mut [], inner, keys, values)?;
            let mut filters = found.split_off(width);
            let around = left.columns.len();
            left.columns.extend(found);
            if is_left {
                for condition in std::mem::take(&mut conditions) {
                    filters.push(left.meant(&condition, &join.schema)?);
                }
                null_unless(filters, &mut left.columns[around..])?;
            } else {
                filters.into_iter().for_each(|filter| left.restrict(filter));
            }
            left
        } else if !is_left {
            self.joined_with(left, inner, keys, schema)?
        } else {
            let all = std::mem::take(&mut conditions);
            let conditions = Conditions {
                all: &all,
                schema: Some(&join.schema),
            };
            self.outer(left, inner, keys, JoinType::Left, &conditions)?
        };
        for condition in conditions {
            let meant = rows.meant(&condition, &join.schema)?;
            rows = self.restricted(rows, meant, &join.schema)?;
        }
        Ok(rows)
    }

    /// Each row with the rows of a subquery that belong to it.
    fn joined_with(
        &mut self,
        mut left: Pending,
        mut inner: Pending,
        keys: Vec<(Expr, Expr)>,
        schema: &DFSchema,
    ) -> Result<Pending> {
        let by = left.atoms.len();
        let shown = left.columns.clone();
        let conditions = std::mem::take(&mut inner.outer_conditions);
        let columns = left.join(inner)?;
        left.columns.extend(columns);
        let moved = |expr: Expr| renamed(expr, &|atom, name| Some(of_atom(atom + by, name)));
        for (one, other) in keys {
            left.restrict(binary_expr(one, Operator::Eq, moved(other)?));
        }
        for condition in conditions {
            // Columns are those of the subquery, references those of the row around it.
            let condition = moved(condition)?;
            let meant = condition.transform_up(|node| match node {
                Expr::OuterReferenceColumn(_, column) => {
                    let at = schema.index_of_column(&column)?;
                    Ok(Transformed::yes(shown[at].clone()))
                }
                other => Ok(Transformed::no(other)),
            });
            left.restrict(meant.map_err(|problem| refusal(&problem))?.data);
        }
        Ok(left)
    }

    /// The rows of a subquery of some rows.
    pub(crate) fn correlated_rows(
        &mut self,
        subquery: &LogicalPlan,
        rows: &Pending,
        schema: &DFSchema,
    ) -> Result<Pending> {
        self.scopes.push((rows.clone(), schema.clone()));
        let found = self.relation(subquery);
        self.scopes.pop();
        found
    }
}
