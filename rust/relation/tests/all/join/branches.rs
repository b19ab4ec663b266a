//! A path that falls into branches: R(a, b) and S(b, c) make M(a, c), and that P(a) and, with T(c, d), Q(a, d).

use proptest::prelude::*;

use crate::join::common::{House, Rows, add, brute_force, join, level, relation};

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const D: usize = 3;

const KEYS: [&[usize]; 3] = [&[A, B], &[B, C], &[C, D]];
const M: usize = 3;
const P: usize = 4;
const Q: usize = 5;

/// Relations into which changes of M propagate: P, Q or both.
fn house(ends: &[usize]) -> House {
    let relations = [("R", 2), ("S", 2), ("T", 2), ("M", 2), ("P", 1), ("Q", 2)];
    let relations = relations.map(|(name, fields)| relation(name, fields));
    let mut house = House::new(relations.into());
    let to_q = |from: usize| {
        level(
            vec![join(from, KEYS.get(from).unwrap_or(&&[A, C][..]))],
            Q,
            &[A, D],
            true,
        )
    };
    for (from, to) in [(0, 1), (1, 0)] {
        let into = level(vec![join(to, KEYS[to])], M, &[A, C], true);
        house.path(from, KEYS[from], vec![into]);
    }
    house.path(2, KEYS[2], vec![to_q(M)]);
    for path in 0..2 {
        for &end in ends {
            let own = match end {
                P => level(vec![], P, &[A], true),
                _ => to_q(2),
            };
            house.path(M, &[A, C], vec![own]);
            let branch = house.paths.pop().unwrap();
            house.paths[path].branches.push(branch);
        }
    }
    house
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn each_branch_takes_what_arrives(
        changes in prop::collection::vec(
            (0..3_usize, prop::collection::vec((prop::collection::vec(0i64..4, 2), -1i64..3), 0..8), prop::bool::weighted(0.2)),
            1..25,
        ),
    ) {
        let mut house = house(&[P, Q]);
        let mut models = vec![Rows::new(); 3];
        for (changed, rows, undo) in &changes {
            house.apply(*changed, rows);
            house.end(*undo);
            if !undo {
                add(&mut models[*changed], rows);
            }
            let all: Vec<_> = models.iter().zip(KEYS).collect();
            prop_assert_eq!(house.rows(M), brute_force(&all[..2], &[A, C]));
            prop_assert_eq!(house.rows(P), brute_force(&all[..2], &[A]));
            prop_assert_eq!(house.rows(Q), brute_force(&all, &[A, D]));
        }
    }
}

#[test]
fn what_lies_before_the_branches_is_done_once() {
    const MANY: i64 = (1 << 15) + 7;
    let steps = |ends: &[usize]| {
        let mut house = house(ends);
        let s: Vec<_> = (0..MANY).map(|c| (vec![0, c], 1)).collect();
        let t: Vec<_> = (0..MANY).map(|c| (vec![c, 0], 1)).collect();
        house.apply(1, &s);
        house.apply(2, &t);
        house.end(false);
        let taken = house.steps(0, &[(vec![5, 0], 1)]);
        house.end(false);
        for &end in ends {
            let key = if end == P { vec![5] } else { vec![5, 0] };
            assert_eq!(house.rows(end), Rows::from([(key, MANY)]));
        }
        taken
    };
    let (none, one, other) = (steps(&[]), steps(&[P]), steps(&[Q]));
    assert!(none >= MANY as u64);
    // So are the sums of blocks, which wait for each other where something follows.
    let waited = (MANY as u64) / 256 * 256;
    assert_eq!(steps(&[P, Q]), one + other - none - waited);
}
