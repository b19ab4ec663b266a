//! Deltas along compiled paths over hand-made relations, against brute force.

mod common;
mod paths;
mod steps;
mod streams;
