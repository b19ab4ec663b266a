//! Rows by the moments between which they are visible.
//!
//! A row is kept once for each interval in which it is visible, with its multiplicity. Visible rows are ordered by
//! their ends, future rows by their starts. A row whose interval is over is not kept, for time never decreases.
//! Invariant: a visible row ends later than now, a future one starts later than now; no multiplicity is 0; `rollback`
//! restores what the transaction changed, the moment included. Cost: O(log n) a row that is inserted, deleted or
//! changes sides; O(1) for a step of time without such a row.

use std::collections::BTreeMap;

use ringview_core::{Budget, Result};
use ringview_query::{ALWAYS, FOREVER, Span};

/// A row as bytes.
pub(crate) type Bytes = Box<[u8]>;

/// A row that is visible: when it leaves.
type Visible = (i64, Bytes);

/// A future row: its start, and its end.
type Coming = (i64, i64, Bytes);

/// A change of the transaction.
#[derive(Debug)]
enum Change {
    Visible(Visible, i64),
    Coming(Coming, i64),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Validity {
    now: i64,
    visible: BTreeMap<Visible, i64>,
    coming: BTreeMap<Coming, i64>,
    journal: Vec<Change>,
    /// The moment before the transaction, if time advanced.
    before: Option<i64>,
    bytes: usize,
    /// Rows that were added, or changed sides.
    steps: u64,
}

impl Default for Validity {
    fn default() -> Self {
        Self {
            now: ALWAYS,
            visible: BTreeMap::new(),
            coming: BTreeMap::new(),
            journal: Vec::new(),
            before: None,
            bytes: 0,
            steps: 0,
        }
    }
}

impl Validity {
    /// Adds to the multiplicity of a row in an interval.
    pub(crate) fn add(&mut self, (from, until): Span, row: &Bytes, change: i64) {
        if until <= self.now || from >= until {
            return;
        }
        let row = row.clone();
        self.do_it(match from <= self.now {
            true => Change::Visible((until, row), change),
            false => Change::Coming((from, until, row), change),
        });
    }

    /// Advances to a moment that is not before this one.
    pub(crate) fn advance(&mut self, to: i64, budget: &Budget<'_>) -> Result<()> {
        self.before.get_or_insert(self.now);
        self.now = to;
        while let Some(entry) = self
            .coming
            .first_entry()
            .filter(|entry| entry.key().0 <= to)
        {
            let (key, count) = (entry.key().clone(), *entry.get());
            let (_, until, row) = key.clone();
            self.do_it(Change::Coming(key, -count));
            if until > to {
                self.do_it(Change::Visible((until, row), count));
            }
            budget.work(1)?;
        }
        while let Some(entry) = self
            .visible
            .first_entry()
            .filter(|entry| entry.key().0 <= to)
        {
            let (key, count) = (entry.key().clone(), *entry.get());
            self.do_it(Change::Visible(key, -count));
            budget.work(1)?;
        }
        Ok(())
    }

    fn do_it(&mut self, change: Change) {
        self.steps += 1;
        self.put(&change, 1);
        self.journal.push(change);
    }

    fn put(&mut self, change: &Change, sign: i64) {
        let grown = match change {
            Change::Visible(key, count) => put(
                &mut self.visible,
                key,
                sign * count,
                size_of::<Visible>() + key.1.len(),
            ),
            Change::Coming(key, count) => put(
                &mut self.coming,
                key,
                sign * count,
                size_of::<Coming>() + key.2.len(),
            ),
        };
        self.bytes = self.bytes.saturating_add_signed(grown);
    }

    /// By how much the multiplicity of each visible row has changed since the last commit.
    pub(crate) fn difference(&self) -> BTreeMap<&Bytes, i64> {
        let mut changes: BTreeMap<&Bytes, i64> = BTreeMap::new();
        for change in &self.journal {
            if let Change::Visible((_, row), count) = change {
                *changes.entry(row).or_default() += count;
            }
        }
        changes.retain(|_, change| *change != 0);
        changes
    }

    /// The rows that are visible, with how many of each.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (&Bytes, i64)> {
        let rows = self.visible.iter().map(|((_, row), &count)| (row, count));
        rows.filter(|(_, count)| *count > 0)
    }

    /// The next moment at which a row appears or disappears.
    pub(crate) fn next_change(&self) -> Option<i64> {
        let comes = self.coming.first_key_value().map(|((from, ..), _)| *from);
        let leaves = self.visible.first_key_value().map(|((until, _), _)| *until);
        let leaves = leaves.filter(|&until| until < FOREVER);
        comes.into_iter().chain(leaves).min()
    }

