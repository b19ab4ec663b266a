//! The systems that can be measured, and the program of each for a workload.

use crate::baselines::strategies;
use crate::common::data::Dataset;
use crate::common::system::System;
use crate::ringview::{Engine, Variant};
use crate::workloads::{Asked, ByHand, Workload};

/// A way of keeping the result fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemName {
    HandwrittenArrays,
    HandwrittenTables,
    /// The engine, deletes trusted: one payload, or rows kept factorised.
    RingviewTrusted,
    /// The engine with base rows, every delete checked.
    RingviewChecked,
    /// The same views, with a number for each entry of the matrix.
    RingviewScalars,
    /// Without indicator projections.
    RingviewPlain,
    /// Rows as a listing.
    RingviewListing,
    /// By heavy and light parts, deletes trusted.
    RingviewEpsilon,
    /// A view for each connected subquery that a delta reads.
    Recursive,
    /// Base rows and no views.
    FirstOrder,
}

impl SystemName {
    pub(crate) const ALL: [Self; 10] = [
        Self::HandwrittenArrays,
        Self::HandwrittenTables,
        Self::RingviewTrusted,
        Self::RingviewChecked,
        Self::RingviewScalars,
        Self::RingviewPlain,
        Self::RingviewListing,
        Self::RingviewEpsilon,
        Self::Recursive,
        Self::FirstOrder,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HandwrittenArrays => "handwritten-arrays",
            Self::HandwrittenTables => "handwritten-tables",
            Self::RingviewTrusted => "ringview-trusted",
            Self::RingviewChecked => "ringview-checked",
            Self::RingviewScalars => "ringview-scalars",
            Self::RingviewPlain => "ringview-plain",
            Self::RingviewListing => "ringview-listing",
            Self::RingviewEpsilon => "ringview-epsilon",
            Self::Recursive => "recursive",
            Self::FirstOrder => "first-order",
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|s| s.name() == text)
            .ok_or(format!("unknown system {text}"))
    }

    /// An empty system for the workload; `None` where there is no such program.
    pub(crate) fn build(self, workload: Workload, data: &Dataset) -> Option<Box<dyn System>> {
        use Asked::{Cofactor, Join, Sum};
        use SystemName as S;
        let engine = |trusted: bool, variant: Variant| -> Option<Box<dyn System>> {
            Some(Box::new(Engine::new(workload, data, trusted, variant)))
        };
        // Programs written by hand are written for sums.
        let by_hand = |program| workload.stream.by_hand(program);
        let is_cyclic = workload.stream.is_cyclic();
        match (self, workload.asked) {
            (S::RingviewTrusted, _) => engine(true, Variant::Whole),
            (S::RingviewChecked, _) => engine(false, Variant::Whole),
            (S::RingviewScalars, Cofactor) => engine(true, Variant::Numbers),
            (S::RingviewPlain, Sum | Cofactor) if is_cyclic => engine(true, Variant::Plain),
            (S::RingviewEpsilon, Sum) if is_cyclic => engine(true, Variant::HeavyLight),
            (S::RingviewListing, Join) => engine(true, Variant::Listing),
            (S::FirstOrder, Cofactor) => Some(Box::new(strategies::FirstOrder::new(data))),
            (S::Recursive, Cofactor) => {
                let streamed = workload.stream.streamed();
                Some(Box::new(strategies::Recursive::new(data, streamed)))
            }
            (S::HandwrittenArrays, Sum) => by_hand(ByHand::Arrays),
            (S::HandwrittenTables, Sum) => by_hand(ByHand::Tables),
            (S::FirstOrder, Sum) => by_hand(ByHand::FirstOrder),
            _ => None,
        }
    }
}
