//! Values and conditions of queries within queries, with columns that stand elsewhere.
//!
//! Invariant: a column of depth d, in a subquery that is nested d deep, is one of the rows of the outermost query. Cost:
//! O(size of the value).

use ringview_query::{Condition, Query, SubqueryExpr};

/// Where a column stands: how far beyond a level its query is, its atom, and its name.
type Standing = (usize, usize, String);

/// A value as a subquery names it: columns of here and around are one further out.
pub(super) fn deepened(of: &SubqueryExpr, level: usize) -> SubqueryExpr {
    moved(of, level, &|beyond, atom, name| {
        (beyond + 1, atom, name.to_owned())
    })
}

/// A condition over atoms that stand further behind.
pub(super) fn shifted(of: Condition<SubqueryExpr>, by: usize) -> Condition<SubqueryExpr> {
    moved_condition(&of, 0, &|beyond, atom, name| {
        let by = if beyond == 0 { by } else { 0 };
        (beyond, atom + by, name.to_owned())
    })
}

/// A condition over atoms whose columns have other names.
pub(super) fn renamed(
    of: &Condition<SubqueryExpr>,
    names: &dyn Fn(usize, &str) -> String,
) -> Condition<SubqueryExpr> {
    moved_condition(of, 0, &|beyond, atom, name| {
        let name = match beyond {
            0 => names(atom, name),
            _ => name.to_owned(),
        };
        (beyond, atom, name)
    })
}

/// A value in which columns of the query at `level`, or around it, stand elsewhere.
fn moved(
    of: &SubqueryExpr,
    level: usize,
    to: &dyn Fn(usize, usize, &str) -> Standing,
) -> SubqueryExpr {
    let side = |one: &SubqueryExpr| Box::new(moved(one, level, to));
    match of {
        SubqueryExpr::Column {
            depth,
            atom,
            column,
        } if *depth >= level => {
            let (beyond, atom, column) = to(depth - level, *atom, column);
            SubqueryExpr::Column {
                depth: beyond + level,
                atom,
                column,
            }
        }
        SubqueryExpr::Column { .. } | SubqueryExpr::Literal { .. } => of.clone(),
        SubqueryExpr::Add { left, right } => SubqueryExpr::Add {
            left: side(left),
            right: side(right),
        },
        SubqueryExpr::Subtract { left, right } => SubqueryExpr::Subtract {
            left: side(left),
            right: side(right),
        },
        SubqueryExpr::Multiply { left, right } => SubqueryExpr::Multiply {
            left: side(left),
            right: side(right),
        },
        SubqueryExpr::Divide { left, right } => SubqueryExpr::Divide {
            left: side(left),
            right: side(right),
        },
        SubqueryExpr::Negate { operand } => SubqueryExpr::Negate {
            operand: side(operand),
        },
        SubqueryExpr::Query { query: within } => {
            let condition = within.condition.as_ref();
            let query = Query {
                condition: condition.map(|one| moved_condition(one, level + 1, to)),
                ..(**within).clone()
            };
            SubqueryExpr::Query {
                query: Box::new(query),
            }
        }
    }
}

fn moved_condition(
    of: &Condition<SubqueryExpr>,
    level: usize,
    to: &dyn Fn(usize, usize, &str) -> Standing,
) -> Condition<SubqueryExpr> {
    let mapped = of.try_map(&mut |one| Some(moved(one, level, to)));
    mapped.unwrap_or_else(|| of.clone())
}

/// The columns of the rows themselves that a condition reads.
pub(super) fn read_by(of: &Condition<SubqueryExpr>) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    of.each_operand(&mut |one| note_columns(one, 0, &mut found));
    found
}

fn note_columns(of: &SubqueryExpr, level: usize, found: &mut Vec<(usize, String)>) {
    match of {
        SubqueryExpr::Column {
            depth,
            atom,
            column,
        } if *depth == level => found.push((*atom, column.clone())),
        SubqueryExpr::Column { .. } | SubqueryExpr::Literal { .. } => {}
        SubqueryExpr::Add { left, right }
        | SubqueryExpr::Subtract { left, right }
        | SubqueryExpr::Multiply { left, right }
        | SubqueryExpr::Divide { left, right } => {
            note_columns(left, level, found);
            note_columns(right, level, found);
        }
        SubqueryExpr::Negate { operand } => note_columns(operand, level, found),
        SubqueryExpr::Query { query } => {
            if let Some(condition) = &query.condition {
                condition.each_operand(&mut |one| note_columns(one, level + 1, found));
            }
        }
    }
}
