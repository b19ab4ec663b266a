//! A table against an ordered map, under random transactions, with its invariants after each.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringview_relation::{ABSENT, KeyField, KeyLayout, KeyScratch, KeyedTable, Keys};

/// Key columns of one batch and what each row adds.
#[derive(Clone, Debug)]
struct Batch {
    keys: Vec<Vec<i64>>,
    add: Vec<i64>,
    undo: bool,
}

fn batches(widths: usize, spread: i64) -> impl Strategy<Value = Vec<Batch>> {
    let row = (prop::collection::vec(-spread..spread, widths), -2i64..3);
    let batch = (prop::collection::vec(row, 0..40), prop::bool::weighted(0.2)).prop_map(
        move |(rows, undo)| Batch {
            keys: (0..widths)
                .map(|f| rows.iter().map(|(key, _)| key[f]).collect())
                .collect(),
            add: rows.iter().map(|(_, add)| *add).collect(),
            undo,
        },
    );
    prop::collection::vec(batch, 1..30)
}

/// Batches of which some ascend behind all before them, up to a place where that ends; some of them bring a part of one
/// before them again.
fn ascending(widths: usize) -> impl Strategy<Value = Vec<Batch>> {
    let again = prop::collection::vec((0..6_usize, 1..4_usize), 30);
    (batches(widths, 6), 0..30_usize, again).prop_map(move |(mut batches, end, again)| {
        for (step, batch) in batches.iter_mut().enumerate().take(end) {
            let key =
                |row: usize| -> Vec<i64> { batch.keys.iter().map(|keys| keys[row]).collect() };
            let mut rows: Vec<(Vec<i64>, i64)> = (0..batch.add.len())
                .map(|row| (key(row), batch.add[row]))
                .collect();
            rows.sort_unstable();
            rows.dedup_by(|one, other| one.0 == other.0);
            // The last key of a batch may be the first of the next.
            rows.iter_mut()
                .for_each(|(key, _)| key[0] += 11 * step as i64);
            batch.add = rows.iter().map(|(_, add)| *add).collect();
            batch.keys = (0..widths)
                .map(|field| rows.iter().map(|(key, _)| key[field]).collect())
                .collect();
        }
        for (step, &(back, apart)) in (0..batches.len().min(end)).zip(&again) {
            if (1..=step.min(4)).contains(&back) {
                let thin = |all: &[i64]| all.iter().step_by(apart).copied().collect();
                let of = batches[step - back].clone();
                batches[step].keys = of.keys.iter().map(|keys| thin(keys)).collect();
                batches[step].add = thin(&of.add).iter().map(|add: &i64| -add).collect();
            }
        }
        batches
    })
}

fn run(fields: &[KeyField], batches: &[Batch], indexed: &[usize]) {
    for keeps_order in [false, true] {
        run_over(fields, batches, indexed, keeps_order);
    }
}

fn run_over(fields: &[KeyField], batches: &[Batch], indexed: &[usize], keeps_order: bool) {
    let all: Vec<usize> = (0..fields.len()).collect();
    let mut table = KeyedTable::new(KeyLayout::new(fields), 1);
    if keeps_order {
        table.keep_order();
    }
    let index = table.add_index(indexed);
    let mut model: BTreeMap<Vec<i64>, i64> = BTreeMap::new();
    let (mut scratch, mut slots) = (KeyScratch::default(), Vec::new());
    for (step, batch) in batches.iter().enumerate() {
        let columns: Vec<Vec<u64>> = batch
            .keys
            .iter()
            .map(|c| c.iter().map(|&v| v as u64).collect())
            .collect();
        let keys = Keys {
            columns: &columns,
            fields: &all,
            rows: batch.add.len(),
        };
        table.locate(keys, &mut scratch, &mut slots);
        let payloads = table.write(&slots);
        for (&slot, &add) in slots.iter().zip(&batch.add) {
            payloads[slot as usize] = payloads[slot as usize].wrapping_add(add as u64);
        }
        if batch.undo {
            table.rollback();
        } else {
            table.commit(&slots, |payload| payload[0] == 0);
            for (row, add) in batch.add.iter().enumerate() {
                let key: Vec<i64> = batch.keys.iter().map(|c| c[row]).collect();
                *model.entry(key).or_default() += add;
            }
            model.retain(|_, value| *value != 0);
        }
        if step % 3 == 0 {
            table.refresh_index(index);
        }
        if step == 4 && batches.len().is_multiple_of(2) {
            table.enter_ordered();
        }
        table.check();
        assert_eq!(table.len(), model.len());
        table.find(keys, &mut scratch, &mut slots);
        for (row, &slot) in slots.iter().enumerate() {
            let key: Vec<i64> = batch.keys.iter().map(|c| c[row]).collect();
            let found = (slot != ABSENT).then(|| table.payload(slot)[0] as i64);
            assert_eq!(found, model.get(&key).copied());
        }
        let whole: BTreeMap<Vec<i64>, i64> = table
            .iter()
            .map(|s| {
                (
                    all.iter().map(|&f| table.field(s, f) as i64).collect(),
                    table.payload(s)[0] as i64,
                )
            })
            .collect();
        assert_eq!(whole, model);
    }
    table.refresh_index(index);
    let mut groups: BTreeMap<Vec<i64>, usize> = BTreeMap::new();
    for key in model.keys() {
        *groups
            .entry(indexed.iter().map(|&f| key[f]).collect())
            .or_default() += 1;
    }
    assert_eq!(table.index_at(index).groups(), groups.len());
    for (group, count) in groups {
        let columns: Vec<Vec<u64>> = group.iter().map(|&v| vec![v as u64]).collect();
        let fields: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &fields,
            rows: 1,
        };
        table.index_at(index).find(keys, &mut scratch, &mut slots);
        assert_eq!(table.index_at(index).group(slots[0]).len(), count);
    }
}

