//! Sorting of words: entries by hash, rows by key.
//!
//! Invariant: the output is the input in ascending order. Cost: two passes of counting and placing, and little beyond
//! them unless the words agree in their upper bits. Keys are read from the sorted entries, one after the other.

use std::cmp::Ordering;

use ringview_core::in_large_pages;

use crate::directory::Keys;

/// Keys that rows may have, for each row, where sorting is worth its while: fewer are found in a small directory.
const SPREAD: u128 = 4;

/// Sorts by the upper bits, of which there are twice as many values as entries, in two passes of
/// counting and placing; then what agrees on them.
pub(crate) fn sort(entries: &mut Vec<u64>) {
    if entries.is_empty() {
        return;
    }
    let bits = (entries.len().ilog2() / 2 + 1).clamp(1, 12);
    let mut placed = Vec::with_capacity(entries.len());
    in_large_pages(&placed);
    placed.resize(entries.len(), 0);
    for shift in [64 - 2 * bits, 64 - bits] {
        let class = |entry: u64| (entry >> shift) as usize & ((1 << bits) - 1);
        let mut places = vec![0; 1 << bits];
        for &entry in &*entries {
            places[class(entry)] += 1;
        }
        let mut start = 0;
        for place in &mut places {
            start += std::mem::replace(place, start);
        }
        for &entry in &*entries {
            let place = &mut places[class(entry)];
            placed[*place] = entry;
            *place += 1;
        }
        std::mem::swap(entries, &mut placed);
    }
    let upper = |entry: &u64| entry >> (64 - 2 * bits);
    for run in entries.chunk_by_mut(|one, next| upper(one) == upper(next)) {
        run.sort_unstable();
    }
}

/// Whether each key is greater than the one before it, field by field, as signed words. O(rows).
pub(crate) fn ascends(keys: Keys<'_>) -> bool {
    (1..keys.rows).all(|row| compare_to_last(keys, row).is_gt())
}

/// Whether no key is less than the one before it. O(rows).
pub(crate) fn never_falls(keys: Keys<'_>) -> bool {
    (1..keys.rows).all(|row| compare_to_last(keys, row).is_ge())
}

#[inline(always)]
fn compare_to_last(keys: Keys<'_>, row: usize) -> Ordering {
    let mut fields = (0..keys.fields.len()).map(|field| keys.column(field));
    let unequal = fields.find(|column| column[row - 1] != column[row]);
    unequal.map_or(Ordering::Equal, |column| {
        column[row]
            .cast_signed()
            .cmp(&column[row - 1].cast_signed())
    })
}

/// The rows of a batch in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortedKeys {
    /// The key in the upper bits, field by field, the row in the lower ones.
    entries: Vec<u64>,
    fields: Vec<SortedField>,
    row_bits: u32,
}

/// Bits of a field in an entry: its value above the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SortedField {
    least: u64,
    shift: u32,
    bits: u32,
}

impl SortedKeys {
    /// Those of a batch, in order field by field, as signed words; `None` where that is the order of the rows, where
    /// few keys can repeat among them, or where a key and a row do not fit one word. `spare` is room for them.
    pub(crate) fn of(keys: Keys<'_>, spare: &mut Vec<u64>) -> Option<Self> {
        if keys.rows < 2 || ascends(keys) {
            return None;
        }
        let mut shift = u64::BITS;
        let mut field = |field| {
            let (least, bits) = range(&keys.column(field)[..keys.rows]);
            shift = shift.checked_sub(bits)?;
            Some(SortedField { least, shift, bits })
        };
        let fields: Option<Vec<SortedField>> = (0..keys.fields.len()).map(&mut field).collect();
        let (fields, row_bits) = (fields?, keys.rows.ilog2() + 1);
        let width = u64::BITS - shift;
        if shift < row_bits || (1 << width) * SPREAD < keys.rows as u128 {
            return None;
        }
        let mut entries = std::mem::take(spare);
        entries.clear();
        entries.extend(0..keys.rows as u64);
        let told = fields
            .iter()
            .enumerate()
            .filter(|(_, field)| field.bits > 0);
        for (at, &SortedField { least, shift, .. }) in told {
            for (entry, &value) in entries.iter_mut().zip(keys.column(at)) {
                *entry |= value.wrapping_sub(least) << shift;
            }
        }
        sort(&mut entries);
        Some(Self {
            entries,
            fields,
            row_bits,
        })
    }

