//! The row store, case by case: rows that wait, refusals, limits, and what a row costs.

use std::collections::BTreeMap;

use ringview_core::{Batch, Column, Dictionary, Error, Field, Schema, Type};
use ringview_relation::RowStore;

fn two_ints() -> Schema {
    let field = |name| Field::new(name, Type::Int32, false);
    Schema::new(vec![field("a"), field("b")]).unwrap()
}

fn ints(rows: impl Iterator<Item = (i32, i32)> + Clone) -> Batch {
    let column = |words: Vec<u64>| {
        Some(Column {
            words,
            ..Column::default()
        })
    };
    let a: Vec<u64> = rows.clone().map(|row| row.0 as i64 as u64).collect();
    let b: Vec<u64> = rows.map(|row| row.1 as i64 as u64).collect();
    Batch {
        rows: a.len(),
        columns: vec![column(a), column(b)],
        multiplicity: None,
    }
}

/// Equal rows wait in slots of any order.
#[test]
fn one_row_that_comes_again_and_again() {
    const MANY: usize = 200_000;
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    for round in 1..=4 {
        let rows = (0..MANY).map(|row| (7, i32::from(row == MANY / 2)));
        store.insert(&ints(rows), &dict).unwrap();
        assert_eq!((store.len(), store.distinct()), ((round * MANY) as u64, 2));
    }
    let other = Batch {
        multiplicity: Some(vec![5]),
        ..ints([(7, 1)].into_iter())
    };
    assert!(store.delete(&other, &dict).is_err());
    assert_eq!(store.len(), 4 * MANY as u64);
}

/// Enough rows to enter the directory by the pass over all, by ones and twos, and in free slots.
#[test]
fn rows_that_wait_meet_their_equals_however_many_wait() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let mut model: BTreeMap<(i32, i32), u64> = BTreeMap::new();
    let mut seed = 1_u32;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((seed >> 8) % below) as i32
    };
    for round in 0..120 {
        let many = [1, 20, 3_000, 20_000][round % 4];
        let rows: Vec<(i32, i32)> = (0..many).map(|_| (random(20_000), random(3))).collect();
        store.insert(&ints(rows.iter().copied()), &dict).unwrap();
        for row in &rows {
            *model.entry(*row).or_default() += 1;
        }
        if round % 3 == 0 {
            let gone: Vec<(i32, i32)> = model.keys().copied().filter(|_| random(4) == 0).collect();
            store.delete(&ints(gone.iter().copied()), &dict).unwrap();
            for row in &gone {
                if let Some(count) = model.get_mut(row) {
                    *count -= 1;
                }
            }
            model.retain(|_, count| *count > 0);
            assert_eq!(store.distinct(), model.len());
            let one_more = ints(gone.iter().copied().take(1));
            let present = gone
                .first()
                .and_then(|row| model.get(row))
                .copied()
                .unwrap_or(0);
            let asked = vec![present as i64 + 1];
            let refused = Batch {
                multiplicity: Some(asked),
                ..one_more
            };
            assert_eq!(store.delete(&refused, &dict).is_err(), !gone.is_empty());
        }
        assert_eq!(store.len(), model.values().sum::<u64>());
    }
    let mut all: BTreeMap<(i32, i32), u64> = BTreeMap::new();
    let mut whole = Batch::new();
    store
        .scan(usize::MAX, &[true, true], |batch| {
            whole = batch.clone();
            Ok(())
        })
        .unwrap();
    for row in 0..whole.rows {
        let value = |column| whole.column(column).words[row] as i32;
        *all.entry((value(0), value(1))).or_default() += whole.multiplicity(row) as u64;
    }
    assert_eq!(all, model);
}

/// Fresh slots and used ones, a few rows and enough that the whole directory is scanned, the same
/// slot again and again.
#[test]
fn a_transaction_is_undone_however_much_it_did() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let mut seed = 7_u32;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((seed >> 8) % below) as i32
    };
    for round in 0..60 {
        let before = contents(&mut store);
        for table in 0..random(5) {
            let many = [1, 300, 3_000, 30_000][random(4) as usize];
            let range = [5, 40_000][random(2) as usize];
            let rows: Vec<(i32, i32)> = (0..many).map(|_| (random(range), 0)).collect();
            store.insert(&ints(rows.iter().copied()), &dict).unwrap();
            if (table + round) % 3 == 0 {
                let gone: Vec<(i32, i32)> = contents(&mut store).into_keys().collect();
                let gone = gone.into_iter().filter(|_| random(3) == 0);
                let gone: Vec<(i32, i32)> = gone.collect();
                store.delete(&ints(gone.iter().copied()), &dict).unwrap();
            }
        }
        if round % 2 == 0 {
            store.commit();
        } else {
            store.rollback();
            assert_eq!(contents(&mut store), before);
            let all = ints(before.keys().copied());
            assert_eq!(store.distinct(), before.len());
            store.delete(&all, &dict).unwrap();
            store.rollback();
            assert_eq!(contents(&mut store), before);
        }
    }
}

