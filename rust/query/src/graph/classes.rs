//! The classes of a query that say what changes and reading must cost, each with what it fails by.
//!
//! Each is decided by its definition over the hypergraph: alpha-acyclic and free-connex by GYO
//! reductions, without and with an edge over the free variables; hierarchical if any two variables
//! have nested or disjoint sets of relations; q-hierarchical if moreover no free variable's set
//! lies strictly within a bound one's (Berkholz, Keppeler, Schweikardt: without self-joins these
//! are exactly the queries with O(1) changes and constant delay). Variables local to one relation
//! and bound are not in the hypergraph; they change none of these. Invariant: what a class fails by
//! is a counterexample to its definition. Cost: quadratic in the variables.

use crate::graph::hypergraph::{Hypergraph, core};
use crate::graph::set::Set;

/// Reason why a query is not in a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counterexample {
    /// The class within which it lies fails already.
    Wider,
    /// These edges form a cycle.
    Cycle(Vec<usize>),
    /// These edges form a cycle with the edge of the free variables.
    CycleWithHead(Vec<usize>),
    /// The first variable is in the first edge without the second, the second in the last edge
    /// without the first, and both are in the edge between.
    Crossing {
        /// The variables.
        variables: [usize; 2],
        /// The edges.
        edges: [usize; 3],
    },
    /// The first variable is free, the second is not; the first edge has both, the other only the
    /// second.
    Buried {
        /// The variables.
        variables: [usize; 2],
        /// The edges.
        edges: [usize; 2],
    },
}

/// The classes of a query: nothing where it is of the class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Joined by a tree.
    pub acyclic: Option<Counterexample>,
    /// Acyclic, and still so with an edge over the free variables.
    pub free_connex: Option<Counterexample>,
    /// Any two variables have nested or disjoint sets of edges.
    pub hierarchical: Option<Counterexample>,
    /// Hierarchical, and no free variable's edges lie strictly within a bound one's.
    pub q_hierarchical: Option<Counterexample>,
}

impl Classes {
    /// Classifies a query.
    #[must_use]
    pub fn new(graph: &Hypergraph) -> Classes {
        let acyclic = acyclic(graph);
        let hierarchical = crossing(graph);
        let wider = Some(Counterexample::Wider);
        Classes {
            free_connex: match acyclic {
                None => cycle_with_head(graph),
                Some(_) => wider.clone(),
            },
            q_hierarchical: match hierarchical {
                None => buried(graph),
                Some(_) => wider,
            },
            acyclic,
            hierarchical,
        }
    }
}

fn acyclic(graph: &Hypergraph) -> Option<Counterexample> {
    let cycle = core(&graph.edges);
    (!cycle.is_empty()).then_some(Counterexample::Cycle(cycle))
}

fn cycle_with_head(graph: &Hypergraph) -> Option<Counterexample> {
    let mut edges = graph.edges.clone();
    edges.push(graph.free);
    let mut cycle = core(&edges);
    cycle.retain(|edge| *edge < graph.edges.len());
    (!cycle.is_empty()).then_some(Counterexample::CycleWithHead(cycle))
}

fn crossing(graph: &Hypergraph) -> Option<Counterexample> {
    let of = &graph.atoms;
    let crosses = |x: Set, y: Set| x.meets(y) && !x.is_subset(y) && !y.is_subset(x);
    let (x, y) = (0..of.len()).find_map(|x| {
        let y = (0..of.len()).find(|y| crosses(of[x], of[*y]))?;
        Some((x, y))
    })?;
    let edges = [of[x] - of[y], of[x] & of[y], of[y] - of[x]];
    Some(Counterexample::Crossing {
        variables: [x, y],
        edges: edges.map(|set| set.iter().next().unwrap_or_default()),
    })
}

fn buried(graph: &Hypergraph) -> Option<Counterexample> {
    let of = &graph.atoms;
    let bound = |y: &usize| !graph.free.contains(*y);
    let (x, y) = graph.free.iter().find_map(|x| {
        let over = |y: &usize| of[x].is_subset(of[*y]) && of[x] != of[*y];
        let y = (0..of.len()).filter(bound).find(over)?;
        Some((x, y))
    })?;
    let edges = [of[x], of[y] - of[x]];
    Some(Counterexample::Buried {
        variables: [x, y],
        edges: edges.map(|set| set.iter().next().unwrap_or_default()),
    })
}
