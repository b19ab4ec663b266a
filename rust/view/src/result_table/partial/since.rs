//! The content of a partial: all that a view holds, or how that changed in the running transaction.
//!
//! Invariant: the numbers before the transaction and their changes add up to the numbers behind it: sums of integers
//! exactly, sums of floats as far as three doubles hold the difference. Cost: O(keys), or O(keys that the transaction
//! touched).

use ringview_relation::KeyedTable;
use ringview_ring::{Expansion, Number, NumberKind};

use super::super::delta::changed;

/// Since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// All that there is, between two transactions.
    Ever,
    /// The changes of the running transaction, once it is prepared.
    LastCommit,
}

/// A slot with its payload as it was and as it is: nothing where its key was not there, or is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangedSlot<'a> {
    pub(super) slot: u32,
    pub(super) was: Option<&'a [u64]>,
    pub(super) now: Option<&'a [u64]>,
}

impl Since {
    /// The slots of a table that a partial has, by number.
    pub(super) fn slots(self, table: &KeyedTable) -> Vec<ChangedSlot<'_>> {
        let now = |slot| table.is_live(slot).then(|| table.payload(slot));
        let changed_slot = |(slot, was)| ChangedSlot {
            slot,
            was,
            now: now(slot),
        };
        if self == Self::Ever {
            return table
                .iter()
                .map(|slot| changed_slot((slot, None)))
                .collect();
        }
        let all = changed(table).into_iter().map(changed_slot);
        all.filter(|slot| slot.was != slot.now).collect()
    }
}

/// Appends the numbers of these kinds that a payload has more than it had; `append` appends those of one.
pub(super) fn difference(
    kinds: &[NumberKind],
    (was, now): (Option<&[u64]>, Option<&[u64]>),
    out: &mut Vec<u64>,
    mut append: impl FnMut(&[u64], &mut Vec<u64>),
) {
    let start = out.len();
    match now {
        Some(now) => append(now, out),
        None => out.resize(
            start + kinds.iter().map(|kind| kind.words()).sum::<usize>(),
            0,
        ),
    }
    if let Some(was) = was {
        let mut before = Vec::with_capacity(out.len() - start);
        append(was, &mut before);
        subtract(kinds, &mut out[start..], &before);
    }
}

/// Takes numbers of these kinds from others, and wraps around as they do.
fn subtract(kinds: &[NumberKind], from: &mut [u64], other: &[u64]) {
    let mut at = 0;
    for kind in kinds {
        match kind {
            NumberKind::Integer => from[at] = from[at].wrapping_sub(other[at]),
            NumberKind::Decimal => i128::load(from, at)
                .wrapping_sub(i128::load(other, at))
                .store(from, at),
            NumberKind::Real => Expansion::load(from, at)
                .difference(Expansion::load(other, at))
                .store(from, at),
            NumberKind::Wide => unreachable!("between transactions a number is of another kind"),
        }
        at += kind.words();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_kinds_are_subtracted() {
        let kinds = [NumberKind::Integer, NumberKind::Decimal, NumberKind::Real];
        let numbers = |count: i64, sum: i128, real: f64| {
            let mut words = vec![0; 1 + i128::WORDS + Expansion::WORDS];
            count.store(&mut words, 0);
            sum.store(&mut words, 1);
            Expansion::from(real).store(&mut words, 1 + i128::WORDS);
            words
        };
        let mut from = numbers(2, -1 << 80, 0.25);
        subtract(&kinds, &mut from, &numbers(5, 1 << 80, 0.5));
        assert_eq!(from, numbers(-3, -2 << 80, -0.25));
        let same = from.clone();
        subtract(&kinds, &mut from, &same);
        assert_eq!(from, numbers(0, 0, 0.0));
    }
}
