//! The end of a transaction: all of it is kept, or all of it is undone.
//!
//! Invariant: tables and views themselves hold what restores their state at the last commit. Cost: O(1) for each change
//! that is undone, and O(tables and views touched).

use ringview_core::Budget;

use crate::state::State;
use crate::undo::Undo;

impl State {
    pub(crate) fn commit(&mut self, undo: &mut Undo) {
        let dictionary = &self.storage.dictionary;
        let views = self.graph.nodes.iter_mut().zip(&undo.touched);
        let touched = views.filter(|(_, touched)| **touched);
        let done = (self.workers).each(undo.rows, touched, &Budget::free(), |(view, _), _| {
            view.view_mut()
                .into_iter()
                .for_each(|view| view.commit(dictionary));
            view.logs.forget_lost();
            Ok(())
        });
        debug_assert!(done.is_ok(), "a commit cannot fail");
        for (view, rows) in undo.logged.drain(..) {
            let view = &mut self.graph.nodes[view];
            view.logs.rows.iter_mut().for_each(|log| log.record(&rows));
            view.choose_wanted();
        }
        for (view, partials) in undo.partials.drain(..) {
            let log = &mut self.graph.nodes[view].logs.partials;
            log.iter_mut().for_each(|log| log.record(&partials));
        }
        for &table in &undo.tables {
            self.storage.tables[table].commit();
        }
        // If rows are not kept, a view that has read a string need not hold it.
        let unkept = undo
            .tables
            .iter()
            .any(|&table| self.storage.tables[table].rows.is_none());
        let fresh = if unkept {
            self.storage.dictionary.fresh()
        } else {
            0
        };
        self.storage.words_left(undo.words_left + fresh);
        self.storage.dictionary.commit();
        self.collect_strings();
    }

    pub(crate) fn roll_back(&mut self, undo: &mut Undo) {
        undo.logged.clear();
        undo.partials.clear();
        let views = self.graph.nodes.iter_mut().zip(&undo.touched);
        for (view, _) in views.filter(|(_, touched)| **touched) {
            view.view_mut().into_iter().for_each(|view| view.rollback());
        }
        for &(table, total) in undo.totals.iter().rev() {
            self.storage.tables[table].total = total;
        }
        for &table in &undo.tables {
            self.storage.tables[table].rollback();
        }
        if let Some(before) = undo.clock.take() {
            self.now = before;
        }
        self.forget_fresh_strings(&undo.touched);
    }
}
