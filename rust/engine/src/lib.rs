//! The database: tables, views and atomic transactions over the engines.
//!
//! A [`Database`] holds tables and views. Changes of tables come as Arrow batches in a transaction,
//! a list of [`Op`]s; after it every view is exact. It is the layer that other languages bind to, and
//! what a Rust program embeds. A [`MatrixChain`] stands alone: it has no tables.
//!
//! | file | holds |
//! |---|---|
//! | `database` | [`Database`]: what there is, and what is known of it |
//! | `table` | a table: its schema, encoder and base rows |
//! | `view` | a view: its query, what it reads, and what keeps it |
//! | `rows`, `lookup` | some rows of a view, and streams of them; groups by their keys |
//! | `memory` | how much memory there may be, and whether a change stays within it |
//! | `changes`, `log` | the changes of a view, for those who follow it |
//! | `choose`, `apart` | which engine keeps a view, and whether as views over views |
//! | `names` | what names in a query mean: blocks, views, tables |
//! | `load`, `replace` | the birth of a view over what has rows; a view in the place of another |
//! | `feed` | views over views: who reads whom, and what moved goes on |
//! | `explained` | how views are kept, with all that they read |
//! | `op` | [`Op`] and what else a transaction is told |
//! | `transaction`, `undo` | how a list of them is applied; how it is kept, or undone |
//! | `strings` | when strings leave |
//! | `factors` | a change that is a [`Product`] |
//! | `keyed`, `words` | changes by the unique key, and what the words of a feed of changes mean |
//! | `net` | a transaction of which the net effect counts |
//! | `partials` | what a view over a part of the rows adds to that over all, and sums of that |
//! | `sample` | samples of joins |
//! | `chain` | the class of a chain of matrices |

mod apart;
mod chain;
mod changes;
mod choose;
mod database;
mod explained;
mod factors;
mod feed;
mod keyed;
mod load;
mod log;
mod lookup;
mod memory;
mod names;
mod net;
mod op;
mod partials;
mod replace;
mod rows;
mod sample;
mod strings;
mod table;
mod transaction;
mod undo;
mod view;
mod words;

pub use chain::chain_explanation;
pub use changes::ViewFollower;
pub use choose::engines;
pub use database::{Database, Options};
pub use keyed::{ByKey, Keyed};
pub use op::{Change, Direction, Op, Product, ProductFactor};
pub use ringview_chain::{Matrix, MatrixChain};
pub use ringview_epsilon::{GraphKind, HeavyLight, count_triangles};
pub use ringview_rpai::{Cut, Expansion, Key, PaiMap, Payload, Real, RpaiTree};
pub use ringview_sampling::{JoinSize, Law as ReservoirLaw, SampledPart, merge_samples};
pub use ringview_view::{Cell, KeyValue};
pub use ringview_viewtree::ViewTrees;
pub use ringview_viewtree::plan::Planning;
pub use rows::ViewStream;
pub use table::TableStatus;

/// What a long call asks between chunks of rows, with how many are done, and again with as many
/// within the work of a chunk, or of a single row, that takes long: an error stops it, and everything
/// that it did is undone.
pub type Poll<'a> = &'a mut dyn FnMut(u64) -> ringview_core::Result<()>;

/// What is done once a change can no longer fail, before it is there for good: an error undoes it.
pub type Keep<'a> = &'a mut dyn FnMut() -> ringview_core::Result<()>;

/// Rows handled at a time: enough to fold well, few enough to stay in the cache and to stop soon.
pub(crate) const CHUNK: usize = 1 << 16;