/// One row of a table in memory that is inserted and deleted in one transaction is one note, not a
/// million.
#[test]
fn what_is_remembered_is_bounded_by_the_rows_that_were_there() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    store.insert(&ints([(1, 1)].into_iter()), &dict).unwrap();
    store.commit();
    let batch = ints((0..1_000).map(|_| (1, 1)));
    for _ in 0..500 {
        store.insert(&batch, &dict).unwrap();
        store.delete(&batch, &dict).unwrap();
    }
    let bytes = store.memory_usage();
    assert!(bytes < 2_000_000, "{bytes} bytes for one row");
    store.rollback();
    assert_eq!((store.len(), store.distinct()), (1, 1));
    assert!(store.memory_usage() < 200_000, "{}", store.memory_usage());
}

/// Multiplicities of one byte, four and eight, changed so often that notes are reduced.
#[test]
fn multiplicities_of_any_size_are_undone() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let all = |multiplicity: &dyn Fn(usize) -> i64| Batch {
        multiplicity: Some((0..1_000).map(multiplicity).collect()),
        ..ints((0..1_000).map(|row| (row, 0)))
    };
    let times = |row: usize| [1, 300, i64::from(u32::MAX), 1 << 40][row % 4];
    store.insert(&all(&times), &dict).unwrap();
    store.commit();
    let before = contents(&mut store);
    assert_eq!(before[&(3, 0)], 1 << 40);
    let room = store.memory_usage();
    for _ in 0..100 {
        store.insert(&all(&|row| row as i64 + 1), &dict).unwrap();
        store.delete(&all(&|row| row as i64 + 1), &dict).unwrap();
    }
    assert!(store.memory_usage() < room + 2_000_000);
    store.delete(&all(&times), &dict).unwrap();
    assert!(store.is_empty());
    store.rollback();
    assert_eq!(contents(&mut store), before);
    store.delete(&all(&times), &dict).unwrap();
    store.commit();
    assert!(store.is_empty() && store.distinct() == 0);
}

fn contents(store: &mut RowStore) -> BTreeMap<(i32, i32), u64> {
    let mut all = BTreeMap::new();
    let take = |batch: &Batch| {
        for row in 0..batch.rows {
            let value = |column| batch.column(column).words[row] as i32;
            *all.entry((value(0), value(1))).or_default() += batch.multiplicity(row) as u64;
        }
        Ok(())
    };
    store.scan(1 << 12, &[true, true], take).unwrap();
    all
}

#[test]
fn refused_rows_are_named_with_what_the_table_held_before() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    store.insert(&ints([(1, -2)].into_iter()), &dict).unwrap();
    let error = store
        .delete(&ints([(1, -2), (1, -2)].into_iter()), &dict)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "table \"t\" holds 1 of the row (a = 1, b = -2), so 2 cannot be deleted; \
         nothing of this transaction was applied"
    );
    assert_eq!(store.len(), 1);

    let mut keyed = RowStore::new("t", &two_ints(), Some(vec![1]));
    let error = keyed
        .insert(&ints([(1, 5), (2, 5)].into_iter()), &dict)
        .unwrap_err();
    assert_eq!(
        error,
        Error::Duplicate {
            table: "t".to_owned(),
            key: "(b = 5)".to_owned()
        }
    );
    assert!(keyed.is_empty());
    keyed.insert(&ints([(1, 5)].into_iter()), &dict).unwrap();
    let error = keyed
        .delete(&ints([(2, 5)].into_iter()), &dict)
        .unwrap_err();
    assert!(matches!(
        error,
        Error::OverDelete {
            asked: 1,
            present: 0,
            ..
        }
    ));
}

#[test]
fn too_many_rows_are_an_overflow_and_change_nothing() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let mut batch = ints([(1, 1), (1, 1), (1, 1)].into_iter());
    batch.multiplicity = Some(vec![i64::MAX - 1, 1, 1]);
    assert!(matches!(
        store.insert(&batch, &dict),
        Err(Error::Overflow { .. })
    ));
    assert!(store.is_empty());
    batch.multiplicity = Some(vec![i64::MAX - 1, 1, 0]);
    store.insert(&batch, &dict).unwrap();
    assert_eq!(store.len(), i64::MAX as u64);
}