    /// The rows in the order of their keys.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = usize> {
        let mask = u64::MAX >> (u64::BITS - self.row_bits);
        self.entries
            .iter()
            .map(move |entry| (entry & mask) as usize)
    }

    /// The values of a field in that order.
    pub(crate) fn column(&self, field: usize, into: &mut Vec<u64>) {
        let SortedField { least, shift, bits } = self.fields[field];
        into.clear();
        match bits {
            0 => into.resize(self.entries.len(), least),
            bits => {
                let mask = u64::MAX >> (u64::BITS - bits);
                let value = |entry: &u64| (entry >> shift & mask).wrapping_add(least);
                into.extend(self.entries.iter().map(value));
            }
        }
    }

    /// Number of the key of each row in that order, from 0 on, and the first row of each key; `None` if no key repeats.
    pub(crate) fn groups(&self, of: &mut Vec<u32>, first: &mut Vec<u32>) -> Option<()> {
        let keys = || self.entries.iter().map(|entry| entry >> self.row_bits);
        let repeats = keys().zip(keys().skip(1)).any(|(one, next)| one == next);
        repeats.then(|| {
            of.clear();
            first.clear();
            let mut last = None;
            for (row, key) in (0..).zip(keys()) {
                if last != Some(key) {
                    first.push(row);
                    last = Some(key);
                }
                of.push(first.len() as u32 - 1);
            }
        })
    }

    /// Gives its room back.
    pub(crate) fn into_scratch(self) -> Vec<u64> {
        self.entries
    }
}

/// The least value of a column as a signed word, and the bits of the greatest difference from it.
fn range(column: &[u64]) -> (u64, u32) {
    let values = column.iter().map(|value| value.cast_signed());
    let first = values.clone().next().unwrap_or(0);
    let (least, most) = values.fold((first, first), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let span = most.wrapping_sub(least).cast_unsigned();
    (least.cast_unsigned(), u64::BITS - span.leading_zeros())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{SortedKeys, ascends, never_falls, sort};
    use crate::directory::Keys;

    proptest! {
        /// Few upper halves and lower halves in any order: rows that repeat, in slots used again.
        #[test]
        fn entries_come_out_in_order(entries in prop::collection::vec((0..5_u64, 0..1_000_u64), 1..300)) {
            let entry = |(upper, lower): (u64, u64)| (upper << 62) | lower;
            let mut entries: Vec<u64> = entries.into_iter().map(entry).collect();
            let mut sorted = entries.clone();
            sorted.sort_unstable();
            sort(&mut entries);
            prop_assert_eq!(entries, sorted);
        }

        /// Against an ordered map of the keys, over ranges of all widths.
        #[test]
        fn keys_come_in_their_order_with_their_rows(
            rows in prop::collection::vec((any::<i64>(), any::<i64>()), 0..100), bits in (1..64_u32, 0..64_u32),
            swapped in any::<bool>(),
        ) {
            let narrowed = rows.iter().map(|row| (row.0 >> bits.0, row.1 >> bits.1));
            let keys: Vec<(i64, i64)> = narrowed.collect();
            let column = |of: fn(&(i64, i64)) -> i64| -> Vec<u64> { keys.iter().map(|key| of(key) as u64).collect() };
            let columns = [column(|key| key.0), column(|key| key.1)];
            let fields = if swapped { [1, 0] } else { [0, 1] };
            let key = |row: usize| fields.map(|field| columns[field][row] as i64);
            let batch = Keys { columns: &columns, fields: &fields, rows: keys.len() };
            let distinct = (1..keys.len()).all(|row| key(row - 1) < key(row));
            prop_assert_eq!(ascends(batch), distinct);
            prop_assert_eq!(never_falls(batch), (1..keys.len()).all(|row| key(row - 1) <= key(row)));
            let mut sorted: Vec<([i64; 2], usize)> = (0..keys.len()).map(|row| (key(row), row)).collect();
            sorted.sort_unstable();
            match SortedKeys::of(batch, &mut vec![7; 3]) {
                Some(found) => {
                    prop_assert!(found.rows().eq(sorted.iter().map(|(_, row)| *row)));
                    let mut column = vec![3];
                    for field in 0..2 {
                        found.column(field, &mut column);
                        prop_assert!(column.iter().map(|&value| value as i64).eq(sorted.iter().map(|(key, _)| key[field])));
                    }
                    let (mut of, mut first) = (vec![1], vec![1]);
                    let distinct: BTreeMap<[i64; 2], usize> = sorted.iter().rev().zip((0..sorted.len()).rev())
                        .map(|((key, _), place)| (*key, place)).collect();
                    prop_assert_eq!(found.groups(&mut of, &mut first).is_none(), distinct.len() == sorted.len());
                    if distinct.len() < sorted.len() {
                        prop_assert!(first.iter().map(|&place| place as usize).eq(distinct.values().copied()));
                        let place = |key: &[i64; 2]| distinct.keys().position(|other| other == key).unwrap() as u32;
                        prop_assert!(of.iter().copied().eq(sorted.iter().map(|(key, _)| place(key))));
                    }
                }
                None => {
                    let span = |at: usize| {
                        let all = || (0..keys.len()).map(|row| i128::from(key(row)[at]));
                        (all().max().unwrap() - all().min().unwrap()) as f64
                    };
                    let wide = || (span(0) + 1.0).log2() + (span(1) + 1.0).log2();
                    prop_assert!(distinct || wide() > 55.0 || wide() < 6.0, "{:?}", keys);
                }
            }
        }
    }
}
