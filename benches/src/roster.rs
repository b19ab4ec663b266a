//! The systems that can be measured, and which program stands behind each for a workload.

use crate::data::Dataset;
use crate::engine::{Engine, Form};
use crate::first_order;
use crate::handwritten::{fact::Fact, housing::Housing, retailer::Retailer};
use crate::strategies;
use crate::system::System;
use crate::table::{Arrays, Tables};
use crate::workload::{Asked, Stream, Workload};

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
    /// A view for each connected subquery that a delta asks for.
    Recursive,
    /// Base rows and no views.
    FirstOrder,
}

impl SystemName {
    pub(crate) const ALL: [Self; 9] = [
        Self::HandwrittenArrays,
        Self::HandwrittenTables,
        Self::RingviewTrusted,
        Self::RingviewChecked,
        Self::RingviewScalars,
        Self::RingviewPlain,
        Self::RingviewListing,
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
        let engine = |trusted: bool, form: Form| -> Option<Box<dyn System>> {
            Some(Box::new(Engine::new(workload, data, trusted, form)))
        };
        match (self, workload.asked) {
            (S::RingviewTrusted, _) => return engine(true, Form::Whole),
            (S::RingviewChecked, _) => return engine(false, Form::Whole),
            (S::RingviewScalars, Cofactor) => return engine(true, Form::Numbers),
            (S::RingviewPlain, Sum | Cofactor) if workload.stream == Stream::Triangles => {
                return engine(true, Form::Plain);
            }
            (S::RingviewListing, Join) => return engine(true, Form::Listing),
            (S::FirstOrder, Cofactor) => return Some(Box::new(strategies::FirstOrder::new(data))),
            (S::Recursive, Cofactor) => {
                let streamed = workload.streamed();
                return Some(Box::new(strategies::Recursive::new(data, streamed)));
            }
            (_, Sum) => {}
            _ => return None,
        }
        // What is written by hand is written for sums.
        Some(match (self, workload.stream) {
            (S::HandwrittenArrays, Stream::Retailer) => Box::new(Retailer::<Arrays>::new()),
            (S::HandwrittenArrays, Stream::RetailerFact) => Box::new(Fact::<Arrays>::new()),
            (S::HandwrittenArrays, Stream::Housing) => Box::new(Housing::<Arrays>::new()),
            (S::HandwrittenTables, Stream::Retailer) => Box::new(Retailer::<Tables>::new()),
            (S::HandwrittenTables, Stream::RetailerFact) => Box::new(Fact::<Tables>::new()),
            (S::HandwrittenTables, Stream::Housing) => Box::new(Housing::<Tables>::new()),
            (S::FirstOrder, Stream::Retailer | Stream::RetailerFact) => {
                Box::new(first_order::Retailer::new())
            }
            (S::FirstOrder, Stream::Housing) => Box::new(first_order::Housing::new()),
            (S::FirstOrder, Stream::Triangles) => Box::new(first_order::Triangles::default()),
            _ => return None,
        })
    }
}
