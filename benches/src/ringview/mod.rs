//! The system that is measured: ringview, and the queries that it is asked.

mod engine;
mod query;

pub(crate) use engine::{Engine, Variant};
