//! Expansions, one by one and summed by group, against exact arithmetic.

mod numbers;
mod sums;
mod whole;
