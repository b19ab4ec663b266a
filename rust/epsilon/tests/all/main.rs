//! IVM^eps: every query against brute force, transactions, counted steps.

mod common;
mod costs;
mod graph;
mod loads;
mod rings;
mod rows;
mod streams;
mod transactions;
mod whole;
