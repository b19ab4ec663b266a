//! Reading: one path down the tree, with the base of each node on it.
//!
//! Invariant: the path leads to the first entry above a cut, or behind the last. Cost: O(log n).

use super::node::{Entries, Node};
use super::{DEEPEST, RpaiTree, Tie};
use crate::cut::Cut;
use crate::key::Key;
use crate::payload::Payload;

/// A node on the path, the child that the path takes, and the base of the node's keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<K> {
    pub(super) node: u32,
    pub(super) at: u32,
    pub(super) base: K,
}

/// The path to a position in a leaf: inner nodes from the root down, then the leaf.
#[derive(Clone, Debug)]
pub(super) struct Path<K> {
    pub(super) inner: [Step<K>; DEEPEST],
    pub(super) leaf: Step<K>,
}

impl<K: Key, P: Payload, T: Tie> RpaiTree<K, P, T> {
    /// The path to the first entry above a cut; behind the last entry if there is none.
    #[inline]
    pub(super) fn locate(&self, cut: &Cut<K, T>) -> Path<K> {
        let mut step = Step {
            node: self.root,
            at: 0,
            base: self.base,
        };
        let mut inner = [step; DEEPEST];
        let mut level = 0;
        for taken in &mut inner[..self.height] {
            let node = &self.inners[step.node];
            let last = node.entries.len - 1;
            let at = node.entries.rank(step.base, cut).min(last);
            step.at = at as u32;
            *taken = step;
            step.base = step.base.offset_by(node.offsets[at]);
            step.node = node.children[at];
            level += 1;
            self.entries_of(level, step.node).fetch(false);
        }
        step.at = self.leaves[step.node].rank(step.base, cut) as u32;
        self.steps.count(self.height + 1);
        Path { inner, leaf: step }
    }

    /// The entries of a node so many levels below the root.
    pub(super) fn entries_of(&self, level: usize, node: u32) -> &Entries<K, P, T> {
        if level == self.height {
            return &self.leaves[node];
        }
        &self.inners[node].entries
    }

    /// The entry at the end of a path, if there is one.
    #[inline]
    pub(super) fn entry_at(&self, leaf: &Step<K>) -> Option<(K, T, P)> {
        let entries = &self.leaves[leaf.node];
        let at = leaf.at as usize;
        (at < entries.len).then(|| {
            let key = entries.keys[at].offset_by(leaf.base);
            (key, entries.ties[at], entries.payloads[at])
        })
    }

    /// The payload of an entry. O(log n).
    #[must_use]
    pub fn get(&self, key: K, tie: T) -> Option<P> {
        let (found, of, payload) = self.successor(&Cut::before_entry(key, tie))?;
        (found == key && of == tie).then_some(payload)
    }

    /// The sum of the payloads below a cut. O(log n).
    #[must_use]
    #[inline]
    pub fn prefix_sum(&self, cut: &Cut<K, T>) -> P {
        let (mut sum, mut node, mut base) = (P::ZERO, self.root, self.base);
        self.steps.count(self.height + 1);
        for level in 1..=self.height {
            let inner = &self.inners[node];
            let at = inner.entries.rank(base, cut);
            if at < inner.entries.len {
                self.entries_of(level, inner.children[at]).fetch(true);
            }
            sum = sum.with(inner.entries.sum_before(at));
            if at == inner.entries.len {
                return sum;
            }
            base = base.offset_by(inner.offsets[at]);
            node = inner.children[at];
        }
        let leaf = &self.leaves[node];
        sum.with(leaf.sum_before(leaf.rank(base, cut)))
    }

    /// The sum of the payloads above one cut and below another; zero if they are the other way
    /// round. O(log n).
    #[must_use]
    pub fn sum_between(&self, above: &Cut<K, T>, below: &Cut<K, T>) -> P {
        match self.successor(above) {
            Some((key, tie, _)) if below.is_above(&key, &tie) => {
                self.prefix_sum(below).without(self.prefix_sum(above))
            }
            _ => P::ZERO,
        }
    }

