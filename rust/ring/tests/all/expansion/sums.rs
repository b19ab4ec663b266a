//! Reals summed by group, whatever is in one double and whatever is not, against exact arithmetic.

use proptest::prelude::*;
use proptest::sample::Index;
use ringview_ring::{
    Element, Expansion, Groups, LiftedReals, Number, NumberKind, PayloadRing, Rows, Slab,
    SumProduct, SumProductShape, TermProduct,
};

use crate::expansion::whole::{Whole, same, whole};

/// A double that is whole: most are small, so that sums of them are doubles; a few have all 53
/// bits.
fn double() -> impl Strategy<Value = f64> {
    let any = (-(1i64 << 53) + 1..1i64 << 53, 0i32..8);
    prop_oneof![
        30 => (-99i32..99).prop_map(f64::from),
        1 => any.prop_map(|(mantissa, exponent)| mantissa as f64 * 2f64.powi(exponent)),
        1 => Just(1e16),
        1 => Just(-1e16),
    ]
}

/// A real of one double or of more; times a count, and summed, it still has less than 148 digits.
fn real() -> impl Strategy<Value = Expansion> {
    prop_oneof![
        20 => double().prop_map(Expansion::from),
        1 => (double(), any::<i16>()).prop_map(|(a, b)| Expansion::product_of(a, f64::from(b))),
        1 => (double(), double()).prop_map(|(a, b)| Expansion::sum_of(a * 2f64.powi(20), b)),
    ]
}

fn count() -> impl Strategy<Value = i64> {
    prop_oneof![20 => -3i64..9, 1 => -(1i64 << 40)..1 << 40, 1 => Just((1 << 53) + 1)]
}

/// Rows, cut into runs at some of them: enough for several blocks.
fn runs<T: std::fmt::Debug>(
    row: impl Strategy<Value = T>,
) -> impl Strategy<Value = (Vec<T>, Vec<u32>)> {
    let rows = prop::collection::vec(row, 1..200);
    (rows, prop::collection::vec(any::<Index>(), 0..9)).prop_map(|(rows, cuts)| {
        let mut starts: Vec<u32> = cuts.iter().map(|at| at.index(rows.len()) as u32).collect();
        starts.push(0);
        starts.sort_unstable();
        starts.dedup();
        (rows, starts)
    })
}

/// Each row alone, in runs, and in the same groups by name.
fn ways<'a>(rows: usize, starts: &'a [u32], of: &'a [u32]) -> [Groups<'a>; 3] {
    let groups = starts.len();
    [
        Groups::Each(rows),
        Groups::Runs { starts, rows },
        Groups::Named { of, groups },
    ]
}

fn named(rows: usize, starts: &[u32]) -> Vec<u32> {
    let of = |row: u32| starts.iter().filter(|&&start| start <= row).count() as u32 - 1;
    (0..rows as u32).map(of).collect()
}

/// Whether payloads of a count and a real hold the sums of what the rows of each group are.
fn hold(payloads: &[u64], groups: Groups<'_>, rows: &[Whole]) -> bool {
    let mut sums = vec![Whole::default(); groups.len()];
    let mut cursor = groups.cursor();
    for (row, exact) in rows.iter().enumerate() {
        let group = cursor.at(row);
        sums[group] = std::mem::take(&mut sums[group]).plus(exact);
    }
    let payloads = payloads.chunks_exact(4);
    payloads.len() == sums.len()
        && payloads
            .zip(&sums)
            .all(|(payload, sum)| same(Expansion::load(payload, 1), sum))
}

const REAL: Element = Element {
    kind: NumberKind::Real,
    word: 1,
};

fn words(real: Expansion) -> [u64; 3] {
    let mut words = [0; 3];
    real.store(&mut words, 0);
    words
}

fn delta(words: &[u64], width: usize) -> Slab<'_> {
    Slab::delta(words, width)
}

