//! Machines of counts beside a naive model of them: every view by brute force over maps.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Meter, Result};
use ringview_epsilon::{Algebra, Epsilon, Machine, Triple};
use ringview_relation::{Delta, KeyField, Relation};
use ringview_ring::{NumberKind, SumProduct};

pub const EPSILONS: [f64; 6] = [0.0, 0.2, 1.0 / 3.0, 0.5, 0.7, 1.0];

pub const WORD: KeyField = KeyField {
    bits: 64,
    signed: true,
};

pub type Rows = BTreeMap<Vec<i64>, i64>;

/// A machine and what it must hold.
pub struct House {
    pub machine: Machine<SumProduct>,
    /// The fields of each input.
    pub fields: Vec<Vec<usize>>,
    /// By atom of the query: the input, and the fields as the atom calls them.
    atoms: Vec<(usize, Vec<usize>)>,
    model: Vec<Rows>,
}

pub fn count() -> Algebra<SumProduct> {
    Algebra::pointwise(&[NumberKind::Integer])
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

pub fn join(fields: [&[usize]; 3], epsilons: [f64; 3]) -> House {
    let fields = fields.map(<[usize]>::to_vec);
    let query = Triple {
        fields: fields.clone(),
        packing: vec![WORD; 4],
    };
    House {
        machine: Machine::triple(&query, epsilons.map(epsilon), count()).unwrap(),
        atoms: fields.iter().cloned().enumerate().collect(),
        fields: fields.to_vec(),
        model: vec![Rows::new(); 3],
    }
}

pub fn triangle(epsilons: [f64; 3]) -> House {
    join([&[0, 1], &[1, 2], &[2, 0]], epsilons)
}

pub fn cycle(value: f64) -> House {
    House {
        machine: Machine::cycle(WORD, epsilon(value), count()),
        fields: vec![vec![0, 1]],
        atoms: vec![(0, vec![0, 1]), (0, vec![1, 2]), (0, vec![2, 0])],
        model: vec![Rows::new()],
    }
}

/// A batch of a relation's rows.
pub fn delta(rows: &[(Vec<i64>, i64)]) -> Delta {
    let width = rows.first().map_or(0, |(tuple, _)| tuple.len());
    let column = |at: usize| rows.iter().map(|(tuple, _)| tuple[at] as u64).collect();
    Delta {
        rows: rows.len(),
        columns: (0..width).map(column).collect(),
        payload: rows.iter().map(|(_, times)| *times as u64).collect(),
        width: 1,
        wide: false,
    }
}

impl House {
    pub fn times(&self, input: usize, tuple: &[i64]) -> i64 {
        self.model[input].get(tuple).copied().unwrap_or(0)
    }

    pub fn tuples(&self, input: usize) -> Vec<(Vec<i64>, i64)> {
        let rows = self.model[input].iter();
        rows.map(|(tuple, times)| (tuple.clone(), *times)).collect()
    }

    pub fn size(&self) -> usize {
        self.model.iter().map(BTreeMap::len).sum()
    }

    /// One transaction, checked afterwards; `undone` at first, if so.
    pub fn change(&mut self, input: usize, rows: &[(Vec<i64>, i64)], undone: bool) {
        if undone {
            self.apply(input, rows).unwrap();
            self.machine.rollback();
            self.check();
        }
        self.apply(input, rows).unwrap();
        self.machine.commit();
        for (tuple, times) in rows {
            *self.model[input].entry(tuple.clone()).or_default() += times;
        }
        self.model[input].retain(|_, times| *times != 0);
        self.check();
    }

    pub fn apply(&mut self, input: usize, rows: &[(Vec<i64>, i64)]) -> Result<()> {
        let meter = Meter::free();
        self.machine.apply(input, &delta(rows), &meter)?;
        self.machine.settle(&meter)
    }

    /// A change that is not looked at.
    pub fn quick(&mut self, input: usize, rows: &[(Vec<i64>, i64)]) {
        self.apply(input, rows).unwrap();
        self.machine.commit();
    }

    pub fn result(&self) -> i64 {
        self.machine.result().map_or(0, |payload| payload[0] as i64)
    }

    /// The rows of the relation of this name.
    pub fn rows(&self, name: &str) -> Rows {
        let named = |one: &&Relation<SumProduct>| one.name() == name;
        let relation = self.machine.relations().iter().find(named);
        rows(relation.unwrap())
    }

    /// Everything against its definition.
    pub fn check(&self) {
        self.machine.check();
        let atoms: Vec<(&Rows, &[usize])> = self
            .atoms
            .iter()
            .map(|(input, fields)| (&self.model[*input], fields.as_slice()))
            .collect();
        let all = brute_force(&atoms, &[]);
        assert_eq!(self.result(), all.get(&vec![]).copied().unwrap_or(0));
        match self.fields.len() {
            1 => self.check_cycle(),
            _ => self.check_triple(&atoms),
        }
    }

    fn check_triple(&self, atoms: &[(&Rows, &[usize])]) {
        let key = |z: usize| -> Vec<usize> {
            let other = atoms[(z + 2) % 3].1;
            let shared = |field: &&usize| other.contains(field);
            atoms[(z + 1) % 3]
                .1
                .iter()
                .filter(shared)
                .copied()
                .collect()
        };
        let is_pair = |z: usize| key(z).iter().any(|field| !atoms[z].1.contains(field));
        let heavy: Vec<Option<BTreeSet<Vec<i64>>>> = (0..3)
            .map(|z| {
                let name = format!("heavy values of key {z}");
                is_pair(z).then(|| self.rows(&name).into_keys().collect())
            })
            .collect();
        let is_heavy = |z: usize, tuple: &[i64], fields: &[usize]| match &heavy[z] {
            None => true,
            Some(values) => values.contains(&value(&key(z), tuple, fields)),
        };
        for k in 0..3 {
            let (rows, fields) = atoms[k];
            let [y, z] = [(k + 1) % 3, (k + 2) % 3];
            let both = |tuple: &Vec<i64>| is_heavy(y, tuple, fields) && is_heavy(z, tuple, fields);
            let expected: Rows = filtered(rows, both);
            assert_eq!(self.rows(&format!("relation {k}")), *rows);
            assert_eq!(self.rows(&format!("heavy part {k}")), expected);
            // Through the light values of key k, between heavy ones.
            let expected = match &heavy[k] {
                None => Rows::new(),
                Some(_) => {
                    let side = |i: usize, far: usize| {
                        let (rows, fields) = atoms[i];
                        let kept = |tuple: &Vec<i64>| {
                            !is_heavy(k, tuple, fields) && is_heavy(far, tuple, fields)
                        };
                        filtered(rows, kept)
                    };
                    let (left, right) = (side(y, z), side(z, y));
                    brute_force(&[(&left, atoms[y].1), (&right, atoms[z].1)], fields)
                }
            };
            assert_eq!(self.rows(&format!("view {k}")), expected, "view {k}");
            // Degrees decide, within the loose bounds.
            if let Some(values) = &heavy[k] {
                let mut degrees: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
                for (rows, fields) in [atoms[y], atoms[z]] {
                    for tuple in rows.keys() {
                        *degrees.entry(value(&key(k), tuple, fields)).or_default() += 1;
                    }
                }
                let at = (0..k).filter(|&z| heavy[z].is_some()).count();
                self.check_degrees(at, &degrees, values);
            }
        }
    }

    fn check_cycle(&self) {
        let edges = &self.model[0];
        let values: BTreeSet<Vec<i64>> = self.rows("heavy values").into_keys().collect();
        let is_heavy = |value: i64| values.contains(&vec![value]);
        let both = |tuple: &Vec<i64>| is_heavy(tuple[0]) && is_heavy(tuple[1]);
        assert_eq!(self.rows("edges"), *edges);
        assert_eq!(self.rows("heavy part"), filtered(edges, both));
        assert_eq!(self.rows("batch"), Rows::new());
        let left = filtered(edges, |tuple| is_heavy(tuple[0]) && !is_heavy(tuple[1]));
        let right = filtered(edges, |tuple| !is_heavy(tuple[0]) && is_heavy(tuple[1]));
        let expected = brute_force(&[(&left, &[0, 1]), (&right, &[1, 2])], &[0, 2]);
        assert_eq!(self.rows("view"), expected);
        let mut degrees: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
        for &value in edges.keys().flatten() {
            *degrees.entry(vec![value]).or_default() += 1;
        }
        self.check_degrees(0, &degrees, &values);
    }

    fn check_degrees(
        &self,
        at: usize,
        degrees: &BTreeMap<Vec<i64>, u64>,
        heavy: &BTreeSet<Vec<i64>>,
    ) {
        let partition = &self.machine.partitions()[at];
        let threshold = partition.threshold();
        assert_eq!(partition.values(), degrees.len());
        assert!(heavy.iter().all(|value| degrees.contains_key(value)));
        for (value, &degree) in degrees {
            match heavy.contains(value) {
                true => assert!(
                    degree >= threshold.loose,
                    "{value:?} {degree} {threshold:?}"
                ),
                false => assert!(degree < threshold.full, "{value:?} {degree} {threshold:?}"),
            }
        }
    }
}

/// The value of some fields in a tuple.
fn value(key: &[usize], tuple: &[i64], fields: &[usize]) -> Vec<i64> {
    let place = |field: &usize| fields.iter().position(|own| own == field).unwrap();
    key.iter().map(|field| tuple[place(field)]).collect()
}

fn filtered(rows: &Rows, keep: impl Fn(&Vec<i64>) -> bool) -> Rows {
    let kept = rows.iter().filter(|(tuple, _)| keep(tuple));
    kept.map(|(tuple, times)| (tuple.clone(), *times)).collect()
}

fn rows(relation: &Relation<SumProduct>) -> Rows {
    let part = relation.part().unwrap();
    let fields = part.layout().fields();
    let key = |slot| (0..fields).map(|f| part.field(slot, f) as i64).collect();
    part.iter()
        .map(|slot| (key(slot), part.payload(slot)[0] as i64))
        .collect()
}

/// The join of relations that name the fields of their keys, summed over all fields but `keep`.
pub fn brute_force(relations: &[(&Rows, &[usize])], keep: &[usize]) -> Rows {
    fn go(
        rest: &[(&Rows, &[usize])],
        known: &mut BTreeMap<usize, i64>,
        times: i64,
        keep: &[usize],
        out: &mut Rows,
    ) {
        let Some(((rows, fields), rest)) = rest.split_first() else {
            let key: Vec<i64> = keep.iter().map(|field| known[field]).collect();
            *out.entry(key).or_default() += times;
            return;
        };
        for (row, count) in rows.iter() {
            let before = known.clone();
            let mut agrees = fields.iter().zip(row);
            if agrees.all(|(&field, &value)| *known.entry(field).or_insert(value) == value) {
                go(rest, known, times * count, keep, out);
            }
            *known = before;
        }
    }
    let mut out = Rows::new();
    go(relations, &mut BTreeMap::new(), 1, keep, &mut out);
    out.retain(|_, times| *times != 0);
    out
}
