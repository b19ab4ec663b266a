//! Plans of bound queries, and their explanations.

mod binding;
mod common;
mod explain;
mod exponents;
mod measures;
mod paper;
mod properties;
mod tpch;
