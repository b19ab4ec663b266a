//! Relations that agree on their keys, whose matches a row meets all at once: sums that do not fit on the way.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringview_core::Budget;
use ringview_relation::join::{Join, Propagation};
use ringview_relation::{Delta, KeyLayout, KeyedTable, Relation};
use ringview_ring::{NumberKind, PayloadRing, SumProduct, SumProductShape, TermProduct};

use crate::join::common::{House, WORD, level, relation, shape};

const A: usize = 0;
const Q: usize = 4;

/// A count and a sum.
fn sums() -> SumProductShape {
    SumProductShape::new(&[NumberKind::Integer; 2])
}

fn with_sums(name: &str, fields: usize) -> Relation<SumProduct> {
    let layout = KeyLayout::new(&vec![WORD; fields]);
    let table = KeyedTable::new(layout, SumProduct::stride(&sums()));
    Relation::new(name.to_owned(), sums(), Some(table))
}

/// R(a) with a sum, S(a), T(a), U(a), and Q over `keep`.
fn star(keep: &[usize]) -> House {
    let mut relations = vec![with_sums("R", 1)];
    relations.extend(["S", "T", "U"].map(|name| relation(name, 1)));
    relations.push(with_sums("Q", keep.len()));
    let mut house = House::new(relations);
    for from in 0..4 {
        let others = (0..4).filter(|&other| other != from);
        let mut left = if from == 0 { sums() } else { shape() };
        let joins = others.map(|relation| {
            let (right, pair) = match relation {
                0 => (sums(), (0, 1)),
                _ => (shape(), (1, 0)),
            };
            let product = match left == shape() && right == shape() {
                true => TermProduct::new(&left, &right, &shape(), &[(0, 0)]),
                false => TermProduct::new(&left, &right, &sums(), &[(0, 0), pair]),
            };
            if product != TermProduct::new(&shape(), &shape(), &shape(), &[(0, 0)]) {
                left = sums();
            }
            Join {
                relation,
                fields: vec![A],
                product,
            }
        });
        let joins = joins.collect();
        house.path(from, &[A], vec![level(joins, Q, keep, true)]);
    }
    house
}

/// Adds a row a key, so many times, each with a number where the relation has a sum.
fn apply(house: &mut House, to: usize, rows: &[(i64, i64)], number: i64) {
    let path = &house.paths[to];
    let mut delta = Delta::with_registers(path.registers);
    for &(key, times) in rows {
        delta.columns[0].push(key as u64);
        delta.payload.push(times as u64);
        if to == 0 {
            delta.payload.push((times * number) as u64);
        }
    }
    (delta.rows, delta.width) = (rows.len(), if to == 0 { 2 } else { 1 });
    let budget = Budget::free();
    let mut propagation = Propagation {
        relations: &mut house.relations,
        path,
        work: &mut house.work,
        budget: &budget,
    };
    propagation.apply(&mut delta).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Sums that 64 bits hold stay. Those that they do not hold cause a rollback; a sum that returns to the range
    /// within the transaction is as if it had never left.
    #[test]
    fn sums_that_pass_out_of_range_come_back(
        transactions in prop::collection::vec((
            prop::collection::vec((0..4_usize, prop::collection::vec((0..6_i64, -300..300_i64), 1..12)), 1..4),
            any::<bool>()), 1..8),
        all in any::<bool>(), number in prop_oneof![Just(1_i64), Just(1 << 40), Just(1 << 48)],
    ) {
        let keep: &[usize] = if all { &[] } else { &[A] };
        let mut house = star(keep);
        let mut counts = vec![[0_i64; 6]; 4];
        for (changes, is_taken_back) in transactions {
            let mut next = counts.clone();
            let signs: &[i64] = if is_taken_back { &[1, -1] } else { &[1] };
            for sign in signs {
                for (to, rows) in &changes {
                    let rows: Vec<(i64, i64)> = rows.iter().map(|&(key, times)| (key, sign * times)).collect();
                    apply(&mut house, *to, &rows, number);
                    for (key, times) in rows {
                        next[*to][key as usize] += times;
                    }
                }
            }
            let mut expected = BTreeMap::<Vec<i64>, i128>::new();
            for key in 0..6 {
                let group = if all { Vec::new() } else { vec![key as i64] };
                *expected.entry(group).or_default() += next.iter().map(|counts| i128::from(counts[key])).product::<i128>();
            }
            expected.retain(|_, count| *count != 0);
            let fits = |sum: i128| i64::try_from(sum * i128::from(number)).is_ok();
            let all_fit = expected.values().all(|&count| fits(count))
                && next[0].iter().all(|&count| fits(i128::from(count)));
            prop_assert_eq!(house.relations[0].fits() && house.relations[Q].fits(), all_fit);
            house.end(!all_fit);
            if all_fit {
                counts = next;
                let table = house.relations[Q].table().unwrap();
                for slot in table.iter() {
                    let sum = i128::from(table.payload(slot)[1] as i64);
                    prop_assert_eq!(sum, i128::from(table.payload(slot)[0] as i64) * i128::from(number));
                }
                let found: BTreeMap<Vec<i64>, i128> =
                    house.rows(Q).into_iter().map(|(key, count)| (key, i128::from(count))).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
