//! The system that is measured: ringview, and its queries.

mod engine;
mod query;

pub(crate) use engine::{Engine, Variant};
