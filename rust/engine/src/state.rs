//! State of a database without its engines: base rows, views, and the running transaction.
//!
//! Invariant: between two transactions every view equals its query over the base rows.

use crate::graph::Graph;
use crate::memory::Memory;
use crate::reversal::Reversal;
use crate::storage::Storage;
use crate::transaction::workers::Workers;
use crate::undo::Undo;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) storage: Storage,
    pub(crate) graph: Graph,
    pub(crate) memory: Memory,
    /// Current time of the database, in microseconds; none before it is first set.
    pub(crate) now: Option<i64>,
    /// The memory of the last transaction, for the next one; `None` while one runs. Boxed, as it is moved out and back.
    pub(crate) undo: Option<Box<Undo>>,
    pub(crate) workers: Workers,
    /// Reversals of the definitions of the running transaction; `None` where each is committed by
    /// itself.
    pub(crate) reversals: Option<Vec<Reversal>>,
}

impl State {
    /// Links each table and each view to its readers. O(atoms), whenever the views change.
    pub(crate) fn wire(&mut self) {
        self.graph.wire(&mut self.storage);
    }
}
