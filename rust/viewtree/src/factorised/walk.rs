//! The delta of a factorised join, row by row.
//!
//! dQ = dR * (all other relations as they are), one relation of a transaction after the other, so
//! self-joins need nothing special. From each row of dR the walk first climbs to the root: at each
//! view it meets the siblings, which bind the unbound variables and show at once whether there is a row at all. Then it
//! descends every sibling's unions, where every entry has a row. Indicator projections are no factors of dQ; but views
//! that join those of R have what meets a key of R only while R has it. So deleted rows are walked before the change,
//! and inserted rows after it.
//!
//! Invariant: the rows that are collected add up to the change of the result so far; a row may be listed more than
//! once.
//! Cost: the climb costs what maintenance costs; then O(1) look-ups a row that moves in the result.

use crate::plan::Plan;
use ringview_core::{Budget, Result};
use ringview_query::VarId;
use ringview_relation::{ABSENT, KeyScratch, Keys};

use crate::maintained::Maintained;
use crate::overflow;
use ringview_view::answer::ResultRows;
use ringview_view::fields::Fields;

use super::leaf_rows::LeafRows;
use super::shape::columns;

/// Rows of the result, each with the change of its multiplicity.
pub(super) type Changed = (ResultRows, Vec<i64>);

/// One view on the path of a row of a relation.
#[derive(Clone, Debug)]
struct Meeting {
    node: usize,
    /// The index on what is bound; none where that is the whole key.
    index: Option<usize>,
    /// The fields that are bound when the view is met, in the order of the index.
    bound: Vec<usize>,
    /// (field of the view's key, field that it binds).
    binds: Vec<(usize, usize)>,
    /// Whether its payload is a multiplicity of the row, not only a sign that there is one.
    multiplies: bool,
}

/// Paths from rows of each relation to the rows of the result that they change.
#[derive(Debug)]
pub(crate) struct Paths {
    /// By atom: the fields of its rows, and the views that they meet.
    paths: Vec<(Vec<usize>, Vec<Meeting>)>,
    /// The fields of a row of the result.
    row: Vec<usize>,
    fields: usize,
    scratch: KeyScratch,
}

impl Paths {
    /// Those of a plan; adds to the views the indexes that they need.
    pub(crate) fn new(plan: &Plan, tree: &mut dyn Maintained) -> Self {
        let fields = tree.fields().clone();
        let mut paths = vec![(Vec::new(), Vec::new()); plan.atoms.len()];
        for (node, view) in plan.tree.nodes.iter().enumerate() {
            if let Some(atom) = view.atom {
                let own = fields.of_all(&view.keys);
                let mut path = Path {
                    plan,
                    fields: &fields,
                    known: own.clone(),
                    meetings: Vec::new(),
                };
                let siblings = path.propagate(node, tree);
                siblings.iter().for_each(|&other| path.descend(other, tree));
                paths[atom] = (own, path.meetings);
            }
        }
        let all: Vec<VarId> = (0..plan.variables.len()).collect();
        Self {
            paths,
            row: fields.of_all(&columns(plan)),
            fields: fields.of_all(&all).len(),
            scratch: KeyScratch::default(),
        }
    }

    /// No rows.
    pub(crate) fn nothing(&self) -> Changed {
        (ResultRows::new(self.row.len(), 0), Vec::new())
    }

    /// Adds the change of the result by rows of one relation, applied at an atom.
    pub(crate) fn apply(
        &mut self,
        tree: &mut dyn Maintained,
        atom: usize,
        rows: &LeafRows,
        changed: &mut Changed,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let (own, meetings) = &self.paths[atom];
        for meeting in meetings {
            if let (Some(index), Some(table)) = (meeting.index, tree.table_mut(meeting.node)) {
                table.refresh_index(index);
            }
        }
        let mut walk = Walk {
            tree,
            meetings,
            row: &self.row,
            values: vec![0; self.fields],
            changed,
            scratch: &mut self.scratch,
            budget,
        };
        for (at, &times) in rows.times.iter().enumerate() {
            for (&field, column) in own.iter().zip(&rows.columns) {
                walk.values[field] = column[at];
            }
            walk.meet(0, times)?;
        }
        Ok(())
    }
}

/// The path of an atom under construction.
struct Path<'a> {
    plan: &'a Plan,
    fields: &'a Fields,
    known: Vec<usize>,
    meetings: Vec<Meeting>,
}

