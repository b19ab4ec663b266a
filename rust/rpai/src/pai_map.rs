//! The PAI map (paper, section 2.1): partial aggregates by aggregate value, hashed.
//!
//! Invariant: no payload is zero. For correlation by equality a change moves a single group from
//! one aggregate to another, and a comparison by equality reads one: O(1) each. Ranges are walked:
//! O(n); for many of them `RpaiTree` is better. Listings are in order of the keys, whatever the
//! hash.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use foldhash::quality::SeedableRandomState;
use ringview_core::{Result, random_hasher};

use crate::cut::Cut;
use crate::key::Key;
use crate::payload::Payload;
use crate::tree::overflow;

/// A key as the hash sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hashed<K>(K);

impl<K: Key> Hash for Hashed<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.word());
    }
}

/// A map from keys to payloads, by hash.
///
/// ```
/// use ringview_rpai::PaiMap;
///
/// # fn main() -> ringview_core::Result<()> {
/// let mut map = PaiMap::<i64, i64>::new();
/// map.add(5, 100)?; // a group with aggregate 5
/// map.add(5, 20)?; // and another
/// map.shift(5, 2, 20)?; // whose aggregate grows by 2
/// assert_eq!((map.get(5), map.get(7)), (Some(100), Some(20)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PaiMap<K, P> {
    entries: HashMap<Hashed<K>, P, SeedableRandomState>,
    total: P,
    /// The sum of magnitudes.
    weight: P,
    /// The payload that each changed key had, since `begin`.
    journal: Option<Vec<(K, P)>>,
}

impl<K: Key, P: Payload> Default for PaiMap<K, P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key, P: Payload> PaiMap<K, P> {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self {
            entries: HashMap::with_hasher(random_hasher()),
            total: P::ZERO,
            weight: P::ZERO,
            journal: None,
        }
    }

    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The sum of all payloads. O(1).
    #[must_use]
    pub fn total(&self) -> P {
        self.total
    }

    /// The payload of a key. O(1).
    #[must_use]
    pub fn get(&self, key: K) -> Option<P> {
        self.entries.get(&Hashed(key)).copied()
    }

    /// Gives a key a payload, and returns the one it had. O(1).
    ///
    /// # Errors
    /// `Overflow` if the sum of all magnitudes does not fit.
    pub fn put(&mut self, key: K, payload: P) -> Result<Option<P>> {
        let before = self.get(key);
        let old = before.unwrap_or(P::ZERO);
        let sizes = old.magnitude().zip(payload.magnitude());
        let weight = sizes.and_then(|(old, new)| self.weight.without(old).plus(new));
        self.weight = weight.ok_or_else(|| overflow("the sum of magnitudes"))?;
        self.total = self.total.with(payload.without(old));
        if let Some(journal) = &mut self.journal {
            journal.push((key, old));
        }
        if payload.is_zero() {
            self.entries.remove(&Hashed(key));
        } else {
            self.entries.insert(Hashed(key), payload);
        }
        if self.entries.is_empty() {
            (self.total, self.weight) = (P::ZERO, P::ZERO);
        }
        Ok(before)
    }

    /// Adds to the payload of a key; one that is not there counts as zero. O(1).
    ///
    /// # Errors
    /// `Overflow` if the payload does not fit, or the sum of all magnitudes.
    pub fn add(&mut self, key: K, payload: P) -> Result<()> {
        let old = self.get(key).unwrap_or(P::ZERO);
        let sum = old.plus(payload).ok_or_else(|| overflow("a payload"))?;
        self.put(key, sum)?;
        Ok(())
    }

    /// Removes a key, and returns the payload it had. O(1).
    pub fn remove(&mut self, key: K) -> Option<P> {
        // Nothing grows that could overflow.
        self.put(key, P::ZERO).ok().flatten()
    }

    /// Moves part of the payload of a key to the key so far away: one group of those with this
    /// aggregate has another. O(1).
    ///
    /// # Errors
    /// `Overflow` if a key or a payload does not fit; nothing is moved then.
    pub fn shift(&mut self, key: K, by: K, part: P) -> Result<()> {
        let target = key.shifted(by).ok_or_else(|| overflow("a shifted key"))?;
        if target == key {
            return Ok(());
        }
        let less = (part.minus()).ok_or_else(|| overflow("a payload"))?;
        self.add(key, less)?;
        let moved = self.add(target, part);
        if moved.is_err() {
            let back = self.add(key, part);
            debug_assert!(back.is_ok(), "what fitted fits again");
        }
        moved
    }

    /// Moves all keys above a cut; equal keys merge. O(n).
    ///
    /// # Errors
    /// `Overflow` if a key would not fit; nothing is moved then.
    pub fn shift_keys(&mut self, cut: &Cut<K>, by: K) -> Result<()> {
        let mut moving = self.iter();
        moving.retain(|(key, _)| !cut.is_above(key, &()));
        let fits = moving.iter().all(|(key, _)| key.shifted(by).is_some());
        fits.then_some(())
            .ok_or_else(|| overflow("a shifted key"))?;
        for &(key, _) in &moving {
            self.remove(key);
        }
        for (key, payload) in moving {
            let added = self.add(key.offset_by(by), payload);
            debug_assert!(added.is_ok(), "no sum is larger than before");
        }
        Ok(())
    }

    /// The sum of the payloads below a cut. O(n).
    #[must_use]
    pub fn prefix_sum(&self, cut: &Cut<K>) -> P {
        let below = self
            .iter()
            .into_iter()
            .filter(|(key, _)| cut.is_above(key, &()));
        below.fold(P::ZERO, |sum, (_, payload)| sum.with(payload))
    }

    /// The entries in order of their keys. O(n log n).
    #[must_use]
    pub fn iter(&self) -> Vec<(K, P)> {
        let entries = self.entries.iter().map(|(key, &payload)| (key.0, payload));
        let mut all: Vec<_> = entries.collect();
        all.sort_unstable_by_key(|&(key, _)| key);
        all
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, Vec::capacity);
        // The table has a byte of each hash with the entry.
        self.entries.capacity() * (size_of::<(K, P)>() + 1) + journal * size_of::<(K, P)>()
    }

    /// Logs changes from now on, until a commit or a rollback.
    pub fn begin(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// Keeps the changes since `begin`.
    pub fn commit(&mut self) {
        self.journal = None;
    }

    /// Undoes the changes since `begin`: each key gets back the payload that it had. O(changes).
    pub fn rollback(&mut self) {
        for (key, old) in self.journal.take().unwrap_or_default().into_iter().rev() {
            let undone = self.put(key, old);
            debug_assert!(undone.is_ok(), "what fitted fits again");
        }
    }
}
