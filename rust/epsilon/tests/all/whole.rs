//! Properties of a whole machine: it follows its size, solves problems that are hard by conjecture, and can be undone
//! at any step.
use ringview_core::{Budget, Error};

use crate::common::{House, Tuples, cycle, four, four_in_a_row, triangle};

#[test]
fn the_threshold_base_follows_the_size() {
    let mut house = triangle([0.5; 3]);
    let mut bases = vec![house.machine.size()];
    for vertex in 0..9 {
        house.change(0, &[(vec![vertex, 0], 1)], true);
        bases.push(house.machine.size());
    }
    let grown = [1, 2, 4, 4, 8, 8, 8, 8, 16, 16];
    let expected: Vec<(u64, u64)> = grown.into_iter().zip(0..).collect();
    assert_eq!(bases, expected);
    for vertex in 0..9 {
        house.change(0, &[(vec![vertex, 0], -1)], true);
        let (base, tuples) = house.machine.size();
        assert!(base / 4 <= tuples && tuples < base);
    }
    assert_eq!(house.machine.size().1, 0);
}

/// The tuple that an entry is.
type Entry<At> = fn(At) -> Vec<i64>;

/// Reduction of online vector-matrix-vector products to a join: its machine, and the tuples for an entry of the matrix,
/// of u and of v.
struct Reduction {
    house: fn(f64) -> House,
    /// Tuples that must exist besides.
    rest: Tuples,
    matrix: Vec<(usize, Entry<[i64; 2]>)>,
    vectors: [(usize, Entry<i64>); 2],
}

/// Appendices C, F.2 and G.6.
fn reductions() -> [Reduction; 3] {
    [
        Reduction {
            house: |epsilon| triangle([epsilon; 3]),
            rest: Vec::new(),
            matrix: vec![(1, |[i, j]| vec![i, j])],
            vectors: [(0, |i| vec![0, i]), (2, |j| vec![j, 0])],
        },
        Reduction {
            house: four,
            rest: Vec::new(),
            matrix: vec![(2, |[i, j]| vec![0, i, j]), (3, |[i, j]| vec![i, j, 0])],
            vectors: [(1, |i| vec![0, 0, i]), (0, |j| vec![j, 0, 0])],
        },
        Reduction {
            house: four_in_a_row,
            rest: vec![(3, vec![0])],
            matrix: vec![(1, |[i, j]| vec![i, j])],
            vectors: [(0, |i| vec![i]), (2, |j| vec![j, 0])],
        },
    ]
}

/// u^T M v is not 0 where the join of what they are entered as has a row.
#[test]
fn online_vector_matrix_vector_products_are_solved() {
    const N: usize = 24;
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        seed >> 33
    };
    let (mut yes, mut no) = (0, 0);
    for reduction in reductions() {
        for epsilon in crate::common::EPSILONS {
            let mut house = (reduction.house)(epsilon);
            for (relation, tuple) in &reduction.rest {
                house.quick(*relation, &[(tuple.clone(), 1)]);
            }
            let matrix: Vec<Vec<bool>> = (0..N)
                .map(|_| (0..N).map(|_| random() % 5 == 0).collect())
                .collect();
            for (i, row) in matrix.iter().enumerate() {
                for j in (0..N).filter(|&j| row[j]) {
                    for (relation, tuple) in &reduction.matrix {
                        house.quick(*relation, &[(tuple([i as i64, j as i64]), 1)]);
                    }
                }
            }
            let mut vectors = [vec![false; N], vec![false; N]];
            for _ in 0..N {
                let new: [Vec<bool>; 2] =
                    [(); 2].map(|()| (0..N).map(|_| random() % 6 == 0).collect());
                for at in 0..N {
                    for side in 0..2 {
                        let (relation, tuple) = reduction.vectors[side];
                        let times = i64::from(new[side][at]) - i64::from(vectors[side][at]);
                        if times != 0 {
                            house.quick(relation, &[(tuple(at as i64), times)]);
                        }
                    }
                }
                vectors = new;
                let [u, v] = &vectors;
                let expected = (0..N).any(|i| u[i] && (0..N).any(|j| matrix[i][j] && v[j]));
                assert_eq!(house.result() > 0, expected);
                *if expected { &mut yes } else { &mut no } += 1;
            }
        }
    }
    assert!(yes > 50 && no > 50, "{yes} {no}");
}

#[test]
fn an_overflow_in_the_middle_of_a_rebalancing_leaves_all_as_it_was() {
    let mut house = triangle([0.5; 3]);
    for c in 0..30 {
        house.change(1, &[(vec![0, c], 1 << 40)], false);
    }
    let mut refused = None;
    for c in 0..30 {
        let row = (vec![c, 0], 1 << 40);
        // The vertex becomes heavy, and the view of what is between it and the other is to hold 2^80.
        if let Err(error) = house.apply(2, std::slice::from_ref(&row)) {
            refused = Some(error);
            house.machine.rollback();
            house.check();
            break;
        }
        house.machine.rollback();
        house.change(2, &[row], false);
    }
    assert!(
        matches!(refused, Some(Error::Overflow { .. })),
        "{refused:?}"
    );
    house.change(0, &[(vec![5, 5], 1)], true);
}

#[test]
fn a_change_can_be_interrupted_and_is_undone() {
    let mut house = cycle(0.5);
    let edges: Vec<_> = (0..400i64).map(|at| (vec![at % 20, at / 20], 1)).collect();
    house.change(0, &edges[..200], false);
    let mut asked = 0;
    let mut poll = |_| {
        asked += 1;
        Err(Error::Interrupted)
    };
    let budget = Budget::new(&mut poll);
    // The earlier work makes the budget poll at the next step.
    let _ = budget.is_due(1 << 16);
    let delta = crate::common::delta(&edges[200..]);
    assert!(matches!(
        house.machine.apply(0, &delta, &budget),
        Err(Error::Interrupted)
    ));
    assert_eq!(asked, 1);
    house.machine.rollback();
    house.check();
    house.change(0, &edges[200..], false);
}
