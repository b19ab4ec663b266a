//! Interface of every kind of view, whatever keeps it fresh: the base of all engines.
//!
//! | module | holds |
//! |---|---|
//! | `view` | [`View`]: it takes rows, and keeps or undoes them |
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
