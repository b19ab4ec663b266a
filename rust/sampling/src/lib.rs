//! Uniform samples without replacement, at every moment of a stream: of the items of a stream that pass
//! a predicate, and of the results of a join whose relations change.
//!
//! Paper: Dai, Hu, Yi, "Reservoir Sampling over Joins" (2024).
//!
//! | file | holds |
//! |---|---|
//! | `random` | the one generator, and exact draws from it |
//! | `law` | what a reservoir remembers beside its items: how many to pass over, where the next goes, and who comes for one that died |
//! | `reservoir` | [`Reservoir`]: k items of a stream of batches, skipping what need not be looked at |
//! | `capacity` | capacity of long arrays |
//! | `shape` | [`Atom`]: what a join looks like to the index; its join tree |
//! | `index/` | [`Index`]: how many results there are, nearly, and which stands at a position |
//! | `held` | which places of a sample hold a tuple, for deletes |
//! | `sample` | [`JoinSample`]: k results of a join, under inserts and deletes |
//! | `bags/` | [`QuerySample`]: the same of any join: relations that keys combine, bags in the place of cycles |
//! | `merge` | samples of parts to a sample of the whole |
//! | `weighted` | draws with chances in proportion to weights |
//! | `view/` | [`Samples`], [`SampleView`]: the same as a view of the database |

mod bags;
mod capacity;
mod held;
mod index;
mod law;
mod merge;
mod random;
mod reservoir;
mod sample;
mod shape;
mod view;
mod weighted;

pub use bags::{Place, QuerySample, Relation, Relations, Told};
pub use index::Index;
pub use law::Law;
pub use merge::{SampledPart, merge_samples};
pub use random::Random;
pub use reservoir::{Items, Reservoir};
pub use sample::{All, JoinSample, Met, Predicate};
pub use shape::Atom;
pub use view::{JoinSize, SampleView, Samples};
