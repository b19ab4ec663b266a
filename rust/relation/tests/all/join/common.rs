//! Relations of counts, paths between them, and what they hold.

use std::collections::BTreeMap;

use ringview_core::Budget;
use ringview_relation::join::{Join, LevelRule, Path, Propagation, Rule, Work};
use ringview_relation::{Delta, KeyField, KeyLayout, KeyedTable, Relation};
use ringview_ring::{NumberKind, PayloadRing, SumProduct, SumProductShape, TermProduct};

pub const WORD: KeyField = KeyField {
    bits: 64,
    signed: true,
};

/// Rows with their multiplicities.
pub type Rows = BTreeMap<Vec<i64>, i64>;

pub fn shape() -> SumProductShape {
    SumProductShape::new(&[NumberKind::Integer])
}

pub fn relation(name: &str, fields: usize) -> Relation<SumProduct> {
    let layout = KeyLayout::new(&vec![WORD; fields]);
    let table = KeyedTable::new(layout, SumProduct::stride(&shape()));
    Relation::new(name.to_owned(), shape(), Some(table))
}

pub fn join(relation: usize, fields: &[usize]) -> Join<SumProduct> {
    let count = shape();
    Join {
        relation,
        fields: fields.to_vec(),
        product: TermProduct::new(&count, &count, &count, &[(0, 0)]),
    }
}

pub fn level(
    joins: Vec<Join<SumProduct>>,
    into: usize,
    keep: &[usize],
    intersect: bool,
) -> LevelRule<SumProduct> {
    LevelRule {
        joins,
        into,
        keep: keep.to_vec(),
        intersect,
    }
}

/// Relations, by number, and the paths of their changes.
pub struct House {
    pub relations: Vec<Relation<SumProduct>>,
    pub paths: Vec<Path<SumProduct>>,
    pub work: Work<SumProduct>,
}

impl House {
    pub fn new(relations: Vec<Relation<SumProduct>>) -> Self {
        Self {
            relations,
            paths: Vec::new(),
            work: Work::default(),
        }
    }

    /// Compiles one more path; its number.
    pub fn path(
        &mut self,
        from: usize,
        fields: &[usize],
        levels: Vec<LevelRule<SumProduct>>,
    ) -> usize {
        let rule = Rule {
            from,
            fields: fields.to_vec(),
            levels,
        };
        self.paths
            .push(rule.compile(&[WORD; 8], &mut self.relations));
        self.paths.len() - 1
    }

    fn propagate(&mut self, path: usize, rows: &[(Vec<i64>, i64)], stored: bool) {
        let path = &self.paths[path];
        let mut delta = Delta::with_registers(path.registers);
        for (key, times) in rows {
            for (column, &value) in delta.columns.iter_mut().zip(key) {
                column.push(value as u64);
            }
            delta.payload.push(*times as u64);
        }
        (delta.rows, delta.width) = (rows.len(), 1);
        let budget = Budget::free();
        let mut propagation = Propagation {
            relations: &mut self.relations,
            path,
            work: &mut self.work,
            budget: &budget,
        };
        match stored {
            true => propagation.apply(&mut delta).unwrap(),
            false => propagation.follow(&mut delta).unwrap(),
        }
    }

    /// Adds rows to the relation that changes, and what follows.
    pub fn apply(&mut self, path: usize, rows: &[(Vec<i64>, i64)]) {
        self.propagate(path, rows, true);
    }

    /// Adds only what follows.
    pub fn follow(&mut self, path: usize, rows: &[(Vec<i64>, i64)]) {
        self.propagate(path, rows, false);
    }

    pub fn end(&mut self, undo: bool) {
        for relation in &mut self.relations {
            match undo {
                true => relation.rollback(),
                false => drop(relation.commit()),
            }
            relation.table().unwrap().check();
        }
    }

    pub fn rows(&self, relation: usize) -> Rows {
        let table = self.relations[relation].table().unwrap();
        let fields = table.layout().fields();
        let key = |slot| (0..fields).map(|f| table.field(slot, f) as i64).collect();
        let row = |slot| (key(slot), table.payload(slot)[0] as i64);
        table.iter().map(row).collect()
    }

    /// The steps that some rows take.
    pub fn steps(&mut self, path: usize, rows: &[(Vec<i64>, i64)]) -> u64 {
        let before = self.work.steps;
        self.apply(path, rows);
        self.work.steps - before
    }
}

/// Adds rows to a model.
pub fn add(model: &mut Rows, rows: &[(Vec<i64>, i64)]) {
    for (key, times) in rows {
        *model.entry(key.clone()).or_default() += times;
    }
    model.retain(|_, times| *times != 0);
}

/// The join of relations that name the fields of their keys, summed over all fields but `keep`:
/// every combination of rows is tried.
pub fn brute_force(relations: &[(&Rows, &[usize])], keep: &[usize]) -> Rows {
    fn go(
        rest: &[(&Rows, &[usize])],
        known: &BTreeMap<usize, i64>,
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
            let mut next = known.clone();
            let mut agrees = fields.iter().zip(row);
            if agrees.all(|(&field, &value)| *next.entry(field).or_insert(value) == value) {
                go(rest, &next, times * count, keep, out);
            }
        }
    }
    let mut out = Rows::new();
    go(relations, &BTreeMap::new(), 1, keep, &mut out);
    out.retain(|_, times| *times != 0);
    out
}
