//! Common parts: relations and their batches, the units of a measurement, and the trait of every measured system.

pub(crate) mod clock;
pub(crate) mod data;
pub(crate) mod system;
