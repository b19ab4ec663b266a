//! Sums and products of least and greatest values against the values themselves.

use std::ops::Range;

use proptest::prelude::*;
use ringview_ring::{
    Extremes, ExtremesProduct, ExtremesShape, Groups, Origin, PayloadRing, Rows, Slab, raise_both,
};

/// A row: a value of one word and one of two, each of which may be missing.
type Row = (Option<u64>, Option<u128>);

fn both() -> ExtremesShape {
    ExtremesShape::new(vec![1, 2])
}

fn halves(value: u128) -> [u64; 2] {
    [value as u64, (value >> 64) as u64]
}

/// The payload of some rows of one key.
fn payload(rows: &[Row]) -> Vec<u64> {
    let shape = both();
    let mut payload = vec![0; shape.stride()];
    payload[0] = 1;
    for (short, long) in rows {
        short
            .iter()
            .for_each(|&value| raise_both(&mut payload[shape.at(0)..], [value]));
        long.iter()
            .for_each(|&value| raise_both(&mut payload[shape.at(1)..], halves(value)));
    }
    payload
}

/// The least and the greatest, as a payload has them.
fn ends<const WORDS: usize>(values: impl Iterator<Item = [u64; WORDS]> + Clone) -> Vec<u64> {
    let order = |value: &[u64; WORDS]| value.iter().rev().copied().collect::<Vec<u64>>();
    match (values.clone().min_by_key(order), values.max_by_key(order)) {
        (Some(least), Some(greatest)) => least.iter().map(|word| !word).chain(greatest).collect(),
        _ => vec![0; 2 * WORDS],
    }
}

fn expected(rows: &[Row]) -> Vec<u64> {
    let short = ends(rows.iter().filter_map(|row| row.0).map(|value| [value]));
    let long = ends(rows.iter().filter_map(|row| row.1).map(halves));
    [vec![1], short, long].concat()
}

fn rows(len: Range<usize>) -> impl Strategy<Value = Vec<Row>> {
    let short = prop_oneof![Just(0), Just(u64::MAX), 0u64..5, any::<u64>()];
    let long = prop_oneof![
        Just(0),
        Just(u128::MAX),
        0u128..5,
        (0u128..3).prop_map(|v| v << 64)
    ];
    prop::collection::vec((prop::option::of(short), prop::option::of(long)), len)
}

proptest! {
    #[test]
    fn payloads_hold_the_ends(rows in rows(0..8)) {
        prop_assert_eq!(payload(&rows), expected(&rows));
    }

    #[test]
    fn a_sum_is_the_payload_of_all_rows(keys in prop::collection::vec((0u32..3, rows(0..4)), 1..8)) {
        let shape = both();
        let mut target = vec![0; 3 * shape.stride()];
        let slots: Vec<u32> = keys.iter().map(|key| key.0).collect();
        let delta: Vec<u64> = keys.iter().flat_map(|key| payload(&key.1)).collect();
        let mut emptied = Vec::new();
        let delta = Slab::delta(&delta, shape.stride());
        Extremes::add(&shape, &mut target, &slots, delta, &mut emptied).unwrap();
        prop_assert!(emptied.is_empty());
        for (slot, sum) in target.chunks_exact(shape.stride()).enumerate() {
            let own = keys.iter().filter(|key| key.0 as usize == slot);
            let all: Vec<Row> = own.clone().flat_map(|key| key.1.clone()).collect();
            if own.count() == 0 {
                prop_assert!(Extremes::is_zero(&shape, sum));
            } else {
                prop_assert_eq!(sum, &expected(&all)[..]);
            }
        }
    }

    /// Of the values (short, long) on the left and a short one on the right, in the order left, right, left.
    #[test]
    fn a_product_has_the_values_of_both(
        left in prop::collection::vec((0u32..3, rows(1..3)), 1..8),
        right in prop::collection::vec(rows(1..3), 3),
        picked in any::<bool>(),
    ) {
        let short = ExtremesShape::new(vec![1]);
        let out = ExtremesShape::new(vec![1, 1, 2]);
        let origins = [Origin::Left(0), Origin::Right(0), Origin::Left(1)];
        let product = ExtremesProduct::new(&both(), &short, &out, &origins);
        let of_right = |rows: &Vec<Row>| expected(rows)[..short.stride()].to_vec();
        let payloads: Vec<u64> = left.iter().flat_map(|row| payload(&row.1)).collect();
        let partners: Vec<u64> = right.iter().flat_map(of_right).collect();
        let order: Vec<u32> = (0..left.len() as u32).rev().collect();
        let taken: Vec<&(u32, Vec<Row>)> = match picked {
            true => order.iter().map(|&row| &left[row as usize]).collect(),
            false => left.iter().collect(),
        };
        let slots: Vec<u32> = taken.iter().map(|row| row.0).collect();
        let of: Vec<u32> = (0..taken.len() as u32).map(|row| row % 2).collect();
        let count = taken.len().min(2);
        let groups = Groups::Named { of: &of, groups: count };
        let named = if picked { Rows::Picked(&order) } else { Rows::All(left.len()) };
        let mut sums = Vec::new();
        let width = Extremes::multiply(
            &product,
            (Slab::delta(&payloads, both().stride()), named),
            (Slab::view(&partners, short.stride()), &slots),
            groups,
            &mut (),
            &mut sums,
        ).unwrap();
        prop_assert_eq!(width, out.stride());
        for (group, sum) in sums.chunks_exact(width).enumerate() {
            let own = || taken.iter().skip(group).step_by(2);
            let all: Vec<Row> = own().flat_map(|row| row.1.clone()).collect();
            let other: Vec<Row> = own().flat_map(|row| right[row.0 as usize].clone()).collect();
            let (all, other) = (expected(&all), expected(&other));
            prop_assert_eq!(sum, &[&all[..3], &other[1..3], &all[3..]].concat()[..]);
        }
    }
}
