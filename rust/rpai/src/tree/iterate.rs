//! Entries in order.
//!
//! Invariant: the path leads to the next entry, or behind the last of its leaf. Cost: O(1) amortised
//! an entry.

use super::read::{Path, Step};
use super::{DEEPEST, RpaiTree, Tie};
use crate::cut::Cut;
use crate::key::Key;
use crate::payload::Payload;

/// The entries of a tree in order: key, tie, payload.
#[derive(Clone, Debug)]
pub struct Iter<'a, K, P, T> {
    tree: &'a RpaiTree<K, P, T>,
    path: Path<K>,
}

impl<K: Key, P: Payload, T: Tie> RpaiTree<K, P, T> {
    /// All entries in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, P, T> {
        Iter::new(self, None)
    }

    /// The entries above a cut, in order. The first O(log n), the next O(1) amortised.
    #[must_use]
    pub fn iter_from(&self, cut: &Cut<K, T>) -> Iter<'_, K, P, T> {
        Iter::new(self, Some(cut))
    }
}

impl<'a, K: Key, P: Payload, T: Tie> Iter<'a, K, P, T> {
    /// From the first entry above a cut on, or from the first.
    fn new(tree: &'a RpaiTree<K, P, T>, cut: Option<&Cut<K, T>>) -> Self {
        if let Some(cut) = cut {
            let path = tree.locate(cut);
            return Self { tree, path };
        }
        let root = Step {
            node: tree.root,
            at: 0,
            base: tree.base,
        };
        let inner = [root; DEEPEST];
        let mut all = Self {
            tree,
            path: Path { inner, leaf: root },
        };
        all.descend(0, root);
        all
    }

    /// Takes the first path down from a node.
    fn descend(&mut self, level: usize, mut step: Step<K>) {
        self.tree.steps.count(self.tree.height + 1 - level);
        for taken in &mut self.path.inner[level..self.tree.height] {
            *taken = step;
            let node = &self.tree.inners[step.node];
            step.base = step.base.offset_by(node.offsets[step.at as usize]);
            step.node = node.children[step.at as usize];
            step.at = 0;
        }
        self.path.leaf = step;
    }

    /// Moves to the next leaf; returns whether there is one.
    fn next_leaf(&mut self) -> bool {
        for level in (0..self.tree.height).rev() {
            let mut step = self.path.inner[level];
            step.at += 1;
            if (step.at as usize) < self.tree.inners[step.node].entries.len {
                self.descend(level, step);
                return true;
            }
        }
        false
    }
}

impl<K: Key, P: Payload, T: Tie> Iterator for Iter<'_, K, P, T> {
    type Item = (K, T, P);

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.tree.entry_at(&self.path.leaf);
        if entry.is_none() && !self.next_leaf() {
            return None;
        }
        self.tree.steps.count(1);
        let entry = self.tree.entry_at(&self.path.leaf);
        self.path.leaf.at += 1;
        entry
    }
}
