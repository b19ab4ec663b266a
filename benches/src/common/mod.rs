//! What all else speaks of: relations and their batches, what a measurement is taken by, and what every measured system offers.

pub(crate) mod clock;
pub(crate) mod data;
pub(crate) mod system;
