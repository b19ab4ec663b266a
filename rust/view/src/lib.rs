//! What every kind of view can do, whatever keeps it fresh: the floor that all engines stand on.
//!
//! | module | holds |
//! |---|---|
//! | `fields` | variables as the fields of keys |
//! | `read/` | what rows of a table are to a view: filters, factors, keys |
//! | `answer/` | what is read of a view, and who is told what moved in it |

pub mod answer;
pub mod fields;
pub mod read;
