//! Values, types, schemas, the row encoding, the string dictionary and the error of ringview.
//!
//! Every value is encoded once, at the edge, into one 64-bit word (two for decimals). Whatever lies
//! above this crate works on words alone: equal words mean equal values of one column, always.
//!
//! | file | holds |
//! |---|---|
//! | `types`, `schema` | [`Type`], [`Field`], [`Schema`] and their Arrow counterparts |
//! | `prefetch`, `large_pages` | hints to the memory system |
//! | `random` | hashing that nobody can foresee |
//! | `room` | lists that keep the room that they need |
//! | `error` | [`Error`], one variant for each thing that can go wrong |
//! | `meter` | [`Meter`]: what a long call asks as it works: to go on, and for room |
//! | `dictionary` | [`Dictionary`]: strings to 32-bit ids and back |
//! | `column` | [`Column`] and [`Batch`]: encoded rows, column by column |
//! | `arrow` | [`Encoder`] from Arrow, [`decode`] to Arrow, [`format_value`] for messages |

mod arrow;
mod column;
mod dictionary;
mod error;
mod large_pages;
mod meter;
mod prefetch;
mod random;
mod room;
mod schema;
mod types;

pub use arrow::{Encoder, decode, format_row, format_value};
pub use column::{Batch, Column};
pub use dictionary::{Dictionary, Gone, Held, HoldsStrings};
pub use error::{Error, Result};
pub use large_pages::in_large_pages;
pub use meter::{Meter, available, reserve};
pub use prefetch::prefetch;
pub use random::random_hasher;
pub use room::empty;
pub use schema::{Field, LONGEST_NAME, Schema, check_name};
pub use types::{TimeUnit, Type};