proptest! {
    #[test]
    fn lifted_rows((rows, starts) in runs((double(), real(), count())), leave in any::<bool>()) {
        let sign = if leave { -1 } else { 1 };
        let doubles: Vec<u64> = rows.iter().map(|(double, ..)| double.to_bits()).collect();
        let longs: Vec<u64> = rows.iter().flat_map(|(_, real, _)| words(*real)).collect();
        let all: Vec<i64> = rows.iter().rev().map(|(.., times)| *times).collect();
        let picked: Vec<u32> = (0..rows.len() as u32).rev().collect();
        let reversed = Some((&all[..], Some(&picked[..])));
        let of = named(rows.len(), &starts);
        for groups in ways(rows.len(), &starts, &of) {
            for (long, times) in [(false, None), (true, None), (false, reversed), (true, reversed)] {
                let values = if long { &longs } else { &doubles };
                let lifted = LiftedReals { words: values, long, sign, times };
                let mut out = vec![0; 4 * groups.len()];
                prop_assert!(!lifted.sum(groups, REAL, &mut out, 4));
                let exact: Vec<Whole> = rows.iter().map(|(double, real, count)| {
                    let value = if long { *real } else { Expansion::from(*double) };
                    let times = if times.is_some() { *count } else { 1 };
                    whole(value).times(&Whole::of(sign * times, 0))
                }).collect();
                prop_assert!(hold(&out, groups, &exact));
            }
        }
    }

    #[test]
    fn products_with_counts_and_reals(
        (rows, starts) in runs((real(), count(), double(), any::<Index>())),
        small in prop::collection::vec(double(), 3),
    ) {
        let counted = SumProductShape::new(&[NumberKind::Integer, NumberKind::Real]);
        let counts = SumProductShape::new(&[NumberKind::Integer]);
        let with = |count: i64, real: Expansion| {
            let [a, b, c] = words(real);
            [count as u64, a, b, c]
        };
        let reals: Vec<u64> = rows.iter().flat_map(|(real, ..)| with(1, *real)).collect();
        let numbers: Vec<u64> = rows.iter().map(|(_, count, ..)| *count as u64).collect();
        let slots: Vec<u32> = (0..rows.len() as u32).rev().collect();
        let backwards = |row: usize| &rows[rows.len() - 1 - row];
        let of = named(rows.len(), &starts);
        let short: Vec<u64> = small.iter().flat_map(|&x| with(1, x.into())).collect();
        let picks: Vec<u32> = rows.iter().map(|(.., at)| at.index(3) as u32).collect();
        for groups in ways(rows.len(), &starts, &of) {
            // A real times a count, at slots in the other order; and the other way round.
            let product = TermProduct::new(&counted, &counts, &counted, &[(0, 0), (1, 0)]);
            let mut out = Vec::new();
            let (left, right) = ((delta(&reals, 4), Rows::All(rows.len())), (delta(&numbers, 1), &slots[..]));
            SumProduct::multiply(&product, left, right, groups, &mut (), &mut out).unwrap();
            let exact: Vec<Whole> = (0..rows.len()).map(|row| {
                whole(rows[row].0).times(&Whole::of(backwards(row).1, 0))
            }).collect();
            prop_assert!(hold(&out, groups, &exact));
            let product = TermProduct::new(&counts, &counted, &counted, &[(0, 0), (0, 1)]);
            let (left, right) = ((delta(&numbers, 1), Rows::All(rows.len())), (delta(&reals, 4), &slots[..]));
            SumProduct::multiply(&product, left, right, groups, &mut (), &mut out).unwrap();
            let exact: Vec<Whole> = (0..rows.len()).map(|row| {
                whole(backwards(row).0).times(&Whole::of(rows[row].1, 0))
            }).collect();
            prop_assert!(hold(&out, groups, &exact));
            // Doubles times doubles: each product is exact, and all sums are.
            let doubles: Vec<u64> = rows.iter().flat_map(|(_, _, double, _)| with(1, (*double).into())).collect();
            let product = TermProduct::new(&counted, &counted, &counted, &[(0, 0), (1, 1)]);
            let (left, right) = ((delta(&short, 4), Rows::Picked(&picks)), (delta(&doubles, 4), &slots[..]));
            SumProduct::multiply(&product, left, right, groups, &mut (), &mut out).unwrap();
            let exact: Vec<Whole> = (0..rows.len()).map(|row| {
                let left = small[picks[row] as usize];
                whole(left.into()).times(&whole(backwards(row).2.into()))
            }).collect();
            prop_assert!(hold(&out, groups, &exact));
        }
    }

    /// Rows are deleted in another order than they were inserted: nothing stays, at any time.
    #[test]
    fn sums_at_slots(rows in prop::collection::vec((real(), 0u32..3), 1..90), order in any::<prop::sample::Index>()) {
        let shape = SumProductShape::new(&[NumberKind::Integer, NumberKind::Real]);
        let mut target = vec![0; 12];
        let mut exact = vec![Whole::default(); 3];
        let mut leaving = rows.clone();
        leaving.rotate_left(order.index(rows.len()));
        let coming = rows.iter().map(|row| (row, 1i64));
        let mut emptied = Vec::new();
        for ((real, slot), sign) in coming.chain(leaving.iter().map(|row| (row, -1))) {
            let real = if sign == 1 { *real } else { real.negated() };
            let [a, b, c] = words(real);
            let row = [sign as u64, a, b, c];
            SumProduct::add(&shape, &mut target, &[*slot], delta(&row, 4), &mut emptied).unwrap();
            let sum = &mut exact[*slot as usize];
            *sum = std::mem::take(sum).plus(&whole(real));
            prop_assert!(same(Expansion::load(&target, 4 * *slot as usize + 1), sum));
        }
        // Zeros of either sign.
        prop_assert!(target.iter().all(|word| word << 1 == 0));
    }
}

/// A sum beyond the range of doubles is reported wherever it appears.
#[test]
fn sums_that_are_not_finite() {
    let large = [f64::MAX.to_bits(); 70];
    let lifted = LiftedReals {
        words: &large,
        long: false,
        sign: 1,
        times: None,
    };
    let mut out = vec![0; 4 * 70];
    let starts = [0, 69];
    let runs = Groups::Runs {
        starts: &starts,
        rows: 70,
    };
    assert!(lifted.sum(runs, REAL, &mut out[..8], 4));
    assert!(!lifted.sum(Groups::Each(70), REAL, &mut out, 4));
    let twice = LiftedReals {
        times: Some((&[2; 70], None)),
        ..lifted
    };
    assert!(twice.sum(Groups::Each(70), REAL, &mut out, 4));
}
