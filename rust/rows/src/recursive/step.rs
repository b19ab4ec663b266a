//! The step of a recursion, as a recursion sees it: it takes changes of tables, and returns the change of its rows.
//!
//! Invariant: an application happens as a whole or not at all, and one with all signs turned round undoes it. Cost: that
//! of the queries that keep the step.

use std::fmt::Debug;

use ringview_core::{Budget, Result};

use crate::block::Changes;

/// A change of a table of the step: its number, the rows so far being 0, and rows with multiplicities.
pub type TableChange = (usize, Changes);

/// Maintainer of the query of a step.
pub trait Step: Debug + Send + Sync {
    /// Applies changes of tables, in their order, and gives the change of the step's rows.
    ///
    /// # Errors
    /// What an expression of the step cannot compute; cancellation and the limit of memory. Nothing has changed then.
    fn apply(&mut self, changes: &[TableChange], budget: &Budget<'_>) -> Result<Changes>;

    /// All rows of the step, with how often they are there.
    ///
    /// # Errors
    /// Cancellation and the limit of memory.
    fn rows(&self, budget: &Budget<'_>) -> Result<Changes>;

    /// Its evaluation, in words.
    fn description(&self) -> String;

    /// Bytes that it takes, by what is quickly counted.
    fn memory_usage(&self) -> usize;

    /// Rows handled so far.
    fn steps(&self) -> u64;

    /// Checks its invariants.
    fn check(&self);
}
