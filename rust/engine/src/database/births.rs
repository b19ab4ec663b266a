//! The nodes of a birth, which are not known yet, beside those that are.
//!
//! Invariant: a node is either filled or pending, and is filled once. Cost: a look-up is O(nodes of the birth).

use std::collections::BTreeMap;

use ringview_query::Results;

use crate::graph::Graph;
use crate::graph::facets::NodeAnswer;
use crate::graph::node::Node;
use crate::plan::Source;

/// Rows for each that a filter lets through, by guess.
const FILTERED: u64 = 10;

/// See the module. The graph is the database's, taken out while it is read from.
#[derive(Default)]
pub(super) struct Births {
    /// Those that are filled.
    pub(super) family: Vec<Node>,
    /// Those that are filled when they are first read, with the names of their views.
    pub(super) pending: Vec<(String, Node)>,
    pub(super) graph: Graph,
    /// By node of a query that is answered once, its readers.
    readings: BTreeMap<u64, Reading>,
}

/// The readers of a node that has no rows yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// One atom, or one facet.
    Alone,
    /// Several with the same join: they meet the same groups.
    Alike,
    /// Several with different joins.
    Mixed,
}

impl Births {
    /// None yet, beside the nodes of a graph.
    pub(super) fn over(graph: Graph) -> Self {
        Self {
            graph,
            ..Self::default()
        }
    }

    /// The nodes that rows may be read from.
    pub(super) fn readable(&self) -> Readable<'_> {
        Readable {
            family: &self.family,
            pending: &self.pending,
            graph: &self.graph,
        }
    }

    /// A node, whether it is filled or not.
    pub(super) fn find(&self, id: u64) -> Option<&Node> {
        let pending = self.pending.iter().map(|(_, node)| node);
        let mut nodes = self.family.iter().chain(pending);
        let own = nodes.find(|node| node.id == id);
        own.or_else(|| self.graph.node(id))
    }

    /// Nodes that are filled when they are first read.
    pub(super) fn defer(&mut self, nodes: Vec<(String, Node)>) {
        let mut readers: BTreeMap<u64, Vec<&Node>> = BTreeMap::new();
        for (_, node) in &nodes {
            for id in node.reads().map(|id| self.graph.node_id(id)) {
                readers.entry(id).or_default().push(node);
            }
        }
        let reading = |(id, readers): (u64, Vec<&Node>)| {
            let (first, others) = readers.split_first()?;
            let alike = others.iter().all(|other| join_alike(first, other));
            let reading = match (others.is_empty(), alike) {
                (true, _) => Reading::Alone,
                (false, true) => Reading::Alike,
                (false, false) => Reading::Mixed,
            };
            Some((id, reading))
        };
        self.readings = readers.into_iter().filter_map(reading).collect();
        self.pending = nodes;
    }

    /// Takes a node out that is to be filled, if it is not yet: with the name of its view, and who reads it.
    pub(super) fn take_pending(&mut self, id: u64) -> Option<(String, Node, Reading)> {
        let mut pending = self.pending.iter();
        let at = pending.position(|(_, node)| node.id == id)?;
        let (name, node) = self.pending.remove(at);
        Some((name, node, self.reading_of(id)))
    }

    fn reading_of(&self, id: u64) -> Reading {
        let reading = self.readings.get(&id).copied();
        reading.unwrap_or(Reading::Alone)
    }

    /// The readers of a source that has no rows yet; `None` if it has rows.
    pub(super) fn reading(&self, source: Source) -> Option<Reading> {
        let Source::View(id) = source else {
            return None;
        };
        let pending = self.readable().pending(id)?;
        let groups = pending.answered_from();
        let groups = groups.map_or(Reading::Alone, |groups| self.reading_of(groups));
        Some(match (self.reading_of(pending.id), groups) {
            (own, Reading::Alone) => own,
            (Reading::Alone, groups) => groups,
            _ => Reading::Mixed,
        })
    }
}

/// Whether two nodes are over the same join of the same rows, and read each of them at one atom.
fn join_alike(one: &Node, other: &Node) -> bool {
    let joined = |node: &Node| {
        let variables = node.bound.variables.iter();
        let joined = variables.filter(|variable| variable.columns.len() > 1);
        let mut joined: Vec<_> = joined.map(|variable| variable.columns.clone()).collect();
        joined.sort();
        joined
    };
    let is_plain = |node: &Node| {
        let bound = &node.bound;
        let mut sources: Vec<Source> = node.sources().collect();
        sources.sort();
        sources.dedup();
        bound.rows.is_none()
            && bound.condition.is_none()
            && node.answered_from().is_none()
            && sources.len() == node.inputs.len()
    };
    let mut inputs = one.inputs.iter().zip(&other.inputs);
    is_plain(one)
        && is_plain(other)
        && one.inputs.len() == other.inputs.len()
        && joined(one) == joined(other)
        && inputs.all(|(one, other)| {
            one.source == other.source
                && one.atom.filter == other.atom.filter
                && one.atom.join_columns_not_null == other.atom.join_columns_not_null
        })
}

/// The nodes that rows may be read from while a node is filled.
#[derive(Clone, Copy)]
pub(super) struct Readable<'n> {
    /// Of the same birth, which are not known yet.
    pub(super) family: &'n [Node],
    pending: &'n [(String, Node)],
    pub(super) graph: &'n Graph,
}

impl<'n> Readable<'n> {
    fn find(&self, id: u64) -> Option<&'n Node> {
        let mut family = self.family.iter();
        let own = family.find(|node| node.id == id);
        own.or_else(|| self.graph.node(id))
    }

    /// The node of a view or block.
    pub(super) fn view(&self, id: u64) -> Option<&'n Node> {
        self.find(self.graph.node_id(id))
    }

    /// The same where it has no rows yet.
    pub(super) fn pending(&self, id: u64) -> Option<&'n Node> {
        let id = self.graph.node_id(id);
        let mut pending = self.pending.iter().map(|(_, node)| node);
        pending.find(|node| node.id == id)
    }

    /// The rows of its tables for one of a node that has none yet, by guess: it leaves most of them out where it has a
    /// filter.
    pub(super) fn share(&self, node: &Node) -> u64 {
        let has_filter = node.inputs.iter().any(|input| input.atom.filter.is_some());
        let results = node.bound.results.as_ref();
        match has_filter || results.is_some_and(Results::has_condition) {
            true => FILTERED,
            false => 1,
        }
    }

    pub(super) fn answer(&self, node: &'n Node) -> NodeAnswer<'n> {
        node.answer_among(|id| self.find(id))
    }
}
