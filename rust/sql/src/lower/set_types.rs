//! INTERSECT and EXCEPT of columns of different types, which the binder compares as they are.
//!
//! Invariant: both sides have the types in which DuckDB compares them, and their rows are different, if they are to be, as
//! values of those types. Cost: that of the casts.

use std::collections::BTreeMap;

use arrow_schema::DataType;
use datafusion_expr::{Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder};
use ringview_core::{Result, Type};
use ringview_expr::common_type;

use crate::error::{refusal, unsupported};

/// The join of a set operation over sides with the wider types; nothing where they have them.
pub(super) fn widened(join: &Join) -> Result<Option<Join>> {
    let mut left = BTreeMap::new();
    let mut right = BTreeMap::new();
    for (at, (one, other)) in join.on.iter().enumerate() {
        let of = |expr: &Expr, plan: &LogicalPlan| expr.get_type(plan.schema());
        let (from, to) = (of(one, &join.left), of(other, &join.right));
        let (from, to) = from
            .and_then(|from| Ok((from, to?)))
            .map_err(|problem| refusal(&problem))?;
        if from == to {
            continue;
        }
        let common = match (&from, &to) {
            (DataType::Null, known) | (known, DataType::Null) => Some(known.clone()),
            _ => match (Type::from_arrow(&from), Type::from_arrow(&to)) {
                (Ok(from), Ok(to)) => common_type(&from, &to).map(|ty| ty.to_arrow()),
                _ => None,
            },
        };
        let column = at + 1;
        let common = common.ok_or_else(|| {
            unsupported(&format!(
                "column {column} is {from} on one side of a set operation and {to} on the other: cast one of them"
            ))
        })?;
        left.insert(one.to_string(), common.clone());
        right.insert(other.to_string(), common);
    }
    if left.is_empty() {
        return Ok(None);
    }
    let made = || {
        Ok(Join {
            left: side(&join.left, &left)?.into(),
            right: side(&join.right, &right)?.into(),
            ..join.clone()
        })
    };
    let made: datafusion_common::Result<Join> = made();
    made.map(Some).map_err(|problem| refusal(&problem))
}

/// A side of a set operation with other types of some columns, and the names that it has.
fn side(
    plan: &LogicalPlan,
    types: &BTreeMap<String, DataType>,
) -> datafusion_common::Result<LogicalPlan> {
    if let LogicalPlan::Distinct(of) = plan {
        let input = side(of.input(), types)?;
        return LogicalPlanBuilder::from(input).distinct()?.build();
    }
    let columns = plan.schema().columns().into_iter().map(|column| {
        let (relation, name) = (column.relation.clone(), column.name.clone());
        let column = Expr::Column(column);
        match types.get(&column.to_string()) {
            Some(ty) => datafusion_expr::cast(column, ty.clone()).alias_qualified(relation, name),
            None => column,
        }
    });
    LogicalPlanBuilder::from(plan.clone())
        .project(columns)?
        .build()
}
