//! A sorted vector that does slowly what the indexes do, and the operations drawn against both.

#![allow(dead_code, reason = "each test program uses its part")]

pub mod brute;
pub mod queries;

use std::fmt::Debug;

use proptest::prelude::*;
use ringview_rpai::{Cut, Key, Payload, RpaiTree, Tie};

/// Entries in order of (key, tie).
#[derive(Clone, Debug)]
pub struct Naive<K, P, T>(pub Vec<(K, T, P)>);

impl<K: Key, P: Payload, T: Tie> Naive<K, P, T> {
    fn place(&self, key: K, tie: T) -> Result<usize, usize> {
        (self.0).binary_search_by_key(&(key, tie), |entry| (entry.0, entry.1))
    }

    pub fn get(&self, key: K, tie: T) -> Option<P> {
        self.place(key, tie).ok().map(|at| self.0[at].2)
    }

    pub fn put(&mut self, key: K, tie: T, payload: P) {
        match self.place(key, tie) {
            Ok(at) if payload.is_zero() => drop(self.0.remove(at)),
            Ok(at) => self.0[at].2 = payload,
            Err(_) if payload.is_zero() => {}
            Err(at) => self.0.insert(at, (key, tie, payload)),
        }
    }

    pub fn add(&mut self, key: K, tie: T, payload: P) {
        let old = self.get(key, tie).unwrap_or(P::ZERO);
        self.put(key, tie, old.plus(payload).expect("in range"));
    }

    pub fn shift(&mut self, cut: &Cut<K, T>, by: K) {
        for (key, tie, _) in &mut self.0 {
            if !cut.is_above(key, tie) {
                *key = key.shifted(by).expect("in range");
            }
        }
        self.settle();
    }

    pub fn sum(&self, cut: &Cut<K, T>) -> P {
        let below = self
            .0
            .iter()
            .filter(|entry| cut.is_above(&entry.0, &entry.1));
        below.fold(P::ZERO, |sum, entry| sum.plus(entry.2).expect("in range"))
    }

    /// Sorts, merges equals, drops zeros. O(n) where few are out of order.
    pub fn settle(&mut self) {
        self.0.sort_by_key(|entry| (entry.0, entry.1));
        let mut merged: Vec<(K, T, P)> = Vec::new();
        for &(key, tie, payload) in &self.0 {
            match merged.last_mut() {
                Some(last) if (last.0, last.1) == (key, tie) => {
                    last.2 = last.2.plus(payload).expect("in range");
                }
                _ => merged.push((key, tie, payload)),
            }
        }
        merged.retain(|entry| !entry.2.is_zero());
        self.0 = merged;
    }
}

/// A change. Numbers are small, so that keys meet.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Add(i64, u8, i64),
    Put(i64, u8, i64),
    Remove(i64, u8),
    Shift {
        at: i64,
        tie: u8,
        side: u8,
        by: i64,
    },
    /// Adversarial shifts: everything, nothing, onto one key, past all others.
    Squeeze {
        at: i64,
        past: i64,
    },
    Commit,
    Rollback,
}

pub fn op(keys: i64) -> impl Strategy<Value = Op> {
    let key = -keys..=keys;
    prop_oneof![
        8 => (key.clone(), 0..3u8, -3..=5i64).prop_map(|(k, t, p)| Op::Add(k, t, p)),
        1 => (key.clone(), 0..3u8, -3..=5i64).prop_map(|(k, t, p)| Op::Put(k, t, p)),
        2 => (key.clone(), 0..3u8).prop_map(|(k, t)| Op::Remove(k, t)),
        4 => (key.clone(), 0..3u8, 0..4u8, -4..=4i64)
            .prop_map(|(at, tie, side, by)| Op::Shift { at, tie, side, by }),
        1 => (key.clone(), 0..3u8, 0..4u8, key.clone())
            .prop_map(|(at, tie, side, by)| Op::Shift { at, tie, side, by }),
        1 => (key.clone(), -2..=2i64).prop_map(|(at, past)| Op::Squeeze { at, past }),
        1 => Just(Op::Commit),
        1 => Just(Op::Rollback),
    ]
}

