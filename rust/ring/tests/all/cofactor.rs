//! The degree-m matrix ring against sums over explicit rows.

use proptest::prelude::*;
use ringview_ring::{
    Cofactor, CofactorProduct, CofactorScratch, CofactorShape, Expansion, Groups, JoinedPayloads,
    Lift, Overflow, PayloadRing, Rows, Slab,
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
    let mut values: Vec<f64> = rows.iter().flat_map(|(row, _)| row.clone()).collect();
    values.extend([f64::NAN; Lift::BEHIND]);
    let times: Vec<i64> = rows.iter().map(|(_, times)| *times).collect();
    let mut out = vec![7; 3];
    assert!(!Lift::default().rows(shape, &values, &times, groups, &mut out));
    out
}

/// Multiplies payloads; returns the width of the result.
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

/// A group a row, numbered in the order of first rows.
fn named(labels: &[usize]) -> (Vec<u32>, usize) {
    let mut known: Vec<usize> = Vec::new();
    let number = |label: &usize| match known.iter().position(|other| other == label) {
        Some(at) => at as u32,
        None => {
            known.push(*label);
            known.len() as u32 - 1
        }
    };
    let of = labels.iter().map(number).collect();
    (of, known.len())
}

/// Rows of m whole numbers, each at most so often.
fn weighted(m: usize, most: i64) -> impl Strategy<Value = (Vec<f64>, i64)> {
    let row = prop::collection::vec((-4i32..5).prop_map(f64::from), m);
    (row, -most..most + 1)
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
            let joined = groups[slots[row] as usize].iter();
            joined.map(|partner| {
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

    /// Rows are lifted group by group, however the groups lie, more rows than a tile has among them.
    #[test]
    fn rows_are_lifted_group_by_group(
        m in 0usize..20,
        runs in prop::collection::vec((0usize..3, 1usize..90, -1i64..3), 1..8),
        seed in 0usize..1000,
    ) {
        let mut rows = Vec::new();
        let mut labels = Vec::new();
        for (label, len, times) in runs {
            for _ in 0..len {
                let value = |i: usize| ((rows.len() * 7 + i * 5 + seed) % 11) as f64 - 5.0;
                rows.push(((0..m).map(value).collect::<Vec<f64>>(), times));
                labels.push(label);
            }
        }
        let (of, groups) = named(&labels);
        let starts: Vec<u32> = (0..rows.len() as u32).filter(|&row| row == 0 || of[row as usize] != of[row as usize - 1]).collect();
        let all = [
            Groups::Named { of: &of, groups },
            Groups::Runs { starts: &starts, rows: rows.len() },
            Groups::Each(rows.len()),
        ];
        for groups in all {
            let mut expected = vec![Vec::new(); groups.len()];
            let mut cursor = groups.cursor();
            for (at, row) in rows.iter().enumerate() {
                expected[cursor.at(at)].push(row.clone());
            }
            let expected: Vec<u64> = expected.iter().flat_map(|rows| naive(m, rows)).collect();
            prop_assert!(same(&lift(m, &rows, groups), &expected));
        }
    }

    /// A row that meets several partners at once gives what it gives with one after the other: whatever
    /// the order of the variables, of single rows and of groups, alone, in runs and scattered.
    #[test]
    fn partners_may_be_met_at_once(
        shuffled in Just((0usize..14).collect::<Vec<_>>()).prop_shuffle(),
        ends in prop::sample::subsequence((0usize..15).collect::<Vec<_>>(), 3),
        lefts in prop::collection::vec(weighted(14, 3), 1..150),
        views in prop::collection::vec(prop::collection::vec(prop::collection::vec(-4i32..5, 14), 1..4), 3..8),
        labels in prop::collection::vec(0usize..3, 150),
        short in any::<bool>(),
    ) {
        let rows = lefts.len();
        // The variables of each operand, ascending; some have none.
        let cuts = [0, ends[0], ends[1], ends[2], 14];
        let operands: Vec<Vec<usize>> = cuts.windows(2).map(|cut| {
            let mut own = shuffled[cut[0]..cut[1]].to_vec();
            own.sort_unstable();
            own
        }).collect();
        let width = |operand: usize| CofactorShape { variables: operands[operand].len() }.words();
        let view = |operand: usize| -> Vec<u64> {
            let m = operands[operand].len();
            let payload = |rows: &Vec<Vec<i32>>| {
                let row = |row: &Vec<i32>| (row[..m].iter().map(|&x| f64::from(x)).collect(), 1);
                naive(m, &rows.iter().map(row).collect::<Vec<_>>())
            };
            views.iter().flat_map(payload).collect()
        };
        let slabs: Vec<Vec<u64>> = (1..4).map(view).collect();
        let slots: Vec<Vec<u32>> = (1..4).map(|by| (0..rows).map(|row| ((row * by + by) % views.len()) as u32).collect()).collect();
        let cut = |(row, times): &(Vec<f64>, i64)| (row[..operands[0].len()].to_vec(), *times);
        let own: Vec<(Vec<f64>, i64)> = lefts.iter().map(cut).collect();
        let left = match short {
            true => rows_alone(&own),
            false => own.iter().flat_map(|row| naive(operands[0].len(), std::slice::from_ref(row))).collect(),
        };
        let left = slab(&left, rows);
        let mut bound = operands[0].clone();
        let mut products = Vec::new();
        for next in &operands[1..] {
            products.push(CofactorProduct::new(&bound, next));
            bound.extend(next);
            bound.sort_unstable();
        }
        let at_once = Cofactor::then(&products[0], &products[1]).unwrap();
        let at_once = Cofactor::then(&at_once, &products[2]).unwrap();
        let payloads = |at: usize| Slab::view(&slabs[at], width(at + 1));
        let joined: Vec<JoinedPayloads<'_>> = (0..3).map(|at| JoinedPayloads { payloads: payloads(at), slots: &slots[at] }).collect();
        let (of, groups) = named(&labels[..rows]);
        let starts: Vec<u32> = (0..rows as u32).step_by(70).collect();
        let kinds = [
            Groups::Each(rows),
            Groups::Runs { starts: &starts, rows },
            Groups::Named { of: &of, groups },
        ];
        let shape = CofactorShape { variables: 14 };
        let scratch = &mut CofactorScratch::default();
        for groups in kinds {
            let (mut before, mut out) = (left.words().to_vec(), Vec::new());
            let mut step = left.width();
            for (at, product) in products.iter().enumerate() {
                let groups = if at == 2 { groups } else { Groups::Each(rows) };
                let left = Slab::delta(&before, step);
                let right = (payloads(at), &slots[at][..]);
                step = Cofactor::multiply(product, (left, Rows::All(rows)), right, groups, scratch, &mut out).unwrap();
                std::mem::swap(&mut before, &mut out);
            }
            let found = Cofactor::multiply_all(&at_once, (left, Rows::All(rows)), &joined, groups, scratch, &mut out).unwrap();
            let full = |words: &[u64], width: usize| {
                let mut sums = vec![0; groups.len() * shape.words()];
                let all: Vec<u32> = (0..groups.len() as u32).collect();
                Cofactor::add(&shape, &mut sums, &all, Slab::delta(words, width), &mut Vec::new()).unwrap();
                sums
            };
            prop_assert!(same(&full(&before, step), &full(&out, found)));
        }
    }

    /// Sums are added at their slots, and inverses cancel exactly.
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

/// Whether the error of a payload is small, as a share of the sums of magnitudes.
fn near(found: &[u64], exact: &[f64]) -> bool {
    let real = |word: &u64| f64::from_bits(*word);
    let mut pairs = found.iter().map(real).zip(exact);
    pairs.all(|(found, exact)| (found - exact).abs() <= 1e-15 * exact.abs())
}

proptest! {
    /// Whole numbers that are moved to another origin are to the last digit what their rows are
    /// there, and back again.
    #[test]
    fn payloads_move_with_their_rows(
        rows in relation(4),
        by in prop::collection::vec(prop::sample::select(vec![0i64, 3, -1 << 20, 1 << 23]), 4),
    ) {
        let shape = CofactorShape { variables: 4 };
        let moved: Vec<(Vec<f64>, i64)> = rows
            .iter()
            .map(|(row, times)| {
                let row = row.iter().zip(&by).map(|(x, &by)| x + by as f64);
                (row.collect(), *times)
            })
            .collect();
        let mut payload = naive(4, &rows);
        let scratch = &mut Vec::new();
        let there: Vec<Expansion> = by.iter().map(|&by| Expansion::from(by as f64)).collect();
        shape.shift(&mut payload, &there, scratch);
        prop_assert!(same(&payload, &naive(4, &moved)));
        let back: Vec<Expansion> = there.iter().map(|by| by.negated()).collect();
        shape.recentre(&mut payload, &back, scratch);
        if payload[0] != 1 {
            prop_assert!(same(&payload, &naive(4, &rows)));
        }
    }

    /// An origin takes no digits: what is added is rounded once.
    #[test]
    fn what_is_shown_is_rounded_once(
        digits in prop::collection::vec(-1000i64..1000, 1..9),
        origin in 1i64 << 40..1 << 50,
    ) {
        let shape = CofactorShape { variables: 1 };
        let rows: Vec<(Vec<f64>, i64)> = digits.iter().map(|&x| (vec![x as f64], 1)).collect();
        let mut payload = naive(1, &rows);
        shape.shift(&mut payload, &[Expansion::from(origin as f64)], &mut Vec::new());
        let there = || digits.iter().map(|&x| i128::from(x + origin));
        let exact = [there().sum::<i128>() as f64, there().map(|x| x * x).sum::<i128>() as f64];
        prop_assert_eq!(f64::from_bits(payload[1]), exact[0]);
        prop_assert_eq!(f64::from_bits(payload[2]), exact[1]);
    }
}

/// In a view, the payload of one row is that of the row after a move, to the bit: else a delete of it would leave
/// something behind.
#[test]
fn one_row_stays_one_row() {
    let shape = CofactorShape { variables: 2 };
    let mut payload = naive(2, &[(vec![0.1, 1e9 + 0.3], 1)]);
    let by = [-0.7, -1e9].map(Expansion::from);
    shape.recentre(&mut payload, &by, &mut Vec::new());
    let row = vec![f64::from_bits(payload[1]), f64::from_bits(payload[2])];
    assert_eq!(payload, naive(2, &[(row.clone(), 1)]));
    assert!(near(&payload[1..3], &[0.1 - 0.7, 1e9 + 0.3 - 1e9]));
}

/// Sums that leave the range on the way to being shown are infinite, not NaN.
#[test]
fn what_leaves_the_range_is_shown_as_infinite() {
    let shape = CofactorShape { variables: 1 };
    let mut payload = vec![1 << 40, 0, 1e10f64.to_bits()];
    shape.shift(&mut payload, &[Expansion::from(-1e200)], &mut Vec::new());
    assert_eq!(f64::from_bits(payload[2]), f64::INFINITY);
}
