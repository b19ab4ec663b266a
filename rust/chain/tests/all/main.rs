//! Matrix chains: products, factored updates, what is explained.

mod chain;
mod explain;
mod matrix;
