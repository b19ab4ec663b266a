//! The degree-m matrix ring against sums over explicit rows.

use proptest::prelude::*;
use ringview_ring::{
    Cofactor, CofactorProduct, CofactorScratch, CofactorShape, Groups, Overflow, PayloadRing, Rows,
    Slab, lift_rows,
};

/// The payload of weighted rows over m variables, by definition.
fn naive(m: usize, rows: &[(Vec<f64>, i64)]) -> Vec<u64> {
    let count: i64 = rows.iter().map(|(_, times)| times).sum();
    let mut out = vec![count as u64];
    let sum = |f: &dyn Fn(&[f64]) -> f64| -> f64 {
        rows.iter().map(|(row, times)| *times as f64 * f(row)).sum()
    };
    out.extend((0..m).map(|i| sum(&|row| row[i]).to_bits()));
    for i in 0..m {
        out.extend((i..m).map(|j| sum(&|row| row[i] * row[j]).to_bits()));
    }
    out
}

fn slab(words: &[u64], rows: usize) -> Slab<'_> {
    Slab::delta(words, words.len() / rows)
}

/// Zero has two signs.
fn same(left: &[u64], right: &[u64]) -> bool {
    let plain = |word: u64| if word == (-0.0f64).to_bits() { 0 } else { word };
    left.len() == right.len() && left.iter().zip(right).all(|(l, r)| plain(*l) == plain(*r))
}

fn relation(m: usize) -> impl Strategy<Value = Vec<(Vec<f64>, i64)>> {
    let row = prop::collection::vec((-4i32..5).prop_map(f64::from), m);
    prop::collection::vec((row, -2i64..3), 0..6)
}

fn lift(m: usize, rows: &[(Vec<f64>, i64)], groups: Groups<'_>) -> Vec<u64> {
    let shape = CofactorShape { variables: m };
    let values: Vec<f64> = rows.iter().flat_map(|(row, _)| row.clone()).collect();
    let times: Vec<i64> = rows.iter().map(|(_, times)| *times).collect();
    let mut out = vec![0; groups.len() * shape.words()];
    assert!(!lift_rows(shape, &values, &times, groups, &mut out));
    out
}

/// The width of what comes out.
fn multiply(
    product: &CofactorProduct,
    left: Slab<'_>,
    rows: Rows<'_>,
    right: Slab<'_>,
    slots: &[u32],
    groups: Groups<'_>,
    out: &mut Vec<u64>,
) -> usize {
    let scratch = &mut CofactorScratch::default();
    Cofactor::multiply(product, (left, rows), (right, slots), groups, scratch, out).unwrap()
}

/// Single rows as deltas carry them: how often, and the values.
fn rows_alone(rows: &[(Vec<f64>, i64)]) -> Vec<u64> {
    let words = |(row, times): &(Vec<f64>, i64)| {
        let values: Vec<u64> = row.iter().map(|value| value.to_bits()).collect();
        [vec![*times as u64], values].concat()
    };
    rows.iter().flat_map(words).collect()
}

