//! Rows that fill a tree: they wait at their leaf, and go up together in the order of their keys.
//!
//! The fields of the views above come first in a leaf's key: so rows that meet there stand side by side, and are summed
//! before anything is looked up for them; keys that are new come in order, and enter their directory at once.
//! Invariant: rows of one atom wait at a time, and none between `end_load` and the next `load`. Cost: that of sorting
//! words for each row, and of each key beyond; [`MOST`] rows wait.

use ringview_core::{Budget, Result};
use ringview_relation::Delta;
use ringview_view::RowDelta;

use super::{Load, Payloads, Tree};

/// Rows that wait.
const MOST: usize = if cfg!(debug_assertions) { 16 } else { 1 << 21 };

impl<P: Payloads> Tree<P> {
    /// Takes rows of one relation, which wait if they can.
    pub(crate) fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let atom = rows.atom;
        if !P::CAN_WAIT || self.watches[atom].is_some() {
            return self.apply(rows, budget);
        }
        let path = self.path(atom);
        let mut delta = std::mem::take(&mut self.room.deltas[atom]);
        let read = self.read_leaf(&path, rows, &mut delta);
        let fits = |load: &Load| load.atom == atom && load.delta.is_like(&delta);
        let outcome = match read {
            Ok(()) if self.loading.as_ref().is_some_and(|load| !fits(load)) => {
                self.end_load(budget)
            }
            read => read,
        };
        if outcome.is_ok() {
            let load = self.loading.get_or_insert_with(|| Load {
                atom,
                delta: Delta::with_registers(path.registers),
            });
            // Behind the first come as many as may wait, or nearly so.
            if load.delta.rows > 0 && load.delta.payload.capacity() < MOST {
                load.delta.reserve(&path.keys, MOST);
            }
            load.delta.append(&path.keys, &delta);
        }
        self.room.deltas[atom] = delta;
        outcome?;
        let waiting = self.loading.as_ref().map_or(0, |load| load.delta.rows);
        match waiting > MOST {
            true => self.end_load(budget),
            false => Ok(()),
        }
    }

    /// Propagates the rows that wait.
    pub(crate) fn end_load(&mut self, budget: &Budget<'_>) -> Result<()> {
        let Some(Load { atom, mut delta }) = self.loading.take() else {
            return Ok(());
        };
        let path = self.path(atom);
        let Self { views, work, .. } = self;
        let leaf = &views[path.from];
        let (shape, layout) = (leaf.shape(), &path.layout);
        let (grouper, spare) = (&mut work.grouper, &mut work.spare);
        let summed = delta.sort::<P::Ring>(shape, &path.keys, layout, grouper, spare);
        summed.map_err(|fault| leaf.refusal(fault))?;
        let outcome = self.propagate(&path, budget).apply_many(&mut delta);
        self.work.release();
        outcome
    }
}
