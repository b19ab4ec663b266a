//! Variable orders: the paper's definition 3.1.
//!
//! Invariant of a finished order: every variable occurs once, and the variables of each atom lie on
//! one root-to-leaf path.

mod choose;
mod cost;
mod node;

pub use choose::{are_tied, choose, choose_counted};
pub use node::{OrderNode, with_locals};
