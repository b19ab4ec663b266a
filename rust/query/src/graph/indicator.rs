//! Relations that constrain a view from outside its subtree (paper, section 6, figure 7).
//!
//! A view over part of a cycle may hold far more keys than the whole query has. Joined with the
//! projections of relations that close the cycle, each key with the ring's one, it holds no more
//! than they do, and the result is the same: keys that they exclude would match nothing above.
//! Invariant: a relation is projected on all variables that it shares with the view, which are all
//! kept by the view, since the relation joins above. A view whose keys follow from those of one
//! child is no larger than that child and has none. Cost: one GYO reduction a view.

use crate::graph::hypergraph::{Hypergraph, core};
use crate::graph::set::Set;

/// The indicator projections of a view that joins `children`, given by their keys, over the atoms
/// `below`: those that form a cycle with the children. Each is an atom and its variables.
pub fn indicators(graph: &Hypergraph, children: &[Set], below: Set) -> Vec<(usize, Set)> {
    let joined = children
        .iter()
        .fold(Set::default(), |set, keys| set | *keys);
    let determines = |keys: &Set| joined.is_subset(graph.closure(*keys, below));
    if children.iter().any(determines) {
        return Vec::new();
    }
    let outside = (0..graph.edges.len()).filter(|atom| !below.contains(*atom));
    let mut candidates: Vec<(usize, Set)> = outside
        .map(|atom| (atom, graph.edges[atom] & joined))
        .filter(|(_, shared)| shared.len() > 1)
        .collect();
    // Of equal ones the first stays: one that never changes costs nothing.
    candidates.sort_by_key(|(atom, _)| graph.dynamic.contains(*atom));
    let projected = candidates.iter().map(|(_, shared)| *shared);
    let edges: Vec<Set> = children.iter().copied().chain(projected).collect();
    core(&edges)
        .into_iter()
        .filter_map(|edge| Some(candidates[edge.checked_sub(children.len())?]))
        .collect()
}
