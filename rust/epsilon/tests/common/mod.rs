//! Machines of counts beside a naive model of them: every view by brute force over maps.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Meter, Result};
use ringview_epsilon::{Algebra, Epsilon, Machine, Query};
use ringview_relation::{Delta, KeyField, Part, Relation};
use ringview_ring::{NumberKind, SumProduct};

pub const EPSILONS: [f64; 6] = [0.0, 0.2, 1.0 / 3.0, 0.5, 0.7, 1.0];

pub const WORD: KeyField = KeyField {
    bits: 64,
    signed: true,
};

pub type Rows = BTreeMap<Vec<i64>, i64>;

/// Tuples that come, each so often.
pub type Batch = Vec<(Vec<i64>, i64)>;

/// Values of a key.
type Values = BTreeSet<Vec<i64>>;

/// A machine and what it must hold.
pub struct House {
    pub machine: Machine<SumProduct>,
    /// The fields of each input.
    pub fields: Vec<Vec<usize>>,
    /// By atom of the query: the input, and the fields as the atom calls them.
    atoms: Vec<(usize, Vec<usize>)>,
    model: Vec<Rows>,
    /// The fields that the result is grouped by.
    groups: Vec<usize>,
    /// Whether they are read, and not kept.
    is_read: bool,
    kind: Kept,
}

/// What views a machine has.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// One for each key that all relations but one share.
    Keys,
    /// One, of one relation.
    Cycle,
    /// Those of a path whose relations come in this order.
    Path([usize; 4]),
}

