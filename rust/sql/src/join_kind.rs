//! Constraints of joins: ON, USING and NATURAL.
//!
//! Invariant: none, it only reads. Cost: O(joins).

use datafusion_sql::sqlparser::ast::{JoinConstraint, JoinOperator};

/// Constraint of a join, of the kinds that may be by name.
pub(crate) fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(by)
        | JoinOperator::Inner(by)
        | JoinOperator::Left(by)
        | JoinOperator::LeftOuter(by)
        | JoinOperator::Right(by)
        | JoinOperator::RightOuter(by)
        | JoinOperator::FullOuter(by)
        | JoinOperator::LeftSemi(by)
        | JoinOperator::LeftAnti(by) => Some(by),
        _ => None,
    }
}
