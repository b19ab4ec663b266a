//! Values, types, schemas, the row encoding, the string dictionary and the error of ringview.
//!
//! Every value is encoded once, at the edge, into one 64-bit word (two for decimals). All crates
//! above this one work on words alone: equal words mean equal values of one column, always.
//!
//! | file | holds |
//! |---|---|
//! | `types`, `schema` | [`Type`], [`Field`], [`Schema`] and their Arrow counterparts |
//! | `prefetch`, `large_pages` | hints to the memory system |
//! | `type_names`, `arrow_types` | types as text, and those of Arrow |
//! | `nested` | values of lists, structs and maps as texts of the dictionary |
//! | `slab` | [`Slab`]: a list that grows without moving what it holds |
//! | `random` | hashing that nobody can foresee |
//! | `trim` | lists that keep the room that they need |
//! | `guard` | [`guarded`]: work that panics, as an error |
//! | `error` | [`Error`], one variant for each kind of failure |
//! | `budget` | [`Budget`] of a long call: polls for interruptions, and the memory limit |
//! | `dictionary` | [`Dictionary`]: strings to 32-bit ids and back |
//! | `column` | [`Column`] and [`Batch`]: encoded rows, column by column |
//! | `arrow` | [`Encoder`] from Arrow, [`decode`] to Arrow, [`format_value`] for messages |

mod arrow;
mod arrow_types;
mod budget;
mod column;
mod dictionary;
mod error;
mod guard;
mod large_pages;
mod nested;
mod prefetch;
mod random;
mod room;
mod schema;
mod slab;
mod trim;
mod type_names;
mod types;

pub use arrow::{Encoder, decode, format_row, format_value};
pub use budget::{Budget, PERIOD, Share, available, reserve};
pub use column::{Batch, Column};
pub use dictionary::{Dictionary, FreedIds, HoldsStrings, LiveIds};
pub use error::{Cause, Error, Position, Result, SqlProblem};
pub use guard::guarded;
pub use large_pages::in_large_pages;
pub use nested::sortable;
pub use prefetch::prefetch;
pub use random::random_hasher;
pub use room::check_room;
pub use schema::{Field, LONGEST_NAME, Schema, check_name};
pub use slab::{LONG, Slab, Word};
pub use trim::empty;
pub use types::{TimeUnit, Type};
