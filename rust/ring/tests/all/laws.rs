//! The ring laws, and the payload ring against arithmetic on single numbers.

use proptest::prelude::*;
use ringview_ring::{
    CommutativeMonoid, Expansion, Group, Groups, NumberKind, Overflow, PayloadRing, Ring, Rows,
    Slab, SumProduct, SumProductShape, TermProduct,
};

/// Definition 2.1 of the paper, for values small enough that nothing overflows.
fn laws<R: Ring + std::fmt::Debug>(a: R, b: R, c: R) -> Option<()> {
    assert_eq!(a.plus(b), b.plus(a));
    assert_eq!(a.plus(b)?.plus(c), a.plus(b.plus(c)?));
    assert_eq!(R::ZERO.plus(a), Some(a));
    assert_eq!(a.plus(a.minus()?), Some(R::ZERO));
    assert_eq!(a.times(b)?.times(c), a.times(b.times(c)?));
    assert_eq!(a.times(R::ONE), Some(a));
    assert_eq!(R::ONE.times(a), Some(a));
    assert_eq!(a.times(b.plus(c)?), a.times(b)?.plus(a.times(c)?));
    assert_eq!(a.plus(b)?.times(c), a.times(c)?.plus(b.times(c)?));
    assert!(R::ZERO.is_zero() && a.times(R::ZERO)?.is_zero());
    Some(())
}

const KINDS: [NumberKind; 4] = [
    NumberKind::Integer,
    NumberKind::Decimal,
    NumberKind::Real,
    NumberKind::Integer,
];

fn payload(row: [i32; 4]) -> [u64; 7] {
    let decimal = i128::from(row[1]) << 40;
    let real = f64::from(row[2]).to_bits();
    [
        row[0] as i64 as u64,
        decimal as u64,
        (decimal >> 64) as u64,
        real,
        0,
        0,
        row[3] as i64 as u64,
    ]
}

fn slab(rows: &[[i32; 4]]) -> Vec<u64> {
    rows.iter().flat_map(|&row| payload(row)).collect()
}

/// The ring of numbers takes the width of a payload from its shape.
fn whole(words: &[u64]) -> Slab<'_> {
    Slab::delta(words, words.len())
}

proptest! {
    #[test]
    fn integers(a in -1_000i64..1_000, b in -1_000i64..1_000, c in -1_000i64..1_000) {
        prop_assert!(laws(a, b, c).is_some());
        prop_assert!(laws(i128::from(a) << 50, i128::from(b), i128::from(c)).is_some());
        // Whole numbers are exact in expansions too, as long as three doubles hold them.
        let real = |value: i64| Expansion::from(value << 40);
        prop_assert!(laws(real(a), real(b), real(c)).is_some());
    }

    #[test]
    fn sums_go_to_their_slots(
        rows in prop::collection::vec((0u32..4, prop::array::uniform4(-2i32..3)), 0..30),
    ) {
        let shape = SumProductShape::new(&KINDS);
        let mut target = vec![0; 4 * SumProduct::stride(&shape)];
        let slots: Vec<u32> = rows.iter().map(|(slot, _)| *slot).collect();
        let values: Vec<[i32; 4]> = rows.iter().map(|(_, row)| *row).collect();
        let mut emptied = Vec::new();
        SumProduct::add(&shape, &mut target, &slots, whole(&slab(&values)), &mut emptied).unwrap();
        for slot in 0..4 {
            let mut sum = [0; 4];
            for (_, row) in rows.iter().filter(|(at, _)| *at == slot) {
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
            let found = &target[slot as usize * 7..][..7];
            prop_assert_eq!(found, &payload(sum));
            prop_assert_eq!(SumProduct::is_zero(&shape, found), sum[0] == 0 && sum[1] == 0 && sum[3] == 0);
            if sum[0] == 0 && slots.contains(&slot) {
                prop_assert!(emptied.contains(&slot));
            }
        }
    }

    #[test]
    fn products_pair_components(
        left in prop::collection::vec(prop::array::uniform4(-9i32..9), 1..8),
        right in prop::collection::vec(prop::array::uniform2(-9i32..9), 1..8),
        pairs in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u32..3), 0..20),
    ) {
        let shape = SumProductShape::new(&KINDS);
        let counts = SumProductShape::new(&[NumberKind::Integer, NumberKind::Integer]);
        let product = TermProduct::new(&shape, &counts, &shape, &[(0, 0), (1, 1), (2, 0), (3, 1)]);
        let rows: Vec<u32> = pairs.iter().map(|(l, _, _)| l.index(left.len()) as u32).collect();
        let slots: Vec<u32> = pairs.iter().map(|(_, r, _)| r.index(right.len()) as u32).collect();
        let flat: Vec<u64> = right.iter().flatten().map(|&v| i64::from(v) as u64).collect();
        let rows = Rows::Picked(&rows);
        let each: Vec<[i32; 4]> = pairs.iter().map(|(l, r, _)| {
            let (l, r) = (l.get(&left), r.get(&right));
            [l[0] * r[0], l[1] * r[1], l[2] * r[0], l[3] * r[1]]
        }).collect();
        let named: Vec<u32> = pairs.iter().map(|(_, _, group)| *group).collect();
        let changed = |&row: &usize| row == 0 || named[row] != named[row - 1];
        let starts: Vec<u32> = (0..named.len()).filter(changed).map(|row| row as u32).collect();
        for groups in [
            Groups::Each(pairs.len()),
            Groups::Runs { starts: &starts, rows: pairs.len() },
            Groups::Named { of: &named, groups: 3 },
        ] {
            let mut sums = vec![[0; 4]; groups.len()];
            let mut cursor = groups.cursor();
            for (row, each) in each.iter().enumerate() {
                let group = cursor.at(row);
                sums[group].iter_mut().zip(each).for_each(|(sum, value)| *sum += value);
            }
            let mut out = Vec::new();
            SumProduct::multiply(&product, (whole(&slab(&left)), rows), (whole(&flat), &slots), groups, &mut (), &mut out).unwrap();
            // Zero times a negative real is the other zero.
            let negative_zero = (-0.0f64).to_bits();
            out.iter_mut().filter(|word| **word == negative_zero).for_each(|word| *word = 0);
            prop_assert_eq!(out, slab(&sums));
        }
    }
}