pub fn cut<K: Key, T: Tie>(key: K, tie: T, side: u8) -> Cut<K, T> {
    match side {
        0 => Cut::before(key),
        1 => Cut::after(key),
        2 => Cut::before_entry(key, tie),
        _ => Cut::after_entry(key, tie),
    }
}

/// A tree with the vector beside it, and what both were at the last commit.
pub struct Pair<K, P, T> {
    pub tree: RpaiTree<K, P, T>,
    pub naive: Naive<K, P, T>,
    committed: Naive<K, P, T>,
}

impl<K: Key, P: Payload, T: Tie> Pair<K, P, T> {
    pub fn new(tree: RpaiTree<K, P, T>) -> Self {
        let naive = Naive(tree.iter().collect());
        let committed = naive.clone();
        let mut tree = tree;
        tree.begin();
        Self {
            tree,
            naive,
            committed,
        }
    }

    /// Does the same to both.
    pub fn apply(
        &mut self,
        op: Op,
        key: impl Fn(i64) -> K,
        tie: impl Fn(u8) -> T,
        payload: impl Fn(i64) -> P,
    ) {
        match op {
            Op::Add(k, t, p) => {
                self.tree.add(key(k), tie(t), payload(p)).expect("in range");
                self.naive.add(key(k), tie(t), payload(p));
            }
            Op::Put(k, t, p) => {
                let before = self.tree.put(key(k), tie(t), payload(p)).expect("in range");
                assert_eq!(before, self.naive.get(key(k), tie(t)));
                self.naive.put(key(k), tie(t), payload(p));
            }
            Op::Remove(k, t) => {
                let before = self.tree.remove(key(k), tie(t));
                assert_eq!(before, self.naive.get(key(k), tie(t)));
                self.naive.put(key(k), tie(t), P::ZERO);
            }
            Op::Shift {
                at,
                tie: t,
                side,
                by,
            } => self.shift(&cut(key(at), tie(t), side), key(by)),
            Op::Squeeze { at, past } => {
                let (first, stays) = {
                    let cut = Cut::after(key(at));
                    (self.tree.successor(&cut), self.tree.predecessor(&cut))
                };
                if let (Some(first), Some(stays)) = (first, stays) {
                    let by = stays.0.relative_to(first.0).offset_by(key(past));
                    self.shift(&Cut::after(key(at)), by);
                }
            }
            Op::Commit => {
                self.tree.commit();
                self.tree.begin();
                self.committed = self.naive.clone();
            }
            Op::Rollback => {
                self.tree.rollback();
                self.tree.begin();
                self.naive = self.committed.clone();
            }
        }
    }

    fn shift(&mut self, cut: &Cut<K, T>, by: K) {
        self.tree.shift_keys(cut, by).expect("in range");
        self.naive.shift(cut, by);
    }

    /// Holds everything that can be read of the tree to the vector.
    pub fn compare(&self) {
        self.tree.check();
        let all: Vec<_> = self.tree.iter().collect();
        assert_eq!(all, self.naive.0);
        assert_eq!(self.tree.len(), self.naive.0.len());
        assert_eq!(self.tree.first(), self.naive.0.first().copied());
        assert_eq!(self.tree.last(), self.naive.0.last().copied());
    }

    /// Compares the results at a cut with the vector.
    pub fn compare_at(&self, at: &Cut<K, T>) {
        let split = self
            .naive
            .0
            .partition_point(|entry| at.is_above(&entry.0, &entry.1));
        let (below, above) = self.naive.0.split_at(split);
        assert_eq!(self.tree.prefix_sum(at), self.naive.sum(at));
        assert_eq!(self.tree.successor(at), above.first().copied());
        assert_eq!(self.tree.predecessor(at), below.last().copied());
        let from: Vec<_> = self.tree.iter_from(at).take(40).collect();
        assert_eq!(from, above[..above.len().min(40)]);
    }
}
