//! Relations over rings: finite maps from keys to payloads, what a change of one does to others,
//! and the base rows of a table.
//!
//! | file | holds |
//! |---|---|
//! | `layout` | how the fields of a key are packed into words |
//! | `hash` | a sorted linear-probing table from hash to slot, and the prefetching of a batch |
//! | `dense` | a mixed-radix array from key to slot, for keys that fill their range |
//! | `directory` | the one of the two that fits, and the batch look-ups over it |
//! | `keyed_table/` | a relation's keyed table: key words and payload words by slot; insertion, removal, shrinking |
//! | `journal` | what a table must remember to undo a transaction |
//! | `keyed_table/index` | a secondary index: the slots of each group, walked with constant delay |
//! | `relation` | keys with payloads of a ring: added to, widened in passing, undone |
//! | `delta` | a batch of changes, folded where that is cheap |
//! | `group` | which rows of a batch have equal keys, found before payloads are computed |
//! | `sort` | words in ascending order: entries by hash, rows by key |
//! | `widening` | products of sums that do not fit, in passing |
//! | `join/` | a delta meets relations along a compiled path |
//! | `partition` | which values of a key are heavy, and which light |
//! | `rows` | the multiset of base rows of a table |
//! | `values` | the values of a join column, for semi-joins |
//!
//! Every look-up, insert, delete and count is O(1) expected, whatever the keys; a slot is stable
//! while its tuple lives, so other structures may keep arrays by slot outside the table, until the
//! owner of the table shrinks it and passes them the new slots.

mod delta;
mod dense;
mod directory;
mod group;
mod hash;
pub mod join;
mod journal;
mod keyed_table;
mod layout;
mod partition;
mod relation;
mod rows;
mod sort;
mod values;
mod widening;

pub use delta::{Delta, GatherScratch};
pub use directory::{KeyScratch, Keys};
pub use group::Grouper;
pub use hash::HashDirectory;
pub use journal::{Journal, SlotChange};
pub use keyed_table::Index;
pub use keyed_table::{KeyedTable, Relocated};
pub use layout::{KeyField, KeyLayout};
pub use partition::{Partition, Threshold};
pub use relation::Relation;
pub use rows::{Action, Actions, KeyedDelta, Net, RowStore};
pub use values::ValueSet;

/// The slot that a look-up reports for a key that is not there.
pub const ABSENT: u32 = u32::MAX;
