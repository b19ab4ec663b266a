//! Results of a node, which has a state of its own or is a facet of another.
//!
//! Invariant: the node that a facet is answered from exists as long as the facet does, and has its terms. Cost: a node
//! is found in O(log nodes).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use arrow_array::RecordBatch;
use ringview_core::{Budget, Dictionary, Result, Type};
use ringview_explain::{Explanation, MergedSums};
use ringview_view::result_table::GroupAnswer;
use ringview_view::result_table::partial::Since;
use ringview_view::{Answer, Delta, View};

use super::Graph;
use super::node::{Node, NodeState};

/// Readable result of a node.
pub(crate) enum NodeAnswer<'n> {
    /// Of a state of its own.
    Own(&'n dyn Answer),
    /// Of a facet.
    Facet(GroupAnswer<'n>),
}

impl<'n> Deref for NodeAnswer<'n> {
    type Target = dyn Answer + 'n;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Own(answer) => *answer,
            Self::Facet(answer) => answer,
        }
    }
}

impl<'n> NodeAnswer<'n> {
    /// As [`Answer::key_columns`], for as long as the node is there.
    pub(crate) fn key_columns(&self) -> Result<Vec<(&'n str, &'n Type)>> {
        match self {
            Self::Own(answer) => answer.key_columns(),
            Self::Facet(answer) => Ok(answer.0.key_columns()),
        }
    }
}

impl Node {
    /// Its readable result; `find` finds other nodes.
    pub(crate) fn answer_among<'n>(
        &'n self,
        find: impl Fn(u64) -> Option<&'n Self>,
    ) -> NodeAnswer<'n> {
        let (of, facet) = match &self.state {
            NodeState::View(view) => return NodeAnswer::Own(view.answer()),
            NodeState::Facet(of, facet) => (*of, facet),
        };
        let groups = find(of).and_then(|union| union.groups_of(facet));
        match groups {
            Some(groups) => NodeAnswer::Facet(facet.answer(groups)),
            None => unreachable!("a facet has the node of its groups"),
        }
    }
}

impl Graph {
    /// A node by its number.
    pub(crate) fn node(&self, id: u64) -> Option<&Node> {
        self.position(id).map(|at| &self.nodes[at])
    }

    /// Readable result of a node.
    pub(crate) fn answer<'n>(&'n self, node: &'n Node) -> NodeAnswer<'n> {
        node.answer_among(|id| self.node(id))
    }

    /// The node whose state a node is answered from: itself, or that of its groups.
    pub(crate) fn maintained<'n>(&'n self, node: &'n Node) -> &'n Node {
        let union = node.answered_from().and_then(|of| self.node(of));
        union.unwrap_or(node)
    }

    /// The state that a node is answered from.
    pub(crate) fn state_of<'n>(&'n self, node: &'n Node) -> &'n dyn View {
        match self.maintained(node).view() {
            Some(view) => view,
            None => unreachable!("a facet has the node of its groups"),
        }
    }

    /// Partial of a node for the view of its query over more rows, or the part that the running transaction adds.
    pub(crate) fn partial(
        &self,
        node: &Node,
        since: Since,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        let state = self.state_of(node);
        match &node.state {
            NodeState::Facet(_, facet) => match state.groups(facet.grouping()) {
                Some(groups) => facet.partial(&node.bound, groups, since, reading),
                None => Ok(Vec::new()),
            },
            NodeState::View(_) => state.partial(&node.bound, since, reading),
        }
    }

    /// Explanation of a node, with the current rows and bytes of each view of its tree.
    pub(crate) fn explanation(&self, node: &Node) -> Explanation {
        let state = self.state_of(node);
        let explained = match &node.state {
            NodeState::View(_) => state.explanation(),
            NodeState::Facet(of, facet) => {
                let union = self.node(*of).and_then(|union| union.union.as_ref());
                let all = 0..union.map_or(0, |union| union.bounds.len());
                let names: Vec<Vec<String>> =
                    all.map(|at| self.readers_by(*of, at, None)).collect();
                state.explanation_of(facet.grouping(), &names)
            }
        };
        Explanation {
            view: Some(node.name.clone()),
            query: serde_json::to_value(node.asked()).ok(),
            ..node.description.with(explained)
        }
    }