proptest! {
    /// The product of two payloads is the payload of the Cartesian product, whatever the order
    /// of the variables; so the laws of the ring hold as they do for relations.
    #[test]
    fn products_are_those_of_joins(
        left in relation(3),
        right in relation(2),
        at in prop::sample::subsequence(vec![0usize, 1, 2, 3, 4], 3),
    ) {
        let others: Vec<usize> = (0..5).filter(|v| !at.contains(v)).collect();
        let product = CofactorProduct::new(&at, &others);
        let mut joined = Vec::new();
        for (l, a) in &left {
            for (r, b) in &right {
                let mut row = vec![0.0; 5];
                at.iter().zip(l).for_each(|(&v, &x)| row[v] = x);
                others.iter().zip(r).for_each(|(&v, &x)| row[v] = x);
                joined.push((row, a * b));
            }
        }
        let mut out = Vec::new();
        let all = |n: usize| Groups::Runs { starts: &[0], rows: n };
        let pad = |m: usize, rows: &[(Vec<f64>, i64)]| {
            if rows.is_empty() { naive(m, rows) } else { lift(m, rows, all(rows.len())) }
        };
        let (l, r) = (pad(3, &left), pad(2, &right));
        prop_assert!(same(&l, &naive(3, &left)));
        multiply(&product, slab(&l, 1), Rows::All(1), slab(&r, 1), &[0], Groups::Each(1), &mut out);
        prop_assert!(same(&out, &naive(5, &joined)));
        // Two products into one sum.
        let twice = Groups::Named { of: &[0, 0], groups: 1 };
        multiply(&product, slab(&l, 1), Rows::Picked(&[0, 0]), slab(&r, 1), &[0, 0], twice, &mut out);
        let doubled: Vec<_> = joined.iter().map(|(row, times)| (row.clone(), 2 * times)).collect();
        prop_assert!(same(&out, &naive(5, &doubled)));
    }

    /// Rows that stay rows give what their full payloads give: alone, in runs, scattered, and with
    /// groups of a view, those of one row among them.
    #[test]
    fn rows_may_stay_rows(
        left in prop::collection::vec((prop::collection::vec((-4i32..5).prop_map(f64::from), 3), -2i64..3), 1..12),
        groups in prop::collection::vec(prop::collection::vec(prop::collection::vec((-4i32..5).prop_map(f64::from), 9), 1..3), 1..4),
        picks in prop::collection::vec(0usize..4, 12),
        at in prop::sample::subsequence((0usize..12).collect::<Vec<_>>(), 3),
    ) {
        let others: Vec<usize> = (0..12).filter(|v| !at.contains(v)).collect();
        let product = CofactorProduct::new(&at, &others);
        let rows = left.len();
        let slots: Vec<u32> = picks[..rows].iter().map(|pick| (pick % groups.len()) as u32).collect();
        let view: Vec<u64> = groups
            .iter()
            .flat_map(|group| naive(9, &group.iter().map(|row| (row.clone(), 1)).collect::<Vec<_>>()))
            .collect();
        let view = Slab::view(&view, CofactorShape { variables: 9 }.words());
        let short = rows_alone(&left);
        let full: Vec<u64> = left.iter().flat_map(|row| naive(3, std::slice::from_ref(row))).collect();
        let joined = |row: usize| {
            let (values, times) = &left[row];
            let partners = groups[slots[row] as usize].iter();
            partners.map(|partner| {
                let mut joined = vec![0.0; 12];
                at.iter().zip(values).for_each(|(&v, &x)| joined[v] = x);
                others.iter().zip(partner).for_each(|(&v, &x)| joined[v] = x);
                (joined, *times)
            }).collect::<Vec<_>>()
        };
        let starts: Vec<u32> = (0..rows as u32).step_by(5).collect();
        let of: Vec<u32> = (0..rows as u32).map(|row| row % 2).collect();
        let kinds = [
            Groups::Each(rows),
            Groups::Runs { starts: &starts, rows },
            Groups::Named { of: &of, groups: 2.min(rows) },
        ];
        let out_shape = CofactorShape { variables: 12 };
        for groups in kinds {
            let mut expected = vec![Vec::new(); groups.len()];
            let mut cursor = groups.cursor();
            (0..rows).for_each(|row| expected[cursor.at(row)].extend(joined(row)));
            let expected: Vec<u64> = expected.iter().flat_map(|rows| naive(12, rows)).collect();
            for words in [&short, &full] {
                let mut out = Vec::new();
                let width = multiply(&product, slab(words, rows), Rows::All(rows), view, &slots, groups, &mut out);
                let mut sums = vec![0; groups.len() * out_shape.words()];
                let all: Vec<u32> = (0..groups.len() as u32).collect();
                let delta = Slab::delta(&out, width);
                Cofactor::add(&out_shape, &mut sums, &all, delta, &mut Vec::new()).unwrap();
                prop_assert!(same(&sums, &expected));
            }
        }
    }

    /// Sums go to their slots, and inverses cancel exactly.
    #[test]
    fn inverses_cancel(rows in relation(4)) {
        let shape = CofactorShape { variables: 4 };
        let inverse: Vec<_> = rows.iter().map(|(row, times)| (row.clone(), -times)).collect();
        let (plus, minus) = (naive(4, &rows), naive(4, &inverse));
        let mut target = vec![0; 2 * shape.words()];
        let mut emptied = Vec::new();
        Cofactor::add(&shape, &mut target, &[1], slab(&plus, 1), &mut emptied).unwrap();
        prop_assert!(same(&target[shape.words()..], &plus));
        Cofactor::add(&shape, &mut target, &[1], slab(&minus, 1), &mut emptied).unwrap();
        prop_assert!(same(&target, &vec![0; 2 * shape.words()]));
        prop_assert!(emptied.contains(&1));
        prop_assert!(Cofactor::is_zero(&shape, &target[shape.words()..]));
    }
}

#[test]
fn what_leaves_its_range_is_refused() {
    let shape = CofactorShape { variables: 1 };
    let mut target = vec![i64::MAX as u64, 0, 0];
    let add = |target: &mut Vec<u64>, delta: &[u64]| {
        Cofactor::add(&shape, target, &[0], slab(delta, 1), &mut Vec::new())
    };
    assert_eq!(add(&mut target, &[1, 0, 0]), Err(Overflow { component: 0 }));
    let mut target = vec![1, f64::MAX.to_bits(), 0];
    assert_eq!(
        add(&mut target, &[1, f64::MAX.to_bits(), 0]),
        Err(Overflow { component: 1 })
    );
    let product = CofactorProduct::new(&[], &[0]);
    let found = Cofactor::multiply(
        &product,
        (slab(&[1 << 40], 1), Rows::All(1)),
        (slab(&[1 << 40, 0, 0], 1), &[0]),
        Groups::Each(1),
        &mut CofactorScratch::default(),
        &mut Vec::new(),
    );
    assert_eq!(found, Err(Overflow { component: 0 }));
}