const WIDE: KeyField = KeyField {
    bits: 64,
    signed: true,
};
const NARROW: KeyField = KeyField {
    bits: 32,
    signed: true,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn one_dense_field(batches in batches(1, 20)) {
        run(&[WIDE], &batches, &[0]);
    }

    #[test]
    fn one_sparse_field(batches in batches(1, i64::MAX / 2)) {
        run(&[WIDE], &batches, &[]);
    }

    #[test]
    fn two_narrow_fields(batches in batches(2, 4)) {
        run(&[NARROW, NARROW], &batches, &[1]);
    }

    #[test]
    fn three_fields_of_some_spread(batches in batches(3, 300)) {
        run(&[NARROW, WIDE, NARROW], &batches, &[2, 0]);
    }

    #[test]
    fn five_wide_fields(batches in batches(5, 2)) {
        run(&[WIDE; 5], &batches, &[3]);
    }

    #[test]
    fn one_field_that_ascends(batches in ascending(1)) {
        run(&[WIDE], &batches, &[0]);
    }

    #[test]
    fn two_fields_that_ascend(batches in ascending(2)) {
        run(&[NARROW, WIDE], &batches, &[1]);
    }

    #[test]
    fn no_field(batches in batches(0, 1)) {
        run(&[], &batches, &[]);
    }
}

/// Keys inserted in order are in no directory, so that none grows; the first rows that are not are found all the same,
/// and enter a bounded number of keys with them.
#[test]
fn keys_in_order_need_no_directory() {
    let bytes = |keeps_order: bool, last: &[i64]| {
        let mut table = KeyedTable::new(KeyLayout::new(&[WIDE]), 1);
        if keeps_order {
            table.keep_order();
        }
        let (mut scratch, mut slots) = (KeyScratch::default(), Vec::new());
        let keys: Vec<i64> = (0..40_000).map(|key| key * key).collect();
        let batches = keys.chunks(1_000).chain([last]);
        for batch in batches {
            let column = [batch.iter().map(|&key| key as u64).collect::<Vec<u64>>()];
            let keys = Keys {
                columns: &column,
                fields: &[0],
                rows: batch.len(),
            };
            table.locate(keys, &mut scratch, &mut slots);
            for &slot in &slots {
                table.payload_mut(slot)[0] += 1;
            }
            table.commit(&slots, |payload| payload[0] == 0);
        }
        table.check();
        (table.memory_usage(), table.len(), table.entries_rehashed())
    };
    let (apart, len, _) = bytes(false, &[]);
    let (together, same, moved) = bytes(true, &[]);
    assert_eq!((len, same, moved), (40_000, 40_000, 0));
    assert!(together + 6 * len < apart, "{together} {apart}");
    // Two of these keys are there.
    let (late, more, moved) = bytes(true, &[4, 9, 10]);
    assert_eq!(more, 40_001);
    assert!(moved < 200, "{moved}");
    assert!(late < together + 2_000, "{late} {together}");
}

/// Nor do those that are found again in their order, and those that are removed in it, as long as half of them are
/// there.
#[test]
fn keys_found_again_in_order_need_no_directory() {
    let mut table = KeyedTable::new(KeyLayout::new(&[WIDE]), 1);
    table.keep_order();
    let (mut scratch, mut slots) = (KeyScratch::default(), Vec::new());
    let mut locate = |table: &mut KeyedTable, keys: Vec<u64>, add: i64| {
        let column = [keys];
        let keys = Keys {
            columns: &column,
            fields: &[0],
            rows: column[0].len(),
        };
        table.locate(keys, &mut scratch, &mut slots);
        for &slot in &slots {
            let payload = table.payload_mut(slot);
            payload[0] = payload[0].wrapping_add_signed(add);
        }
        table.commit(&slots, |payload| payload[0] == 0);
        table.check();
    };
    let square = |key: u64| key * key;
    for first in (0..40_000).step_by(1_000) {
        locate(&mut table, (first..first + 1_000).map(square).collect(), 1);
    }
    let before = table.memory_usage();
    for first in (0..40_000).step_by(1_000) {
        let some = (first..first + 1_000).step_by(3).map(square);
        locate(&mut table, some.collect(), 1);
    }
    for first in (0..20_000).step_by(1_000) {
        let all = (first..first + 1_000).map(square);
        locate(&mut table, all.clone().step_by(3).collect(), -1);
        locate(&mut table, all.collect(), -1);
    }
    assert_eq!(table.len(), 20_000);
    assert!(table.memory_usage() < before + 6 * table.len());
    // The next ones are looked up in the directory, so that the slots of all removed keys are used
    // again.
    for first in (0..6_600).step_by(100) {
        let some = (first..first + 100).map(|key| square(20_000 + 3 * key));
        locate(&mut table, some.collect(), 1);
    }
    let new = (100_000..120_000).map(square);
    locate(&mut table, new.collect(), 1);
    assert_eq!((table.len(), table.slots()), (40_000, 40_000));
}

/// A box that grows from both ends, then meets a key far away, and becomes an array again.
#[test]
fn dense_keys_widen_and_fall_back() {
    let mut keys: Vec<i64> = (0..500).chain((-400..0).rev()).collect();
    keys.push(i64::MIN);
    keys.extend(500..4000);
    let batches: Vec<Batch> = keys
        .chunks(7)
        .map(|c| Batch {
            keys: vec![c.to_vec()],
            add: vec![1; c.len()],
            undo: false,
        })
        .collect();
    run(&[WIDE], &batches, &[0]);
}