    /// The sums that are kept beside those of a facet, by the same groups, if there are any.
    pub(crate) fn merged(&self, node: &Node) -> Option<MergedSums> {
        let NodeState::Facet(of, facet) = &node.state else {
            return None;
        };
        let groupings = self.node(*of)?.union.as_ref()?;
        let with = self.readers_by(*of, facet.grouping(), Some(node.id));
        (!with.is_empty()).then_some(MergedSums {
            with,
            own: node.bound.terms.len(),
            all: groupings.bounds[facet.grouping()].terms.len(),
        })
    }

    /// The views, and blocks of views, that read a grouping of a node.
    fn readers_by(&self, union: u64, grouping: usize, but: Option<u64>) -> Vec<String> {
        let reads = |node: &&Node| match &node.state {
            NodeState::Facet(_, facet) => facet.grouping() == grouping && Some(node.id) != but,
            NodeState::View(_) => false,
        };
        let mut names = Vec::new();
        for node in self.facets_of(union).filter(reads) {
            let before = names.len();
            names.extend(self.declared_as(node.id).map(|view| view.name.clone()));
            if names.len() == before {
                names.push(self.label(node));
            }
        }
        names
    }

    /// Checks the invariants of all nodes; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub(crate) fn check(&self) {
        for node in &self.nodes {
            match &node.state {
                NodeState::View(view) => view.check(),
                NodeState::Facet(of, facet) => {
                    let union = self.node(*of).and_then(|union| union.union.as_ref());
                    let found = union.and_then(|union| union.find(&node.bound));
                    assert_eq!(
                        found,
                        Some((facet.grouping(), facet.terms().to_vec())),
                        "the terms of a facet"
                    );
                }
            }
        }
        let ascending = |ids: &[u64]| ids.is_sorted_by(|one, other| one < other);
        let nodes: Vec<u64> = self.nodes.iter().map(|node| node.id).collect();
        let declared: Vec<u64> = self.declared.iter().map(|view| view.id).collect();
        assert!(
            ascending(&nodes) && ascending(&declared),
            "the order of numbers"
        );
        let placed: usize = self.levels.iter().map(Vec::len).sum();
        assert_eq!(placed, nodes.len(), "every node has its turn");
        for node in 0..self.nodes.len() {
            let mut below = self.below_node(node);
            assert!(
                below.all(|read| self.is_below(read, node)),
                "a node is prepared behind those that it reads"
            );
        }
    }

    /// Ends the changes of a transaction in a facet, whose groups have ended them.
    pub(crate) fn prepare_facet(
        &mut self,
        at: usize,
        union: usize,
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<Delta> {
        match self.nodes.get_disjoint_mut([at, union]) {
            Ok([node, union]) => node.prepare(Some(union), dictionary, budget),
            Err(_) => unreachable!("a facet is not its own union"),
        }
    }

    /// The facets of a node, oldest first.
    pub(crate) fn facets_of(&self, union: u64) -> impl Iterator<Item = &Node> {
        let facets = self.node(union).map(|union| &union.facets);
        facets.into_iter().flatten().map(|&at| &self.nodes[at])
    }

    /// Whether a facet is the oldest of its node, to which the state of that is counted.
    pub(crate) fn is_first_facet(&self, node: &Node) -> bool {
        let union = node.answered_from();
        let first = union.and_then(|of| self.facets_of(of).next());
        first.is_some_and(|first| first.id == node.id)
    }

    /// Drops the terms that no facet reads any more, where an engine can. O(keys of the nodes that have such terms).
    pub(crate) fn shed(&mut self) {
        let mut read: BTreeMap<(u64, usize), BTreeSet<usize>> = BTreeMap::new();
        for node in &self.nodes {
            if let NodeState::Facet(of, facet) = &node.state {
                // The count stays.
                let terms = facet.terms().iter().copied().chain([0]);
                let own = read.entry((*of, facet.grouping())).or_default();
                own.extend(terms);
            }
        }
        let mut fewer = BTreeMap::new();
        for node in &mut self.nodes {
            let Some(groupings) = &node.union else {
                continue;
            };
            let marks = groupings.bounds.iter().enumerate().map(|(at, bound)| {
                let terms = read.get(&(node.id, at))?;
                let all = 0..bound.terms.len();
                Some(all.map(|term| terms.contains(&term)).collect())
            });
            let marks: Vec<Option<Vec<bool>>> = marks.collect();
            if node.retain_terms(&marks) {
                fewer.extend(node.union.clone().map(|groupings| (node.id, groupings)));
            }
        }
        for node in &mut self.nodes {
            let of = node.answered_from();
            if let Some((of, groupings)) = of.and_then(|of| fewer.get_key_value(&of)) {
                node.refer_to(*of, groupings);
            }
        }
    }
}
