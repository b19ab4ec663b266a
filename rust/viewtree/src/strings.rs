//! Which strings a view holds: what the dictionary must know before ids are given again.
//!
//! Invariant: between transactions every id that a view will ever read again is marked. They stand in
//! the keys of its trees, and in what change logs remember: keys, least and greatest values, and
//! categories, of rows that may have left. What is made of the keys of a tree (indexes, groups of
//! companions, counts of indicator projections and of distinct rows) holds nothing beyond them, and
//! streams hold places. Filters hold verdicts on ids, not strings: they forget. Literals are text.
//! Cost: O(keys with strings).

use ringview_core::{FreedIds, HoldsStrings, LiveIds};
use ringview_relation::Part;
use ringview_view::part::mark_strings;

use crate::tree::Payloads;
use crate::tree::Tree;
use crate::view_tree::{Form, ViewTree};

impl<P: Payloads> Tree<P> {
    /// The parts that hold strings, and in which fields.
    fn texts(&self) -> impl Iterator<Item = (&Part, Vec<usize>)> {
        let views = self.views.iter().zip(&self.plan.tree.nodes);
        views.filter_map(|(view, node)| Some((view.part()?, self.fields.texts(&node.keys))))
    }
}

impl<P: Payloads> HoldsStrings for Tree<P> {
    fn mark_strings(&self, held: &mut LiveIds) {
        for (part, texts) in self.texts() {
            mark_strings(part, &texts, held);
        }
    }

    fn string_words(&self) -> usize {
        let words = self.texts().map(|(part, texts)| part.len() * texts.len());
        words.sum()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.payloads.forget_strings(gone);
    }
}

impl<F: Form> HoldsStrings for ViewTree<F> {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.kept.tree.mark_strings(held);
        self.kept.beside.mark_strings(held);
        self.form.mark_strings(&self.kept, held);
    }

    fn string_words(&self) -> usize {
        self.kept.tree.string_words()
            + self.kept.beside.string_words()
            + self.form.string_words(&self.kept)
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.kept.tree.forget_strings(gone);
        self.kept.beside.forget_strings(gone);
    }
}
