//! The rows of a key: few, packed, or in a machine.
//!
//! Invariant: the groups of a part's result, when it was last evaluated, are among its packed rows.
//! Cost: a part of few rows is loaded into a machine that all share, O(rows), for its result.

use std::sync::Arc;

use ringview_core::{Batch, Budget, Result};

use crate::machine::keyed::shape::Shape;
use crate::machine::query::RowAt;
use crate::machine::state::{Evaluator, Machine, Many, Part};
use crate::machine::store::packed::PackedRows;

/// Different rows of a part without a machine of its own, at most.
pub(crate) const FEW: usize = 40;
/// The first byte of a row that is a result; of others it is their table, behind it.
pub(crate) const RESULT: u8 = 0;

impl Default for Part {
    fn default() -> Self {
        Part::Few(PackedRows::default())
    }
}

impl Part {
    /// Its packed rows: of one with a machine only its result.
    pub(crate) fn packed(&self) -> &PackedRows {
        match self {
            Part::Few(rows) => rows,
            Part::Many(many) => &many.results,
        }
    }

    pub(crate) fn packed_mut(&mut self) -> &mut PackedRows {
        match self {
            Part::Few(rows) => rows,
            Part::Many(many) => &mut many.results,
        }
    }

    pub(crate) fn is_vacant(&self) -> bool {
        match self {
            Part::Few(rows) => rows.is_empty(),
            Part::Many(many) => many.results.is_empty() && many.machine.is_vacant(),
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            Part::Few(rows) => rows.memory_usage(),
            Part::Many(many) => {
                size_of::<Many>() + many.results.memory_usage() + many.machine.memory_usage()
            }
        }
    }
}

impl Evaluator {
    /// Does something with a machine that has taken the packed rows.
    pub(crate) fn with<R>(
        &mut self,
        (shape, rows): (&Shape, &PackedRows),
        budget: &Budget<'_>,
        act: impl FnOnce(&mut Machine) -> Result<R>,
    ) -> Result<R> {
        let loaded = load(&mut self.machine, &mut self.batches, (shape, rows), budget);
        let done = loaded.and_then(|()| act(&mut self.machine));
        self.machine.clear();
        done
    }
}

/// Gives packed rows to a machine.
pub(crate) fn load(
    machine: &mut Machine,
    batches: &mut [Batch],
    (shape, rows): (&Shape, &PackedRows),
    budget: &Budget<'_>,
) -> Result<()> {
    let plan = Arc::clone(&machine.plan);
    for (body, times) in rows.iter().filter(|(body, _)| body[0] != RESULT) {
        let local = usize::from(body[0]) - 1;
        let batch = &mut batches[local];
        shape.formats[local].unpack(&body[1..], batch);
        let row = RowAt {
            batch,
            at: 0,
            types: &plan.tables[local],
            verdicts: &[],
        };
        machine.change(local, &row, (times, budget))?;
    }
    Ok(())
}

/// The packed groups among packed rows.
pub(crate) fn results(rows: &PackedRows) -> Vec<Vec<u8>> {
    let results = rows.iter().filter(|(body, _)| body[0] == RESULT);
    results.map(|(body, _)| body.to_vec()).collect()
}
