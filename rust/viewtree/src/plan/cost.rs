//! Worst cost of a change of one row, as a power of the rows N of the tables: engines are ranked by it.
//! ranked by.
//!
//! On its way up a change has bound its own variables K, and those that unique keys derive from them. Siblings that it
//! meets by key cost O(1) a row; each group that it walks widens it to a join, whose rows on the variables behind K are
//! at most N^rho* (the AGM bound, with K fixed). Invariant: the exponent bounds the steps of every climb; it is 0
//! exactly where explanations call all changes constant. Cost: a small linear program a group that is walked.

use crate::plan::Plan;
use crate::plan::meetings::{Meeting, meetings};
use crate::plan::tree::relations;
use ringview_query::graph::cover::Covers;
use ringview_query::graph::hypergraph::Hypergraph;
use ringview_query::graph::probe::Probe;
use ringview_query::graph::set::Set;
use ringview_query::hypergraph;
use ringview_view::Cost;

impl Plan {
    /// Cost of the dearest change of one row, auxiliary trees included.
    pub(crate) fn dearest_change(&self) -> Cost {
        let graph = hypergraph(&self.atoms, &self.variables);
        let below = relations(&self.tree);
        let nodes = 0..self.tree.nodes.len();
        let met: Vec<Vec<Meeting>> = nodes
            .clone()
            .map(|node| meetings(&graph, &self.tree, &below, node))
            .collect();
        let changes = nodes.filter(|&node| {
            let of = self.tree.nodes[node]
                .atom
                .or(self.tree.nodes[node].indicator);
            of.is_some_and(|atom| graph.dynamic.contains(atom))
        });
        let climbs = changes.map(|leaf| self.exponent(leaf, &graph, (&below, &met)));
        let own = Cost::power(climbs.fold(0.0, f64::max));
        let features = self.features().into_iter();
        let beside = self
            .value_companions()
            .map(|(_, companion)| companion)
            .chain(features.flat_map(|features| features.companions()));
        beside.fold(own, |cost, companion| {
            let order = match companion.ordered {
                true => Cost::Logarithmic,
                false => Cost::Constant,
            };
            cost.and(companion.plan.dearest_change()).and(order)
        })
    }

    /// The exponent of a climb from a leaf.
    fn exponent(
        &self,
        leaf: usize,
        graph: &Hypergraph,
        (below, met): (&[Set], &[Vec<Meeting>]),
    ) -> f64 {
        let nodes = &self.tree.nodes;
        let keys = |node: usize| nodes[node].keys.iter().copied().collect::<Set>();
        let all: Set = (0..graph.edges.len()).collect();
        let known = graph.closure(keys(leaf), all);
        let edges: Vec<Set> = graph.edges.iter().map(|&edge| edge - known).collect();
        let mut covers = Covers::new(&edges);
        let (mut exponent, mut atoms, mut from) = (0.0f64, below[leaf], leaf);
        while let Some(parent) = nodes[from].parent() {
            let mut joined = keys(from);
            for meeting in &met[from] {
                atoms |= below[meeting.node];
                joined |= keys(meeting.node);
                if matches!(meeting.probe, Probe::Group(_)) {
                    exponent = exponent.max(covers.number(joined - known, atoms));
                }
            }
            from = parent;
        }
        exponent
    }
}
