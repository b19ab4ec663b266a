//! Cost of growth in a single change, counted: no more than a block of entries, for every size of the table.

use ringview_core::{Batch, Column, Dictionary, Field, Schema, Type};
use ringview_relation::{KeyField, KeyLayout, KeyScratch, KeyedTable, Keys, RowStore};

/// Two blocks and a short table.
const MOST: u64 = 3 << 11;

fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// The most that one of many keys moved, and all of them together.
fn entries_rehashed(keys: impl Iterator<Item = [u64; 2]>, indexed: bool) -> (u64, u64) {
    let field = KeyField {
        bits: 64,
        signed: true,
    };
    let mut table = KeyedTable::new(KeyLayout::new(&[field, field]), 1);
    let index = indexed.then(|| table.add_index(&[0]));
    let (mut scratch, mut slots) = (KeyScratch::default(), Vec::new());
    let (mut most, mut all) = (0, 0);
    for (number, key) in keys.enumerate() {
        let columns = key.map(|word| vec![word]);
        let keys = Keys {
            columns: &columns,
            fields: &[0, 1],
            rows: 1,
        };
        let before = table.entries_rehashed();
        table.locate(keys, &mut scratch, &mut slots);
        table.commit(&[], |_| false);
        if let Some(index) = index {
            table.refresh_index(index);
        }
        let now = table.entries_rehashed().saturating_sub(before);
        (most, all) = (most.max(now), all + now);
        if number % 50_000 == 0 {
            table.check();
        }
    }
    table.check();
    (most, all)
}

#[test]
fn no_key_pays_for_the_growth_of_a_hash_table() {
    const KEYS: u64 = 200_000;
    for indexed in [false, true] {
        let keys = (0..KEYS).map(|key| [mixed(key) % 50_000, mixed(!key)]);
        let (most, all) = entries_rehashed(keys, indexed);
        assert!(most <= MOST, "{most} entries for one key");
        assert!((KEYS..8 * KEYS).contains(&all), "{all} entries");
    }
}

/// Keys that count upwards fill an array, which widens where it is.
#[test]
fn no_key_pays_for_the_growth_of_an_array() {
    const KEYS: u64 = 200_000;
    let (most, all) = entries_rehashed((0..KEYS).map(|key| [key, 0]), false);
    assert!(most <= MOST, "{most} keys for one");
    assert!(all <= MOST, "{all} keys");
}

/// Once a row has been looked for.
#[test]
fn no_row_pays_for_the_growth_of_a_directory() {
    const ROWS: u64 = 200_000;
    let field = Field::new("id", Type::Int64, false);
    let dict = Dictionary::new();
    for unique in [None, Some(vec![0])] {
        let schema = Schema::new(vec![field.clone()]).unwrap();
        let mut store = RowStore::new("t", &schema, unique);
        let row = |id: u64| Batch {
            rows: 1,
            columns: vec![Some(Column {
                words: vec![mixed(id)],
                ..Column::default()
            })],
            multiplicity: None,
        };
        let mut most = 0;
        store.insert(&row(0), &dict).unwrap();
        store.delete(&row(0), &dict).unwrap();
        for id in 0..ROWS {
            let before = store.entries_rehashed();
            store.insert(&row(id), &dict).unwrap();
            store.commit();
            // A thousand rows enter at a time, and move a block for every 36 of them.
            most = most.max(store.entries_rehashed() - before);
        }
        assert!(most <= 1_024 / 36 * 1_400, "{most} entries for one row");
        let before = store.entries_rehashed();
        store.delete(&row(7), &dict).unwrap();
        assert!(store.entries_rehashed() - before <= 1_024 / 36 * 1_400);
        assert_eq!(store.distinct() as u64, ROWS - 1);
    }
}
