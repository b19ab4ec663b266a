//! Tables release the memory of removed keys, and owners of slots can follow.

use ringview_core::{Batch, Column, Dictionary, Field, Schema, Type};
use ringview_relation::{
    ABSENT, KeyField, KeyLayout, KeyScratch, KeyedTable, Keys, Relocated, RowStore,
};

fn table() -> (KeyedTable, usize) {
    let word = KeyField {
        bits: 64,
        signed: true,
    };
    let mut table = KeyedTable::new(KeyLayout::new(&[word, word]), 2);
    let index = table.add_index(&[1]);
    (table, index)
}

/// Keys `(key, key % 7)` spread far apart if `apart`; their payload is the key.
fn add(table: &mut KeyedTable, keys: impl Iterator<Item = u64>, apart: u64) -> Vec<u32> {
    let first: Vec<u64> = keys.map(|key| key.wrapping_mul(apart)).collect();
    let second = first.iter().map(|key| key % 7).collect();
    let columns = [first, second];
    let keys = Keys {
        columns: &columns,
        fields: &[0, 1],
        rows: columns[0].len(),
    };
    let mut slots = Vec::new();
    table.locate(keys, &mut KeyScratch::default(), &mut slots);
    for (&slot, key) in slots.iter().zip(&columns[0]) {
        table.payload_mut(slot)[1] = *key;
    }
    slots
}

fn contents(table: &KeyedTable) -> Vec<(u64, u64)> {
    let slots = table.iter();
    slots
        .map(|slot| (table.field(slot, 0), table.payload(slot)[1]))
        .collect()
}

fn commit(table: &mut KeyedTable, gone: &[u32]) -> Option<Relocated> {
    table.commit(gone, |_| true);
    table.shrink()
}

#[test]
fn what_is_left_keeps_its_order_and_the_rest_gives_its_room() {
    for apart in [1, 0x9E37_79B9_7F4A_7C15] {
        let (mut table, index) = table();
        let slots = add(&mut table, 0..50_000, apart);
        assert_eq!(commit(&mut table, &[]), None);
        table.refresh_index(index);
        let full = table.memory_usage();
        let gone: Vec<u32> = slots.into_iter().filter(|slot| slot % 10 != 3).collect();
        table.commit(&gone, |_| true);
        let (before, old): (_, Vec<u32>) = (contents(&table), table.iter().collect());
        let moved = table.shrink().expect("nine tenths have gone");
        table.check();
        assert_eq!(contents(&table), before);
        assert_eq!(table.slots(), table.len());
        for (now, slot) in (0..).zip(old) {
            assert_eq!(moved.to(slot), now);
            assert_eq!(moved.to(slot + 1), ABSENT);
        }
        let mut beside: Vec<u32> = (0..50_000).collect();
        moved.follow(&mut beside);
        assert!(beside.iter().copied().eq((0..5_000).map(|at| at * 10 + 3)));
        table.refresh_index(index);
        table.check();
        assert!(table.memory_usage() * 6 < full, "{}", table.memory_usage());
        // And it continues as a table does.
        add(&mut table, 10_000..20_000, apart);
        table.refresh_index(index);
        table.check();
        table.rollback();
        table.check();
        assert_eq!(contents(&table), before);
        let rest: Vec<u32> = table.iter().collect();
        commit(&mut table, &rest);
        table.check();
        assert!(table.memory_usage() < 4_096, "{}", table.memory_usage());
    }
}

/// A window moves over fresh keys; the index is read at the beginning, and now and then.
#[test]
fn a_window_takes_the_room_of_a_window() {
    const WINDOW: u64 = 2_000;
    let (mut table, index) = table();
    let mut room = Vec::new();
    for round in 0..200 {
        add(&mut table, round * WINDOW..(round + 1) * WINDOW, 1_000_003);
        if round < 3 || round == 150 {
            table.refresh_index(index);
        }
        let old = round.saturating_sub(1) * WINDOW..round * WINDOW;
        let gone = add(&mut table, old, 1_000_003);
        commit(&mut table, &gone);
        table.check();
        room.push(table.memory_usage());
    }
    let early = room[..20].iter().max();
    let late = room[20..].iter().max();
    assert!(late <= early, "{early:?} {late:?}");
}

fn rows(ids: std::ops::Range<u64>) -> Batch {
    let column = Column {
        words: ids.collect(),
        ..Column::default()
    };
    Batch {
        rows: column.words.len(),
        columns: vec![Some(column)],
        multiplicity: None,
    }
}

fn scanned(store: &RowStore) -> Vec<u64> {
    let mut all = Vec::new();
    let read = store.scan(10_000, &[true], |batch| {
        all.extend(&batch.column(0).words);
        Ok(())
    });
    assert_eq!(read, Ok(()));
    all
}

#[test]
fn base_rows_give_back_what_they_lost_and_what_was_refused() {
    for unique in [None, Some(vec![0])] {
        let schema = Schema::new(vec![Field::new("id", Type::Int64, false)]).unwrap();
        let mut store = RowStore::new("t", &schema, unique);
        let dict = Dictionary::new();
        let few = |store: &RowStore| store.memory_usage() < 200_000;
        store.insert(&rows(0..1_000), &dict).unwrap();
        store.commit();
        // Undone.
        store.insert(&rows(1_000..300_000), &dict).unwrap();
        store.rollback();
        store.insert(&rows(1_000..1_001), &dict).unwrap();
        store.commit();
        assert!(few(&store), "{}", store.memory_usage());
        // Deleted again.
        store.insert(&rows(1_001..300_000), &dict).unwrap();
        store.commit();
        assert!(!few(&store));
        for first in (0..299_000).step_by(2_990) {
            store.delete(&rows(first..first + 2_990), &dict).unwrap();
            store.commit();
        }
        assert!(few(&store), "{}", store.memory_usage());
        assert_eq!(scanned(&store), (299_000..300_000).collect::<Vec<_>>());
        // It continues as it did, undoing included.
        store.insert(&rows(0..5_000), &dict).unwrap();
        store.delete(&rows(299_500..300_000), &dict).unwrap();
        store.rollback();
        assert_eq!(scanned(&store), (299_000..300_000).collect::<Vec<_>>());
        assert!(store.delete(&rows(298_999..299_000), &dict).is_err());
        store.delete(&rows(299_000..300_000), &dict).unwrap();
        store.commit();
        assert!(store.is_empty() && store.distinct() == 0);
    }
}
