//! Samples of joins against brute force: uniform by chi-square, exact in their counts, bounded in steps.

mod bags;
mod common;
mod index;
mod merge;
mod reservoir;
mod sample;
mod uniform;
