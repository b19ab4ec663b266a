//! The edges of a graph as three relations, R(a, b), S(b, c) and T(c, a), whose natural join are its triangles.
//!
//! Or as one, E(a, b), that is joined with itself to E(a, b) E(b, c) E(c, a).
//!
//! They are read from a file, or generated: as many nodes and distinct edges as Epinions has, endpoints drawn with a
//! density of 1/sqrt(x), so that a few hubs have thousands of edges and most nodes a handful. No edge is a loop.

use std::collections::BTreeSet;
use std::path::Path;

use crate::baselines::first_order;
use crate::common::data::{Dataset, Order, Random, Relation};
use crate::common::system::System;
use crate::workloads::{ByHand, Column, Size, Stream};

const NODES: u64 = 75_879;
const EDGES: usize = 508_837;
/// The names of the relations and of their columns.
pub(crate) const RELATIONS: [(&str, [&str; 2]); 3] =
    [("R", ["a", "b"]), ("S", ["b", "c"]), ("T", ["c", "a"])];

/// The stream of the three, all changing.
pub(crate) struct Triangles;

impl Stream for Triangles {
    fn name(&self) -> &'static str {
        "triangles"
    }

    fn generate(&self, order: Order, size: &Size) -> Result<Dataset, String> {
        generate(order, size.edges.as_deref(), size.share)
    }

    fn streamed(&self) -> &'static [usize] {
        &[0, 1, 2]
    }

    fn summed(&self) -> Option<&'static str> {
        None
    }

    fn is_cyclic(&self) -> bool {
        true
    }

    fn by_hand(&self, program: ByHand) -> Option<Box<dyn System>> {
        match program {
            ByHand::Arrays | ByHand::Tables => None,
            ByHand::FirstOrder => Some(Box::new(first_order::Triangles::default())),
        }
    }
}

/// The stream of one relation that closes its own triangles.
pub(crate) struct OwnTriangles;

impl Stream for OwnTriangles {
    fn name(&self) -> &'static str {
        "triangles-own"
    }

    fn generate(&self, order: Order, size: &Size) -> Result<Dataset, String> {
        let columns = edges(size.edges.as_deref(), size.share)?;
        let relation = Relation {
            name: "E",
            names: ["a", "b"].map(str::to_owned).into(),
            columns: columns.into(),
        };
        Ok(Dataset::new(vec![relation], order))
    }

    fn streamed(&self) -> &'static [usize] {
        &[0]
    }

    fn summed(&self) -> Option<&'static str> {
        None
    }

    fn is_cyclic(&self) -> bool {
        true
    }

    fn own_join(&self) -> Option<&'static [[Column; 2]]> {
        Some(&[
            [(0, "b"), (1, "a")],
            [(1, "b"), (2, "a")],
            [(2, "b"), (0, "a")],
        ])
    }

    fn by_hand(&self, program: ByHand) -> Option<Box<dyn System>> {
        match program {
            ByHand::Arrays | ByHand::Tables => None,
            ByHand::FirstOrder => Some(Box::new(first_order::OwnTriangles::default())),
        }
    }
}

/// A file has the sources, then the targets, as raw little-endian int32; a share takes the first of them.
fn edges(file: Option<&Path>, share: usize) -> Result<[Vec<i32>; 2], String> {
    match file {
        Some(path) => read(path, share),
        None => Ok(skewed(NODES / share as u64, EDGES / share)),
    }
}

fn generate(order: Order, file: Option<&Path>, share: usize) -> Result<Dataset, String> {
    let columns = edges(file, share)?;
    let relation = |(name, names): (&'static str, [&str; 2])| Relation {
        name,
        names: names.map(str::to_owned).into(),
        columns: columns.to_vec(),
    };
    Ok(Dataset::new(RELATIONS.map(relation).into(), order))
}

fn read(path: &Path, share: usize) -> Result<[Vec<i32>; 2], String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
    if bytes.is_empty() || bytes.len() % 8 != 0 {
        return Err(failed(&"not the two columns of int32 that edges are"));
    }
    let words = bytes.chunks_exact(4);
    let mut sources: Vec<i32> = words
        .map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let edges = sources.len() / 2;
    let mut targets = sources.split_off(edges);
    sources.truncate(edges / share);
    targets.truncate(edges / share);
    Ok([sources, targets])
}

fn skewed(nodes: u64, edges: usize) -> [Vec<i32>; 2] {
    let mut random = Random::new(0xed6e);
    let mut node = || {
        // The square of a uniform number, in fixed point.
        let uniform = random.below(1 << 32);
        ((((uniform * uniform) >> 32) * nodes) >> 32) as i32
    };
    let mut found = BTreeSet::new();
    while found.len() < edges {
        let edge = (node(), node());
        if edge.0 != edge.1 {
            found.insert(edge);
        }
    }
    let (sources, targets) = found.into_iter().unzip();
    [sources, targets]
}
