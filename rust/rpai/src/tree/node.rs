//! Nodes: up to 32 entries side by side, in arrays of their own for keys, ties and payloads.
//!
//! Invariant: entries behind `len` are never read. In a leaf an entry is a key with its payload;
//! in an inner node it is a child: the greatest (key, tie) and the sum of payloads below it. Keys
//! are relative to the node's base, which its parent stores as an offset from its own base (the tree
//! for the root); so adding to an offset moves every key below it. Cost: each operation
//! O(width), without a branch an entry.

use ringview_core::prefetch;

use crate::cut::Cut;
use crate::key::Key;
use crate::payload::{Payload, WIDTH};

/// Entries of a node at least, unless it is the root.
pub(super) const LEAST: usize = 8;
/// Entries that two neighbours may have together to become one node, and that a built node has.
pub(super) const FILL: usize = 24;

/// The entries of a node.
#[derive(Clone, Debug)]
pub(super) struct Entries<K, P, T> {
    pub(super) len: usize,
    pub(super) keys: [K; WIDTH],
    pub(super) ties: [T; WIDTH],
    pub(super) payloads: [P; WIDTH],
}

/// An inner node: the entries are its children.
#[derive(Clone, Debug)]
pub(super) struct Inner<K, P, T> {
    pub(super) entries: Entries<K, P, T>,
    /// The base of each child, relative to this node's.
    pub(super) offsets: [K; WIDTH],
    pub(super) children: [u32; WIDTH],
}

/// Leaves and inner nodes: entries that can move to a neighbour.
pub(super) trait Node<K, P, T>: Clone {
    /// Without entries.
    fn empty() -> Self;
    fn entries(&self) -> &Entries<K, P, T>;
    /// The first `count` entries of `from`, right behind this node, become the last here. Their
    /// keys are `by` more relative to this node's base.
    fn take_first_of(&mut self, from: &mut Self, count: usize, by: K);
    /// The last `count` entries of `from`, right before this node, become the first here.
    fn take_last_of(&mut self, from: &mut Self, count: usize, by: K);
}

/// Moves the first `count` of `from` (of `lens.1`) behind those of `to` (of `lens.0`).
fn first_to_end<E: Copy>(
    to: &mut [E; WIDTH],
    from: &mut [E; WIDTH],
    lens: (usize, usize),
    count: usize,
) {
    to[lens.0..lens.0 + count].copy_from_slice(&from[..count]);
    from.copy_within(count..lens.1, 0);
}

/// Moves the last `count` of `from` (of `lens.1`) before those of `to` (of `lens.0`).
fn last_to_start<E: Copy>(
    to: &mut [E; WIDTH],
    from: &mut [E; WIDTH],
    lens: (usize, usize),
    count: usize,
) {
    to.copy_within(..lens.0, count);
    to[..count].copy_from_slice(&from[lens.1 - count..lens.1]);
}

fn insert<E: Copy>(into: &mut [E; WIDTH], len: usize, at: usize, entry: E) {
    into.copy_within(at..len, at + 1);
    into[at] = entry;
}

#[inline(always)]
fn move_all<K: Key>(keys: &mut [K], by: K) {
    for key in keys {
        *key = key.offset_by(by);
    }
}

impl<K: Key, P: Payload, T: Copy + Ord + Default> Entries<K, P, T> {
    /// Prefetches the keys, and the payloads where they will be summed, before they are
    /// searched.
    #[inline(always)]
    pub(super) fn fetch(&self, sums: bool) {
        for at in (0..WIDTH).step_by(8) {
            prefetch(&self.keys, at);
            if sums {
                prefetch(&self.payloads, at);
            }
        }
    }

    /// Number of entries below a cut, under a base.
    #[inline(always)]
    pub(super) fn rank(&self, base: K, cut: &Cut<K, T>) -> usize {
        let keys = &self.keys[..self.len];
        let bound = cut.key();
        let mut at = keys.partition_point(|key| key.offset_by(base) < bound);
        while at < self.len && keys[at].offset_by(base) == bound && cut.covers(&self.ties[at]) {
            at += 1;
        }
        at
    }

    /// The sum of the first so many payloads.
    #[inline(always)]
    pub(super) fn sum_before(&self, at: usize) -> P {
        P::sum_of_first(&self.payloads, at)
    }

    pub(super) fn sum(&self) -> P {
        self.sum_before(self.len)
    }

