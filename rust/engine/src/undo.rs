//! Undo data of a transaction: all of it is kept, or all of it is undone.
//!
//! Invariant: tables and views themselves hold what restores their state at the last commit. Here the touched ones are
//! noted, and all other state to restore. Cost: O(1) for each change that is undone, and O(tables and views touched).

use arrow_array::RecordBatch;
use ringview_view::Delta;

use crate::graph::row_deltas::WeightedRows;

/// In the place of a table where there is none.
pub(crate) const NO_TABLE: usize = usize::MAX;

/// Effects of a transaction so far.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// The table of each op; of a step of time, [`NO_TABLE`].
    pub(crate) of_op: Vec<usize>,
    /// The tables that were touched.
    pub(crate) tables: Vec<usize>,
    /// Time of the database before the transaction, if the clock advanced.
    pub(crate) clock: Option<Option<i64>>,
    /// Row counts of tables without base rows before the transaction.
    pub(crate) totals: Vec<(usize, i64)>,
    /// For each view, whether it was touched.
    pub(crate) touched: Vec<bool>,
    /// Number of rows passed to views.
    pub(crate) rows: usize,
    /// Whether it adds rows, and how many it deletes.
    pub(crate) adds: bool,
    pub(crate) gone: u64,
    /// Number of removed words that held strings, at the most.
    pub(crate) words_left: usize,
    /// The deltas of views that are followed.
    pub(crate) logged: Vec<(usize, WeightedRows)>,
    /// The deltas of views whose partials are followed.
    pub(crate) partials: Vec<(usize, Vec<RecordBatch>)>,
    /// Memory for the deltas of views of one level, each with its view.
    pub(crate) deltas: Vec<(usize, Delta)>,
}

impl Undo {
    /// Nothing is done so far to so many views.
    pub(crate) fn begin(&mut self, views: usize) {
        self.of_op.clear();
        self.tables.clear();
        self.clock = None;
        self.totals.clear();
        self.rows = 0;
        self.words_left = 0;
        (self.adds, self.gone) = (false, 0);
        self.logged.clear();
        self.partials.clear();
        self.touched.clear();
        self.touched.resize(views, false);
    }
}
