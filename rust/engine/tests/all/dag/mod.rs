//! Views over views and blocks.

mod cases;
mod failures;
mod inner;
mod merging;
mod merging_random;
mod names;
mod random;
mod replace;
mod sharing;
mod write;
