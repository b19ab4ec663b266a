//! COPY: how its rows are written and read.
//!
//! | file | holds |
//! |---|---|
//! | `format` | what a COPY says of its format |
//! | `written` | rows as lines of text and CSV, and as tuples |
//! | `reader` | rows from what a client sends, bit by bit |
//! | `lines` | lines and their fields |
//! | `tuples` | tuples of the binary format |
//! | `store` | the values of a column on their way to an array |
//! | `value` | values from texts |
//! | `moment` | days and moments from texts |
//!
//! Invariant: what is written is read back as itself, in each format. Cost: linear in the bytes; memory for the rows that were
//! read, and one line.

pub mod format;
mod lines;
mod moment;
pub mod reader;
mod store;
mod tuples;
mod value;
pub mod written;
