//! Uniform samples without replacement, at every moment of a stream: of the items of a stream that pass a predicate, and of
//! the results of a join whose relations change.
//!
//! Paper: Dai, Hu, Yi, "Reservoir Sampling over Joins" (2024).
//!
//! | file | holds |
//! |---|---|
//! | `random` | the one generator, and exact draws from it |
//! | `state` | [`ReservoirState`]: a reservoir without its items: the next skip, the place of the next item, replacements of deleted items |
//! | `reservoir` | [`Reservoir`]: k items of a stream of batches, read by skips |
//! | `capacity` | capacity of long arrays |
//! | `shape` | [`Atom`]: a relation of a join, for the index; its join tree |
//! | `index/` | [`Index`]: an upper bound of the number of results, and the result at a position |
//! | `sample/` | [`JoinSample`]: k results of a join, under inserts and deletes |
//! | `bags/` | [`QuerySample`]: the same of any join: relations merged by keys, bags in the place of cycles |
//! | `merge` | samples of parts to a sample of the whole |
//! | `weighted/` | draws with chances in proportion to weights |
//! | `view/` | [`Samples`], [`SampleView`]: the same as a view of the database |

mod bags;
mod capacity;
mod index;
mod merge;
mod random;
mod reservoir;
mod sample;
mod shape;
mod state;
mod view;
mod weighted;

pub use bags::{BagDescription, QuerySample, Relation, Relations, WordRef};
pub use index::Index;
pub use merge::{SampledPart, merge_samples};
pub use random::Random;
pub use reservoir::{Items, Reservoir};
pub use sample::{All, Counters, JoinSample, Predicate};
pub use shape::Atom;
pub use state::ReservoirState;
pub use view::{JoinSize, SampleView, Samples};
