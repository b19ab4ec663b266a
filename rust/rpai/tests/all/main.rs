//! The tests of the crate, in one program.

#[path = "../common/mod.rs"]
mod common;
mod costs;
mod keys;
mod machine;
mod numbers;
mod pai_map;
mod random;
mod tree;
