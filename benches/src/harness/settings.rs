//! Settings of one run: the matrix of workloads, orders, batch sizes and systems, and the passes over each stream.

use super::roster::SystemName;
use crate::common::data::Order;
use crate::workloads::{Size, Workload};

/// One pass over the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Every batch inserted.
    Insert,
    /// Every batch deleted, the last one first: each step undoes one of the insertion.
    DeleteBack,
    /// Every batch deleted, the first one first: the dimensions leave while the facts are still there.
    DeleteAgain,
}

impl Phase {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::DeleteBack => "delete-back",
            Self::DeleteAgain => "delete-again",
        }
    }

    pub(crate) fn parse_deletes(text: &str) -> Result<Self, String> {
        match text {
            "back" => Ok(Self::DeleteBack),
            "again" => Ok(Self::DeleteAgain),
            _ => Err(format!("unknown way to delete: {text}")),
        }
    }
}

/// The matrix of one run.
pub(crate) struct Settings {
    pub(crate) workloads: Vec<Workload>,
    pub(crate) orders: Vec<Order>,
    pub(crate) batches: Vec<usize>,
    pub(crate) systems: Vec<SystemName>,
    pub(crate) repeat: usize,
    pub(crate) seconds: Option<f64>,
    pub(crate) deletes: Option<Phase>,
    pub(crate) size: Size,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workloads: Workload::all().collect(),
            orders: vec![Order::Sorted, Order::Shuffled],
            batches: vec![1_000],
            systems: SystemName::ALL.into(),
            repeat: 1,
            seconds: None,
            deletes: None,
            size: Size::default(),
        }
    }
}
