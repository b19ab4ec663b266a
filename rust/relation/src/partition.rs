//! Heavy/light partitions: the values of a tuple of variables are heavy if they occur in many
//! tuples, and light otherwise.
//!
//! Invariant, of a value that occurs in d > 0 tuples, with the threshold theta = N^epsilon: it is
//! heavy only if d >= 1/2 theta, and light only if d < 3/2 theta; after `strays` were flipped even
//! d >= theta and d < theta. A value is one or the other, so a partition on several tuples of
//! variables is one of these for each (IVM^epsilon, definitions 6, 17 and 40). The bounds hold once
//! `misfits` were flipped; the slack between them is what pays for a flip: at least theta / 2
//! tuples were inserted or deleted before it.
//!
//! Cost: O(1) expected to find a value, and O(1) to count a tuple of it and to determine its part;
//! undoing is that of the counts.

use ringview_core::empty;

use crate::ABSENT;
use crate::directory::{KeyScratch, Keys};
use crate::keyed_table::KeyedTable;
use crate::layout::KeyLayout;

/// The least degrees that have a meaning, of theta = N^epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// 1/2 theta: what is less cannot be heavy.
    pub loose: u64,
    /// theta.
    pub strict: u64,
    /// 3/2 theta: what is not less cannot be light.
    pub full: u64,
}

impl Threshold {
    /// That of a threshold base N and an epsilon in [0, 1].
    #[must_use]
    pub fn new(base: u64, epsilon: f64) -> Self {
        let theta = libm::pow(base as f64, epsilon);
        let least = |bound: f64| libm::ceil(bound) as u64;
        Self {
            loose: least(theta / 2.0),
            strict: least(theta),
            full: least(theta * 1.5),
        }
    }
}

/// A partition of the tuples of one relation, or of several, on a key that they share.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Value -> twice its degree, and 1 more if it is heavy.
    degrees: KeyedTable,
    threshold: Threshold,
    heavy: usize,
    /// Threshold and heavy values as of the last commit.
    committed: (Threshold, usize),
    /// Values counted since `misfits` was called.
    counted: Vec<u32>,
    /// Values that may have lost their last tuple in this transaction.
    emptied: Vec<u32>,
    /// Room for looking values up.
    found: Vec<u32>,
}

