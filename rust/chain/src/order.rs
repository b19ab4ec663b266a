//! In which order a chain of matrices is multiplied: the variable order of its view tree.
//!
//! The textbook dynamic program over the sub-chains i..=j (paper, section 7.1), with three costs,
//! one after the other: the multiplications of the views that change (what a recomputation takes),
//! the work of one change of each changing matrix (what maintenance takes), and all multiplications
//! (what the start takes). If every matrix changes, the first is the textbook's cost.
//!
//! A view is stored if its sibling changes: then deltas join with it. So whether a sub-chain is
//! stored hangs on its parent's split alone, and the dynamic program stays exact.
//!
//! Cost: O(k^3) for k matrices.

/// Multiplications of changing views, work of the changes, all multiplications.
type Cost = (u128, u128, u128);

/// A bracketing: a matrix, or the product of two sub-chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Matrix(usize),
    Product(Box<Order>, Box<Order>),
}

/// The best sub-chain: its cost and where it splits.
#[derive(Clone, Copy, Debug)]
struct Best {
    cost: Cost,
    split: usize,
}

/// The best order for matrices of these dimensions, one more than there are matrices.
pub(crate) fn choose(dimensions: &[usize], changing: &[bool]) -> Order {
    let matrices = changing.len();
    // By first, last, and whether the product is stored.
    let none = Best {
        cost: (0, 0, 0),
        split: 0,
    };
    let mut best = vec![vec![[none; 2]; matrices]; matrices];
    let changes: Vec<u128> = std::iter::once(0)
        .chain(changing.iter().scan(0, |sum, &changes| {
            *sum += u128::from(changes);
            Some(*sum)
        }))
        .collect();
    // Number of the matrices i..=j that change.
    let moving = |i: usize, j: usize| changes[j + 1] - changes[i];
    let size = |a: usize, b: usize| (dimensions[a] as u128).saturating_mul(dimensions[b] as u128);
    for length in 2..=matrices {
        for first in 0..=matrices - length {
            let last = first + length - 1;
            for stored in 0..2 {
                // A rank-1 change is added to a stored view: a walk that also writes.
                let add = 2 * stored as u128 * moving(first, last);
                let own = add.saturating_mul(size(first, last + 1));
                let of = |split: usize| {
                    let (left, right) = (moving(first, split), moving(split + 1, last));
                    let l = best[first][split][usize::from(right > 0)].cost;
                    let r = best[split + 1][last][usize::from(left > 0)].cost;
                    let multiply =
                        size(first, split + 1).saturating_mul(dimensions[last + 1] as u128);
                    let again = if left + right > 0 { multiply } else { 0 };
                    // One vector times the sibling for each change of the other side.
                    let update = left
                        .saturating_mul(size(split + 1, last + 1))
                        .saturating_add(right.saturating_mul(size(first, split + 1)));
                    let sum = |parts: [u128; 3]| parts.into_iter().fold(0, u128::saturating_add);
                    (
                        sum([l.0, r.0, again]),
                        sum([l.1, r.1, update.saturating_add(own)]),
                        sum([l.2, r.2, multiply]),
                    )
                };
                let found = (first..last)
                    .map(|split| Best {
                        cost: of(split),
                        split,
                    })
                    .min_by_key(|candidate| candidate.cost);
                if let Some(found) = found {
                    best[first][last][stored] = found;
                }
            }
        }
    }
    // The root is stored: it is the result.
    read(&best, &moving, (0, matrices - 1), true)
}

fn read(
    best: &[Vec<[Best; 2]>],
    moving: &dyn Fn(usize, usize) -> u128,
    (first, last): (usize, usize),
    stored: bool,
) -> Order {
    if first == last {
        return Order::Matrix(first);
    }
    let split = best[first][last][usize::from(stored)].split;
    let (left, right) = (moving(first, split) > 0, moving(split + 1, last) > 0);
    Order::Product(
        Box::new(read(best, moving, (first, split), right)),
        Box::new(read(best, moving, (split + 1, last), left)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(order: &Order) -> String {
        match order {
            Order::Matrix(at) => format!("{}", at + 1),
            Order::Product(left, right) => format!("({} {})", text(left), text(right)),
        }
    }

    fn order(dimensions: &[usize], changing: &[bool]) -> String {
        text(&choose(dimensions, changing))
    }

    #[test]
    fn the_textbook_chain_has_the_textbook_order() {
        let dimensions = [30, 35, 15, 5, 10, 20, 25];
        assert_eq!(order(&dimensions, &[true; 6]), "((1 (2 3)) ((4 5) 6))");
    }

    #[test]
    fn equal_sizes_make_a_tree_of_the_lowest_depth() {
        assert_eq!(order(&[9; 5], &[true; 4]), "((1 2) (3 4))");
        let eight = order(&[9; 9], &[true; 8]);
        assert_eq!(eight, "(((1 2) (3 4)) ((5 6) (7 8)))");
    }

    #[test]
    fn static_matrices_are_multiplied_once_and_stay_together() {
        let of = |at: usize| {
            let mut changing = [false; 5];
            changing[at] = true;
            order(&[9; 6], &changing)
        };
        let last = of(4);
        assert!(last.ends_with(" 5)") && last.starts_with("(("), "{last}");
        let first = of(0);
        assert!(first.starts_with("(1 ("), "{first}");
    }

    #[test]
    fn sizes_beyond_every_number_do_not_wrap() {
        let huge = usize::MAX;
        assert_eq!(order(&[huge, huge, huge], &[true; 2]), "(1 2)");
    }

    /// Every bracketing, with the first cost.
    fn all(dimensions: &[usize], first: usize, last: usize) -> u128 {
        (first..last)
            .map(|split| {
                let multiply = dimensions[first] * dimensions[split + 1] * dimensions[last + 1];
                all(dimensions, first, split) + all(dimensions, split + 1, last) + multiply as u128
            })
            .min()
            .unwrap_or(0)
    }

    fn multiplications(order: &Order, dimensions: &[usize]) -> (u128, usize, usize) {
        match order {
            Order::Matrix(at) => (0, *at, *at),
            Order::Product(left, right) => {
                let (l, first, middle) = multiplications(left, dimensions);
                let (r, _, last) = multiplications(right, dimensions);
                let own = dimensions[first] * dimensions[middle + 1] * dimensions[last + 1];
                (l + r + own as u128, first, last)
            }
        }
    }

    #[test]
    fn no_bracketing_multiplies_less() {
        let mut state = 7u64;
        for _ in 0..50 {
            let dimensions: Vec<usize> = (0..8)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 33) as usize % 20 + 1
                })
                .collect();
            let chosen = choose(&dimensions, &[true; 7]);
            assert_eq!(
                multiplications(&chosen, &dimensions).0,
                all(&dimensions, 0, 6)
            );
        }
    }
}
