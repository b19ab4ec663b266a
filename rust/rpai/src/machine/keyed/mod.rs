//! Partition of a query by keys.

pub(crate) mod local;
pub(crate) mod shape;
