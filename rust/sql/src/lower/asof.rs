//! ASOF joins: each row of the left side with the latest row of the right side that has its keys.
//!
//! Invariant: ON is equalities of both sides and one inequality of both. Cost: that of the block, O(log n) a row that
//! changes and the rows whose match changes.

use datafusion_common::{DFSchema, JoinType};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{Expr, Join, Operator};
use ringview_core::Result;
use ringview_query::{Latest, LatestSide, Rows};

use super::pairs::{Side, equality};
use super::pending::Pending;
use super::state::{Lowering, computing};
use crate::asof::MATCH;
use crate::error::unsupported;

/// The inequality of an ASOF join, where a condition is one.
fn matched(condition: &Expr) -> Option<&Expr> {
    match condition {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == MATCH => args.first(),
        _ => None,
    }
}

/// Whether a join is an ASOF join.
pub(super) fn is_asof(conditions: &[Expr]) -> bool {
    conditions.iter().any(|one| matched(one).is_some())
}

impl Lowering<'_> {
    /// The rows of an ASOF join; `keys` are those that the plan has found.
    pub(super) fn asof(
        &mut self,
        (left, right): (Pending, Pending),
        mut keys: Vec<(Expr, Expr)>,
        conditions: &[Expr],
        join: &Join,
    ) -> Result<Pending> {
        let schemas: (&DFSchema, &DFSchema) = (join.left.schema(), join.right.schema());
        if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
            return Err(unsupported(
                "an ASOF join keeps the rows of its left side; write ASOF JOIN or ASOF LEFT JOIN",
            ));
        }
        let (mut time, mut op) = (None, Operator::GtEq);
        for condition in conditions {
            if let Some(of) = matched(condition) {
                (time, op) = inequality(of, (&left, &right), schemas)?
                    .map_or((None, op), |(pair, op)| (Some(pair), op));
                continue;
            }
            match equality(condition, (&left, &right), schemas)? {
                Some(pair) => keys.push(pair),
                None => {
                    return Err(unsupported(
                        "ON of an ASOF join is equalities of both sides and one inequality; put other conditions into \
                         WHERE, or into a subquery of the side that they choose from",
                    ));
                }
            }
        }
        let Some(time) = time else {
            return Err(unsupported(
                "ON of an ASOF join needs an inequality of both sides, as a.t >= b.t",
            ));
        };
        let (one, other): (Vec<Expr>, Vec<Expr>) = keys.into_iter().chain([time]).unzip();
        let left = self.side(left, one.into_iter())?;
        let right = self.side(right, other.into_iter())?;
        let tables = [left.name.clone(), right.name.clone()];
        let width = left.columns.len() + right.columns.len();
        let names: Vec<String> = (0..width).map(|at| format!("column {at}")).collect();
        let latest = Latest {
            names: names.clone(),
            sides: [with_time(left), with_time(right)],
            following: matches!(op, Operator::Lt | Operator::LtEq),
            strict: matches!(op, Operator::Lt | Operator::Gt),
            outer: join.join_type == JoinType::Left,
        };
        let name = self.emit("asof", computing(&tables, Rows::Latest(latest)))?;
        Ok(Pending::over(&name, &names))
    }
}

/// A side of which the last key is the time.
fn with_time(mut side: Side) -> LatestSide {
    LatestSide {
        time: side.keys.pop().unwrap_or_default(),
        keys: side.keys,
        shown: side.columns,
    }
}

/// Operands of an inequality, the one of the left side first, and the operator between them.
fn inequality(
    of: &Expr,
    sides: (&Pending, &Pending),
    schemas: (&DFSchema, &DFSchema),
) -> Result<Option<((Expr, Expr), Operator)>> {
    let Expr::BinaryExpr(binary) = of else {
        return Ok(None);
    };
    let is_swapped = !is_of(&binary.left, schemas.0);
    let op = match is_swapped {
        true => binary.op.swap(),
        false => Some(binary.op),
    };
    let mut equal = binary.clone();
    equal.op = Operator::Eq;
    let pair = equality(&Expr::BinaryExpr(equal), sides, schemas)?;
    Ok(pair.zip(op))
}

fn is_of(expr: &Expr, schema: &DFSchema) -> bool {
    expr.column_refs()
        .iter()
        .all(|column| schema.has_column(column))
}
