//! Sums of products with several matches a row at once, against one match after the other.

use proptest::prelude::*;
use ringview_ring::{
    Groups, JoinedPayloads, NumberKind, PayloadRing, Rows, Slab, SumProduct, SumProductShape,
    TermProduct,
};

/// A shape, and payloads of it: the count, and numbers of which some are near the end of their range.
fn payloads(kinds: &[bool], numbers: &[[i64; 3]], large: u32) -> (SumProductShape, Vec<u64>) {
    let kind = |&is_decimal: &bool| match is_decimal {
        true => NumberKind::Decimal,
        false => NumberKind::Integer,
    };
    let kinds: Vec<NumberKind> = std::iter::once(NumberKind::Integer)
        .chain(kinds.iter().map(kind))
        .collect();
    let mut words = Vec::new();
    for row in numbers {
        for (kind, &number) in kinds.iter().zip(row) {
            match kind {
                NumberKind::Decimal => {
                    let number = i128::from(number) << large;
                    words.extend([number as u64, (number >> 64) as u64]);
                }
                _ => words.push((number << (large / 2)) as u64),
            }
        }
    }
    (SumProductShape::new(&kinds), words)
}

/// The kind that holds both.
fn widest(left: NumberKind, right: NumberKind) -> NumberKind {
    match (left, right) {
        (NumberKind::Integer, NumberKind::Integer) => NumberKind::Integer,
        _ => NumberKind::Decimal,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Two to five matches, up to several blocks of rows, all kinds of groups.
    #[test]
    fn all_matches_at_once_are_one_after_the_other(
        kinds in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..3), 3..6),
        numbers in prop::collection::vec([-3..4_i64, -3..4_i64, -3..4_i64], 1..9),
        rows in prop_oneof![1..5_usize, 100..400_usize], run in 1..200_usize, picked in any::<bool>(),
        picks in prop::collection::vec((0..3_usize, 0..3_usize), 1..4),
        large in prop_oneof![Just(0), Just(20_u32), Just(90)], ends_wide in any::<bool>(),
    ) {
        let (first, left) = payloads(&kinds[0], &numbers, large);
        let views: Vec<(SumProductShape, Vec<u64>)> = kinds[1..].iter().map(|kinds| payloads(kinds, &numbers, large)).collect();
        let picked_rows: Vec<u32> = (0..rows).map(|row| (row * 7 % numbers.len()) as u32).collect();
        let stride = SumProduct::stride(&first);
        let all: Vec<u64> = picked_rows.iter().flat_map(|&row| left[row as usize * stride..][..stride].to_vec()).collect();
        let left = match picked {
            true => (Slab::delta(&left, stride), Rows::Picked(&picked_rows)),
            false => (Slab::delta(&all, stride), Rows::All(rows)),
        };
        let slots: Vec<Vec<u32>> = (0..views.len()).map(|by| (0..rows).map(|row| ((row * (by + 2) + by) % numbers.len()) as u32).collect()).collect();
        let mut products: Vec<TermProduct> = Vec::new();
        let mut shape = first;
        for (at, (right, _)) in views.iter().enumerate() {
            let some = |(l, r): &(usize, usize)| (l % shape.elements().len(), r % right.elements().len());
            let pairs: Vec<(usize, usize)> = std::iter::once((0, 0)).chain(picks.iter().map(some)).collect();
            let kind = |&(l, r): &(usize, usize)| widest(shape.elements()[l].kind, right.elements()[r].kind);
            let mut kinds: Vec<NumberKind> = pairs.iter().map(kind).collect();
            if ends_wide && at + 1 == views.len() {
                kinds[1..].fill(NumberKind::Decimal);
            }
            // A count is an integer.
            prop_assume!(kinds[0] == NumberKind::Integer);
            let out = SumProductShape::new(&kinds);
            products.push(TermProduct::new(&shape, right, &out, &pairs));
            shape = out;
        }
        let (one, rest) = products.split_first().unwrap();
        let at_once = rest.iter().try_fold(one.clone(), |product, next| SumProduct::then(&product, next)).unwrap();
        let right = |at: usize| Slab::view(&views[at].1, SumProduct::stride(&views[at].0));
        let joined: Vec<JoinedPayloads<'_>> = slots.iter().enumerate().map(|(at, slots)| JoinedPayloads { payloads: right(at), slots }).collect();
        let starts: Vec<u32> = (0..rows as u32).step_by(run).collect();
        let of: Vec<u32> = (0..rows as u32).map(|row| row % starts.len() as u32).collect();
        for groups in [
            Groups::Each(rows),
            Groups::Runs { starts: &starts, rows },
            Groups::Named { of: &of, groups: starts.len() },
        ] {
            let found = {
                let mut out = vec![7; 3];
                let fits = SumProduct::multiply_all(&at_once, left, &joined, groups, &mut (), &mut out);
                fits.map(|width| (width, out))
            };
            let each = || {
                let (mut before, mut width) = (Vec::new(), 0);
                for (at, product) in products.iter().enumerate() {
                    let mut out = Vec::new();
                    let left = if at == 0 { left } else { (Slab::delta(&before, width), Rows::All(rows)) };
                    let groups = if at + 1 == products.len() { groups } else { Groups::Each(rows) };
                    width = SumProduct::multiply(product, left, (right(at), &slots[at]), groups, &mut (), &mut out)?;
                    before = out;
                }
                Ok::<_, ringview_ring::Overflow>((width, before))
            };
            match (each(), found) {
                (Ok(expected), Ok(found)) => prop_assert_eq!(found, expected),
                // Factors beside a zero may overflow: the caller then multiplies one match after the other.
                (_, found) => prop_assert!(large > 0, "{found:?}"),
            }
        }
    }
}
