//! Walks over the entries, in their order or against it.
//!
//! Invariant: a walk has a node of each level, and what is left of it. Cost: O(log n) to begin, O(1) amortised an entry.

use std::ops::Bound;
use std::slice::Iter;

use super::{Leaf, Node, Tree};

/// Entries in their order.
#[derive(Debug)]
pub(crate) struct Forward<'t, K> {
    nodes: Vec<Iter<'t, Node<K>>>,
    leaf: &'t Leaf<K>,
    /// The next entry of the leaf.
    at: usize,
    width: usize,
}

/// Entries against their order.
#[derive(Debug)]
pub(crate) struct Backward<'t, K> {
    nodes: Vec<Iter<'t, Node<K>>>,
    leaf: Iter<'t, (K, i64)>,
}

impl<K: Ord> Tree<K> {
    /// The entries from a bound on.
    pub(crate) fn forward(&self, from: Bound<&K>) -> Forward<'_, K> {
        let (mut nodes, mut node) = (Vec::new(), &self.root);
        loop {
            match node {
                Node::Inner(inner) => {
                    let at = match from {
                        Bound::Unbounded => 0,
                        Bound::Included(key) | Bound::Excluded(key) => inner.child(key),
                    };
                    nodes.push(inner.children[at + 1..].iter());
                    node = &inner.children[at];
                }
                Node::Leaf(leaf) => {
                    let at = leaf.entries.partition_point(|(key, _)| match from {
                        Bound::Unbounded => false,
                        Bound::Included(from) => key < from,
                        Bound::Excluded(from) => key <= from,
                    });
                    return Forward {
                        nodes,
                        leaf,
                        at,
                        width: self.width,
                    };
                }
            }
        }
    }

    /// The entries before a bound, the last one first.
    pub(crate) fn backward(&self, to: Bound<&K>) -> Backward<'_, K> {
        let (mut nodes, mut node) = (Vec::new(), &self.root);
        loop {
            match node {
                Node::Inner(inner) => {
                    let at = match to {
                        Bound::Unbounded => inner.children.len() - 1,
                        Bound::Included(key) | Bound::Excluded(key) => inner.child(key),
                    };
                    nodes.push(inner.children[..at].iter());
                    node = &inner.children[at];
                }
                Node::Leaf(leaf) => {
                    let at = leaf.entries.partition_point(|(key, _)| match to {
                        Bound::Unbounded => true,
                        Bound::Included(to) => key <= to,
                        Bound::Excluded(to) => key < to,
                    });
                    let leaf = leaf.entries[..at].iter();
                    return Backward { nodes, leaf };
                }
            }
        }
    }
}

impl<'t, K> Forward<'t, K> {
    /// The next entry with its weights.
    pub(crate) fn next_weighed(&mut self) -> Option<(&'t K, i64, &'t [i128])> {
        loop {
            if let Some((key, copies)) = self.leaf.entries.get(self.at) {
                let from = self.at * self.width;
                self.at += 1;
                return Some((key, *copies, &self.leaf.weights[from..from + self.width]));
            }
            match self.nodes.last_mut()?.next() {
                None => drop(self.nodes.pop()),
                Some(Node::Leaf(leaf)) => (self.leaf, self.at) = (leaf, 0),
                Some(Node::Inner(inner)) => self.nodes.push(inner.children.iter()),
            }
        }
    }
}

impl<'t, K> Iterator for Forward<'t, K> {
    type Item = (&'t K, i64);

    fn next(&mut self) -> Option<Self::Item> {
        self.next_weighed().map(|(key, copies, _)| (key, copies))
    }
}

impl<'t, K> Iterator for Backward<'t, K> {
    type Item = (&'t K, i64);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, copies)) = self.leaf.next_back() {
                return Some((key, *copies));
            }
            match self.nodes.last_mut()?.next_back() {
                None => drop(self.nodes.pop()),
                Some(Node::Leaf(leaf)) => self.leaf = leaf.entries.iter(),
                Some(Node::Inner(inner)) => self.nodes.push(inner.children.iter()),
            }
        }
    }
}
