//! The state of a maintained query, as data: machines hold parts and closed values, which hold
//! machines.
//!
//! Invariant: types alone, so that the files that maintain them need not import each other. Cost:
//! none.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringview_core::Batch;
use ringview_relation::{KeyScratch, KeyedTable as Table};

use crate::machine::general::General;
use crate::machine::general::accumulator::Accumulator;
use crate::machine::indexed::memo::Memo;
use crate::machine::indexed::selector::Selector;
use crate::machine::keyed::shape::{Shape, Total};
use crate::machine::query::{Block, Cell, Plan, Row};
use crate::machine::store::packed::PackedRows;

/// A maintained query.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(super) plan: Arc<Plan>,
    /// Of each table, the columns of doubles that the query reads.
    pub(super) reals: Arc<[Vec<usize>]>,
    pub(super) state: State,
    /// Why the optimisation does not maintain it as a whole.
    pub(super) why: Option<&'static str>,
}

/// The algorithm that maintains a query, and its state.
#[derive(Clone, Debug)]
pub(super) enum State {
    Indexed(Indexed),
    Partitioned(Box<Partitioned>),
    General(Box<General>),
    Folded(Box<Folded>),
}

/// See `folded`.
#[derive(Clone, Debug)]
pub(super) struct Folded {
    pub(super) block: Block,
    pub(super) all: Vec<Accumulator>,
    /// The values of each row since the last commit, by aggregate, and the times of the row.
    pub(super) undo: Vec<(Vec<Cell>, i128)>,
}

/// See `optimised`.
#[derive(Clone, Debug)]
pub(super) struct Indexed {
    pub(super) selector: Selector,
    pub(super) closed: Vec<(usize, Machine)>,
    pub(super) memo: Option<Box<Memo>>,
}

/// See `partitioned`.
#[derive(Clone, Debug)]
pub(super) struct Partitioned {
    pub(super) shape: Arc<Shape>,
    /// The machine of a part, without rows.
    pub(super) empty: Arc<Machine>,
    /// The keys; parts and marks are by slot, too.
    pub(super) keys: Table,
    pub(super) parts: Vec<Part>,
    pub(super) marks: Vec<u8>,
    pub(super) evaluator: Box<Evaluator>,
    /// Totals of groups, if a group may be of several parts.
    pub(super) groups: BTreeMap<Row, Total>,
    pub(super) stale: Vec<u32>,
    pub(super) touched: Vec<Touched>,
    /// Groups at the last commit, of those changed since.
    pub(super) old_groups: BTreeMap<Row, Option<Total>>,
    /// Whether keys that are not there can have no result.
    pub(super) is_frozen: bool,
    pub(super) scratch: Scratch,
}

/// Memory for a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) columns: Vec<Vec<u64>>,
    pub(super) rows: Vec<(usize, i64)>,
    pub(super) slots: Vec<u32>,
    pub(super) keys: KeyScratch,
    pub(super) body: Vec<u8>,
}

/// A part that rows or its evaluation changed since the last commit, with its packed rows at that
/// time.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) slot: u32,
    pub(super) was: PackedRows,
    pub(super) had_machine: bool,
}

/// The rows of a key.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Its rows, and the groups of its result when it was last evaluated.
    Few(PackedRows),
    Many(Box<Many>),
}

#[derive(Clone, Debug)]
pub(super) struct Many {
    pub(super) machine: Machine,
    pub(super) results: PackedRows,
}

/// Evaluates parts of few rows, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Evaluator {
    pub(super) machine: Machine,
    /// By local table.
    pub(super) batches: Vec<Batch>,
}
