//! What every kind of view can do, whatever keeps it fresh: the floor that all engines stand on.
//!
//! | module | holds |
//! |---|---|
//! | `view` | [`View`]: rows go in, and stay or are undone |
//! | `engine` | [`Engine`]: what keeps views, its candidates and its refusals |
//! | `rows` | how rows of tables arrive: one by one, or as products of factors |
//! | `fields` | variables as the fields of keys |
//! | `read/` | what rows of a table are to a view: filters, factors, keys |
//! | `answer/` | what is read of a view |
//! | `delta` | how a transaction changes a result, as a Z-set of rows |
//! | `part/` | a part whose keys are the rows of an answer |

pub mod answer;
mod delta;
mod engine;
pub mod fields;
pub mod read;
pub mod result_table;
mod rows;
mod view;

pub use answer::{Answer, Cell, Cursor, Key, KeyValue, Position};
pub use delta::{Context, Delta, is_readable};
pub use engine::{Candidate, Cost, Engine, Refusal};
pub use rows::{FactorRows, ProductDelta, RowDelta};
pub use view::{View, multiplied_out};
