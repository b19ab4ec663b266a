//! The end of a transaction: all of it stays, or all of it goes.
//!
//! Invariant: tables and views remember by themselves what they were at the last commit; what is noted here is
//! which of them were touched, and what nobody else remembers. Cost: O(1) for each change that is undone, and
//! O(tables and views touched).

use crate::database::Database;
use crate::log::WeightedRows;

/// What a transaction has done so far.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// The table of each op.
    pub(crate) tables: Vec<usize>,
    /// What tables without base rows had in all.
    pub(crate) totals: Vec<(usize, i64)>,
    /// Which views were touched.
    pub(crate) touched: Vec<bool>,
    /// How many words that hold strings went, at the most.
    pub(crate) words_left: usize,
    /// The deltas of views that are followed.
    pub(crate) logged: Vec<(usize, WeightedRows)>,
}

impl Undo {
    /// Nothing is done so far to so many views.
    pub(crate) fn begin(&mut self, views: usize) {
        self.tables.clear();
        self.totals.clear();
        self.words_left = 0;
        self.logged.clear();
        self.touched.clear();
        self.touched.resize(views, false);
    }
}

impl Database {
    pub(crate) fn commit(&mut self, undo: &Undo) {
        let views = self.views.iter_mut().zip(&undo.touched);
        for (view, _) in views.filter(|(_, touched)| **touched) {
            view.kept.commit(&self.dictionary);
            if let Some(log) = &mut view.log {
                log.forget_lost();
            }
        }
        for (view, rows) in &undo.logged {
            let view = &mut self.views[*view];
            view.log.iter_mut().for_each(|log| log.record(rows));
            view.choose_wanted();
        }
        for &table in &undo.tables {
            if let Some(rows) = &mut self.tables[table].rows {
                rows.commit();
            }
        }
        // Where rows are not kept, who reads a string need not hold it.
        let unkept = undo
            .tables
            .iter()
            .any(|&table| self.tables[table].rows.is_none());
        let fresh = if unkept { self.dictionary.fresh() } else { 0 };
        self.words_left(undo.words_left + fresh);
        self.dictionary.commit();
        self.collect_strings();
    }

    pub(crate) fn roll_back(&mut self, undo: &Undo) {
        let views = self.views.iter_mut().zip(&undo.touched);
        for (view, _) in views.filter(|(_, touched)| **touched) {
            view.kept.rollback();
        }
        for &(table, total) in undo.totals.iter().rev() {
            self.tables[table].total = total;
        }
        for &table in &undo.tables {
            if let Some(rows) = &mut self.tables[table].rows {
                rows.rollback();
            }
        }
        self.forget_fresh_strings(&undo.touched);
    }
}
