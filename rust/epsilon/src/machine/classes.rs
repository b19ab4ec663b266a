//! Classes of the rows of a change by the partitions: the values of each row, the heavy ones among these, and the rows
//! that meet others of the same change.
//!
//! Invariant: a value stays at its slot while the transaction runs, so what is found before the tuples
//! enter counts them afterwards. Cost: a look-up a row and key.

use ringview_relation::{Delta, Keys};
use ringview_ring::PayloadRing;

use super::Machine;
use crate::strategy::{Case, Strategy};

/// See the module.
#[derive(Debug)]
pub(crate) struct Classes {
    /// By face: the value of each row.
    pub(super) values: Vec<Vec<u32>>,
    /// Of each row, which of its keys are heavy: a bit a face.
    heavy: Vec<u64>,
    /// The distinct combinations of heavy values among the rows.
    kinds: Vec<u64>,
    /// The rows that another row follows, if a relation meets itself.
    met_by: Vec<u32>,
}

/// Rows of a change begin, or end, at a value.
const BEGINS: u8 = 1;
const ENDS: u8 = 2;

impl<R: PayloadRing> Machine<R> {
    /// The values of each row, and which of them are heavy.
    pub(super) fn classes(&mut self, at: usize, delta: &Delta) -> Classes {
        let Strategy {
            inputs, partitions, ..
        } = &mut self.strategy;
        let mut classes = Classes {
            values: vec![Vec::new(); inputs[at].faces.len()],
            heavy: vec![0; delta.rows],
            kinds: Vec::new(),
            met_by: Vec::new(),
        };
        for (bit, face) in inputs[at].faces.iter().enumerate() {
            let keys = Keys {
                columns: &delta.columns,
                fields: &face.key.columns,
                rows: delta.rows,
            };
            self.work.steps += delta.rows as u64;
            let (partition, values) = (&mut partitions[face.partition], &mut classes.values[bit]);
            partition.locate(keys, &mut self.work.keys, values);
            for (row, &value) in classes.heavy.iter_mut().zip(&*values) {
                *row |= u64::from(partition.is_heavy(value)) << bit;
            }
        }
        for row in &classes.heavy {
            if !classes.kinds.contains(row) {
                classes.kinds.push(*row);
            }
        }
        classes
    }

    /// Returns the rows that another row precedes, in a relation that meets itself: their first key is another row's
    /// second key. Stores the rows that another row follows in `met_by`.
    pub(super) fn meet(&mut self, classes: &mut Classes) -> Vec<u32> {
        let [first, second, ..] = &classes.values[..] else {
            return Vec::new();
        };
        let marks = &mut self.marks;
        for (values, mark) in [(first, BEGINS), (second, ENDS)] {
            for &value in values {
                if marks.len() <= value as usize {
                    marks.resize(value as usize + 1, 0);
                }
                marks[value as usize] |= mark;
            }
        }
        let marked = |values: &[u32], mark: u8| -> Vec<u32> {
            let rows = (0u32..).zip(values);
            let rows = rows.filter(|(_, value)| marks[**value as usize] & mark != 0);
            rows.map(|(row, _)| row).collect()
        };
        let meet = marked(first, ENDS);
        classes.met_by = marked(second, BEGINS);
        let values = first.iter().chain(second);
        values.for_each(|&value| marks[value as usize] = 0);
        meet
    }

    /// The rows that something is for.
    pub(super) fn rows_of(&self, case: Case, at: usize, classes: &Classes) -> Vec<u32> {
        if case == Case::Met {
            return classes.met_by.clone();
        }
        let all = self.strategy.inputs[at].all_heavy();
        let holds = |row: &u64| case.holds(*row, all);
        let kinds = &classes.kinds;
        match kinds.iter().filter(|row| holds(row)).count() {
            0 => Vec::new(),
            some if some == kinds.len() => (0..classes.heavy.len() as u32).collect(),
            _ => {
                let rows = (0u32..).zip(&classes.heavy);
                let held = rows.filter(|(_, heavy)| holds(heavy));
                held.map(|(row, _)| row).collect()
            }
        }
    }
}