#[test]
fn a_table_without_columns_only_counts() {
    let mut store = RowStore::new("t", &Schema::default(), None);
    let batch = Batch {
        rows: 3,
        columns: Vec::new(),
        multiplicity: None,
    };
    store.insert(&batch, &Dictionary::new()).unwrap();
    assert_eq!((store.len(), store.distinct()), (3, 1));
    store.delete(&batch, &Dictionary::new()).unwrap();
    assert!(store.is_empty());
}

#[test]
fn a_row_costs_its_columns_and_16_bytes_and_slots_are_reused() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    let rows = |table: i32| ints((0..1_000).map(move |row| (table * 1_000 + row, row)));
    for table in 0..300 {
        store.insert(&rows(table), &dict).unwrap();
        if table >= 65 {
            let bytes = store.memory_usage() as f64 / store.distinct() as f64;
            assert!(bytes <= 8.0 + 16.0, "{bytes} bytes a row at {table}");
        }
    }
    let full = store.memory_usage();
    for table in 0..300 {
        store.delete(&rows(table), &dict).unwrap();
        store.insert(&rows(table + 300), &dict).unwrap();
    }
    assert!(
        store.memory_usage() <= full + 64 * 1_024,
        "{} {full}",
        store.memory_usage()
    );
    for table in 300..600 {
        store.delete(&rows(table), &dict).unwrap();
    }
    assert!(store.is_empty());
    store
        .scan(10, &[true, true], |_| panic!("no rows"))
        .unwrap();
}

/// Nothing is looked for: a row takes its bytes and its multiplicity, and its entry once it is.
#[test]
fn a_table_from_which_nothing_goes_has_no_directory() {
    const MANY: i32 = 200_000;
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    for table in 0..MANY / 1_000 {
        let rows = (0..1_000).map(|row| (table * 1_000 + row, row));
        store.insert(&ints(rows), &dict).unwrap();
        store.commit();
    }
    let bytes = store.memory_usage() as f64 / f64::from(MANY);
    assert!(bytes < 8.0 + 1.0 + 1.5, "{bytes} bytes a row");
    let absent = store.delete(&ints([(0, 1)].into_iter()), &dict);
    assert!(matches!(
        absent,
        Err(Error::OverDelete {
            asked: 1,
            present: 0,
            ..
        })
    ));
    store.rollback();
    assert_eq!(store.len(), MANY as u64);
    store
        .delete(&ints((0..1_000).map(|row| (row, row))), &dict)
        .unwrap();
    store.commit();
    assert_eq!(store.distinct(), MANY as usize - 1_000);
    let bytes = store.memory_usage() as f64 / f64::from(MANY);
    assert!(bytes < 8.0 + 16.0, "{bytes} bytes a row");
}

/// Copies side by side, a batch later, and anywhere: each row takes room once.
#[test]
fn rows_that_repeat_meet_though_none_is_looked_for() {
    const MANY: i32 = 400_000;
    let dict = Dictionary::new();
    let random = |row: i32| (row.wrapping_mul(0x9e37_79b1_u32 as i32) as u32 >> 8) as i32;
    let orders: [&dyn Fn(i32) -> i32; 3] = [
        &|row| row / 2,
        &|row| row / 2_000 * 1_000 + row % 1_000,
        &|row| random(row) % (MANY / 3),
    ];
    for order in orders {
        let mut store = RowStore::new("t", &two_ints(), None);
        for table in 0..MANY / 1_000 {
            let rows = (0..1_000).map(|row| (order(table * 1_000 + row), 7));
            store.insert(&ints(rows), &dict).unwrap();
            store.commit();
        }
        let bytes = store.memory_usage() as f64;
        // Waiting rows are at most as many as the known ones.
        let bytes = bytes / store.distinct() as f64;
        assert!(bytes < 2.0 * (8.0 + 16.0), "{bytes} bytes a row");
    }
}

/// The look-up that made the directory may be undone, and the rows stay in it.
#[test]
fn a_first_look_that_is_undone_leaves_all_rows() {
    let dict = Dictionary::new();
    let mut store = RowStore::new("t", &two_ints(), None);
    for round in 0..6 {
        let all = ints((0..30_000).map(|row| (row % 20_000, 0)));
        store.insert(&all, &dict).unwrap();
        if round % 2 == 0 {
            store.commit();
        }
        let some = ints((0..10_000).map(|row| (row, 0)));
        store.delete(&some, &dict).unwrap();
        store.insert(&some, &dict).unwrap();
        store.rollback();
        let rounds = round as u64 / 2 + 1;
        assert_eq!((store.len(), store.distinct()), (30_000 * rounds, 20_000));
        let whole = contents(&mut store);
        assert!(
            whole
                .iter()
                .all(|(row, &count)| count == rounds * (1 + u64::from(row.0 < 10_000)))
        );
    }
}