impl Path<'_> {
    /// Meets the siblings up to the root, at each view those first that bind the least; returns them.
    fn propagate(&mut self, leaf: usize, tree: &mut dyn Maintained) -> Vec<usize> {
        let nodes = &self.plan.tree.nodes;
        let (mut at, mut met) = (leaf, Vec::new());
        while let Some(parent) = nodes[at].parent() {
            let others = nodes[parent].children.iter().copied();
            let is_part = |&other: &usize| other != at && nodes[other].indicator.is_none();
            let mut others: Vec<usize> = others.filter(is_part).collect();
            while !others.is_empty() {
                let unknown = |&node: &usize| {
                    let keys = self.fields.of_all(&nodes[node].keys);
                    keys.iter().filter(|f| !self.known.contains(f)).count()
                };
                others.sort_by_key(unknown);
                let next = others.remove(0);
                self.meet(next, false, tree);
                met.push(next);
            }
            at = parent;
        }
        met
    }

    /// Meets the unions of a subtree.
    fn descend(&mut self, node: usize, tree: &mut dyn Maintained) {
        let nodes = &self.plan.tree.nodes;
        match nodes[node].children[..] {
            // A relation whose columns are all bound: only its multiplicity is left.
            [] => self.meet(node, true, tree),
            [only] => {
                let below = &nodes[only];
                self.meet(only, below.atom.is_some(), tree);
                let children = below.children.iter().copied();
                for child in children.filter(|&child| nodes[child].indicator.is_none()) {
                    self.descend(child, tree);
                }
            }
            _ => {}
        }
    }

    fn meet(&mut self, node: usize, multiplies: bool, tree: &mut dyn Maintained) {
        let keys = self.fields.of_all(&self.plan.tree.nodes[node].keys);
        let (known, new): (Vec<usize>, Vec<usize>) =
            (0..keys.len()).partition(|&at| self.known.contains(&keys[at]));
        let index = (!new.is_empty())
            .then(|| tree.table_mut(node).map(|table| table.add_index(&known)))
            .flatten();
        self.known.extend(new.iter().map(|&at| keys[at]));
        self.meetings.push(Meeting {
            node,
            index,
            bound: known.iter().map(|&at| keys[at]).collect(),
            binds: new.iter().map(|&at| (at, keys[at])).collect(),
            multiplies,
        });
    }
}

/// Rows of a relation on their path.
struct Walk<'a, 'p> {
    tree: &'a dyn Maintained,
    meetings: &'a [Meeting],
    row: &'a [usize],
    /// By field.
    values: Vec<u64>,
    changed: &'a mut Changed,
    scratch: &'a mut KeyScratch,
    budget: &'a Budget<'p>,
}

impl Walk<'_, '_> {
    /// Continues after a meeting with a row of this multiplicity.
    fn meet(&mut self, at: usize, multiplicity: i64) -> Result<()> {
        let Some(meeting) = self.meetings.get(at) else {
            self.emit(multiplicity);
            return Ok(());
        };
        let Some(table) = self
            .tree
            .table(meeting.node)
            .filter(|table| !table.is_empty())
        else {
            return Ok(());
        };
        let value = |&field: &usize| vec![self.values[field]];
        let columns: Vec<Vec<u64>> = meeting.bound.iter().map(value).collect();
        let fields: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &fields,
            rows: 1,
        };
        let mut found = Vec::with_capacity(1);
        let slots = match meeting.index {
            Some(index) => {
                let index = table.index_at(index);
                index.find(keys, self.scratch, &mut found);
                index.group(found[0])
            }
            None => {
                table.find(keys, self.scratch, &mut found);
                found.retain(|&slot| slot != ABSENT);
                &found[..]
            }
        };
        for &slot in slots {
            self.budget.work(1)?;
            // A key with count 0 is not there any more.
            let count = table.payload(slot)[0] as i64;
            if count == 0 {
                continue;
            }
            for &(from, field) in &meeting.binds {
                self.values[field] = table.field(slot, from);
            }
            let multiplied = if meeting.multiplies {
                multiplicity
                    .checked_mul(count)
                    .ok_or_else(|| overflow("a multiplicity among the changes".to_owned()))?
            } else {
                multiplicity
            };
            self.meet(at + 1, multiplied)?;
        }
        Ok(())
    }

    fn emit(&mut self, multiplicity: i64) {
        let (rows, multiplicities) = &mut *self.changed;
        for (column, &field) in rows.columns.iter_mut().zip(self.row) {
            column.push(self.values[field]);
        }
        rows.rows += 1;
        multiplicities.push(multiplicity);
    }
}
