//! The database: tables, views and atomic transactions over the engines.
//!
//! A [`Database`] holds tables and views. Changes of tables are Arrow batches in a transaction, a list of [`Op`]s;
//! after it every view is exact. It is the layer that other languages bind to, and that a Rust program embeds. A
//! [`MatrixChain`] is independent of it: it has no tables.
//!
//! | file | holds |
//! |---|---|
//! | `database/` | [`Database`]: the public face, one file a subject |
//! | `catalogue/` | what names in a query mean, and which engine keeps a view |
//! | `storage/` | base rows: tables, strings, buffers |
//! | `graph/` | views over tables and views: who reads whom, and the change log of each |
//! | `transaction/` | how a list of [`Op`]s is applied, kept or undone |
//! | `state`, `undo`, `memory` | what there is, what the transaction at hand has done, how much memory there may be |
//! | `reversal` | how definitions are rolled back |
//! | `plan` | a view that is to be made |
//! | `reduction/` | which rows of what never changes can meet others |
//! | `op`, `cdc` | [`Op`] and the other changes; the operations of change data capture |
//! | `chain` | the class of a chain of matrices |

mod catalogue;
mod cdc;
mod chain;
mod database;
mod graph;
mod memory;
mod op;
mod plan;
mod reduction;
mod reversal;
mod state;
mod storage;
mod transaction;
mod undo;

pub use catalogue::choose::engines;
pub use chain::chain_explanation;
pub use database::alteration::Alteration;
pub use database::birth::NewView;
pub use database::changes::ViewFollower;
pub use database::rows::ViewStream;
pub use database::{Database, Options};
pub use op::{ByKey, Change, Direction, Keyed, Op, Product, ProductFactor};
pub use ringview_chain::{Matrix, MatrixChain};
pub use ringview_epsilon::{GraphKind, HeavyLight, count_triangles};
pub use ringview_rows::RowMap;
pub use ringview_rpai::{Cut, Expansion, Key, PaiMap, Payload, Real, RpaiTree};
pub use ringview_sampling::{JoinSize, ReservoirState, SampledPart, merge_samples};
pub use ringview_view::{Cell, KeyValue};
pub use ringview_viewtree::ViewTrees;
pub use ringview_viewtree::plan::Planning;
pub use storage::retention::KeepFor;
pub use storage::table::{Defaults, TableStatus};

/// Callback of a long call. It is called between chunks of rows with the number that are done, and again with the same
/// number during long work on a chunk or a single row. An error stops the call, and all its effects are undone.
pub type Poll<'a> = &'a mut dyn FnMut(u64) -> ringview_core::Result<()>;

/// Called when a change can no longer fail, before it is committed: an error undoes it.
pub type OnCommit<'a> = &'a mut dyn FnMut() -> ringview_core::Result<()>;

/// Rows handled at a time: enough to fold well, few enough to stay in the cache and to stop soon.
pub(crate) const CHUNK: usize = 1 << 16;