    pub(super) fn insert(&mut self, at: usize, key: K, tie: T, payload: P) {
        insert(&mut self.keys, self.len, at, key);
        insert(&mut self.ties, self.len, at, tie);
        insert(&mut self.payloads, self.len, at, payload);
        self.len += 1;
    }

    pub(super) fn remove(&mut self, at: usize) {
        self.keys.copy_within(at + 1..self.len, at);
        self.ties.copy_within(at + 1..self.len, at);
        self.payloads.copy_within(at + 1..self.len, at);
        self.len -= 1;
    }

    /// Moves the keys from a position on.
    #[inline(always)]
    pub(super) fn move_from(&mut self, at: usize, by: K) {
        move_all(&mut self.keys[at..self.len], by);
    }
}

impl<K: Key, P: Payload, T: Copy + Ord + Default> Node<K, P, T> for Entries<K, P, T> {
    fn empty() -> Self {
        Self {
            len: 0,
            keys: [K::ZERO; WIDTH],
            ties: [T::default(); WIDTH],
            payloads: [P::ZERO; WIDTH],
        }
    }

    fn entries(&self) -> &Entries<K, P, T> {
        self
    }

    fn take_first_of(&mut self, from: &mut Self, count: usize, by: K) {
        let lens = (self.len, from.len);
        move_all(&mut from.keys[..count], by);
        first_to_end(&mut self.keys, &mut from.keys, lens, count);
        first_to_end(&mut self.ties, &mut from.ties, lens, count);
        first_to_end(&mut self.payloads, &mut from.payloads, lens, count);
        (self.len, from.len) = (lens.0 + count, lens.1 - count);
    }

    fn take_last_of(&mut self, from: &mut Self, count: usize, by: K) {
        let lens = (self.len, from.len);
        move_all(&mut from.keys[lens.1 - count..lens.1], by);
        last_to_start(&mut self.keys, &mut from.keys, lens, count);
        last_to_start(&mut self.ties, &mut from.ties, lens, count);
        last_to_start(&mut self.payloads, &mut from.payloads, lens, count);
        (self.len, from.len) = (lens.0 + count, lens.1 - count);
    }
}

impl<K: Key, P: Payload, T: Copy + Ord + Default> Inner<K, P, T> {
    /// A child between others; its entry is the greatest key and the sum below it.
    pub(super) fn insert(&mut self, at: usize, entry: (K, T, P), offset: K, child: u32) {
        let len = self.entries.len;
        insert(&mut self.offsets, len, at, offset);
        insert(&mut self.children, len, at, child);
        let (key, tie, sum) = entry;
        self.entries.insert(at, key, tie, sum);
    }

    pub(super) fn remove(&mut self, at: usize) {
        let len = self.entries.len;
        self.offsets.copy_within(at + 1..len, at);
        self.children.copy_within(at + 1..len, at);
        self.entries.remove(at);
    }

    /// Moves all keys below the children from a position on.
    #[inline(always)]
    pub(super) fn move_from(&mut self, at: usize, by: K) {
        move_all(&mut self.offsets[at..self.entries.len], by);
        self.entries.move_from(at, by);
    }
}

impl<K: Key, P: Payload, T: Copy + Ord + Default> Node<K, P, T> for Inner<K, P, T> {
    fn empty() -> Self {
        Self {
            entries: Entries::empty(),
            offsets: [K::ZERO; WIDTH],
            children: [0; WIDTH],
        }
    }

    fn entries(&self) -> &Entries<K, P, T> {
        &self.entries
    }

    fn take_first_of(&mut self, from: &mut Self, count: usize, by: K) {
        let lens = (self.entries.len, from.entries.len);
        move_all(&mut from.offsets[..count], by);
        first_to_end(&mut self.offsets, &mut from.offsets, lens, count);
        first_to_end(&mut self.children, &mut from.children, lens, count);
        self.entries.take_first_of(&mut from.entries, count, by);
    }

    fn take_last_of(&mut self, from: &mut Self, count: usize, by: K) {
        let lens = (self.entries.len, from.entries.len);
        move_all(&mut from.offsets[lens.1 - count..lens.1], by);
        last_to_start(&mut self.offsets, &mut from.offsets, lens, count);
        last_to_start(&mut self.children, &mut from.children, lens, count);
        self.entries.take_last_of(&mut from.entries, count, by);
    }
}
