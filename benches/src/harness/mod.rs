//! A run: the matrix of workloads, orders, batch sizes and systems, the clock, and the lines that it prints.

mod measure;
mod roster;
mod settings;

pub(crate) use measure::matrix;
pub(crate) use roster::SystemName;
pub(crate) use settings::{Phase, Settings};
