//! Deltas along compiled paths over hand-made relations, against brute force.

mod branches;
mod common;
mod paths;
mod steps;
mod streams;
