//! Plans: what a bound query becomes, and what is told of it.

mod binding;
mod common;
mod explain;
mod exponents;
mod measures;
mod paper;
mod properties;
mod tpch;
