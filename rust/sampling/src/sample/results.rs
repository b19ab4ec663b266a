//! The results of a sample, by place, and an undo log of a transaction.
//!
//! Invariant: the result at a place is logged before it is overwritten, so that `restore` brings back every place, and
//! `delta` returns the changes of the running transaction. Cost: O(relations) a place written.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::prefetch;

use super::occurrences::Occurrences;

/// The results of a sample.
#[derive(Clone, Debug)]
pub(super) struct Results {
    /// Relations.
    width: usize,
    /// A tuple of each relation, by place.
    results: Vec<u32>,
    occurrences: Option<Occurrences>,
    written: Vec<Written>,
    /// The results that were overwritten, one after the other.
    old: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Written {
    Set(u32),
    Pushed,
    Popped,
}

impl Results {
    pub(super) fn new(width: usize) -> Results {
        Results {
            width,
            results: Vec::new(),
            occurrences: None,
            written: Vec::new(),
            old: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.results.len() / self.width
    }

    pub(super) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    pub(super) fn results(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.results.chunks_exact(self.width)
    }

    /// Prefetches a place that will be written.
    #[inline]
    pub(super) fn prefetch(&self, place: usize) {
        prefetch(&self.results, place * self.width);
        prefetch(&self.results, (place + 1) * self.width - 1);
    }

    /// Puts a result into a place that there is, or behind the last.
    #[inline]
    pub(super) fn put(&mut self, place: usize, result: &[u32]) {
        if place == self.len() {
            self.push(result);
        } else {
            self.set(place as u32, result);
        }
    }

    #[inline]
    fn push(&mut self, result: &[u32]) {
        self.results.extend_from_slice(result);
        self.written.push(Written::Pushed);
        let place = self.len() as u32 - 1;
        if let Some(occurrences) = &mut self.occurrences {
            occurrences.add(place, &self.results);
        }
    }

    fn pop(&mut self) {
        let place = self.len() as u32 - 1;
        if let Some(occurrences) = &mut self.occurrences {
            occurrences.remove(place, &self.results);
        }
        let start = place as usize * self.width;
        self.old.extend_from_slice(&self.results[start..]);
        self.results.truncate(start);
        self.written.push(Written::Popped);
    }

    #[inline]
    fn set(&mut self, place: u32, result: &[u32]) {
        if let Some(occurrences) = &mut self.occurrences {
            occurrences.remove(place, &self.results);
        }
        let held = &mut self.results[place as usize * result.len()..][..result.len()];
        self.old.extend_from_slice(held);
        held.copy_from_slice(result);
        self.written.push(Written::Set(place));
        if let Some(occurrences) = &mut self.occurrences {
            occurrences.add(place, &self.results);
        }
    }

    /// Whether a result is held; false where none was ever deleted.
    pub(super) fn holds(&self, result: &[u32]) -> bool {
        let occurrences = self.occurrences.as_ref();
        occurrences.is_some_and(|all| all.find(result, &self.results).is_some())
    }

    /// Takes a result out that has a tuple. False if there is none.
    pub(super) fn remove_with(&mut self, atom: usize, tuple: u32) -> bool {
        let occurrences = self
            .occurrences
            .get_or_insert_with(|| Occurrences::new(&self.results, self.width));
        let Some(place) = occurrences.with(atom, tuple) else {
            return false;
        };
        let last = self.len() as u32 - 1;
        if place == last {
            self.pop();
            return true;
        }
        let result = self.results[last as usize * self.width..].to_vec();
        // The last one is nowhere for a moment, so that no place is noted twice.
        self.pop();
        self.set(place, &result);
        true
    }

    /// Holds these results instead, one after the other. Between transactions.
    pub(super) fn replace(&mut self, results: Vec<u32>) {
        (self.results, self.occurrences) = (results, None);
    }

    /// Keeps all writes.
    pub(super) fn commit(&mut self) {
        self.written.clear();
        ringview_core::empty(&mut self.old);
    }

    /// Brings back the results of the last commit.
    pub(super) fn restore(&mut self) {
        let mut old = std::mem::take(&mut self.old);
        for written in std::mem::take(&mut self.written).into_iter().rev() {
            let result = match written {
                Written::Pushed => Vec::new(),
                _ => old.split_off(old.len() - self.width),
            };
            match written {
                Written::Pushed => self.pop(),
                Written::Popped => self.push(&result),
                Written::Set(place) => self.set(place, &result),
            }
        }
        self.written.clear();
        self.old.clear();
    }

    /// Results that were held at the last commit and are not now, with those that are now and were not;
    /// one that changed its place may be in both.
    pub(super) fn delta(&self) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let width = self.width;
        // Content of each place at the begin, found by a backward walk; and the number of places then.
        let mut first: BTreeMap<usize, &[u32]> = BTreeMap::new();
        let mut results = self.len();
        let mut touched = BTreeSet::new();
        let mut old = self.old.chunks_exact(width).rev();
        for written in self.written.iter().rev() {
            let place = match *written {
                Written::Set(place) => place as usize,
                Written::Pushed => results - 1,
                Written::Popped => results,
            };
            touched.insert(place);
            match written {
                Written::Pushed => {
                    results -= 1;
                    first.remove(&place);
                }
                Written::Set(_) => first.extend(old.next().map(|held| (place, held))),
                Written::Popped => {
                    results += 1;
                    first.extend(old.next().map(|held| (place, held)));
                }
            }
        }
        let now = touched.iter().filter(|&&place| place < self.len());
        let new = now.map(|&place| self.results[place * width..][..width].to_vec());
        (
            first.into_values().map(<[u32]>::to_vec).collect(),
            new.collect(),
        )
    }

    pub(super) fn memory_usage(&self) -> usize {
        let fours = self.results.capacity() + self.old.capacity();
        fours * 4
            + self.written.capacity() * size_of::<Written>()
            + self
                .occurrences
                .as_ref()
                .map_or(0, Occurrences::memory_usage)
    }

    /// Checks that no result is held twice, and that the occurrences are right.
    pub(super) fn check(&self) {
        let mut seen: Vec<&[u32]> = self.results().collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), self.len(), "a result is held twice");
        if let Some(occurrences) = &self.occurrences {
            for (place, result) in self.results().enumerate() {
                assert_eq!(occurrences.find(result, &self.results), Some(place as u32));
            }
        }
    }
}
