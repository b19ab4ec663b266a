//! Transactions over several relations, which enter in turn, in parts or at once, loads among them: tuples may be
//! deleted and inserted again before anything is kept.
use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::common::drawn::{changes, steps};
use crate::common::{
    Batch, EPSILONS, House, cycle, four, four_in_a_row, grouped, join, read, triangle,
};

fn house(form: usize, epsilon: f64) -> House {
    let three: &[&[usize]] = &[&[0, 1], &[1, 2], &[2, 0]];
    match form {
        0 => triangle([epsilon; 3]),
        1 => cycle(epsilon),
        2 => four(epsilon),
        3 => four_in_a_row(epsilon),
        4 => join(&[&[0, 1, 3], &[3, 1, 2], &[2, 0]], &[epsilon; 3]),
        5 => join(&[&[0, 1], &[1], &[0]], &[epsilon; 3]),
        6 => grouped(&[&[0, 1, 3], &[3, 1], &[0, 3]], &[3], &[epsilon; 3]),
        _ => read(three, &[0], 2, &[epsilon; 3]),
    }
}

/// Each relation once.
fn by_relation(changes: Vec<(usize, Batch)>) -> Vec<(usize, Batch)> {
    let mut all: BTreeMap<usize, Batch> = BTreeMap::new();
    for (relation, rows) in changes {
        all.entry(relation).or_default().extend(rows);
    }
    all.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn changes_of_a_transaction_are_as_single_ones(
        steps in steps(),
        form in 0..8usize,
        at in 0..EPSILONS.len(),
    ) {
        let mut house = house(form, EPSILONS[at]);
        for (rows, at_once) in &steps {
            let changes = changes(&house.fields, house.model(), rows);
            match at_once {
                true => house.load(&by_relation(changes)),
                false => house.change_each(&changes),
            }
        }
    }
}
