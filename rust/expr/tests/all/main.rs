//! Meanings of expressions, and refusals.

mod meaning;
mod page;
mod refused;
mod round_trip;
mod user;
