//! Views over views and blocks.

#[path = "../common/mod.rs"]
mod common;

mod cases;
mod failures;
mod names;
mod random;
mod replace;
mod write;
