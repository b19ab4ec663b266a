//! SELECT DISTINCT kept factorised: relations as sets.
//!
//! If every variable is an output, a row of the result is one key of each relation. It is there once if each key counts
//! as 1, however many rows of the table have it. So the tree receives a key only when its first row is inserted or its
//! last one deleted: |d(set of R)| <= |dR|, as for an indicator projection.
//!
//! Invariant: `rows` counts the rows of each key, and `present` marks the keys that have any; the leaf of the tree has
//! 1 for those. Cost: O(1) a row of dR, and a count a distinct key.

use crate::plan::Plan;
use ringview_core::Result;
use ringview_relation::{Delta, GatherScratch, KeyScratch, KeyedTable, Relation};
use ringview_ring::{NumberKind, PayloadRing, SumProduct, SumProductShape};

use super::leaf_rows::LeafRows;
use crate::overflow;
use crate::tree::indicator::Watch;
use ringview_view::fields::Fields;

/// The relations of a view as sets.
#[derive(Debug)]
pub(super) struct Distinct {
    /// By atom.
    sets: Vec<Set>,
    scratch: KeyScratch,
    gather: GatherScratch,
}

#[derive(Debug)]
struct Set {
    rows: Relation<SumProduct>,
    present: Watch<SumProduct>,
}

impl Distinct {
    pub(super) fn new(plan: &Plan, fields: &Fields) -> Self {
        let shape = SumProductShape::new(&[NumberKind::Integer]);
        let set = |atom: usize| {
            let leaf = plan.tree.nodes.iter().find(|node| node.atom == Some(atom));
            let keys = leaf.map_or(&[][..], |leaf| &leaf.keys);
            let layout = fields.layout(&fields.of_all(keys));
            let table = KeyedTable::new(layout, SumProduct::stride(&shape));
            let name = plan.atoms[atom].alias.clone();
            Set {
                rows: Relation::new(name, shape.clone(), Some(table)),
                present: Watch::new(Vec::new()),
            }
        };
        Self {
            sets: (0..plan.atoms.len()).map(set).collect(),
            scratch: KeyScratch::default(),
            gather: GatherScratch::default(),
        }
    }

    /// Applies rows of a relation. Returns the keys that appeared (1) and disappeared (-1).
    pub(super) fn turn(&mut self, atom: usize, rows: LeafRows) -> Result<LeafRows> {
        let Set {
            rows: view,
            present,
        } = &mut self.sets[atom];
        let keys: Vec<usize> = (0..rows.columns.len()).collect();
        let mut delta = Delta::with_registers(0);
        delta.columns = rows.columns;
        delta.rows = rows.times.len();
        delta.width = 1;
        delta.payload = rows.times.iter().map(|&times| times as u64).collect();
        view.add(&mut delta, &keys, &mut self.scratch, &mut self.gather)
            .map_err(|_| overflow(format!("the rows of {}", view.name())))?;
        let mut toggled = Vec::new();
        present.turn(view, &mut toggled);
        let field = |field: usize| match view.table() {
            Some(table) => toggled
                .iter()
                .map(|&(slot, _)| table.field(slot, field))
                .collect(),
            None => Vec::new(),
        };
        Ok(LeafRows {
            columns: keys.iter().map(|&at| field(at)).collect(),
            times: toggled.iter().map(|&(_, times)| times).collect(),
        })
    }

    pub(super) fn commit(&mut self) {
        for set in &mut self.sets {
            let moved = set.rows.commit();
            set.present.commit(moved.as_ref());
        }
    }

    pub(super) fn rollback(&mut self) {
        for set in &mut self.sets {
            set.rows.rollback();
            set.present.rollback();
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        let bytes = |set: &Set| {
            let rows = set.rows.table().map_or(0, KeyedTable::memory_usage);
            rows + set.present.memory_usage()
        };
        self.sets.iter().map(bytes).sum()
    }

    /// Checks the invariant, given the leaf of each atom; for tests.
    pub(super) fn check<'a>(&self, leaf: impl Fn(usize) -> Option<&'a KeyedTable>) {
        for (atom, set) in self.sets.iter().enumerate() {
            set.present.check(&set.rows, &[]);
            let Some(leaf) = leaf(atom) else { continue };
            let keys = set.rows.table().map_or(0, KeyedTable::len);
            assert_eq!(leaf.len(), keys, "a relation as a set");
            let one = |slot| leaf.payload(slot)[0] == 1;
            assert!(leaf.iter().all(one), "a set holds ones");
        }
    }
}
