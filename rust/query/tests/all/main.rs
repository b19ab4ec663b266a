//! The logical query: binding, blocks, subqueries, decompositions.

mod blocks;
mod ghd;
mod large;
mod nested;
