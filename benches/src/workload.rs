//! What can be measured: the workloads, the systems, and which program stands behind each pair.

use crate::data::{Dataset, Order, housing, retailer};
use crate::first_order;
use crate::handwritten::{fact::Fact, housing::Housing, retailer::Retailer};
use crate::strategies;
use crate::stream::Stream;
use crate::system::System;
use crate::table::{Arrays, Tables};

/// A query and which of its relations stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// `SUM(inventoryunits)` over Retailer, all relations changing.
    Retailer,
    /// The same; only Inventory changes, the rest is loaded before the clock.
    RetailerFact,
    /// `SUM(postcode)` (and the count beside it) over Housing.
    Housing,
    /// The cofactor matrix of the 43 attributes of Retailer, all relations changing.
    RetailerCofactor,
    /// The same; only Inventory changes.
    RetailerFactCofactor,
    /// The cofactor matrix of the 27 attributes of Housing.
    HousingCofactor,
}

impl Workload {
    const ALL: [Self; 6] = [
        Self::Retailer,
        Self::RetailerFact,
        Self::Housing,
        Self::RetailerCofactor,
        Self::RetailerFactCofactor,
        Self::HousingCofactor,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Retailer => "retailer",
            Self::RetailerFact => "retailer-fact",
            Self::Housing => "housing",
            Self::RetailerCofactor => "retailer-cofactor",
            Self::RetailerFactCofactor => "retailer-fact-cofactor",
            Self::HousingCofactor => "housing-cofactor",
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|w| w.name() == text)
            .ok_or(format!("unknown workload {text}"))
    }

    pub(crate) fn generate(self, order: Order, quick: bool) -> Dataset {
        match self {
            Self::Housing | Self::HousingCofactor => housing::generate(order, quick),
            _ => retailer::generate(order, quick),
        }
    }

    /// The relations loaded before the clock starts, in an order that suits every system.
    pub(crate) fn loaded(self) -> &'static [usize] {
        match self {
            Self::RetailerFact | Self::RetailerFactCofactor => &[2, 1, 3, 4],
            _ => &[],
        }
    }

    /// The relations that stream, in the order of the round robin.
    pub(crate) fn streamed(self) -> &'static [usize] {
        match self {
            Self::Retailer | Self::RetailerCofactor => &[0, 1, 2, 3, 4],
            Self::RetailerFact | Self::RetailerFactCofactor => &[0],
            Self::Housing | Self::HousingCofactor => &[0, 1, 2, 3, 4, 5],
        }
    }

    /// Whether the result is a cofactor matrix.
    pub(crate) fn is_cofactor(self) -> bool {
        matches!(
            self,
            Self::RetailerCofactor | Self::RetailerFactCofactor | Self::HousingCofactor
        )
    }
}

/// A way of keeping the result fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemName {
    HandwrittenArrays,
    HandwrittenTables,
    RingviewTrusted,
    RingviewChecked,
    FirstOrder,
    RingviewScalars,
    Recursive,
}

impl SystemName {
    const ALL: [Self; 7] = [
        Self::HandwrittenArrays,
        Self::HandwrittenTables,
        Self::RingviewTrusted,
        Self::RingviewChecked,
        Self::FirstOrder,
        Self::RingviewScalars,
        Self::Recursive,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HandwrittenArrays => "handwritten-arrays",
            Self::HandwrittenTables => "handwritten-tables",
            Self::RingviewTrusted => "ringview-trusted",
            Self::RingviewChecked => "ringview-checked",
            Self::FirstOrder => "first-order",
            Self::RingviewScalars => "ringview-scalars",
            Self::Recursive => "recursive",
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|s| s.name() == text)
            .ok_or(format!("unknown system {text}"))
    }

    /// An empty system for the workload; `None` if there is no such program.
    pub(crate) fn build(self, workload: Workload, data: &Dataset) -> Option<Box<dyn System>> {
        use Workload as W;
        Some(match (self, workload) {
            (Self::RingviewTrusted, _) => Box::new(Stream::new(workload, data, true)),
            (Self::RingviewChecked, _) => Box::new(Stream::new(workload, data, false)),
            (Self::RingviewScalars, _) if workload.is_cofactor() => {
                Box::new(Stream::of_scalars(workload, data))
            }
            (Self::FirstOrder, _) if workload.is_cofactor() => {
                Box::new(strategies::FirstOrder::new(data))
            }
            (Self::Recursive, _) if workload.is_cofactor() => {
                Box::new(strategies::Recursive::new(data, workload.streamed()))
            }
            (Self::HandwrittenArrays, W::Retailer) => Box::new(Retailer::<Arrays>::new()),
            (Self::HandwrittenArrays, W::RetailerFact) => Box::new(Fact::<Arrays>::new()),
            (Self::HandwrittenArrays, W::Housing) => Box::new(Housing::<Arrays>::new()),
            (Self::HandwrittenTables, W::Retailer) => Box::new(Retailer::<Tables>::new()),
            (Self::HandwrittenTables, W::RetailerFact) => Box::new(Fact::<Tables>::new()),
            (Self::HandwrittenTables, W::Housing) => Box::new(Housing::<Tables>::new()),
            (Self::FirstOrder, W::Retailer | W::RetailerFact) => {
                Box::new(first_order::Retailer::new())
            }
            (Self::FirstOrder, W::Housing) => Box::new(first_order::Housing::new()),
            _ => return None,
        })
    }
}

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
    pub(crate) quick: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workloads: Workload::ALL.into(),
            orders: vec![Order::Sorted, Order::Shuffled],
            batches: vec![1_000],
            systems: SystemName::ALL.into(),
            repeat: 1,
            seconds: None,
            deletes: None,
            quick: false,
        }
    }
}
