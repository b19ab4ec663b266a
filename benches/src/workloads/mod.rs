//! Workloads: a stream of rows, and the query over the natural join of its relations.
//!
//! One file a stream: its generator, the relations that change, the argument of the sum, and the programs that were
//! written for it by hand.

mod housing;
mod retailer;
mod retailer_fact;
mod triangles;

pub(crate) use triangles::{OwnTriangles, RELATIONS, Triangles};

use std::path::PathBuf;

use crate::common::data::{Dataset, Order};
use crate::common::system::System;

/// Size of a stream, and its source.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    /// One in so many rows is there.
    pub(crate) share: usize,
    /// Rows a postcode, of Housing.
    pub(crate) scale: usize,
    /// A file of edges for the triangles, in the place of generated ones.
    pub(crate) edges: Option<PathBuf>,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            share: 1,
            scale: housing::SCALE,
            edges: None,
        }
    }
}

/// A program written for one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByHand {
    /// The ceiling, keys mapped by arrays.
    Arrays,
    /// The ceiling, keys mapped by hash tables.
    Tables,
    /// Base relations and no views.
    FirstOrder,
}

/// A column by its name, of the relation at a place.
pub(crate) type Column = (usize, &'static str);

/// Relations, and how they stream.
pub(crate) trait Stream: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its rows. An error says which file is not what it should be.
    fn generate(&self, order: Order, size: &Size) -> Result<Dataset, String>;

    /// The relations loaded before the clock starts, in an order that suits every system.
    fn loaded(&self) -> &'static [usize] {
        &[]
    }

    /// The relations that stream, in the order of the round robin.
    fn streamed(&self) -> &'static [usize];

    /// The column that is summed; without one the query is the count alone.
    fn summed(&self) -> Option<&'static str>;

    /// Whether the scale sets its size.
    fn is_scaled(&self) -> bool {
        false
    }

    /// Whether its join is a cycle, whose views indicator projections bound.
    fn is_cyclic(&self) -> bool {
        false
    }

    /// For a self-join of one relation: the columns that are equal, by the places of the relation. The query is its
    /// count alone.
    fn own_join(&self) -> Option<&'static [[Column; 2]]> {
        None
    }

    /// An empty program for its sum, if one was written.
    fn by_hand(&self, program: ByHand) -> Option<Box<dyn System>>;
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
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) stream: &'static dyn Stream,
    pub(crate) asked: Asked,
}

const STREAMS: [&dyn Stream; 5] = [
    &retailer::Retailer,
    &retailer_fact::RetailerFact,
    &housing::Housing,
    &Triangles,
    &OwnTriangles,
];
const ASKED: [(Asked, &str); 4] = [
    (Asked::Sum, ""),
    (Asked::Real, "-float"),
    (Asked::Cofactor, "-cofactor"),
    (Asked::Join, "-join"),
];

impl Workload {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        STREAMS
            .into_iter()
            .flat_map(|stream| ASKED.map(|(asked, _)| Self { stream, asked }))
            .filter(|one| one.asked == Asked::Sum || one.stream.own_join().is_none())
    }

    pub(crate) fn name(self) -> String {
        let suffix = ASKED.iter().find(|(asked, _)| *asked == self.asked);
        let suffix = suffix.map_or("", |(_, suffix)| suffix);
        format!("{}{suffix}", self.stream.name())
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let found = Self::all().find(|workload| workload.name() == text);
        found.ok_or(format!("unknown workload {text}"))
    }
}