    /// Numbers of distinct visible and future rows.
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.visible.len(), self.coming.len())
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes that they take: a node of the search trees is two thirds full.
    pub(crate) fn memory_usage(&self) -> usize {
        self.bytes + self.bytes / 2 + self.journal.capacity() * size_of::<Change>()
    }

    pub(crate) fn commit(&mut self) {
        self.journal.clear();
        self.journal.shrink_to(1 << 10);
        self.before = None;
    }

    pub(crate) fn rollback(&mut self) {
        for change in std::mem::take(&mut self.journal).into_iter().rev() {
            self.put(&change, -1);
        }
        if let Some(before) = self.before.take() {
            self.now = before;
        }
    }

    /// Checks the invariant between transactions.
    pub(crate) fn check(&self) {
        assert!(self.journal.is_empty(), "a transaction left changes behind");
        assert!(
            self.before.is_none(),
            "a transaction left its moment behind"
        );
        let mut bytes = 0;
        for ((until, row), count) in &self.visible {
            assert!(*until > self.now, "a row that left is visible");
            assert_ne!(*count, 0, "a visible row is there 0 times");
            bytes += size_of::<Visible>() + row.len();
        }
        for ((from, until, row), count) in &self.coming {
            assert!(*from > self.now, "a row that came is to come");
            assert!(from < until, "a row to come is never visible");
            assert_ne!(*count, 0, "a row to come is there 0 times");
            bytes += size_of::<Coming>() + row.len();
        }
        assert_eq!(bytes, self.bytes, "bytes are miscounted");
    }
}

/// Adds to a count; by how many bytes the tree grows.
fn put<K: Ord + Clone>(into: &mut BTreeMap<K, i64>, key: &K, change: i64, bytes: usize) -> isize {
    let Some(known) = into.get_mut(key) else {
        into.insert(key.clone(), change);
        return bytes as isize;
    };
    *known += change;
    if *known != 0 {
        return 0;
    }
    into.remove(key);
    -(bytes as isize)
}

#[cfg(test)]
mod tests {
    //! Against a list of all rows with their intervals, read at each moment.

    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use ringview_core::Budget;
    use ringview_query::{FOREVER, Span};

    use super::{Bytes, Validity};

    /// A change of a transaction.
    #[derive(Clone, Debug)]
    enum Op {
        Add(Span, u8, i64),
        Advance(i64),
    }

    fn op() -> impl Strategy<Value = Op> {
        let until = prop_oneof![(0_i64..40).boxed(), Just(FOREVER).boxed()];
        let add = (
            (-5_i64..40, until),
            0_u8..4,
            prop_oneof![Just(1_i64), Just(-1), Just(3)],
        );
        prop_oneof![
            4 => add.prop_map(|(span, row, change)| Op::Add(span, row, change)),
            1 => (0_i64..5).prop_map(Op::Advance),
        ]
    }

    fn shown(all: &[(Span, u8, i64)], now: i64) -> BTreeMap<u8, i64> {
        let mut rows: BTreeMap<u8, i64> = BTreeMap::new();
        for ((from, until), row, change) in all {
            if *from <= now && now < *until {
                *rows.entry(*row).or_default() += change;
            }
        }
        rows.retain(|_, count| *count != 0);
        rows
    }

    proptest! {
        #[test]
        fn rows_are_visible_in_their_intervals(
            transactions in prop::collection::vec((prop::collection::vec(op(), 0..6), any::<bool>()), 0..12),
        ) {
            let mut validity = Validity::default();
            validity.advance(0, &Budget::free()).unwrap();
            validity.commit();
            let (mut all, mut now) = (Vec::new(), 0);
            for (ops, stays) in transactions {
                let before = (all.clone(), now);
                for op in ops {
                    match op {
                        Op::Add(span, row, change) => {
                            validity.add(span, &Bytes::from([row]), change);
                            all.push((span, row, change));
                        }
                        Op::Advance(by) => {
                            now += by;
                            validity.advance(now, &Budget::free()).unwrap();
                        }
                    }
                }
                let mut expected = shown(&all, now);
                for (row, count) in shown(&before.0, before.1) {
                    *expected.entry(row).or_default() -= count;
                }
                expected.retain(|_, count| *count != 0);
                let found = validity.difference();
                let found: BTreeMap<u8, i64> = found.iter().map(|(row, count)| (row[0], *count)).collect();
                prop_assert_eq!(found, expected);
                match stays {
                    true => validity.commit(),
                    false => {
                        validity.rollback();
                        (all, now) = before;
                    }
                }
                validity.check();
                let mut rows: BTreeMap<u8, i64> = BTreeMap::new();
                for ((_, row), count) in &validity.visible {
                    *rows.entry(row[0]).or_default() += count;
                }
                rows.retain(|_, count| *count != 0);
                prop_assert_eq!(rows, shown(&all, now));
                let next = validity.next_change();
                prop_assert!(next.is_none_or(|next| next > now));
            }
        }
    }

    #[test]
    fn a_step_of_time_at_which_nothing_is_due_costs_nothing() {
        let mut validity = Validity::default();
        for row in 0..1000_i64 {
            validity.add(
                (row, FOREVER - 1000 + row),
                &Bytes::from(row.to_le_bytes()),
                1,
            );
        }
        validity.advance(500, &Budget::free()).unwrap();
        validity.commit();
        let before = validity.steps();
        validity.advance(500, &Budget::free()).unwrap();
        validity.commit();
        assert_eq!(validity.steps(), before);
        validity.advance(501, &Budget::free()).unwrap();
        assert_eq!(
            validity.steps() - before,
            2,
            "one leaves those to come, and is visible"
        );
    }
}
