//! Machines of counts beside a naive model of them: every view by brute force over maps.

mod check;
pub mod drawn;

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Budget, Result};
use ringview_epsilon::{Algebra, Epsilon, Machine, Query};
use ringview_relation::{Delta, KeyField, KeyedTable, Relation};
use ringview_ring::{NumberKind, SumProduct};

pub const EPSILONS: [f64; 6] = [0.0, 0.2, 1.0 / 3.0, 0.5, 0.7, 1.0];

pub const WORD: KeyField = KeyField {
    bits: 64,
    signed: true,
};

pub type Rows = BTreeMap<Vec<i64>, i64>;

/// Tuples that are inserted, with their multiplicities.
pub type Batch = Vec<(Vec<i64>, i64)>;

/// Tuples, each with its relation.
pub type Tuples = Vec<(usize, Vec<i64>)>;

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
    kind: StrategyKind,
}

/// Kinds of views of a machine.
#[derive(Clone, Copy, Debug)]
enum StrategyKind {
    /// One for each key that all relations but one share.
    Keys,
    /// One, of one relation.
    Cycle,
    /// Those of a path with its relations in this order.
    Path([usize; 4]),
}

pub fn count() -> Algebra<SumProduct> {
    Algebra::pointwise(&[NumberKind::Integer])
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

pub fn join(fields: &[&[usize]], epsilons: &[f64]) -> House {
    house(fields, epsilons, &[], StrategyKind::Keys)
}

/// The same, the result by some fields.
pub fn grouped(fields: &[&[usize]], groups: &[usize], epsilons: &[f64]) -> House {
    house(fields, epsilons, groups, StrategyKind::Keys)
}

pub fn triangle(epsilons: [f64; 3]) -> House {
    join(&[&[0, 1], &[1, 2], &[2, 0]], &epsilons)
}

/// A path, its relations in this order.
pub fn path(fields: &[&[usize]], order: [usize; 4], epsilons: &[f64]) -> House {
    house(fields, epsilons, &[], StrategyKind::Path(order))
}

/// A join of four relations that lack a variable each.
pub fn four(epsilon: f64) -> House {
    join(
        &[&[0, 1, 2], &[1, 2, 3], &[2, 3, 0], &[3, 0, 1]],
        &[epsilon; 4],
    )
}

/// A path of four relations.
pub fn four_in_a_row(epsilon: f64) -> House {
    path(&[&[0], &[0, 1], &[1, 2], &[2]], [0, 1, 2, 3], &[epsilon; 4])
}

/// A join whose groups are read from the tuples of a relation.
pub fn read(fields: &[&[usize]], groups: &[usize], from: usize, epsilons: &[f64]) -> House {
    let kind = match fields.len() == 4 && fields[0].len() == 1 {
        true => StrategyKind::Path([0, 1, 2, 3]),
        false => StrategyKind::Keys,
    };
    made(fields, epsilons, (groups, Some(from)), kind)
}

fn house(fields: &[&[usize]], epsilons: &[f64], groups: &[usize], kind: StrategyKind) -> House {
    made(fields, epsilons, (groups, None), kind)
}

fn made(
    fields: &[&[usize]],
    epsilons: &[f64],
    (groups, read_from): (&[usize], Option<usize>),
    kind: StrategyKind,
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
        kind: StrategyKind::Cycle,
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

    /// The tuples of each input.
    pub fn model(&self) -> &[Rows] {
        &self.model
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
        self.transaction(changes, Self::loaded);
    }

    /// The same, of changes that enter one after the other.
    pub fn change_each(&mut self, changes: &[(usize, Batch)]) {
        self.transaction(changes, |house, changes| {
            let budget = Budget::free();
            for (input, rows) in changes {
                house.machine.apply(*input, &delta(rows), &budget)?;
            }
            house.machine.prepare(&budget)
        });
    }

    fn transaction(
        &mut self,
        changes: &[(usize, Batch)],
        enter: impl Fn(&mut Self, &[(usize, Batch)]) -> Result<()>,
    ) {
        for kept in [false, true] {
            enter(self, changes).unwrap();
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
        let budget = Budget::free();
        let deltas = changes.iter().map(|(input, rows)| (*input, delta(rows)));
        let deltas: Vec<(usize, Delta)> = deltas.collect();
        let named: Vec<(usize, &Delta)> = deltas.iter().map(|(at, delta)| (*at, delta)).collect();
        self.machine.load(&named, &budget)?;
        self.machine.prepare(&budget)
    }

    fn note(&mut self, input: usize, rows: &[(Vec<i64>, i64)]) {
        for (tuple, times) in rows {
            *self.model[input].entry(tuple.clone()).or_default() += times;
        }
        self.model[input].retain(|_, times| *times != 0);
    }

    pub fn apply(&mut self, input: usize, rows: &[(Vec<i64>, i64)]) -> Result<()> {
        let budget = Budget::free();
        self.machine.apply(input, &delta(rows), &budget)?;
        self.machine.prepare(&budget)
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
        let budget = Budget::free();
        let columns: Option<Vec<Vec<u64>>> = of.map(|keys| {
            let fields = 0..self.groups.len();
            let column = |field: usize| keys.iter().map(|key| key[field] as u64).collect();
            fields.map(column).collect()
        });
        let table = self.machine.read_groups(columns.as_deref(), &budget);
        rows_of(&table.unwrap())
    }
}

fn rows(relation: &Relation<SumProduct>) -> Rows {
    rows_of(relation.table().unwrap())
}

fn rows_of(table: &KeyedTable) -> Rows {
    let fields = table.layout().fields();
    let key = |slot| (0..fields).map(|f| table.field(slot, f) as i64).collect();
    table
        .iter()
        .map(|slot| (key(slot), table.payload(slot)[0] as i64))
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
