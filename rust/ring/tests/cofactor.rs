//! The degree-m matrix ring against sums over explicit rows.

use proptest::prelude::*;
use ringview_ring::{
    Cofactor, CofactorProduct, CofactorShape, Groups, Overflow, PayloadRing, Rows, lift_rows,
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
        Cofactor::multiply(&product, &l, Rows::All(1), &r, &[0], Groups::Each(1), &mut out).unwrap();
        prop_assert!(same(&out, &naive(5, &joined)));
        // Two products into one sum.
        let twice = Groups::Named { of: &[0, 0], groups: 1 };
        Cofactor::multiply(&product, &l, Rows::Picked(&[0, 0]), &r, &[0, 0], twice, &mut out).unwrap();
        let doubled: Vec<_> = joined.iter().map(|(row, times)| (row.clone(), 2 * times)).collect();
        prop_assert!(same(&out, &naive(5, &doubled)));
    }

    /// Sums go to their slots, and inverses cancel exactly.
    #[test]
    fn inverses_cancel(rows in relation(4)) {
        let shape = CofactorShape { variables: 4 };
        let inverse: Vec<_> = rows.iter().map(|(row, times)| (row.clone(), -times)).collect();
        let (plus, minus) = (naive(4, &rows), naive(4, &inverse));
        let mut target = vec![0; 2 * shape.words()];
        let mut emptied = Vec::new();
        Cofactor::add(&shape, &mut target, &[1], &plus, &mut emptied).unwrap();
        prop_assert!(same(&target[shape.words()..], &plus));
        Cofactor::add(&shape, &mut target, &[1], &minus, &mut emptied).unwrap();
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
        Cofactor::add(&shape, target, &[0], delta, &mut Vec::new())
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
        &[1 << 40],
        Rows::All(1),
        &[1 << 40, 0, 0],
        &[0],
        Groups::Each(1),
        &mut Vec::new(),
    );
    assert_eq!(found, Err(Overflow { component: 0 }));
}