    /// The first entry at which the running sum, that entry's payload included, satisfies
    /// `reached`, with the running sum before it. `reached` must stay true once it is, as it does
    /// where payloads are not negative in what it looks at. O(log n).
    #[inline]
    pub fn select(&self, reached: impl FnMut(P) -> bool) -> Option<(K, T, P)> {
        let (key, tie, before, _) = self.select_entry(reached)?;
        Some((key, tie, before))
    }

    /// The same, with the entry's payload.
    #[inline]
    pub(crate) fn select_entry(&self, mut reached: impl FnMut(P) -> bool) -> Option<(K, T, P, P)> {
        self.steps.count(self.height + 1);
        if self.is_empty() || !reached(self.total) {
            return None;
        }
        let (mut sum, mut node, mut base) = (P::ZERO, self.root, self.base);
        for _ in 0..self.height {
            let inner = &self.inners[node];
            let at = first(inner.entries(), &mut sum, &mut reached);
            base = base.offset_by(inner.offsets[at]);
            node = inner.children[at];
        }
        let leaf = &self.leaves[node];
        let at = first(leaf, &mut sum, &mut reached);
        Some((
            leaf.keys[at].offset_by(base),
            leaf.ties[at],
            sum,
            leaf.payloads[at],
        ))
    }

    /// The first entry. O(log n).
    #[must_use]
    pub fn first(&self) -> Option<(K, T, P)> {
        self.iter().next()
    }

    /// The last entry. O(log n).
    #[must_use]
    pub fn last(&self) -> Option<(K, T, P)> {
        let (mut node, mut base) = (self.root, self.base);
        self.steps.count(self.height + 1);
        for _ in 0..self.height {
            let inner = &self.inners[node];
            let at = inner.entries.len - 1;
            base = base.offset_by(inner.offsets[at]);
            node = inner.children[at];
        }
        let leaf = &self.leaves[node];
        let at = leaf.len.checked_sub(1)?;
        Some((
            leaf.keys[at].offset_by(base),
            leaf.ties[at],
            leaf.payloads[at],
        ))
    }

    /// The first entry above a cut. O(log n).
    #[must_use]
    pub fn successor(&self, cut: &Cut<K, T>) -> Option<(K, T, P)> {
        self.entry_at(&self.locate(cut).leaf)
    }

    /// The last entry below a cut. O(log n).
    #[must_use]
    pub fn predecessor(&self, cut: &Cut<K, T>) -> Option<(K, T, P)> {
        self.entry_before(&self.locate(cut))
    }

    /// The entry before the end of a path.
    #[inline]
    pub(super) fn entry_before(&self, path: &Path<K>) -> Option<(K, T, P)> {
        let mut leaf = path.leaf;
        if let Some(at) = leaf.at.checked_sub(1) {
            leaf.at = at;
            return self.entry_at(&leaf);
        }
        // The last entry of the subtree to the left of the path, where there is one.
        let level = (0..self.height)
            .rev()
            .find(|&level| path.inner[level].at > 0)?;
        self.steps.count(self.height - level);
        let step = path.inner[level];
        let (mut at, mut node, mut base) = (step.at as usize - 1, step.node, step.base);
        for below in level + 1..=self.height {
            let inner = &self.inners[node];
            base = base.offset_by(inner.offsets[at]);
            node = inner.children[at];
            at = self.entries_of(below, node).len - 1;
        }
        let at = at as u32;
        self.entry_at(&Step { node, at, base })
    }

    /// The greatest key. O(1): it is in the root.
    pub(super) fn greatest_key(&self) -> Option<K> {
        let root = self.entries_of(0, self.root);
        let last = root.len.checked_sub(1)?;
        Some(root.keys[last].offset_by(self.base))
    }
}

/// The first entry at which the running sum is enough; `sum` becomes the one before it.
#[inline(always)]
fn first<K: Key, P: Payload, T: Tie>(
    entries: &Entries<K, P, T>,
    sum: &mut P,
    reached: &mut impl FnMut(P) -> bool,
) -> usize {
    // The last reaches it.
    for (at, &payload) in entries.payloads[..entries.len - 1].iter().enumerate() {
        let next = sum.with(payload);
        if reached(next) {
            return at;
        }
        *sum = next;
    }
    entries.len - 1
}
