//! Blocks that work row by row, or by the rows of a partition: projections, filters, unions, orders, window functions.
//!
//! They connect the engines. A block that is linear over Z-sets (`map`) needs no state: it keeps nothing and passes each
//! delta on. The first rows in an order (`ordered`) need the rows, ordered. Functions of the rows before each row
//! (`running`) are found by numbers and sums in a search tree (`tree`), those of few rows around each row (`framed`) are
//! computed around the rows that change, and other functions over the rows of a partition (`parted`) are recomputed for
//! the partitions that change. A filter by time (`timed`) needs the rows by their times of validity. An ASOF join
//! (`asof`) needs both sides by key and time. A recursion (`recursive`) keeps its rows and the counts of their
//! derivations. Invariant: the delta of a block is the difference of its result, rows with multiplicities. Cost: O(1) a
//! changed row for `map`, O(log n) and the rows that are shown for `ordered`, O(log n) and the rows that move for
//! `running`, the rows of the keys that change for `parted`, those of a frame for `framed`, O(log n) for `timed`, the
//! rows whose match changes for `asof`, and the derivations that change for `recursive`.
//!
//! | file | holds |
//! |---|---|
//! | `engine` | the planner: a bound query to one of the eight |
//! | `block` | `BlockView`: what keeps rows as a view, with what is computed of them as they are read |
//! | `explained` | explanation of a block |
//! | `map` | [`RowMap`]: projections and filters of each atom's rows, their union |
//! | `codec` | rows as bytes that compare as the rows do |
//! | `partitions` | rows by partition, in order, and the changes of a transaction |
//! | `tree/` | a multiset in order, with sums |
//! | `found`, `numbers` | rows with given values; columns as numbers |
//! | `ordered/` | rows in an order, the first of each partition |
//! | `output` | what functions over the rows of partitions show |
//! | `running/` | functions of the rows before each row, and of whole partitions |
//! | `framed/` | those that look at few rows around each row |
//! | `parted` | other functions over the rows of each partition |
//! | `asof/` | each row with the latest one of another table |
//! | `recursive/` | [`Recursive`]: the fixpoint of a step that others keep |
//! | `timed/` | [`Timed`]: rows that are visible for a time |

mod asof;
mod block;
mod codec;
mod engine;
mod explained;
mod found;
mod framed;
mod map;
mod numbers;
mod ordered;
mod output;
mod parted;
mod partitions;
mod recursive;
mod running;
mod timed;
mod tree;
mod unnest;

pub use block::Changes;
pub use engine::RowBlocks;
pub use map::RowMap;
pub use recursive::{Step, TableChange};

/// A view of a recursion.
pub type Recursive = block::BlockView<recursive::Recursive>;

/// A view of rows that are there for a time.
pub type Timed = block::BlockView<timed::Timed>;
