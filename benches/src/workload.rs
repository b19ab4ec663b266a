//! What can be measured: a stream of rows, and what is asked of the natural join of its relations.

use crate::data::{Dataset, Order, edges, housing, retailer};
use crate::settings::Settings;

/// The relations and which of them stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Retailer, all relations changing.
    Retailer,
    /// The same; only Inventory changes, the rest is loaded before the clock.
    RetailerFact,
    /// Housing, all relations changing.
    Housing,
    /// The edges of a graph as R(a, b), S(b, c) and T(c, a), all changing.
    Triangles,
}

/// The query over the natural join of all relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// One SUM with the count beside it; of triangles the count alone.
    Sum,
    /// The same, of doubles: one and a half times the column.
    Real,
    /// The degree-m matrix of all columns.
    Cofactor,
    /// Its rows.
    Join,
}

/// A query over a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Workload {
    pub(crate) stream: Stream,
    pub(crate) asked: Asked,
}

const STREAMS: [(Stream, &str); 4] = [
    (Stream::Retailer, "retailer"),
    (Stream::RetailerFact, "retailer-fact"),
    (Stream::Housing, "housing"),
    (Stream::Triangles, "triangles"),
];
const ASKED: [(Asked, &str); 4] = [
    (Asked::Sum, ""),
    (Asked::Real, "-float"),
    (Asked::Cofactor, "-cofactor"),
    (Asked::Join, "-join"),
];

impl Workload {
    /// All of them, with their names.
    pub(crate) fn all() -> impl Iterator<Item = (Self, String)> {
        STREAMS.into_iter().flat_map(|(stream, name)| {
            ASKED.into_iter().map(move |(asked, suffix)| {
                let workload = Self { stream, asked };
                (workload, format!("{name}{suffix}"))
            })
        })
    }

    pub(crate) fn name(self) -> String {
        let mut all = Self::all();
        all.find(|(workload, _)| *workload == self)
            .map(|(_, name)| name)
            .expect("every workload has a name")
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::all()
            .find(|(_, name)| name == text)
            .map(|(workload, _)| workload)
            .ok_or(format!("unknown workload {text}"))
    }

    pub(crate) fn generate(self, order: Order, settings: &Settings) -> Result<Dataset, String> {
        let share = settings.share;
        match self.stream {
            Stream::Housing => Ok(housing::generate(order, settings.scale, share)),
            Stream::Triangles => edges::generate(order, settings.edges.as_deref(), share),
            _ => Ok(retailer::generate(order, share)),
        }
    }

    /// The relations loaded before the clock starts, in an order that suits every system.
    pub(crate) fn loaded(self) -> &'static [usize] {
        match self.stream {
            Stream::RetailerFact => &[2, 1, 3, 4],
            _ => &[],
        }
    }

    /// The relations that stream, in the order of the round robin.
    pub(crate) fn streamed(self) -> &'static [usize] {
        match self.stream {
            Stream::Retailer => &[0, 1, 2, 3, 4],
            Stream::RetailerFact => &[0],
            Stream::Housing => &[0, 1, 2, 3, 4, 5],
            Stream::Triangles => &[0, 1, 2],
        }
    }
}