#[test]
fn overflow_names_its_component() {
    let shape = SumProductShape::new(&[NumberKind::Integer; 2]);
    let mut target = vec![1, i64::MAX as u64];
    let found = SumProduct::add(&shape, &mut target, &[0], whole(&[1, 1]), &mut Vec::new());
    assert_eq!(found, Err(Overflow { component: 1 }));
    let product = TermProduct::new(&shape, &shape, &shape, &[(0, 0), (1, 1)]);
    let big = [1, 1 << 40];
    let found = SumProduct::multiply(
        &product,
        (whole(&big), Rows::All(1)),
        (whole(&big), &[0]),
        Groups::Each(1),
        &mut (),
        &mut Vec::new(),
    );
    assert_eq!(found, Err(Overflow { component: 1 }));
    assert_eq!(i64::MAX.plus(1), None);
    assert_eq!(i64::MIN.minus(), None);
    assert_eq!(i128::MAX.times(2), None);
}

/// No delete could take an infinity out of a sum again.
#[test]
fn reals_stay_finite() {
    let shape = SumProductShape::new(&[NumberKind::Integer, NumberKind::Real]);
    let payload = |real: f64| [1, real.to_bits(), 0, 0];
    let (large, huge) = (payload(1e200), payload(1.7e308));
    let refused = Err(Overflow { component: 1 });
    let mut target = huge.to_vec();
    let found = SumProduct::add(&shape, &mut target, &[0], whole(&huge), &mut Vec::new());
    assert_eq!(found, refused);
    let mut out = Vec::new();
    let product = TermProduct::new(&shape, &shape, &shape, &[(0, 0), (1, 1)]);
    let found = SumProduct::multiply(
        &product,
        (whole(&large), Rows::All(1)),
        (whole(&large), &[0]),
        Groups::Each(1),
        &mut (),
        &mut out,
    );
    assert_eq!(found.map(drop), refused);
    // Each product fits, their sum does not.
    let (ones, run) = (
        payload(1.0),
        Groups::Runs {
            starts: &[0],
            rows: 2,
        },
    );
    let rows = Rows::Picked(&[0, 0]);
    let found = SumProduct::multiply(
        &product,
        (whole(&huge), rows),
        (whole(&ones), &[0, 0]),
        run,
        &mut (),
        &mut out,
    );
    assert_eq!(found.map(drop), refused);
    let real = Expansion::from;
    assert_eq!(real(f64::MAX).plus(real(f64::MAX)), None);
    assert_eq!(real(1e200).times(real(1e200)), None);
}

/// A delete and an insert in one delta: the count is zero, the payload is not.
#[test]
fn a_zero_count_is_not_zero() {
    let shape = SumProductShape::new(&[NumberKind::Integer; 2]);
    assert!(!SumProduct::is_zero(&shape, &[0, -3i64 as u64]));
    assert!(SumProduct::is_zero(&shape, &[0, 0]));
}

