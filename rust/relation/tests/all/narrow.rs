//! Base rows in as few bytes as their values need: after every widening each row reads as it was
//! inserted, and no batch rewrites more than a page.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringview_core::{Batch, Column, Dictionary, Field, Schema, Type};
use ringview_relation::RowStore;

/// A key, a signed number and an unsigned one, which may be NULL.
type Row = (i64, i64, Option<u64>);

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("key", Type::Int64, false),
        Field::new("signed", Type::Int64, false),
        Field::new("unsigned", Type::UInt64, true),
    ])
    .unwrap()
}

fn batch(rows: &[Row]) -> Batch {
    let column = |words: Vec<u64>| Column {
        words,
        ..Column::default()
    };
    let unsigned = Column {
        words: rows.iter().map(|row| row.2.unwrap_or(0)).collect(),
        high: Vec::new(),
        valid: Some(rows.iter().map(|row| row.2.is_some()).collect()),
    };
    Batch {
        rows: rows.len(),
        columns: vec![
            Some(column(rows.iter().map(|row| row.0 as u64).collect())),
            Some(column(rows.iter().map(|row| row.1 as u64).collect())),
            Some(unsigned),
        ],
        multiplicity: None,
    }
}

fn contents(store: &RowStore) -> BTreeMap<Row, u64> {
    let mut all = BTreeMap::new();
    let read = store.scan(700, &[true; 3], |batch| {
        for row in 0..batch.rows {
            let (unsigned, word) = (batch.column(2), |column| batch.column(column).words[row]);
            let found = (!unsigned.is_null(row)).then(|| unsigned.words[row]);
            *all.entry((word(0) as i64, word(1) as i64, found))
                .or_default() += u64::try_from(batch.multiplicity(row)).unwrap();
        }
        Ok(())
    });
    assert_eq!(read, Ok(()));
    all
}

/// A number that takes some bytes to the last bit, or one bit more.
fn at_the_edge(bytes: u32, less: i64) -> i64 {
    let edge = 1_i64 << (8 * bytes - 1);
    if less < 0 {
        -edge + less + 1
    } else {
        edge - less
    }
}

#[derive(Clone, Debug)]
struct Step {
    /// Width of the values, in bytes.
    bytes: u32,
    less: i64,
    rows: usize,
    /// Every `every`-th of the existing rows is deleted before.
    every: usize,
    undone: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let rows = prop::sample::select(vec![1, 2, 40, 3_000]);
    (1..8_u32, -1..2_i64, rows, 1..5_usize, any::<bool>()).prop_map(
        |(bytes, less, rows, every, undone)| Step {
            bytes,
            less,
            rows,
            every,
            undone,
        },
    )
}

fn run(steps: &[Step], unique: Option<Vec<usize>>) {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &schema(), unique);
    let mut model = BTreeMap::new();
    let mut next = 0;
    for step in steps {
        let gone: Vec<Row> = model.keys().copied().step_by(step.every).collect();
        store.delete(&batch(&gone), &dict).unwrap();
        let value = at_the_edge(step.bytes, step.less);
        let rows = next..next + step.rows as i64;
        let made = |key: i64| {
            (
                key,
                value,
                (key % 3 > 0).then_some(value as u64 >> (key % 3)),
            )
        };
        let came: Vec<Row> = rows.map(made).collect();
        next += step.rows as i64;
        store.insert(&batch(&came), &dict).unwrap();
        if step.undone {
            store.rollback();
        } else {
            store.commit();
            for row in &gone {
                model.remove(row);
            }
            model.extend(came.iter().map(|&row| (row, 1)));
        }
        assert_eq!(contents(&store), model);
        // A row that differs in what was cut off is another row.
        if let Some((&row, _)) = model.iter().next() {
            let other = (row.0, row.1 ^ 1 << 62, row.2);
            assert!(store.delete(&batch(&[other]), &dict).is_err());
        }
        let again: Vec<Row> = model.keys().copied().take(10).collect();
        store.delete(&batch(&again), &dict).unwrap();
        store.insert(&batch(&again), &dict).unwrap();
        assert_eq!(store.distinct(), model.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_are_as_they_came_however_wide_they_become(
        steps in prop::collection::vec(step(), 0..12),
        is_keyed: bool,
    ) {
        run(&steps, is_keyed.then(|| vec![0]));
    }
}

#[test]
fn a_wide_value_rewrites_a_page_at_most() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &schema(), None);
    let rows = |keys: std::ops::Range<i64>| keys.map(|key| (key, 7, Some(1))).collect::<Vec<_>>();
    for first in (0..200_000).step_by(1_000) {
        store
            .insert(&batch(&rows(first..first + 1_000)), &dict)
            .unwrap();
        store.commit();
    }
    let before = store.rows_rewritten();
    // Each time the numbers grew by a byte.
    assert!(before <= 3 * 4_096, "{before} rows");
    store
        .insert(&batch(&[(200_000, 1 << 60, None)]), &dict)
        .unwrap();
    let first = store.rows_rewritten() - before;
    assert!(first <= 4_096, "{first} rows");
    store.commit();
    // In the slot of a deleted row.
    store.delete(&batch(&rows(5..6)), &dict).unwrap();
    store.commit();
    store.insert(&batch(&[(5, 1 << 61, None)]), &dict).unwrap();
    let second = store.rows_rewritten() - before - first;
    assert!(0 < second && second <= 4_096, "{second} rows");
}

#[test]
fn a_row_takes_the_bytes_that_its_values_need() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &schema(), None);
    let rows: Vec<Row> = (0..60_000).map(|key| (key, -7, Some(200))).collect();
    store.insert(&batch(&rows), &dict).unwrap();
    store.commit();
    // Three bytes of a signed number, one, one, one of null bits, and a multiplicity.
    let bytes = store.memory_usage() as f64 / 60_000.0;
    assert!(bytes < 9.0, "{bytes} bytes a row");
}
