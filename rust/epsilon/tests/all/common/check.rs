//! Checks of a machine against its definition: result, groups, parts, views and degrees.
use std::collections::BTreeMap;

use super::{House, Rows, StrategyKind, Values, brute_force};

impl House {
    /// Checks groups that are read, at once and one by one, of existing keys and others.
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
            StrategyKind::Cycle => self.check_cycle(),
            StrategyKind::Keys => self.check_keys(&atoms),
            StrategyKind::Path(order) => self.check_path(&atoms, order),
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

/// Number of tuples of some relations by value of a key.
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
