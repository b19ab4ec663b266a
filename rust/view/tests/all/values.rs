//! The values of groups against a map: before, within and behind transactions.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Dictionary, Type};
use ringview_relation::{KeyField, KeyLayout, KeyScratch, KeyedTable, Keys};
use ringview_ring::{Expansion, Number};
use ringview_view::answer::values::{GroupValues, SUMMARY, Tally, ValueFields, ValueSource, When};

/// A group, the value, and by how much its count moves.
type Row = (u64, i64, i64);

const GROUPS: u64 = 4;
const FIELD: KeyField = KeyField {
    bits: 64,
    signed: true,
};

/// Counts by group and value; the sum of a value is 0.5 a row.
type Model = BTreeMap<(u64, i64), i64>;

fn source() -> ValueSource {
    ValueSource {
        key: vec![0],
        asked: vec![0],
        values: vec![ValueFields {
            fields: vec![1],
            ty: Type::Int64,
        }],
        sums: std::iter::once(1..4).collect(),
        ordered: true,
    }
}

/// Adds rows within a transaction; the slots that are left without.
fn add(root: &mut KeyedTable, rows: &[Row], model: &mut Model) -> Vec<u32> {
    let mut emptied = Vec::new();
    for &(group, value, times) in rows {
        let count = model.entry((group, value)).or_default();
        // Of what is not there nothing is taken.
        let times = times.max(-*count);
        *count += times;
        let mut slots = Vec::new();
        let keys = Keys {
            columns: &[vec![group], vec![value as u64]],
            fields: &[0, 1],
            rows: 1,
        };
        root.locate(keys, &mut KeyScratch::default(), &mut slots);
        let payload = root.payload_mut(slots[0]);
        payload[0] = payload[0].wrapping_add(times as u64);
        Expansion::from(payload[0] as i64 as f64 * 0.5).store(payload, 1);
        if payload[0] == 0 {
            emptied.push(slots[0]);
        }
    }
    model.retain(|_, count| *count != 0);
    emptied
}

fn summaries(model: &Model) -> Vec<[u64; SUMMARY]> {
    let of = |group| {
        let all: Vec<i64> = model
            .range((group, i64::MIN)..=(group, i64::MAX))
            .map(|((_, value), _)| *value)
            .collect();
        let end = |value: Option<&i64>| value.map_or(0, |value| *value as u64);
        [all.len() as u64, end(all.first()), 0, end(all.last()), 0]
    };
    (0..GROUPS).map(of).collect()
}

fn tallies(model: &Model) -> Vec<Tally> {
    let of = |group| {
        let mut tally = Tally::new();
        for ((_, value), count) in model.range((group, i64::MIN)..=(group, i64::MAX)) {
            let mut sum = [0; 3];
            Expansion::from(*count as f64 * 0.5).store(&mut sum, 0);
            tally.extend([*value as u64, *count as u64]);
            tally.extend(sum);
        }
        tally
    };
    (0..GROUPS).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_map_agrees_at_every_moment(
        transactions in vec((vec((0..GROUPS, -3i64..4, -2i64..3), 1..12), any::<bool>()), 1..12),
    ) {
        let layout = KeyLayout::new(&[FIELD, FIELD]);
        let mut root = KeyedTable::new(layout.clone(), 4);
        let mut values = GroupValues::new(source(), &layout);
        let mut ends = values.clone();
        ends.read_ends_alone();
        let mut model = Model::new();
        let dictionary = Dictionary::new();
        let keys = [(0..GROUPS).collect::<Vec<u64>>()];
        let asked = GROUPS as usize;
        for (rows, stays) in transactions {
            let before = model.clone();
            let emptied = add(&mut root, &rows, &mut model);
            let told = values.summaries(&root, &keys, asked, When::Before);
            prop_assert_eq!(told, summaries(&before));
            let told = values.summaries(&root, &keys, asked, When::Settling(&dictionary));
            prop_assert_eq!(&told, &summaries(&model));
            prop_assert_eq!(
                &told,
                &ends.summaries(&root, &keys, asked, When::Settling(&dictionary))
            );
            prop_assert_eq!(values.tallies(&root, &keys, asked, When::Before), tallies(&before));
            if stays {
                values.absorb(&root, &dictionary);
                ends.absorb(&root, &dictionary);
                root.commit(&emptied, |payload| payload[0] == 0);
                let moved = root.shrink();
                values.follow(moved.as_ref());
                ends.follow(moved.as_ref());
            } else {
                root.rollback();
                model = before;
            }
            values.check(Some(&root));
            prop_assert_eq!(values.summaries(&root, &keys, asked, When::Now), summaries(&model));
            prop_assert_eq!(ends.summaries(&root, &keys, asked, When::Now), summaries(&model));
            prop_assert_eq!(values.tallies(&root, &keys, asked, When::Now), tallies(&model));
        }
    }
}
