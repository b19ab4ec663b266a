//! Cost of a change on its path to the root: the siblings probed by key, and those walked.
//!
//! A delta at a node binds its keys. A sibling whose keys are all bound, or follow from unique
//! keys, yields at most one match: O(1). Any other is walked, group by group, and then its keys are
//! bound too (the paper's example 4.1). Siblings that lack the very same keys are intersected: for
//! each tuple the one with the smallest group is walked and the others are probed. Cost: quadratic
//! in the siblings, a few.

use crate::graph::hypergraph::Hypergraph;
use crate::graph::set::Set;

/// A view, as a delta meets it.
#[derive(Clone, Copy, Debug)]
pub struct Sibling {
    /// The variables that it keeps.
    pub keys: Set,
    /// The atoms that make it up.
    pub atoms: Set,
}

/// Access of a delta to its matches in one sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// By its whole key.
    One,
    /// By a part of its key that determines the rest: at most one match a tuple.
    Unique(Set),
    /// All matches of what is known.
    Group(Set),
    /// At most one match a tuple, or the matches of what is known in the place of the group before,
    /// whichever are fewer.
    Either(Set),
}

/// Joins a delta over `known` with the siblings, those that do not widen it first.
pub fn probes(graph: &Hypergraph, mut known: Set, siblings: &[Sibling]) -> Vec<(usize, Probe)> {
    let mut open: Vec<usize> = (0..siblings.len()).collect();
    let mut done = Vec::with_capacity(siblings.len());
    while !open.is_empty() {
        let keys = |at: &usize| siblings[open[*at]].keys;
        let whole = (0..open.len()).find(|at| keys(at).is_subset(known));
        let determined = |at: &usize| {
            let Sibling { keys, atoms } = siblings[open[*at]];
            keys.is_subset(graph.closure(known, atoms))
        };
        let one = whole.or_else(|| (0..open.len()).find(determined));
        let id = open.remove(one.unwrap_or_else(|| narrowest(known, &open, siblings)));
        let keys = siblings[id].keys;
        if one.is_some() {
            done.push((
                id,
                if whole.is_some() {
                    Probe::One
                } else {
                    Probe::Unique(known & keys)
                },
            ));
            known |= keys;
            continue;
        }
        done.push((id, Probe::Group(known & keys)));
        let meets = known.meets(keys);
        open.retain(|other| {
            let others = siblings[*other].keys;
            let is_intersected = meets && others.meets(known) && others - known == keys - known;
            if is_intersected {
                done.push((*other, Probe::Either(known & others)));
            }
            !is_intersected
        });
        known |= keys;
    }
    done
}

/// The sibling with the fewest unbound keys; one without a bound key is last.
fn narrowest(known: Set, open: &[usize], siblings: &[Sibling]) -> usize {
    let rank = |at: &usize| {
        let keys = siblings[open[*at]].keys;
        (!keys.meets(known), (keys - known).len())
    };
    (0..open.len()).min_by_key(rank).unwrap_or(0)
}
