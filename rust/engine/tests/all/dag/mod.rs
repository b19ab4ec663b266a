//! Views over views and blocks.

mod cases;
mod failures;
mod names;
mod random;
mod replace;
mod sharing;
mod write;