/// A sum that does not fit has 256 bits while it does not, and its old form once it fits again.
#[test]
fn widened_payloads_hold_what_does_not_fit() {
    let shape = SumProductShape::new(&KINDS);
    let wide = SumProduct::widened(&shape).unwrap();
    let most = [
        1,
        -1i64 as u64,
        i64::MAX as u64,
        2.5f64.to_bits(),
        0,
        0,
        i64::MAX as u64,
    ];
    let (one, stride) = (
        SumProduct::widen(&shape, &wide, &most),
        SumProduct::stride(&wide),
    );
    assert_eq!(one.len(), stride);
    let mut narrow = Vec::new();
    assert!(SumProduct::narrow(&shape, &wide, &one, &mut narrow));
    assert_eq!(narrow, most);
    let mut sum = one.clone();
    SumProduct::add(
        &wide,
        &mut sum,
        &[0, 0],
        whole(&[one.clone(), one].concat()),
        &mut Vec::new(),
    )
    .unwrap();
    assert!(!SumProduct::narrow(&shape, &wide, &sum, &mut narrow));
    // Sums that do not fit wrap around.
    assert_eq!(narrow[6], i64::MAX.wrapping_mul(3) as u64);
    let count = SumProductShape::new(&[NumberKind::Integer]);
    assert_eq!(SumProduct::widened(&count), None);
}

/// A refused sum leaves exact numbers as they were, to be added another way.
#[test]
fn what_overflows_is_taken_back() {
    for kinds in [&[NumberKind::Integer; 2][..], &KINDS] {
        let shape = SumProductShape::new(kinds);
        let stride = SumProduct::stride(&shape);
        let mut row = vec![1; stride];
        row[stride - 1] = i64::MAX as u64;
        let mut target = [vec![7; stride], row.clone()].concat();
        let before = target.clone();
        let delta = [row.clone(), row.clone(), row].concat();
        let found = SumProduct::add(
            &shape,
            &mut target,
            &[0, 1, 0],
            whole(&delta),
            &mut Vec::new(),
        );
        assert_eq!(
            found,
            Err(Overflow {
                component: kinds.len() - 1
            })
        );
        assert_eq!(target, before);
    }
}

proptest! {
    #[test]
    fn widened_products_agree(
        left in prop::collection::vec(prop::array::uniform4(any::<i32>()), 1..6),
        right in prop::collection::vec(prop::array::uniform4(any::<i32>()), 1..6),
        pairs in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..12),
    ) {
        // Sums of large integers overflow; small ones agree with the product as it is. Counts stay
        // small: they have no wider form.
        for shift in [0, 8] {
            let small = |rows: &[[i32; 4]]| slab(&rows.iter().map(|row| [row[0] % 100, row[1] >> shift, row[2] >> shift, row[3] >> shift]).collect::<Vec<_>>());
            let (left, right) = (small(&left), small(&right));
            let shape = SumProductShape::new(&KINDS);
            let product = TermProduct::new(&shape, &shape, &shape, &[(0, 0), (1, 3), (2, 0), (3, 3)]);
            let wide = SumProduct::widened_product(&product).unwrap();
            let rows: Vec<u32> = pairs.iter().map(|(l, _)| l.index(left.len() / 7) as u32).collect();
            let slots: Vec<u32> = pairs.iter().map(|(_, r)| r.index(right.len() / 7) as u32).collect();
            let groups = Groups::Runs { starts: &[0], rows: pairs.len() };
            let shape_of = |shape: &SumProductShape| SumProduct::widened(shape).unwrap();
            let (wide_left, wide_right) = (
                SumProduct::widen(&wide.left, &shape_of(&wide.left), &left),
                SumProduct::widen(&wide.right, &shape_of(&wide.right), &right),
            );
            let (mut out, mut wide_out, mut narrow) = (Vec::new(), Vec::new(), Vec::new());
            let widely = SumProduct::multiply(&wide.product, (whole(&wide_left), Rows::Picked(&rows)), (whole(&wide_right), &slots), groups, &mut (), &mut wide_out);
            if widely.is_err() {
                // Counts stay as wide as they are.
                let counts = Err(Overflow { component: 0 });
                prop_assert!(shift == 0 && widely == counts);
                continue;
            }
            let fits = SumProduct::narrow(&wide.out, &shape_of(&wide.out), &wide_out, &mut narrow);
            let plain = SumProduct::multiply(&product, (whole(&left), Rows::Picked(&rows)), (whole(&right), &slots), groups, &mut (), &mut out);
            if plain.is_ok() {
                prop_assert!(fits);
                prop_assert_eq!(narrow, out);
            } else {
                prop_assert!(shift == 0);
            }
        }
    }
}
