//! Removal of strings: those of a refused change at once, those without a reference in a sweep.
//!
//! Invariant: between transactions every id that a table or a view holds keeps its string. The number of strings
//! without a reference is at most about the number of words with one, or as many as fit [`SMALL`] bytes. Cost: a sweep
//! looks at all words that hold strings, and is due when half as many may have lost their last reference: O(1)
//! amortised a deleted row. A dictionary that takes less than a byte for each of those words is left as it is.

use ringview_core::{FreedIds, HoldsStrings};

use crate::graph::node::Node;
use crate::state::State;
use crate::storage::Leaving;

/// Strings that may be nobody's without a sweep.
const FEW: usize = 1 << 12;
/// Bytes of a dictionary that is not worth a sweep.
const SMALL: usize = 1 << 16;

impl State {
    /// Takes out strings that nobody holds, if there may be many. Between transactions only.
    pub(crate) fn collect_strings(&mut self) {
        // Tables that are kept for a rollback hold strings, too.
        if self.reversals.is_some()
            || self.storage.leaving.words < self.storage.leaving.due.max(FEW)
        {
            return;
        }
        let words: usize = self.holders().map(HoldsStrings::string_words).sum();
        let due = FEW.max(words / 2);
        if self.storage.dictionary.memory_usage() < SMALL.max(words) {
            self.storage.leaving.due = self.storage.leaving.words + due;
        } else if self.storage.leaving.words < due {
            self.storage.leaving.due = due;
        } else {
            self.sweep_strings();
        }
    }

    fn sweep_strings(&mut self) {
        let mut held = self.storage.dictionary.unmarked();
        self.holders()
            .for_each(|holder| holder.mark_strings(&mut held));
        let gone = self.storage.dictionary.sweep(&held);
        self.storage.leaving = Leaving::default();
        for view in self.graph.nodes.iter_mut().filter_map(Node::view_mut) {
            view.forget_strings(&gone);
        }
    }

    /// Removes the strings that the running transaction added; `touched` are the views that saw
    /// them.
    pub(crate) fn forget_fresh_strings(&mut self, touched: &[bool]) {
        let gone: FreedIds = self.storage.dictionary.rollback();
        let views = self.graph.nodes.iter_mut().zip(touched);
        let views = views.filter(|(_, touched)| **touched);
        for view in views.filter_map(|(node, _)| node.view_mut()) {
            view.forget_strings(&gone);
        }
    }

    /// All who hold strings.
    fn holders(&self) -> impl Iterator<Item = &dyn HoldsStrings> {
        let tables = self
            .storage
            .tables
            .iter()
            .filter_map(|table| table.rows.as_ref());
        let tables = tables.map(|rows| rows as &dyn HoldsStrings);
        let views = self
            .graph
            .nodes
            .iter()
            .filter_map(|node| node.view().map(|view| view as &dyn HoldsStrings));
        tables.chain(views)
    }
}
