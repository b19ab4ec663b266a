//! Joins by name: NATURAL and USING.
//!
//! Invariant: none, it only reads. Cost: O(joins).

use datafusion_sql::sqlparser::ast::{Join, JoinConstraint, JoinOperator, Select};

/// Constraint of a join, of the kinds that may be by name.
pub(crate) fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(by)
        | JoinOperator::Inner(by)
        | JoinOperator::Left(by)
        | JoinOperator::LeftOuter(by)
        | JoinOperator::Right(by)
        | JoinOperator::RightOuter(by)
        | JoinOperator::FullOuter(by) => Some(by),
        _ => None,
    }
}

/// Whether a join of a SELECT is by name.
pub(crate) fn joins_by_name(select: &Select) -> bool {
    let mut joins = select.from.iter().flat_map(|from| &from.joins);
    joins.any(is_by_name)
}

/// Whether a join is by name.
pub(crate) fn is_by_name(join: &Join) -> bool {
    let mut operator = join.join_operator.clone();
    let by = constraint(&mut operator);
    by.is_some_and(|by| matches!(by, JoinConstraint::Using(_) | JoinConstraint::Natural))
}
