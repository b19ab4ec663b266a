//! The rows of triangles: each once, with constant delay, after every single change.
use proptest::prelude::*;
use ringview_core::Budget;
use ringview_epsilon::{Epsilon, Machine, Query, RowBlock, RowCursor};
use ringview_relation::{KeyedTable, Keys};
use ringview_ring::SumProduct;

use crate::common::drawn::{changes, steps};
use crate::common::{Batch, EPSILONS, Rows, brute_force, count, delta};

/// A machine that keeps rows, and the relations beside it.
struct House {
    machine: Machine<SumProduct>,
    fields: [Vec<usize>; 3],
    model: [Rows; 3],
}

fn house(fields: [&[usize]; 3], epsilons: [f64; 3]) -> House {
    let fields = fields.map(<[usize]>::to_vec);
    let most = fields.iter().flatten().max().unwrap();
    let query = Query {
        fields: fields.to_vec(),
        packing: vec![crate::common::WORD; most + 1],
        groups: Vec::new(),
        read_from: None,
    };
    let epsilons = epsilons.map(|epsilon| Epsilon::new(epsilon).unwrap());
    House {
        machine: Machine::triangles(&query, &epsilons, count()).unwrap(),
        fields,
        model: [(); 3].map(|()| Rows::new()),
    }
}

fn triangles(epsilon: f64) -> House {
    house([&[0, 1], &[1, 2], &[2, 0]], [epsilon; 3])
}

impl House {
    /// A change that is not looked at.
    fn quick(&mut self, relation: usize, rows: &[(Vec<i64>, i64)]) {
        let budget = Budget::free();
        self.machine.apply(relation, &delta(rows), &budget).unwrap();
        self.machine.prepare(&budget).unwrap();
    }

    /// One transaction, undone at first if so, and checked.
    fn change(&mut self, relation: usize, rows: &[(Vec<i64>, i64)], undone: bool) {
        if undone {
            self.quick(relation, rows);
            self.machine.rollback();
            self.check(7);
        }
        self.quick(relation, rows);
        self.machine.commit();
        self.note(relation, rows);
        self.check(7);
    }

    /// One transaction of changes that enter one after the other, undone at first, and checked.
    fn change_each(&mut self, changes: &[(usize, Batch)]) {
        let budget = Budget::free();
        for kept in [false, true] {
            for (relation, rows) in changes {
                let entered = self.machine.apply(*relation, &delta(rows), &budget);
                entered.unwrap();
            }
            self.machine.prepare(&budget).unwrap();
            if kept {
                self.machine.commit();
                changes.iter().for_each(|(at, rows)| self.note(*at, rows));
            } else {
                self.machine.rollback();
            }
            self.check(7);
        }
    }

    fn note(&mut self, relation: usize, rows: &[(Vec<i64>, i64)]) {
        for (tuple, times) in rows {
            *self.model[relation].entry(tuple.clone()).or_default() += times;
        }
        self.model[relation].retain(|_, times| *times != 0);
    }

    /// All rows, read so many at a time, and the steps that took.
    fn rows(&self, at_once: usize) -> (Vec<(Vec<i64>, i64)>, u64) {
        let (mut place, mut all) = (RowCursor::default(), Vec::new());
        loop {
            let before = place.steps;
            let RowBlock { columns, times } = self.machine.read_rows(&mut place, at_once).unwrap();
            assert!(times.len() <= at_once);
            // Constant delay: a row, its root, and what is passed at the ends of four lists.
            assert!(place.steps - before <= 2 * times.len() as u64 + 8, "delay");
            if times.is_empty() {
                return (all, place.steps);
            }
            for (row, times) in times.into_iter().enumerate() {
                let key = columns.iter().map(|column| column[row] as i64).collect();
                all.push((key, times));
            }
        }
    }

    fn check(&self, at_once: usize) {
        self.machine.check();
        let all: Vec<usize> = (0..=*self.fields.iter().flatten().max().unwrap()).collect();
        let relations: Vec<(&Rows, &[usize])> = self
            .model
            .iter()
            .zip(&self.fields)
            .map(|(rows, fields)| (rows, &fields[..]))
            .collect();
        let expected = brute_force(&relations, &all);
        let (rows, _) = self.rows(at_once);
        // Each once.
        let found: Rows = rows.iter().cloned().collect();
        assert_eq!(found.len(), rows.len());
        assert_eq!(found, expected);
        let count: i64 = expected.values().sum();
        assert_eq!(self.machine.row_count(), count);
        self.check_views(&relations);
        self.check_skips(&rows);
    }

