//! Blocks that work row by row: projections, filters, unions, and rows in an order.
//!
//! They are the glue between the engines: what is linear over Z-sets (`map`) needs no state, so a block of that kind
//! keeps nothing and hands each delta on; the first rows in an order (`ordered`) need the rows, ordered. Invariant: the
//! delta of a block is the difference of its result, rows with multiplicities. Cost: O(1) a changed row for `map`,
//! O(log n) and the rows that are shown for `ordered`.
//!
//! | file | holds |
//! |---|---|
//! | `engine` | the planner: a bound query to one of the two |
//! | `explained` | what is told of a block |
//! | `map` | [`RowMap`]: projections and filters of each atom's rows, their union |
//! | `ordered/` | [`Ordered`]: rows in an order, the first of each partition |

mod engine;
mod explained;
mod map;
mod ordered;

pub use engine::RowBlocks;
pub use map::RowMap;
pub use ordered::Ordered;
