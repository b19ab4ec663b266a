//! Conditions on the rows of a join that compare values with aggregates of queries within (RPAI
//! paper, 4.1): blocks of aggregates, whose conditions hold values that may be blocks.
//!
//! Invariant: a [`Condition`] is TRUE for exactly the rows that SQL chooses, and means the same to
//! whoever keeps it: there is one arithmetic and one evaluation. Cost: linear in the condition.
//!
//! | file | holds |
//! |---|---|
//! | `tree` | blocks, values and conditions, as data |
//! | `walk` | walks through them |
//! | `number` | exact numbers and doubles: arithmetic, and SQL's order |
//! | `evaluate` | values and conditions, given columns, aggregates and queries within |

mod evaluate;
mod number;
mod tree;
mod walk;

pub use evaluate::{Nowhere, Scope, evaluate, holds, summand};
pub use number::{Cell, Quantity, floor, power_of_ten, product, rescaled};
pub use tree::{Aggregate, Block, Column, Condition, Value};
pub(crate) use walk::each_read;