    /// The relation of this name.
    fn named(&self, name: &str) -> &KeyedTable {
        let mut relations = self.machine.relations().iter();
        let named = relations.find(|relation| relation.name() == name);
        named.unwrap().table().unwrap()
    }

    /// Every view against its definition, by which values are heavy.
    fn check_views(&self, relations: &[(&Rows, &[usize])]) {
        let all: Vec<usize> = (0..=*self.fields.iter().flatten().max().unwrap()).collect();
        let is_heavy = |z: usize, key: &[usize], row: &[i64], fields: &[usize]| {
            let place = |field: &usize| fields.iter().position(|own| own == field).unwrap();
            let columns: Vec<Vec<u64>> = key
                .iter()
                .map(|field| vec![row[place(field)] as u64])
                .collect();
            let own: Vec<usize> = (0..key.len()).collect();
            let keys = Keys {
                columns: &columns,
                fields: &own,
                rows: 1,
            };
            let mut found = Vec::new();
            let heavy = self.named(&format!("heavy values of key {z}"));
            heavy.find(keys, &mut Default::default(), &mut found);
            found[0] != ringview_relation::ABSENT
        };
        let key = |z: usize| -> Vec<usize> {
            let [one, other] = [&self.fields[(z + 1) % 3], &self.fields[(z + 2) % 3]];
            one.iter()
                .filter(|field| other.contains(field))
                .copied()
                .collect()
        };
        let keys = [key(0), key(1), key(2)];
        let rows_of = |name: String| -> Rows {
            let table = self.named(&name);
            let fields = table.layout().fields();
            let row = |slot| (0..fields).map(|f| table.field(slot, f) as i64).collect();
            table
                .iter()
                .map(|slot| (row(slot), table.payload(slot)[0] as i64))
                .collect()
        };
        // Heavy corners of each triangle.
        let mut list = brute_force(relations, &all);
        list.retain(|row, _| {
            let heavy = (0..3).filter(|&z| is_heavy(z, &keys[z], row, &all));
            heavy.count() != 2
        });
        assert_eq!(rows_of("list".to_owned()), list);
        for z in 0..3 {
            let [one, other] = [(z + 1) % 3, (z + 2) % 3];
            let sides = [relations[one], relations[other]];
            let mut leaf = brute_force(&sides, &all);
            leaf.retain(|row, _| {
                let heavy = [0, 1, 2].map(|at| is_heavy(at, &keys[at], row, &all));
                !heavy[z] && heavy[one] && heavy[other]
            });
            assert_eq!(rows_of(format!("leaf {z}")), leaf);
            let sum = brute_force(&[(&leaf, &all)], &self.fields[z]);
            assert_eq!(rows_of(format!("view {z}")), sum);
            let root = brute_force(&[(&sum, &self.fields[z]), relations[z]], &self.fields[z]);
            assert_eq!(rows_of(format!("root {z}")), root);
        }
        assert!(self.named("rows that moved").is_empty());
    }

