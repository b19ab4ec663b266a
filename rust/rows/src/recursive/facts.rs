//! The rows of a recursion, and how often each is derived from rows of which level.
//!
//! A row that is derived has support: by level, how many derivations it has from rows of that level, those of the seed at
//! [`SEED`]. Invariant: no count is 0 between two notes; what a transaction touches is remembered until it ends, so that
//! it is undone exactly. Cost: O(levels that support it) for a note of a row.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use indexmap::map::Entry;
use ringview_core::{Error, Result};

/// The level of what derives the rows of the seed: below all others.
pub(super) const SEED: i64 = -1;

/// The level of rows of which no level is known: above all others.
pub(super) const UNKNOWN: i64 = i64::MAX;

/// State of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fact {
    /// Its level, once it is there.
    pub(super) rank: Option<i64>,
    /// By level, the number of derivations; ascending.
    support: Vec<(i64, i64)>,
}

impl Fact {
    /// The lowest level that it is derived from.
    pub(super) fn least(&self) -> Option<i64> {
        let mut positive = self.support.iter().filter(|(_, count)| *count > 0);
        positive.next().map(|(level, _)| *level)
    }

    /// Whether it has a derivation from below its own level, which needs nothing that rests on it.
    pub(super) fn is_founded(&self) -> bool {
        let levels = self.least().zip(self.rank);
        levels.is_some_and(|(least, rank)| least < rank)
    }

    /// Number of its derivations.
    pub(super) fn total(&self) -> i64 {
        let counts = self.support.iter().map(|(_, count)| *count);
        counts.fold(0, i64::saturating_add)
    }

    /// By level, number of derivations.
    pub(super) fn support(&self) -> &[(i64, i64)] {
        &self.support
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Facts {
    rows: IndexMap<Box<[u8]>, Fact>,
    /// Whether a row is there as often as it is derived; else once, if it has a rank.
    is_bag: bool,
    /// State of rows before the transaction, by their places.
    before: BTreeMap<usize, Fact>,
    /// Number of the rows that were there before it.
    known: usize,
    /// Number of rows shown, as of the last commit.
    shown: i64,
    /// Bytes of rows, and pairs of support.
    bytes: usize,
    pairs: usize,
}

impl Facts {
    pub(super) fn new(is_bag: bool) -> Self {
        Self {
            is_bag,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn shown(&self) -> u64 {
        self.shown.max(0) as u64
    }

    /// The place of a row, which it keeps until the transaction ends.
    pub(super) fn position(&mut self, row: Box<[u8]>) -> usize {
        let bytes = row.len();
        match self.rows.entry(row) {
            Entry::Occupied(known) => known.index(),
            Entry::Vacant(free) => {
                let place = free.index();
                free.insert(Fact::default());
                self.before.insert(place, Fact::default());
                self.bytes += bytes;
                place
            }
        }
    }

    pub(super) fn at(&self, place: usize) -> (&[u8], &Fact) {
        match self.rows.get_index(place) {
            Some((row, fact)) => (row, fact),
            None => unreachable!("a row keeps its place while a transaction goes on"),
        }
    }

    /// One to change; what it was is remembered.
    fn touched(&mut self, place: usize) -> &mut Fact {
        let Some((_, fact)) = self.rows.get_index_mut(place) else {
            unreachable!("a row keeps its place while a transaction goes on")
        };
        self.before.entry(place).or_insert_with(|| fact.clone());
        fact
    }

    /// So many derivations more from rows of a level.
    pub(super) fn note(&mut self, place: usize, level: i64, change: i64) -> Result<()> {
        let fact = self.touched(place);
        let pairs = fact.support.len();
        match fact.support.binary_search_by_key(&level, |pair| pair.0) {
            Ok(at) => {
                let count =
                    fact.support[at]
                        .1
                        .checked_add(change)
                        .ok_or_else(|| Error::Overflow {
                            place: "how often a recursion derives a row".to_owned(),
                        })?;
                match count {
                    0 => drop(fact.support.remove(at)),
                    _ => fact.support[at].1 = count,
                }
            }
            Err(at) if change != 0 => fact.support.insert(at, (level, change)),
            Err(_) => {}
        }
        let now = fact.support.len();
        self.pairs = self.pairs + now - pairs;
        Ok(())
    }

    pub(super) fn rank(&mut self, place: usize, rank: Option<i64>) {
        self.touched(place).rank = rank;
    }

    /// Forgets of all rows what is not of the seed, and their ranks.
    pub(super) fn restart(&mut self) {
        for place in 0..self.rows.len() {
            let fact = self.touched(place);
            let pairs = fact.support.len();
            fact.rank = None;
            fact.support.retain(|(level, _)| *level == SEED);
            let now = fact.support.len();
            self.pairs = self.pairs + now - pairs;
        }
    }

    fn often(&self, fact: &Fact) -> i64 {
        match self.is_bag {
            true => fact.total(),
            false => i64::from(fact.rank.is_some()),
        }
    }

    /// The rows that the transaction changes, and by how much: those that leave first.
    pub(super) fn changes(&self) -> Vec<(&[u8], i64)> {
        let change = |(&place, before): (&usize, &Fact)| {
            let (row, now) = self.at(place);
            let change = self.often(now) - self.often(before);
            (change != 0).then_some((row, change))
        };
        let mut changes: Vec<(&[u8], i64)> = self.before.iter().filter_map(change).collect();
        changes.sort_by_key(|(_, change)| *change > 0);
        changes
    }

    /// The rows that are shown from a place on, each as often as it is, so many at the most; and the place behind.
    pub(super) fn page(&self, from: usize, most: usize) -> (Vec<(&[u8], i64)>, Option<usize>) {
        let mut page = Vec::new();
        for (at, (row, fact)) in self.rows.iter().enumerate().skip(from) {
            if page.len() == most {
                return (page, Some(at));
            }
            let often = self.often(fact);
            if often > 0 {
                page.push((&**row, often));
            }
        }
        (page, None)
    }

    /// All rows, with what is known of them.
    pub(super) fn all(&self) -> impl Iterator<Item = (&[u8], &Fact)> {
        self.rows.iter().map(|(row, fact)| (&**row, fact))
    }

    pub(super) fn commit(&mut self) {
        let before = std::mem::take(&mut self.before);
        for (&place, old) in before.iter().rev() {
            let (row, now) = self.at(place);
            let bytes = row.len();
            let change = self.often(now) - self.often(old);
            let is_gone = now.support.is_empty() && now.rank.is_none();
            self.shown += change;
            // From the last place on, so that the row that fills a free place was already handled.
            if is_gone {
                self.rows.swap_remove_index(place);
                self.bytes -= bytes;
            }
        }
        self.known = self.rows.len();
        if self.rows.capacity() > 4 * self.rows.len() + 64 {
            self.rows.shrink_to(2 * self.rows.len());
        }
    }

    pub(super) fn rollback(&mut self) {
        for (place, old) in std::mem::take(&mut self.before) {
            if let Some((row, fact)) = self.rows.get_index_mut(place) {
                self.pairs = self.pairs + old.support.len() - fact.support.len();
                if place >= self.known {
                    self.bytes -= row.len();
                }
                *fact = old;
            }
        }
        self.rows.truncate(self.known);
    }

    pub(super) fn memory_usage(&self) -> usize {
        let entry = size_of::<(Box<[u8]>, Fact)>() + 2 * size_of::<usize>();
        self.rows.capacity() * entry + self.bytes + self.pairs * size_of::<(i64, i64)>()
    }
}
