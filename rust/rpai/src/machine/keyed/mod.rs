//! Where and how a query falls into parts by keys.

pub(crate) mod local;
pub(crate) mod shape;
