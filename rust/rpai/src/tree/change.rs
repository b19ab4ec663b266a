//! Changes of single entries.
//!
//! Invariant: a change is refused before anything has moved, or done in whole: payload, sums on the
//! path, weight, and the widths of nodes. An entry whose payload becomes zero is removed. Cost:
//! O(log n); a node is split or evened out with its neighbour at most once a level.

use ringview_core::{Error, Result};

use super::arena::Arena;
use super::journal::Undo;
use super::node::{FILL, Inner, LEAST, Node};
use super::read::Path;
use super::{RpaiTree, Tie};
use crate::cut::Cut;
use crate::key::Key;
use crate::payload::{Payload, WIDTH};

pub(crate) fn overflow(place: &str) -> Error {
    Error::Overflow {
        place: format!("{place} of an index"),
    }
}

impl<K: Key, P: Payload, T: Tie> RpaiTree<K, P, T> {
    /// Logs changes from now on, until a commit or a rollback.
    pub fn begin(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// Keeps the changes since `begin`. O(1).
    pub fn commit(&mut self) {
        self.journal = None;
    }

    /// Undoes the changes since `begin`. O(changes log n).
    pub fn rollback(&mut self) {
        let journal = self.journal.take().unwrap_or_default();
        for undo in journal.into_iter().rev() {
            match undo {
                Undo::Payload { key, tie, old } => {
                    let undone = self.put(key, tie, old);
                    debug_assert!(undone.is_ok(), "what fitted fits again");
                }
                Undo::Slide {
                    first: (key, tie),
                    by,
                } => self.slide_above(&Cut::before_entry(key, tie), K::ZERO.relative_to(by)),
            }
        }
    }

    /// Adds to the payload of an entry; one that is not there counts as zero. O(log n).
    ///
    /// # Errors
    /// `Overflow` if the payload does not fit, or the sum of all magnitudes.
    pub fn add(&mut self, key: K, tie: T, payload: P) -> Result<()> {
        self.alter(key, tie, |old| old.plus(payload).map(|new| (new, payload)))?;
        Ok(())
    }

    /// The same; returns the payload before and the one now.
    pub(crate) fn add_returning(&mut self, key: K, tie: T, payload: P) -> Result<(P, P)> {
        let mut now = P::ZERO;
        let before = self.alter(key, tie, |old| {
            now = old.plus(payload)?;
            Some((now, payload))
        })?;
        Ok((before.unwrap_or(P::ZERO), now))
    }

    /// Gives an entry a payload, and returns the one it had. O(log n).
    ///
    /// # Errors
    /// `Overflow` if the sum of all magnitudes does not fit.
    pub fn put(&mut self, key: K, tie: T, payload: P) -> Result<Option<P>> {
        self.alter(key, tie, |old| Some((payload, payload.without(old))))
    }

    /// Removes an entry, and returns the payload it had. O(log n).
    pub fn remove(&mut self, key: K, tie: T) -> Option<P> {
        // Nothing grows that could overflow.
        self.put(key, tie, P::ZERO).ok().flatten()
    }

    /// Replaces the payload of an entry by what `change` makes of it, with the difference; returns
    /// the one before.
    #[inline]
    fn alter(
        &mut self,
        key: K,
        tie: T,
        change: impl FnOnce(P) -> Option<(P, P)>,
    ) -> Result<Option<P>> {
        let path = self.locate(&Cut::before_entry(key, tie));
        let found = self.entry_at(&path.leaf);
        let found = found.filter(|(at, of, _)| *at == key && *of == tie);
        let before = found.map(|(_, _, payload)| payload);
        let old = before.unwrap_or(P::ZERO);
        let (new, delta) = change(old).ok_or_else(|| overflow("a payload"))?;
        let weight = self.weight_with(old, new);
        self.weight = weight.ok_or_else(|| overflow("the sum of magnitudes"))?;
        if let Some(journal) = &mut self.journal {
            journal.push(Undo::Payload { key, tie, old });
        }
        match (before.is_some(), new.is_zero()) {
            (true, false) => {
                self.add_to_sums(&path, delta);
                self.leaves[path.leaf.node].payloads[path.leaf.at as usize] = new;
            }
            (true, true) => self.remove_entry(&path, delta),
            (false, false) => self.insert_entry(path, (key, tie, new)),
            (false, true) => {}
        }
        Ok(before)
    }

    /// The sum of magnitudes once a payload is another.
    fn weight_with(&self, old: P, new: P) -> Option<P> {
        let rest = self.weight.without(old.magnitude()?);
        rest.plus(new.magnitude()?)
    }

    #[inline]
    fn add_to_sums(&mut self, path: &Path<K>, delta: P) {
        self.total = self.total.with(delta);
        for step in &path.inner[..self.height] {
            let sum = &mut self.inners[step.node].entries.payloads[step.at as usize];
            *sum = sum.with(delta);
        }
    }

    /// Inserts an entry at the end of its path.
    fn insert_entry(&mut self, mut path: Path<K>, (key, tie, payload): (K, T, P)) {
        while self.leaves[path.leaf.node].len == WIDTH {
            self.split_on(&path);
            path = self.locate(&Cut::before_entry(key, tie));
        }
        self.add_to_sums(&path, payload);
        self.len += 1;
        let step = path.leaf;
        let leaf = &mut self.leaves[step.node];
        let is_last = step.at as usize == leaf.len;
        leaf.insert(step.at as usize, key.relative_to(step.base), tie, payload);
        if is_last {
            // Only behind all entries, so the path has the last child everywhere.
            for step in &path.inner[..self.height] {
                let entries = &mut self.inners[step.node].entries;
                entries.keys[step.at as usize] = key.relative_to(step.base);
                entries.ties[step.at as usize] = tie;
            }
        }
    }

    /// Splits the highest node of a path below which all are full; a path is split as often as it has
    /// full nodes.
    fn split_on(&mut self, path: &Path<K>) {
        let full = |level: usize| self.inners[path.inner[level].node].entries.len == WIDTH;
        let with_capacity = (0..self.height).rev().find(|&level| !full(level));
        let (parent, at, level) = match with_capacity {
            Some(level) => {
                let step = path.inner[level];
                (step.node, step.at as usize, level + 1)
            }
            None => (self.raise(), 0, 1),
        };
        let child = self.inners[parent].children[at];
        let right = match level == self.height {
            true => split(&mut self.leaves, child),
            false => split(&mut self.inners, child),
        };
        let node = &mut self.inners[parent];
        // The greatest entry of the whole is that of its right half.
        let entry = (node.entries.keys[at], node.entries.ties[at], P::ZERO);
        node.insert(at + 1, entry, node.offsets[at], right);
        self.describe(parent, at, level);
        self.describe(parent, at + 1, level);
    }

    /// A new root above the root.
    fn raise(&mut self) -> u32 {
        let old = self.entries_of(0, self.root);
        let last = old.len - 1;
        let mut root = Inner::empty();
        let entry = (old.keys[last], old.ties[last], self.total);
        root.insert(0, entry, K::ZERO, self.root);
        self.root = self.inners.add(root);
        self.height += 1;
        self.root
    }

    /// Updates the entry of a child in its parent: its greatest entry and its sum.
    fn describe(&mut self, parent: u32, at: usize, level: usize) {
        let child = self.entries_of(level, self.inners[parent].children[at]);
        let last = child.len - 1;
        let (key, tie, sum) = (child.keys[last], child.ties[last], child.sum());
        let node = &mut self.inners[parent];
        node.entries.keys[at] = key.offset_by(node.offsets[at]);
        node.entries.ties[at] = tie;
        node.entries.payloads[at] = sum;
    }

    /// Removes the entry at the end of a path; `delta` takes its payload out of the sums.
    fn remove_entry(&mut self, path: &Path<K>, delta: P) {
        self.add_to_sums(path, delta);
        self.len -= 1;
        let (leaf, at) = (path.leaf.node, path.leaf.at as usize);
        self.leaves[leaf].remove(at);
        if at == self.leaves[leaf].len && at > 0 {
            self.lower_last(path);
        }
        for level in (0..self.height).rev() {
            let step = path.inner[level];
            let at = step.at as usize;
            let child = self.inners[step.node].children[at];
            if self.entries_of(level + 1, child).len >= LEAST {
                break;
            }
            self.even_out(step.node, at.saturating_sub(1), level + 1);
        }
        while self.height > 0 && self.inners[self.root].entries.len == 1 {
            let root = &self.inners[self.root];
            let (child, offset) = (root.children[0], root.offsets[0]);
            self.inners.release(self.root);
            self.root = child;
            self.base = self.base.offset_by(offset);
            self.height -= 1;
        }
        if self.len == 0 {
            // No residue of reals is left, nor the base of former keys.
            (self.total, self.weight, self.base) = (P::ZERO, P::ZERO, K::ZERO);
        }
    }

    /// The last entry of the leaf of a path was removed: updates its ancestors, as far as it was the
    /// last there too.
    fn lower_last(&mut self, path: &Path<K>) {
        let leaf = &self.leaves[path.leaf.node];
        let last = leaf.len - 1;
        let (key, tie) = (leaf.keys[last].offset_by(path.leaf.base), leaf.ties[last]);
        for step in path.inner[..self.height].iter().rev() {
            let entries = &mut self.inners[step.node].entries;
            let at = step.at as usize;
            entries.keys[at] = key.relative_to(step.base);
            entries.ties[at] = tie;
            if at + 1 < entries.len {
                break;
            }
        }
    }

    /// Two neighbouring children of a node become one, or equally wide.
    fn even_out(&mut self, parent: u32, left: usize, level: usize) {
        self.steps.count(2);
        let node = &self.inners[parent];
        let (a, b) = (node.children[left], node.children[left + 1]);
        let distance = node.offsets[left + 1].relative_to(node.offsets[left]);
        let merged = match level == self.height {
            true => even_out(&mut self.leaves, a, b, distance),
            false => even_out(&mut self.inners, a, b, distance),
        };
        if merged {
            self.inners[parent].remove(left + 1);
        } else {
            self.describe(parent, left + 1, level);
        }
        self.describe(parent, left, level);
    }
}

/// Moves half of a node's entries to a new one to its right.
fn split<K: Key, P: Payload, T: Tie, N: Node<K, P, T>>(arena: &mut Arena<N>, child: u32) -> u32 {
    let mut right = N::empty();
    right.take_last_of(&mut arena[child], WIDTH / 2, K::ZERO);
    arena.add(right)
}

/// Evens two neighbours out, `distance` being the base of the second relative to the first's; whether
/// the first has all.
fn even_out<K: Key, P: Payload, T: Tie, N: Node<K, P, T>>(
    arena: &mut Arena<N>,
    first: u32,
    second: u32,
    distance: K,
) -> bool {
    let (left, right) = arena.pair(first, second);
    let (mine, theirs) = (left.entries().len, right.entries().len);
    if mine + theirs <= FILL {
        left.take_first_of(right, theirs, distance);
        arena.release(second);
        return true;
    }
    let half = (mine + theirs) / 2;
    match mine < half {
        true => left.take_first_of(right, half - mine, distance),
        false => right.take_last_of(left, mine - half, K::ZERO.relative_to(distance)),
    }
    false
}
