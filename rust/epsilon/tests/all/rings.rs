//! Sums of integers, decimals and reals side by side, of rows that take each other's place: whatever the ring,
//! a change is what it moves in any component.
use std::collections::BTreeMap;

use proptest::prelude::*;
use ringview_core::Budget;
use ringview_epsilon::{Algebra, Epsilon, Machine, Query};
use ringview_relation::Delta;
use ringview_ring::{Element, Expansion, Number, NumberKind, SumProduct};

use crate::common::{Rows, WORD, brute_force};

/// Kinds of the numbers beside the count.
const KINDS: [&[NumberKind]; 4] = [
    &[NumberKind::Integer],
    &[NumberKind::Real],
    &[NumberKind::Decimal],
    &[NumberKind::Integer, NumberKind::Real, NumberKind::Decimal],
];

/// A tuple, the value of its row, and its multiplicity.
type Row = (Vec<i64>, i64, i64);

/// Machines of sums, and the rows that they have been given.
struct Sums {
    machine: Machine<SumProduct>,
    elements: Vec<Element>,
    /// By atom: the relation, and the fields as the atom calls them.
    atoms: Vec<(usize, Vec<usize>)>,
    rows: Vec<BTreeMap<(Vec<i64>, i64), i64>>,
}

impl Sums {
    fn of(form: usize, kinds: &[NumberKind], epsilon: f64) -> Self {
        let algebra = Algebra::pointwise(&[&[NumberKind::Integer], kinds].concat());
        let elements = algebra.shape.elements().to_vec();
        let epsilon = Epsilon::new(epsilon).unwrap();
        let forms: [&[&[usize]]; 3] = [
            &[&[0, 1], &[1, 2], &[2, 0]],
            &[&[0, 1], &[1], &[0]],
            &[&[0], &[0, 1], &[1, 2], &[2]],
        ];
        let Some(fields) = forms.get(form) else {
            return Self {
                machine: Machine::cycle(WORD, epsilon, algebra),
                elements,
                atoms: [[0, 1], [1, 2], [2, 0]].map(|own| (0, own.to_vec())).into(),
                rows: vec![BTreeMap::new()],
            };
        };
        let fields: Vec<Vec<usize>> = fields.iter().map(|own| own.to_vec()).collect();
        let query = Query {
            packing: vec![WORD; 3],
            groups: Vec::new(),
            read_from: None,
            fields: fields.clone(),
        };
        let epsilons = vec![epsilon; fields.len()];
        Self {
            machine: Machine::new(&query, &epsilons, algebra).unwrap(),
            elements,
            rows: vec![BTreeMap::new(); fields.len()],
            atoms: fields.into_iter().enumerate().collect(),
        }
    }

    fn fields(&self, relation: usize) -> usize {
        let mut atoms = self.atoms.iter();
        atoms.find(|(at, _)| *at == relation).unwrap().1.len()
    }

    /// The value counts as itself, as a real a quarter of that.
    fn delta(&self, rows: &[Row]) -> Delta {
        let width = self.elements.iter().map(|one| one.kind.words()).sum();
        let mut payload = Vec::new();
        for (_, value, times) in rows {
            let mut words = vec![0; width];
            times.store(&mut words, 0);
            let sum = value * times;
            for one in &self.elements[1..] {
                match one.kind {
                    NumberKind::Integer => sum.store(&mut words, one.word),
                    NumberKind::Real => {
                        Expansion::from(sum as f64 / 4.0).store(&mut words, one.word);
                    }
                    _ => i128::from(sum).store(&mut words, one.word),
                }
            }
            payload.extend(words);
        }
        let fields = rows.first().map_or(0, |(tuple, ..)| tuple.len());
        let column = |at: usize| rows.iter().map(|(tuple, ..)| tuple[at] as u64).collect();
        Delta {
            rows: rows.len(),
            columns: (0..fields).map(column).collect(),
            payload,
            width,
            wide: false,
        }
    }

    /// One transaction, at once or relation by relation; undone at first.
    fn change(&mut self, changes: &[Vec<Row>], at_once: bool) {
        let budget = Budget::free();
        let deltas: Vec<Delta> = changes.iter().map(|rows| self.delta(rows)).collect();
        let named: Vec<(usize, &Delta)> = deltas.iter().enumerate().collect();
        for kept in [false, true] {
            if at_once {
                self.machine.load(&named, &budget).unwrap();
            } else {
                for &(at, delta) in &named {
                    self.machine.apply(at, delta, &budget).unwrap();
                }
            }
            self.machine.prepare(&budget).unwrap();
            if kept {
                self.machine.commit();
                for (known, rows) in self.rows.iter_mut().zip(changes) {
                    for (tuple, value, times) in rows {
                        *known.entry((tuple.clone(), *value)).or_default() += times;
                    }
                    known.retain(|_, times| *times != 0);
                }
            } else {
                self.machine.rollback();
            }
            self.machine.check();
            assert_eq!(self.result(), self.expected());
        }
    }

