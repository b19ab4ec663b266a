//! What is read of a node, whether it has a state of its own or is a facet of another.
//!
//! Invariant: the node that a facet is answered from is there as long as the facet is, and has its terms. Cost: a node
//! is found in O(log nodes).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use arrow_array::RecordBatch;
use ringview_core::{Budget, Dictionary, Result, Type};
use ringview_explain::{Explanation, MergedSums};
use ringview_view::part::GroupAnswer;
use ringview_view::{Answer, Delta, View};

use super::Graph;
use super::node::{Kept, Node};

/// What can be read of a node.
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
    /// What can be read of it, among others.
    pub(crate) fn answer_among<'n>(
        &'n self,
        find: impl Fn(u64) -> Option<&'n Self>,
    ) -> NodeAnswer<'n> {
        let (of, facet) = match &self.kept {
            Kept::View(view) => return NodeAnswer::Own(view.answer()),
            Kept::Facet(of, facet) => (*of, facet),
        };
        let groups = find(of).and_then(|union| union.view()?.groups());
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

    /// What can be read of a node.
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

    /// What a node adds to the view of its query over more rows.
    pub(crate) fn partial(
        &self,
        node: &Node,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        let state = self.state_of(node);
        match (&node.kept, state.groups()) {
            (Kept::Facet(_, facet), Some(groups)) => facet.partial(&node.bound, groups, reading),
            _ => state.partial(&node.bound, reading),
        }
    }

    /// How a node is maintained, and what each view of its tree holds now.
    pub(crate) fn explanation(&self, node: &Node) -> Explanation {
        Explanation {
            view: Some(node.name.clone()),
            query: serde_json::to_value(node.asked()).ok(),
            ..node.description.with(self.state_of(node).explanation())
        }
    }

    /// The sums that are kept beside those of a facet, if there are any.
    pub(crate) fn merged(&self, node: &Node) -> Option<MergedSums> {
        let union = self.node(node.answered_from()?)?;
        let others = self.facets_of(union.id).filter(|other| other.id != node.id);
        let mut with = Vec::new();
        for other in others {
            let names = self.declared_as(other.id).map(|view| view.name.clone());
            let before = with.len();
            with.extend(names);
            if with.len() == before {
                with.push(self.label(other));
            }
        }
        (!with.is_empty()).then_some(MergedSums {
            with,
            own: node.bound.terms.len(),
            all: union.bound.terms.len(),
        })
    }

    /// Checks the invariants of all nodes; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub(crate) fn check(&self) {
        for node in &self.nodes {
            match &node.kept {
                Kept::View(view) => view.check(),
                Kept::Facet(of, facet) => {
                    let union = self.node(*of).map(|union| &union.bound);
                    let terms = union.and_then(|bound| node.bound.terms_in(bound));
                    assert_eq!(
                        terms.as_deref(),
                        Some(facet.terms()),
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
    }

    /// Ends the changes of a transaction in a facet, whose groups have ended them.
    pub(crate) fn prepare_facet(
        &mut self,
        at: usize,
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<Delta> {
        let union = self.nodes[at].answered_from();
        let Some(union) = union.and_then(|of| self.position(of)) else {
            unreachable!("a facet has the node of its groups");
        };
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

    /// Lets go of the terms that no facet reads any more, where an engine can. O(keys of the nodes that have such terms).
    pub(crate) fn shed(&mut self) {
        let mut read: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
        for node in &self.nodes {
            if let Kept::Facet(of, facet) = &node.kept {
                // The count stays.
                let terms = facet.terms().iter().copied().chain([0]);
                read.entry(*of).or_default().extend(terms);
            }
        }
        let mut fewer = BTreeMap::new();
        for node in &mut self.nodes {
            let all = node.bound.terms.len();
            let Some(terms) = read.get(&node.id).filter(|terms| terms.len() < all) else {
                continue;
            };
            let marks: Vec<bool> = (0..all).map(|term| terms.contains(&term)).collect();
            if node
                .view_mut()
                .is_some_and(|view| view.retain_terms(&marks))
            {
                node.bound.retain_terms(&marks);
                node.atoms.clone_from(&node.bound.atoms);
                fewer.insert(node.id, node.bound.clone());
            }
        }
        for node in &mut self.nodes {
            let of = node.answered_from();
            if let Some((of, bound)) = of.and_then(|of| fewer.get_key_value(&of)) {
                node.refer_to(*of, bound);
            }
        }
    }
}
