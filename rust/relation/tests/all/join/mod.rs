//! Deltas along compiled paths over hand-made relations, against brute force.

mod branches;
mod common;
mod paths;
mod siblings;
mod steps;
mod streams;