    /// Skipping rows ends at the same position as reading them.
    fn check_skips(&self, rows: &[(Vec<i64>, i64)]) {
        let total: i64 = rows.iter().map(|(_, times)| times).sum();
        for from in [0, total.min(1), total / 2, total] {
            let mut place = RowCursor::default();
            let mut left = self.machine.skip_rows(&mut place, from as u64).unwrap() as i64;
            let block = self.machine.read_rows(&mut place, usize::MAX).unwrap();
            let mut behind = rows.iter().skip(rows.len() - block.times.len());
            let mut read = 0;
            for times in &block.times {
                assert_eq!(behind.next().unwrap().1, *times);
                read += times - left.min(*times);
                left -= left.min(*times);
            }
            assert_eq!(read, total - from);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn triangles_are_listed(
        raw in prop::collection::vec((0..3usize, 0..7i64, 0..7i64, 1..3i64, any::<bool>()), 1..80),
        at in prop::array::uniform3(0..EPSILONS.len()),
        alike in any::<bool>(),
        hub in any::<bool>(),
        form in 0..3usize,
    ) {
        let fields: [&[usize]; 3] = [
            [&[0, 1][..], &[1, 2], &[2, 0]],
            [&[1, 0], &[2, 1], &[0, 2]],
            [&[0, 1, 3], &[3, 1, 2], &[2, 0]],
        ][form];
        let epsilons = at.map(|own| EPSILONS[if alike { at[0] } else { own }]);
        let mut house = house(fields, epsilons);
        for (step, (relation, a, b, times, delete)) in raw.iter().enumerate() {
            let mut tuple = vec![*a, *b, a % 2];
            tuple.truncate(house.fields[*relation].len());
            if hub && step % 2 == 0 {
                tuple[step / 2 % 2] = 0;
            }
            let present = house.model[*relation].get(&tuple).copied().unwrap_or(0);
            let change = if *delete && present > 0 { -present } else { *times };
            house.change(*relation, &[(tuple, change)], step % 5 == 4);
        }
        for relation in 0..3 {
            for (tuple, times) in house.model[relation].clone() {
                house.change(relation, &[(tuple, -times)], false);
            }
        }
        assert_eq!(house.machine.row_count(), 0);
    }

    #[test]
    fn triangles_are_listed_after_transactions_over_all_relations(
        steps in steps(),
        at in 0..EPSILONS.len(),
        tuples in any::<bool>(),
    ) {
        let fields: [&[usize]; 3] = match tuples {
            true => [&[0, 1, 3], &[3, 1, 2], &[2, 0]],
            false => [&[0, 1], &[1, 2], &[2, 0]],
        };
        let mut house = house(fields, [EPSILONS[at]; 3]);
        for (rows, _) in &steps {
            house.change_each(&changes(&house.fields, &house.model, rows));
        }
    }
}

#[test]
fn the_streams_reach_every_kind_of_triangle() {
    let mut house = triangles(0.5);
    for at in 0..40i64 {
        house.change(0, &[(vec![100 + at, 100 + at], 1)], false);
    }
    let (mut below, mut listed) = (0, 0);
    for (hub, times) in [(0, 1), (1, 1), (0, -1), (0, 1), (1, -1)] {
        for vertex in 2..18i64 {
            house.change(1, &[(vec![hub, vertex], times)], false);
            house.change(2, &[(vec![vertex, hub], times)], vertex % 4 == 0);
            house.change(0, &[(vec![hub, vertex % 2], times)], false);
            for z in 0..3 {
                below = below.max(house.named(&format!("leaf {z}")).len());
            }
            listed = listed.max(house.named("list").len());
        }
    }
    assert!(below > 3 && listed > 3, "{below} {listed}");
    assert!(house.machine.rebalancings().minor > 3);
}

/// Two hubs with `size / 2` neighbours each in common: their edge closes so many triangles at once.
fn toggled_edge(size: usize) -> (u64, u64, usize) {
    let mut house = triangles(0.5);
    for vertex in 0..size as i64 / 2 {
        house.quick(1, &[(vec![0, vertex], 1)]);
        house.quick(2, &[(vec![vertex, 0], 1)]);
        house.machine.commit();
    }
    let before = house.machine.steps();
    for times in [1, -1, 1] {
        house.quick(0, &[(vec![0, 0], times)]);
        house.machine.commit();
    }
    let steps = house.machine.steps() - before;
    let (rows, read) = house.rows(1 << 16);
    (steps, read, rows.len())
}

#[test]
fn an_edge_that_closes_a_linear_number_of_triangles_costs_its_square_root_and_all_are_read() {
    let small = toggled_edge(1_000);
    let large = toggled_edge(64_000);
    assert_eq!((small.2, large.2), (500, 32_000));
    // 64 times the size: 8 times the steps at the most.
    assert!(large.0 <= 8 * small.0 + 64, "{small:?} {large:?}");
    assert!(large.1 <= 2 * 32_000 + 8, "{large:?}");
}

#[test]
fn rows_of_other_joins_are_refused() {
    let query = Query {
        fields: vec![vec![0, 1], vec![1], vec![0]],
        packing: vec![crate::common::WORD; 2],
        groups: Vec::new(),
        read_from: None,
    };
    let refused = Machine::triangles(&query, &[Epsilon::HALF; 3], count()).unwrap_err();
    assert!(refused.why.contains("3R2"), "{refused:?}");
}
