//! Aggregates whose predicates hold correlated aggregates, in O(log n) a change.
//!
//! "The volume-weighted price of the best quarter of the book" compares, for each row, an aggregate
//! of other rows. A change moves a whole range of those aggregates at once; the indexes here are
//! keyed by aggregate values, relative to each other, so that a range moves in one way down a tree
//! (Abeysinghe, He and Rompf, "Efficient Incrementalization of Correlated Nested Aggregate Queries
//! using Relative Partial Aggregate Indexes (RPAI)", SIGMOD 2022).
//!
//! | file | holds |
//! |---|---|
//! | `key` | [`Key`]: integers, decimals, reals that are added to and compared |
//! | `payload` | [`Payload`]: groups whose sums over any part of an index fit |
//! | `cut` | [`Cut`]: a place between entries, where ranges end and shifts begin |
//! | `tree/` | [`RpaiTree`]: ordered; `prefix_sum` and `shift_keys` in O(log n) |
//! | `pai_map` | [`PaiMap`]: hashed; for correlation by equality |
//! | `machine/` | [`machine::Machine`]: queries kept fresh by them, or by the general algorithm |
//! | `engine` | the engine, as the database sees it: what it keeps, and why not the rest |
//! | `plan/` | from a bound query to tables and blocks; as an explanation |
//! | `view/` | rows of tables in, groups out: a machine behind the trait of all views |
//! | `steps` | counted work |

mod cut;
mod engine;
mod key;
pub mod machine;
mod pai_map;
mod payload;
mod plan;
mod steps;
mod tree;
mod view;

pub use cut::Cut;
pub use engine::AggregateIndexes;
pub use key::{Key, Real};
pub use pai_map::PaiMap;
pub use payload::{Payload, Sums};
pub use ringview_ring::Expansion;
pub use tree::{Iter, RpaiTree, Tie};