    /// By component, the reals in the units of a product of quarters.
    fn result(&self) -> Vec<i128> {
        let Some(words) = self.machine.result() else {
            return vec![0; self.elements.len()];
        };
        let units = 4f64.powi(self.atoms.len() as i32);
        let component = |one: &Element| match one.kind {
            NumberKind::Integer => i128::from(i64::load(words, one.word)),
            NumberKind::Real => {
                let real = Expansion::load(words, one.word);
                assert_eq!(real.rest(), 0.0);
                (real.value() * units) as i128
            }
            _ => i128::load(words, one.word),
        };
        self.elements.iter().map(component).collect()
    }

    fn expected(&self) -> Vec<i128> {
        let joined = |worth: &dyn Fn(i64) -> i64| {
            let sums: Vec<Rows> = self.rows.iter().map(|rows| summed(rows, worth)).collect();
            let atoms: Vec<(&Rows, &[usize])> = self
                .atoms
                .iter()
                .map(|(at, fields)| (&sums[*at], fields.as_slice()))
                .collect();
            let all = brute_force(&atoms, &[]);
            i128::from(all.get(&Vec::new()).copied().unwrap_or(0))
        };
        let mut expected = vec![joined(&|value| value); self.elements.len()];
        expected[0] = joined(&|_| 1);
        expected
    }
}

fn summed(rows: &BTreeMap<(Vec<i64>, i64), i64>, worth: &dyn Fn(i64) -> i64) -> Rows {
    let mut sums = Rows::new();
    for ((tuple, value), times) in rows {
        *sums.entry(tuple.clone()).or_default() += worth(*value) * times;
    }
    sums
}

#[test]
fn a_row_that_takes_the_place_of_another_moves_its_sum() {
    for (form, epsilon) in [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5), (0, 0.0), (3, 1.0)] {
        for (kinds, at_once) in KINDS
            .iter()
            .flat_map(|kinds| [(kinds, false), (kinds, true)])
        {
            let mut sums = Sums::of(form, kinds, epsilon);
            let relations = 0..sums.rows.len();
            let one = |relation| vec![(vec![1; sums.fields(relation)], 6, 1)];
            let first: Vec<Vec<Row>> = relations.map(one).collect();
            sums.change(&first, at_once);
            let tuple = &first[0][0].0;
            for (before, behind) in [(6, 0), (0, -3)] {
                let swap = [(before, -1), (behind, 1)].map(|(v, times)| (tuple.clone(), v, times));
                sums.change(&[swap.to_vec()], at_once);
                let back = [(before, 1), (behind, -1)].map(|(v, times)| (tuple.clone(), v, times));
                sums.change(&[back.to_vec()], at_once);
                sums.change(&[swap.to_vec()], at_once);
            }
        }
    }
}

/// Raw numbers of a row: relation, values, value, how often, and which row that is there it replaces.
type Raw = (usize, Vec<i64>, i64, i64, Option<usize>);

fn raw() -> impl Strategy<Value = Vec<Raw>> {
    let one = (
        0..60usize,
        prop::collection::vec(0..4i64, 2),
        -3..4i64,
        1..3i64,
        prop::option::of(0..60usize),
    );
    prop::collection::vec(one, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sums_of_rows_that_come_go_and_change_are_right(
        raw in raw(),
        (form, kinds) in (0..4usize, 0..KINDS.len()),
        at in 0..crate::common::EPSILONS.len(),
        length in 1..9usize,
    ) {
        let mut sums = Sums::of(form, KINDS[kinds], crate::common::EPSILONS[at]);
        for (step, transaction) in raw.chunks(length).enumerate() {
            let mut known = sums.rows.clone();
            let mut changes = vec![Vec::new(); known.len()];
            for (relation, values, value, times, replaced) in transaction {
                let at = relation % known.len();
                let there = replaced.and_then(|which| {
                    let rows = known[at].iter();
                    let all: Vec<_> = rows.map(|((tuple, value), _)| (tuple.clone(), *value)).collect();
                    all.get(which % all.len().max(1)).cloned()
                });
                let mut rows = Vec::new();
                match there {
                    // It is deleted, or another value replaces it.
                    Some((tuple, old)) => {
                        rows.push((tuple.clone(), old, -1));
                        if *times == 1 {
                            rows.push((tuple, *value, 1));
                        }
                    }
                    None => rows.push((values[..sums.fields(at)].to_vec(), *value, *times)),
                }
                for (tuple, value, times) in &rows {
                    *known[at].entry((tuple.clone(), *value)).or_default() += times;
                }
                known[at].retain(|_, times| *times != 0);
                changes[at].extend(rows);
            }
            sums.change(&changes, step % 2 == 0);
        }
    }
}