impl Partition {
    /// A partition of no tuples on a key.
    #[must_use]
    pub fn new(key: KeyLayout, threshold: Threshold) -> Self {
        Self {
            degrees: KeyedTable::new(key, 1),
            threshold,
            heavy: 0,
            committed: (threshold, 0),
            counted: Vec::new(),
            emptied: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Threshold that degrees are compared with.
    #[must_use]
    pub fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The same from now on. Values stay what they are until they are flipped.
    pub fn set_threshold(&mut self, threshold: Threshold) {
        self.threshold = threshold;
    }

    /// Number of heavy values, in O(1).
    #[must_use]
    pub fn heavy(&self) -> usize {
        self.heavy
    }

    /// Number of values, in O(1) between transactions.
    #[must_use]
    pub fn values(&self) -> usize {
        self.degrees.len()
    }

    /// Number of tuples with the value.
    #[must_use]
    #[inline]
    pub fn degree(&self, value: u32) -> u64 {
        self.degrees.payload(value)[0] >> 1
    }

    /// Whether a value without tuples would be heavy.
    #[inline]
    fn starts_heavy(&self) -> bool {
        self.threshold.strict <= 1
    }

    /// Whether a value, by its slot or `ABSENT`, is heavy; one without tuples is what its first
    /// tuple will find it to be.
    #[must_use]
    #[inline]
    pub fn is_heavy(&self, value: u32) -> bool {
        if value == ABSENT {
            return self.starts_heavy();
        }
        match self.degrees.payload(value)[0] {
            0 => self.starts_heavy(),
            word => word & 1 == 1,
        }
    }

    /// The number of fields of the key.
    #[must_use]
    pub fn key_fields(&self) -> usize {
        self.degrees.layout().fields()
    }

    /// One field of the key of a value.
    #[must_use]
    #[inline]
    pub fn field(&self, value: u32, field: usize) -> u64 {
        self.degrees.field(value, field)
    }

    /// All values, by slot.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.degrees.iter()
    }

    /// The value of each row of a batch, by its slot. A value without tuples keeps its slot until
    /// the transaction ends. `out` is overwritten.
    pub fn locate(&mut self, keys: Keys<'_>, scratch: &mut KeyScratch, out: &mut Vec<u32>) {
        self.degrees.locate(keys, scratch, out);
        let words = self.degrees.payloads();
        let empty = out.iter().filter(|&&value| words[value as usize] == 0);
        self.emptied.extend(empty);
    }

    /// Adds one to the degree of each of these values, or subtracts one where `comes` is false.
    /// Calls `born` with values that are heavy from their first tuple on.
    pub fn count(&mut self, values: &[u32], comes: &[bool], mut born: impl FnMut(u32)) {
        self.counted.extend_from_slice(values);
        let starts_heavy = u64::from(self.starts_heavy());
        let words = self.degrees.write(values);
        for (&value, &comes) in values.iter().zip(comes) {
            let word = &mut words[value as usize];
            match (comes, *word) {
                (true, 0) => {
                    *word = 2 + starts_heavy;
                    if starts_heavy == 1 {
                        self.heavy += 1;
                        born(value);
                    }
                }
                (true, _) => *word += 2,
                (false, _) => *word -= 2,
            }
            if *word < 2 {
                self.emptied.push(value);
            }
        }
    }

    /// Announces insertions and deletions of tuples with these values: `moves` is added to
    /// `expected` by value. Values that have no tuples yet may be flipped before.
    pub fn foresee(
        &mut self,
        keys: Keys<'_>,
        moves: &[i64],
        scratch: &mut KeyScratch,
        expected: &mut Vec<i64>,
    ) {
        let mut values = std::mem::take(&mut self.found);
        self.locate(keys, scratch, &mut values);
        expected.resize(self.degrees.slots(), 0);
        for (&value, &moves) in values.iter().zip(moves) {
            expected[value as usize] += moves;
            if self.degrees.payload(value)[0] == 0 {
                self.counted.push(value);
            }
        }
        self.found = values;
    }

    /// The values that would break a strict bound with what is expected beside their tuples.
    #[must_use]
    pub fn strict_violations_with(&self, expected: &[i64]) -> Vec<u32> {
        let strict = self.threshold.strict.max(1);
        let is_stray = |&value: &u32| {
            let more = expected.get(value as usize).copied().unwrap_or(0);
            let degree = self.degree(value).saturating_add_signed(more);
            // The part of a value without tuples does not matter.
            let is_there = self.degree(value) > 0 || degree > 0;
            is_there && (degree >= strict) != self.is_heavy(value)
        };
        self.degrees.iter().filter(is_stray).collect()
    }

    /// The values, of those that were counted since the last call, that break a loose bound, each
    /// once.
    pub fn loose_violations(&mut self) -> Vec<u32> {
        let Threshold { loose, full, .. } = self.threshold;
        let words = self.degrees.payloads();
        let breaks = |value: &u32| breaks(words[*value as usize], loose, full);
        let mut values: Vec<u32> = self.counted.iter().copied().filter(breaks).collect();
        self.counted.clear();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The values that break a strict bound.
    pub fn strict_violations(&mut self) -> Vec<u32> {
        self.counted.clear();
        let strict = self.threshold.strict;
        let values = self.degrees.iter();
        values
            .filter(|&value| self.breaks(value, strict, strict))
            .collect()
    }

    /// Whether a value is heavy below the one degree, or light from the other on.
    fn breaks(&self, value: u32, least_heavy: u64, least_full: u64) -> bool {
        breaks(self.degrees.payload(value)[0], least_heavy, least_full)
    }

    /// A heavy value becomes light, a light one heavy.
    pub fn migrate(&mut self, value: u32) {
        let word = self.degrees.payload_mut(value);
        word[0] ^= 1;
        let word = word[0];
        match word & 1 == 1 {
            true => self.heavy += 1,
            false => self.heavy -= 1,
        }
        if word == 0 {
            self.emptied.push(value);
        }
    }

    /// Keeps the changes of the running transaction.
    pub fn commit(&mut self) {
        self.degrees.commit(&self.emptied, |degree| degree[0] == 0);
        self.degrees.shrink();
        self.committed = (self.threshold, self.heavy);
        empty(&mut self.emptied);
        empty(&mut self.counted);
        empty(&mut self.found);
    }

    /// Undoes the changes of the running transaction.
    pub fn rollback(&mut self) {
        self.degrees.rollback();
        (self.threshold, self.heavy) = self.committed;
        empty(&mut self.emptied);
        empty(&mut self.counted);
        empty(&mut self.found);
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.degrees.memory_usage()
    }

    /// Checks the bounds, between transactions; for tests.
    ///
    /// # Panics
    /// When a value is in the part that it cannot be in.
    pub fn check(&self) {
        self.degrees.check();
        let Threshold { loose, full, .. } = self.threshold;
        let mut heavy = 0;
        for value in self.degrees.iter() {
            let degree = self.degree(value);
            assert!(degree > 0, "a value without tuples is kept");
            assert!(
                !self.breaks(value, loose, full),
                "a value of degree {degree} with {:?}: heavy {}",
                self.threshold,
                self.is_heavy(value)
            );
            heavy += usize::from(self.is_heavy(value));
        }
        assert_eq!(heavy, self.heavy, "heavy values");
    }
}

/// The same of what is kept of a value.
#[inline(always)]
fn breaks(word: u64, least_heavy: u64, least_full: u64) -> bool {
    let (degree, is_heavy) = (word >> 1, word & 1 == 1);
    match is_heavy {
        true => degree < least_heavy || degree == 0,
        false => degree >= least_full.max(1),
    }
}
