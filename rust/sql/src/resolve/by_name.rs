//! Joins by name, NATURAL and USING, spelt out: ON, and the merged column of the side that is there.
//!
//! A merged column is the left one, of RIGHT JOIN the right one, of FULL JOIN COALESCE of both; names with a table in
//! front mean that table's column. If the columns of a side are not known, inner and left joins are left to the binder,
//! others are refused. Invariant: the condition compares what each side shows under a name. Cost: linear in the
//! columns.

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, Join, JoinConstraint, JoinOperator};
use ringview_core::{Error, Result, SqlProblem};
use ringview_expr::call;

use super::side::{Found, Shown, Side};
use crate::asof;
use crate::error::{bare, unsupported};
use crate::join_kind::constraint;

/// Gives a join by name ON; what it shows. Nothing where it is none, or is left to the binder.
///
/// # Errors
/// `Sql` for NATURAL JOIN without a column on both sides, and for a join that keeps all rows of a right side where not
/// all columns are known.
pub(super) fn spelt_out(left: &Side, join: &mut Join, right: &Side) -> Result<Option<Side>> {
    let kind = join.join_operator.clone();
    let Some(constraint) = constraint(&mut join.join_operator) else {
        return Ok(None);
    };
    let (names, is_asof) = match constraint {
        JoinConstraint::Using(names) => {
            let last = names.iter().filter_map(|name| name.0.last()?.as_ident());
            asof::unmarked(last.map(|ident| ident.value.clone()).collect())
        }
        JoinConstraint::Natural => match (left.columns(), right.columns()) {
            (Some(of_left), Some(of_right)) => (shared(of_left, &of_right)?, false),
            _ => return left_to_binder(&kind),
        },
        JoinConstraint::On(_) | JoinConstraint::None => return Ok(None),
    };
    let last = names.len() - usize::from(is_asof);
    let mut made = left.clone();
    let mut behind = right.clone();
    let mut condition: Option<Expr> = None;
    for (at, name) in names.iter().enumerate() {
        let (one, other) = match (left.find(name), right.find(name)) {
            (Found::Perhaps | Found::Several(_), _) | (_, Found::Perhaps | Found::Several(_)) => {
                return left_to_binder(&kind);
            }
            (one, other) => match (one.value(name), other.value(name)) {
                (Some(one), Some(other)) => (one, other),
                _ => return Ok(None),
            },
        };
        let equal = match at < last {
            true => compared(&one, BinaryOperator::Eq, &other),
            false => call(
                asof::MATCH,
                vec![compared(&one, BinaryOperator::GtEq, &other)],
            ),
        };
        condition = Some(match condition {
            Some(before) => compared(&before, BinaryOperator::And, &equal),
            None => equal,
        });
        let merged = match &kind {
            JoinOperator::FullOuter(_) => call("coalesce", vec![one, other]),
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => other,
            _ => one,
        };
        let place = place(made.shown_mut(), name);
        made.shown_mut()[place] = Shown::Merged {
            name: name.clone(),
            value: Box::new(merged),
        };
        let gone = self::place(behind.shown_mut(), name);
        behind.shown_mut().remove(gone);
    }
    let Some(condition) = condition else {
        return Ok(None);
    };
    *constraint = JoinConstraint::On(condition);
    if keeps_left(join) {
        return Ok(Some(left.clone()));
    }
    made.add(behind);
    Ok(Some(made))
}

/// Whether a join shows the columns of its left side alone.
pub(super) fn keeps_left(join: &Join) -> bool {
    matches!(
        join.join_operator,
        JoinOperator::LeftSemi(_) | JoinOperator::LeftAnti(_)
    )
}

/// The names that both sides show, in the left order.
fn shared(left: Vec<String>, right: &[String]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for name in left {
        if right.contains(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    match names.is_empty() {
        true => Err(bare(
            SqlProblem::Query,
            None,
            "NATURAL JOIN: there is no column on both sides; write ON, or CROSS JOIN".to_owned(),
        )),
        false => Ok(names),
    }
}

/// Place of what a name is: the merged column before others.
fn place(shown: &[Shown], name: &str) -> usize {
    let merged = |one: &Shown| matches!(one, Shown::Merged { name: of, .. } if of == name);
    let plain = |one: &Shown| matches!(one, Shown::Column { name: of, .. } if of == name);
    let of_merged = shown.iter().position(merged);
    let found = of_merged.or_else(|| shown.iter().position(plain));
    found.unwrap_or_default()
}

fn compared(left: &Expr, op: BinaryOperator, right: &Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left.clone()),
        op,
        right: Box::new(right.clone()),
    }
}

/// Nothing, where the binder's merged column is right: the left one.
fn left_to_binder(kind: &JoinOperator) -> Result<Option<Side>> {
    match kind {
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_) => {
            Err(refused())
        }
        _ => Ok(None),
    }
}

fn refused() -> Error {
    unsupported(
        "RIGHT and FULL JOIN by name are of tables here, and of subqueries that name their columns; write ON, and \
         COALESCE(l.k, r.k) for what both sides have",
    )
}
