//! Strings that a tree holds: the dictionary needs them before it reuses ids.
//!
//! Invariant: between transactions every id that a tree will ever read again is marked. Ids are in its keys.
//! Structures made of the keys (indexes, orders of values, counts of indicator projections and of distinct rows) hold
//! nothing beyond them, and streams hold positions. Filters hold verdicts on ids, not strings: they forget. Literals
//! are text.
//! Cost: O(keys with strings).

use ringview_core::{FreedIds, HoldsStrings, LiveIds};
use ringview_relation::KeyedTable;
use ringview_view::result_table::mark_strings;

use crate::tree::Payloads;
use crate::tree::Tree;

impl<P: Payloads> Tree<P> {
    /// The parts that hold strings, and in which fields.
    fn texts(&self) -> impl Iterator<Item = (&KeyedTable, Vec<usize>)> {
        let views = self.views.iter().zip(&self.plan.tree.nodes);
        views.filter_map(|(view, node)| Some((view.table()?, self.fields.texts(&node.keys))))
    }
}

impl<P: Payloads> HoldsStrings for Tree<P> {
    fn mark_strings(&self, held: &mut LiveIds) {
        for (table, texts) in self.texts() {
            mark_strings(table, &texts, held);
        }
    }

    fn string_words(&self) -> usize {
        let words = self.texts().map(|(table, texts)| table.len() * texts.len());
        words.sum()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.payloads.forget_strings(gone);
    }
}
