//! Sorting of words: entries by hash, rows by key.
//!
//! Invariant: what comes out is what came in, in ascending order. Cost: two
//! passes of counting and placing, and little beyond them unless what is sorted agrees in its upper bits.

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

/// Whether no key is less than or equal to the one before it, field by field, as signed words. O(rows).
pub(crate) fn ascends(keys: Keys<'_>) -> bool {
    let is_less = |row: usize| {
        let mut fields = (0..keys.fields.len()).map(|field| keys.column(field));
        let unequal = fields.find(|column| column[row - 1] != column[row]);
        unequal.is_some_and(|column| column[row - 1].cast_signed() < column[row].cast_signed())
    };
    (1..keys.rows).all(is_less)
}

/// The keys of a batch in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortedKeys {
    /// By key, the first row that has it.
    pub(crate) first: Vec<u32>,
    /// By row, which key it has.
    pub(crate) of: Vec<u32>,
}

impl SortedKeys {
    /// Those of a batch, in order field by field, as signed words; `None` where that is the order of the rows, where
    /// few keys can repeat among them, or where a key and a row do not fit one word.
    pub(crate) fn of(keys: Keys<'_>) -> Option<Self> {
        if keys.rows < 2 || ascends(keys) {
            return None;
        }
        let fields = 0..keys.fields.len();
        let range = |field| range(&keys.column(field)[..keys.rows]);
        let ranges: Vec<(u64, u32)> = fields.clone().map(range).collect();
        let width: u32 = ranges.iter().map(|(_, bits)| bits).sum();
        let row_bits = keys.rows.ilog2() + 1;
        if width + row_bits > 64 || (1 << width) * SPREAD < keys.rows as u128 {
            return None;
        }
        // The key in the upper bits, the row in the lower ones.
        let mut entries: Vec<u64> = (0..keys.rows as u64).collect();
        let mut shift = 64;
        for (field, (least, bits)) in fields.zip(ranges).filter(|(_, (_, bits))| *bits > 0) {
            shift -= bits;
            for (entry, &value) in entries.iter_mut().zip(keys.column(field)) {
                *entry |= value.wrapping_sub(least) << shift;
            }
        }
        sort(&mut entries);
        let mut sorted = Self {
            first: Vec::with_capacity(keys.rows),
            of: vec![0; keys.rows],
        };
        let (mut last, mask) = (None, u64::MAX >> (64 - row_bits));
        for entry in entries {
            let (key, row) = (entry >> row_bits, (entry & mask) as u32);
            if last != Some(key) {
                sorted.first.push(row);
                last = Some(key);
            }
            sorted.of[row as usize] = sorted.first.len() as u32 - 1;
        }
        Some(sorted)
    }
}

/// The least value of a column as a signed word, and the bits of the greatest difference from it.
fn range(column: &[u64]) -> (u64, u32) {
    let values = || column.iter().map(|value| value.cast_signed());
    let (least, most) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
    let span = most.wrapping_sub(least).cast_unsigned();
    (least.cast_unsigned(), u64::BITS - span.leading_zeros())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{SortedKeys, ascends, sort};
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
            let mut first: BTreeMap<[i64; 2], u32> = BTreeMap::new();
            for row in (0..keys.len()).rev() {
                first.insert(key(row), row as u32);
            }
            let place = |row: usize| first.keys().position(|other| *other == key(row)).unwrap() as u32;
            match SortedKeys::of(batch) {
                Some(found) => {
                    prop_assert_eq!(found.first, first.values().copied().collect::<Vec<u32>>());
                    prop_assert_eq!(found.of, (0..keys.len()).map(place).collect::<Vec<u32>>());
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
