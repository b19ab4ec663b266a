//! Keys that were chosen to collide cost what other keys cost, counted in places passed, and no
//! result shows that they were rehashed.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::{FixedState, SeedableRandomState};
use ringview_core::{Batch, Column, Dictionary, Field, Schema, Type};
use ringview_relation::{ABSENT, KeyField, KeyLayout, KeyScratch, KeyedTable, Keys, RowStore};

/// Keys whose hashes agree in the upper bits, as whoever reads the source can find them.
fn colliding(keys: usize, bits: u32) -> Vec<u64> {
    let state = FixedState::with_seed(0x5269_6e67_5669_6577);
    let hash = |&key: &u64| {
        let mut hasher = state.build_hasher();
        hasher.write_u64(key);
        hasher.finish() >> (64 - bits) == 1
    };
    // Far apart, so that no array would hold them.
    let all = (1u64..).map(|key| key.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    all.filter(hash).take(keys).collect()
}

fn table() -> KeyedTable {
    let word = KeyField {
        bits: 64,
        signed: true,
    };
    KeyedTable::new(KeyLayout::new(&[word]), 1)
}

fn locate(table: &mut KeyedTable, keys: &[u64]) -> Vec<u32> {
    let (mut scratch, mut slots) = (KeyScratch::default(), Vec::new());
    let columns = [keys.to_vec()];
    let keys = Keys {
        columns: &columns,
        fields: &[0],
        rows: keys.len(),
    };
    table.locate(keys, &mut scratch, &mut slots);
    for (&slot, payload) in slots.iter().zip(1u64..) {
        table.payload_mut(slot)[0] = payload;
    }
    slots
}

#[test]
fn keys_chosen_to_collide_pass_few_places() {
    let mut keys = colliding(20_000, 8);
    keys.sort_unstable();
    for batch in [1, 100, 20_000] {
        let mut table = table();
        let mut slots = Vec::new();
        for some in keys.chunks(batch) {
            slots.extend(locate(&mut table, some));
        }
        table.check();
        let (reseeds, passed) = table.degradation();
        assert_eq!(reseeds, 1, "they were told");
        assert!(passed < 64 * keys.len() as u64, "{passed} places");
        // As other keys: a slot each, in the order of insertion.
        assert!(slots.iter().copied().eq(0..keys.len() as u32));
        let again = locate(&mut table, &keys);
        assert_eq!(slots, again);
        table.commit(&slots, |payload| payload[0] % 2 == 0);
        table.check();
        let left: Vec<u64> = table.iter().map(|slot| table.field(slot, 0)).collect();
        let odd: Vec<u64> = keys.iter().copied().step_by(2).collect();
        assert_eq!(left, odd);
    }
}

#[test]
fn other_keys_are_never_hashed_anew() {
    let mut table = table();
    let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number >> 7;
    let keys: Vec<u64> = (0..300_000).map(key).collect();
    for some in keys.chunks(1_000) {
        locate(&mut table, some);
    }
    let slots = locate(&mut table, &keys[..200_000]);
    table.commit(&slots, |_| true);
    locate(&mut table, &keys);
    table.check();
    let (reseeds, passed) = table.degradation();
    assert_eq!(reseeds, 0);
    assert!(passed < 16 * 700_000, "{passed} places");
}

/// A run of keys that touch, each near its home, so that only insertions and removals in front of
/// them are slow.
#[test]
fn coming_and_going_before_a_long_run_passes_few_places() {
    let state = FixedState::with_seed(0x5269_6e67_5669_6577);
    let home = |key: u64| {
        let mut hasher = state.build_hasher();
        hasher.write_u64(key);
        hasher.finish() >> 32
    };
    // Four times too many keys for a quarter of the room, thinned out to a key a place.
    let mut keys = colliding(40_000, 3);
    keys.sort_by_key(|&key| home(key));
    let front = keys[0];
    let mut last = 0;
    let width = (1u64 << 32) / 22_000;
    keys.retain(|&key| {
        let place = home(key) / width;
        std::mem::replace(&mut last, place) != place
    });
    let mut table = table();
    locate(&mut table, &keys);
    let before = table.degradation().1;
    let rounds = 3_000;
    for _ in 0..rounds {
        let slots = locate(&mut table, &[front]);
        table.commit(&slots, |_| true);
    }
    table.check();
    let passed = table.degradation().1 - before;
    assert!(passed < 200 * rounds, "{passed} places");
}

/// Keys that are neighbours in a table with this capacity, each a few places behind its home, in the order of these:
/// each removal from their front moves all behind it.
fn side_by_side(room: usize) -> Vec<u64> {
    let state = FixedState::with_seed(0x5269_6e67_5669_6577);
    let places = (room * 5 / 4 + 1) as u64;
    let home = |key: u64| {
        let mut hasher = state.build_hasher();
        hasher.write_u64(key);
        ((hasher.finish() >> 32) * places) >> 32
    };
    let mut keys = colliding(2 * room, 3);
    keys.sort_by_key(|&key| home(key));
    // One for each home, behind some more for the first of them.
    let (mut last, mut more) = (0, 0);
    keys.retain(|&key| {
        let same = std::mem::replace(&mut last, home(key)) == last;
        more += u32::from(same);
        !same || more <= 25
    });
    keys
}

/// They are removed until the table is rehashed; the rest are removed in the same commit.
#[test]
fn going_from_the_front_of_a_long_run_passes_few_places() {
    const ROOM: usize = 20_000;
    let keys = side_by_side(ROOM);
    let mut table = table();
    table.reserve(ROOM);
    let slots = locate(&mut table, &keys);
    table.commit(&[], |_| true);
    let (reseeds, before) = table.degradation();
    assert_eq!(reseeds, 0, "they came in their order");
    let stays = slots.len() as u64;
    table.commit(&slots, |payload| payload[0] != stays);
    table.check();
    assert!(table.iter().eq(slots.last().copied()));
    let (reseeds, passed) = table.degradation();
    assert_eq!(reseeds, 1);
    let passed = passed - before;
    assert!(passed < 64 * stays, "{passed} places");
}

/// A transaction that inserted them is undone: those in slots that were used before are removed first, then those in
/// new ones, from their front. Each slot is free once afterwards.
#[test]
fn a_long_run_that_is_undone_leaves_each_slot_free_once() {
    const ROOM: usize = 20_000;
    let run = side_by_side(ROOM);
    for reused in [1, run.len() / 4] {
        let mut table = table();
        table.reserve(ROOM);
        let before: Vec<u64> = (1..=reused as u64 + 2).map(|key| key << 40).collect();
        let slots = locate(&mut table, &before);
        table.commit(&slots[1..=reused], |_| true);
        table.check();
        locate(&mut table, &run);
        assert_eq!(table.degradation().0, 0, "they came in their order");
        table.rollback();
        table.check();
        assert_eq!(
            table.degradation().0,
            1,
            "{reused} of {} slots were used before",
            run.len()
        );
        assert!(table.iter().eq([slots[0], slots[reused + 1]]));
        let mut again = locate(&mut table, &run);
        table.check();
        again.sort_unstable();
        again.dedup();
        assert_eq!(again.len(), run.len());
    }
}

#[test]
fn a_dense_range_that_breaks_up_is_watched_too() {
    // They fill their range well enough for an array, and then a key far away is inserted.
    let mut keys: Vec<u64> = (0..1_000u64).collect();
    let state = FixedState::with_seed(0x5269_6e67_5669_6577);
    let chosen = |&key: &u64| {
        let mut hasher = state.build_hasher();
        hasher.write_u64(key);
        hasher.finish() >> 62 == 1
    };
    keys.extend((1_000..60_000u64).filter(chosen));
    let mut table = table();
    locate(&mut table, &keys);
    locate(&mut table, &[u64::MAX >> 2]);
    table.check();
    let (_, passed) = table.degradation();
    assert!(passed < 64 * keys.len() as u64, "{passed} places");
    let mut found = Vec::new();
    let columns = [vec![1, 59_999_999]];
    let keys = Keys {
        columns: &columns,
        fields: &[0],
        rows: 2,
    };
    table.find(keys, &mut KeyScratch::default(), &mut found);
    assert_eq!(found, [1, ABSENT]);
}

/// Rows of one number whose hashes agree in the upper bits.
fn colliding_rows(rows: usize) -> Vec<u64> {
    let state = SeedableRandomState::fixed();
    let chosen = |&row: &u64| {
        let mut hasher = state.build_hasher();
        hasher.write_u64(row);
        hasher.finish() >> 56 == 1
    };
    (0u64..).filter(chosen).take(rows).collect()
}

fn rows(words: Vec<u64>) -> Batch {
    let column = Column {
        words,
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
    let read = store.scan(1_000, &[true], |batch| {
        all.extend(&batch.column(0).words);
        Ok(())
    });
    assert_eq!(read, Ok(()));
    all
}

/// Inserts and deletes rows by batches, of which every third one is undone; what is left, in order.
fn history(unique: bool, batch: usize) -> (Vec<u64>, RowStore) {
    let schema = Schema::new(vec![Field::new("id", Type::Int64, false)]).unwrap();
    let mut store = RowStore::new("t", &schema, unique.then(|| vec![0]));
    let dict = Dictionary::new();
    let all = colliding_rows(6_000);
    for (at, some) in all.chunks(batch).enumerate() {
        store.insert(&rows(some.to_vec()), &dict).unwrap();
        if !unique {
            store.insert(&rows(some.to_vec()), &dict).unwrap();
        }
        let old = &all[..some.len().min(at * batch)];
        if at % 3 == 2 {
            store.rollback();
            store.insert(&rows(some.to_vec()), &dict).unwrap();
        } else if at % 3 == 1 {
            store.delete(&rows(old.to_vec()), &dict).unwrap();
            store.insert(&rows(old.to_vec()), &dict).unwrap();
        }
        store.commit();
    }
    (scanned(&store), store)
}

#[test]
fn rows_chosen_to_collide_pass_few_places_and_come_out_the_same() {
    for unique in [false, true] {
        for batch in [7, 6_000] {
            let (found, mut store) = history(unique, batch);
            let (again, _) = history(unique, batch);
            assert_eq!(found, again, "whatever the seeds");
            assert_eq!(store.distinct(), 6_000);
            let (reseeds, passed) = store.degradation();
            assert!(reseeds > 0);
            assert!(passed < 100 * 6_000, "{passed} places");
        }
    }
}
