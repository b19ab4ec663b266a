//! Expressions.
mod duck;