pub fn count() -> Algebra<SumProduct> {
    Algebra::pointwise(&[NumberKind::Integer])
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

pub fn join(fields: &[&[usize]], epsilons: &[f64]) -> House {
    kept(fields, epsilons, &[], Kept::Keys)
}

/// The same, the result by some fields.
pub fn grouped(fields: &[&[usize]], groups: &[usize], epsilons: &[f64]) -> House {
    kept(fields, epsilons, groups, Kept::Keys)
}

pub fn triangle(epsilons: [f64; 3]) -> House {
    join(&[&[0, 1], &[1, 2], &[2, 0]], &epsilons)
}

/// A path, its relations in this order.
pub fn path(fields: &[&[usize]], order: [usize; 4], epsilons: &[f64]) -> House {
    kept(fields, epsilons, &[], Kept::Path(order))
}

/// The same, read from the tuples of a relation.
pub fn read(fields: &[&[usize]], groups: &[usize], from: usize, epsilons: &[f64]) -> House {
    let kind = match fields.len() == 4 && fields[0].len() == 1 {
        true => Kept::Path([0, 1, 2, 3]),
        false => Kept::Keys,
    };
    made(fields, epsilons, (groups, Some(from)), kind)
}

fn kept(fields: &[&[usize]], epsilons: &[f64], groups: &[usize], kind: Kept) -> House {
    made(fields, epsilons, (groups, None), kind)
}

fn made(
    fields: &[&[usize]],
    epsilons: &[f64],
    (groups, read_from): (&[usize], Option<usize>),
    kind: Kept,
) -> House {
    let fields: Vec<Vec<usize>> = fields.iter().map(|own| own.to_vec()).collect();
    let most = fields.iter().flatten().max().unwrap();
    let query = Query {
        packing: vec![WORD; most + 1],
        groups: groups.to_vec(),
        read_from,
        fields: fields.clone(),
    };
    let epsilons: Vec<Epsilon> = epsilons.iter().map(|&value| epsilon(value)).collect();
    House {
        machine: Machine::new(&query, &epsilons, count()).unwrap(),
        atoms: fields.iter().cloned().enumerate().collect(),
        model: vec![Rows::new(); fields.len()],
        fields,
        groups: groups.to_vec(),
        is_read: read_from.is_some(),
        kind,
    }
}

pub fn cycle(value: f64) -> House {
    House {
        machine: Machine::cycle(WORD, epsilon(value), count()),
        fields: vec![vec![0, 1]],
        atoms: vec![(0, vec![0, 1]), (0, vec![1, 2]), (0, vec![2, 0])],
        model: vec![Rows::new()],
        groups: Vec::new(),
        is_read: false,
        kind: Kept::Cycle,
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
        self.note(input, rows);
        self.check();
    }

    /// One load of several relations, checked afterwards; undone at first.
    pub fn load(&mut self, changes: &[(usize, Batch)]) {
        for kept in [false, true] {
            self.loaded(changes).unwrap();
            match kept {
                true => self.machine.commit(),
                false => self.machine.rollback(),
            }
            if kept {
                for (input, rows) in changes {
                    self.note(*input, rows);
                }
            }
            self.check();
        }
    }

    pub fn loaded(&mut self, changes: &[(usize, Batch)]) -> Result<()> {
        let meter = Meter::free();
        let deltas = changes.iter().map(|(input, rows)| (*input, delta(rows)));
        let deltas: Vec<(usize, Delta)> = deltas.collect();
        let named: Vec<(usize, &Delta)> = deltas.iter().map(|(at, delta)| (*at, delta)).collect();
        self.machine.load(&named, &meter)?;
        self.machine.settle(&meter)
    }

    fn note(&mut self, input: usize, rows: &[(Vec<i64>, i64)]) {
        for (tuple, times) in rows {
            *self.model[input].entry(tuple.clone()).or_default() += times;
        }
        self.model[input].retain(|_, times| *times != 0);
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

    /// The groups of some keys, or all.
    pub fn read_groups(&mut self, of: Option<&[Vec<i64>]>) -> Rows {
        let meter = Meter::free();
        let columns: Option<Vec<Vec<u64>>> = of.map(|keys| {
            let fields = 0..self.groups.len();
            let column = |field: usize| keys.iter().map(|key| key[field] as u64).collect();
            fields.map(column).collect()
        });
        let part = self.machine.read_groups(columns.as_deref(), &meter);
        rows_of(&part.unwrap())
    }

    /// What is read, at once and one by one, of keys that are there and others.
    fn check_groups(&mut self, expected: &Rows) {
        assert_eq!(self.read_groups(None), *expected);
        let other = vec![-1; self.groups.len()];
        for key in expected.keys().take(6).chain([&other]) {
            let one = self.read_groups(Some(std::slice::from_ref(key)));
            assert_eq!(one.get(key), expected.get(key));
            assert_eq!(one.len(), usize::from(expected.contains_key(key)));
        }
        let some: Vec<Vec<i64>> = expected.keys().step_by(2).cloned().collect();
        let twice = [some.clone(), some.clone()].concat();
        let found = self.read_groups(Some(&twice));
        assert_eq!(found.into_keys().collect::<Vec<_>>(), some);
    }

    /// Everything against its definition.
    pub fn check(&mut self) {
        if self.is_read {
            let atoms: Vec<(&Rows, &[usize])> = self
                .atoms
                .iter()
                .map(|(input, fields)| (&self.model[*input], fields.as_slice()))
                .collect();
            let expected = brute_force(&atoms, &self.groups);
            self.check_groups(&expected);
        }
        self.check_parts();
    }

    fn check_parts(&self) {
        self.machine.check();
        let atoms: Vec<(&Rows, &[usize])> = self
            .atoms
            .iter()
            .map(|(input, fields)| (&self.model[*input], fields.as_slice()))
            .collect();
        if !self.is_read {
            assert_eq!(self.rows("result"), brute_force(&atoms, &self.groups));
        }
        match self.kind {
            Kept::Cycle => self.check_cycle(),
            Kept::Keys => self.check_keys(&atoms),
            Kept::Path(order) => self.check_path(&atoms, order),
        }
    }

    fn check_keys(&self, atoms: &[(&Rows, &[usize])]) {
        let n = atoms.len();
        let key = |z: usize| {
            let others: Vec<usize> = (1..n).map(|step| (z + step) % n).collect();
            shared(atoms, &others)
        };
        let is_split = |z: usize| key(z).iter().any(|field| !atoms[z].1.contains(field));
        let heavy: Vec<Option<Values>> = (0..n)
            .map(|z| {
                let name = format!("heavy values of key {z}");
                is_split(z).then(|| self.rows(&name).into_keys().collect())
            })
            .collect();
        // Whether key z of a tuple is heavy; if it has none, it counts as heavy.
        let is_heavy = |z: usize, tuple: &[i64], fields: &[usize]| match &heavy[z] {
            Some(values) => values.contains(&value(&key(z), tuple, fields)),
            None => true,
        };
        for k in 0..n {
            let (rows, fields) = atoms[k];
            let others = |but: usize| (0..n).filter(move |&z| z != k && z != but);
            let all = |tuple: &Vec<i64>| others(k).all(|z| is_heavy(z, tuple, fields));
            assert_eq!(self.rows(&format!("relation {k}")), *rows);
            assert_eq!(self.rows(&format!("heavy part {k}")), filtered(rows, all));
            let Some(values) = &heavy[k] else { continue };
            // Through the light values of key k, between heavy ones.
            let sides: Vec<(Rows, &[usize])> = others(k)
                .map(|i| {
                    let (rows, fields) = atoms[i];
                    let far = |tuple: &[i64]| others(i).all(|z| is_heavy(z, tuple, fields));
                    let kept = |tuple: &Vec<i64>| !is_heavy(k, tuple, fields) && far(tuple);
                    (filtered(rows, kept), fields)
                })
                .collect();
            let sides: Vec<(&Rows, &[usize])> = sides.iter().map(|(r, f)| (r, *f)).collect();
            let expected = brute_force(&sides, fields);
            assert_eq!(self.rows(&format!("view {k}")), expected, "view {k}");
            // Degrees decide, within the loose bounds.
            let at = (0..k).filter(|&z| heavy[z].is_some()).count();
            let holders: Vec<usize> = others(k).collect();
            self.check_degrees(at, &degrees(atoms, &holders, &key(k)), values);
        }
    }

    fn check_path(&self, atoms: &[(&Rows, &[usize])], order: [usize; 4]) {
        let heavy: Vec<(Vec<usize>, Values)> = (0..3)
            .map(|at| {
                let name = format!("heavy values of key {at}");
                let key = shared(atoms, &order[at..at + 2]);
                (key, self.rows(&name).into_keys().collect())
            })
            .collect();
        let is_heavy = |at: usize, tuple: &[i64], fields: &[usize]| {
            let (key, values) = &heavy[at];
            values.contains(&value(key, tuple, fields))
        };
        for at in 0..3 {
            let holders = &order[at..at + 2];
            let (key, values) = &heavy[at];
            self.check_degrees(at, &degrees(atoms, holders, key), values);
        }
        for (k, (rows, _)) in atoms.iter().enumerate() {
            assert_eq!(self.rows(&format!("relation {k}")), **rows);
        }
        let [r, s, t, u] = order;
        for (side, [end, middle, other, far], [x, y]) in
            [(0, [r, s, t, u], [0, 2]), (1, [u, t, s, r], [2, 0])]
        {
            // The tuples of a relation whose keys, by number, are heavy or not.
            let of = |k: usize, wanted: &[(usize, bool)]| {
                let (rows, fields) = atoms[k];
                let fits = |tuple: &Vec<i64>| {
                    let mut wanted = wanted.iter();
                    wanted.all(|&(at, heavy)| is_heavy(at, tuple, fields) == heavy)
                };
                (filtered(rows, fits), fields)
            };
            let sum = |parts: &[(Rows, &[usize])], keep: &[usize]| {
                let parts: Vec<(&Rows, &[usize])> = parts.iter().map(|(r, f)| (r, *f)).collect();
                brute_force(&parts, keep)
            };
            let ends = of(end, &[]);
            let name = |what: &str| self.rows(&format!("{what} {side}"));
            let heavies = self.rows(&format!("heavy part {middle}"));
            assert_eq!(heavies, of(middle, &[(x, true), (1, true)]).0);
            let mut closed = sum(&[ends.clone(), of(middle, &[(1, true)])], &heavy[1].0);
            let light = of(middle, &[(x, false), (1, false)]);
            closed.extend(sum(&[ends, light], &heavy[1].0));
            assert_eq!(name("closed"), closed, "closed {side}");
            let mut keep = heavy[0].0.clone();
            keep.extend(heavy[2].0.iter().filter(|f| !heavy[0].0.contains(f)));
            let near = of(middle, &[(x, true), (1, false)]);
            let between = sum(&[near.clone(), of(other, &[(1, false)])], &keep);
            assert_eq!(name("between"), between, "between {side}");
            let light = of(other, &[(1, false), (y, false)]);
            let light = sum(&[near, light, of(far, &[])], &heavy[x].0);
            assert_eq!(name("light"), light, "light {side}");
        }
    }

    fn check_cycle(&self) {
        let edges = &self.model[0];
        let values: Values = self.rows("heavy values").into_keys().collect();
        let is_heavy = |value: i64| values.contains(&vec![value]);
        let both = |tuple: &Vec<i64>| is_heavy(tuple[0]) && is_heavy(tuple[1]);
        assert_eq!(self.rows("edges"), *edges);
        assert_eq!(self.rows("heavy part"), filtered(edges, both));
        assert_eq!(self.rows("batch"), Rows::new());
        let left = filtered(edges, |tuple| is_heavy(tuple[0]) && !is_heavy(tuple[1]));
        let right = filtered(edges, |tuple| !is_heavy(tuple[0]) && is_heavy(tuple[1]));
        let expected = brute_force(&[(&left, &[0, 1]), (&right, &[1, 2])], &[0, 2]);
        assert_eq!(self.rows("view"), expected);
        let mut degrees = BTreeMap::new();
        for &value in edges.keys().flatten() {
            *degrees.entry(vec![value]).or_default() += 1;
        }
        self.check_degrees(0, &degrees, &values);
    }

    fn check_degrees(&self, at: usize, degrees: &BTreeMap<Vec<i64>, u64>, heavy: &Values) {
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

/// The fields that some relations share, in the order of the first.
fn shared(atoms: &[(&Rows, &[usize])], relations: &[usize]) -> Vec<usize> {
    let all = |field: &&usize| relations.iter().all(|&k| atoms[k].1.contains(field));
    atoms[relations[0]].1.iter().filter(all).copied().collect()
}

/// How many tuples of some relations each value of a key has.
fn degrees(
    atoms: &[(&Rows, &[usize])],
    relations: &[usize],
    key: &[usize],
) -> BTreeMap<Vec<i64>, u64> {
    let mut degrees = BTreeMap::new();
    for (rows, fields) in relations.iter().map(|&k| atoms[k]) {
        for tuple in rows.keys() {
            *degrees.entry(value(key, tuple, fields)).or_default() += 1;
        }
    }
    degrees
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
    rows_of(relation.part().unwrap())
}

fn rows_of(part: &Part) -> Rows {
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
