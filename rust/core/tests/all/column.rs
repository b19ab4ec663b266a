//! Batches: refilling, slicing and gathering keep rows whole.

use proptest::prelude::*;
use ringview_core::{Batch, Column};

fn batch(rows: usize) -> Batch {
    let words: Vec<u64> = (0..rows as u64).collect();
    let nullable = Column {
        words: words.iter().map(|word| word * (word % 2)).collect(),
        high: Vec::new(),
        valid: Some(words.iter().map(|word| word % 2 == 1).collect()),
    };
    let decimal = Column {
        words: words.clone(),
        high: words.clone(),
        valid: None,
    };
    Batch {
        rows,
        columns: vec![Some(nullable), None, Some(decimal)],
        multiplicity: Some(words.iter().map(|&word| word as i64 - 3).collect()),
    }
}

proptest! {
    #[test]
    fn gather_and_slice_agree(rows in 0..40_usize, cut in 0..40_usize, length in 0..40_usize) {
        let start = cut.min(rows);
        let length = length.min(rows - start);
        let all = batch(rows);
        let picked: Vec<u32> = (start..start + length).map(|row| row as u32).collect();
        let slice = all.slice(start, length);
        prop_assert_eq!(&slice, &all.gather(&picked));
        for row in 0..length {
            prop_assert_eq!(slice.column(0).is_null(row), all.column(0).is_null(start + row));
            prop_assert_eq!(slice.column(2).decimal(row), all.column(2).decimal(start + row));
            prop_assert_eq!(slice.multiplicity(row), all.multiplicity(start + row));
        }
    }
}

#[test]
fn gather_refills_what_was_there() {
    let mut into = batch(9);
    batch(5).gather_into(&[4, 0, 4], &mut into);
    assert_eq!(into, batch(5).gather(&[4, 0, 4]));
    assert_eq!(into.column(2).words, [4, 0, 4]);
    assert_eq!(into.multiplicity, Some(vec![1, -3, 1]));
}

#[test]
fn a_batch_is_refilled_without_allocating() {
    let mut batch = batch(100);
    batch.clear();
    let before = batch.column(2).words.capacity();
    assert!(before >= 100);
    batch.reset(&[false, true, true]);
    assert_eq!((batch.rows, batch.multiplicity(0)), (0, 1));
    assert!(batch.columns[0].is_none() && batch.column(1).is_empty());
    assert_eq!(batch.column(2).words.capacity(), before);
    assert!(batch.memory_usage() >= before * 8);
}

#[test]
#[should_panic(expected = "column 1 was not asked for")]
fn a_column_that_was_not_asked_for_is_not_there() {
    batch(1).column(1);
}
