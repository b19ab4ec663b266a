//! Which strings a view holds: what the dictionary must know before ids are given again.
//!
//! Invariant: between transactions every id that a view will ever read again is marked. They stand in
//! the keys of its trees, and in what change logs remember: keys, least and greatest values, and
//! categories, of rows that may have left. What is made of the keys of a tree (indexes, groups of
//! companions, counts of indicator projections and of distinct rows) holds nothing beyond them, and
//! streams hold places. Filters hold verdicts on ids, not strings: they forget. Literals are text.
//! Cost: O(keys with strings).

use ringview_core::{Gone, Held, HoldsStrings};
use ringview_query::VarId;
use ringview_relation::Part;

use crate::categories::Tallies;
use crate::columns::Aggregates;
use crate::factorised;
use crate::tree::Tree;
use crate::tree::payloads::Payloads;
use crate::view_tree::ViewTree;

/// Marks the ids in some fields of the keys of a part.
fn mark(part: &Part, texts: &[usize], held: &mut Held) {
    if texts.is_empty() {
        return;
    }
    for slot in part.iter() {
        for &field in texts {
            held.mark(part.field(slot, field));
        }
    }
}

impl<P: Payloads + Aggregates> Tree<P> {
    /// The parts that hold strings, and in which fields.
    fn texts(&self) -> impl Iterator<Item = (&Part, Vec<usize>)> {
        let views = self.views.iter().zip(&self.plan.tree.nodes);
        views.filter_map(|(view, node)| Some((view.part()?, self.fields.texts(&node.keys))))
    }
}

impl<P: Payloads + Aggregates> HoldsStrings for Tree<P> {
    fn mark_strings(&self, held: &mut Held) {
        for (part, texts) in self.texts() {
            mark(part, &texts, held);
        }
    }

    fn string_words(&self) -> usize {
        let words = self.texts().map(|(part, texts)| part.len() * texts.len());
        words.sum()
    }

    fn forget_strings(&mut self, gone: &Gone) {
        self.payloads.forget_strings(gone);
    }
}

impl ViewTree {
    /// What change logs hold of rows: parts, the fields with strings, and how many words of payload
    /// stand before what stands beside the tree; `None` where nothing does.
    fn logged(&self) -> impl Iterator<Item = (&Part, Vec<usize>, Option<usize>)> {
        let fields = self.tree.fields();
        let root: &[VarId] = &self.plan.tree.nodes[self.plan.tree.root].keys;
        let width = self.tree.result().map_or(0, Part::stride);
        let groups = self.followers.segments().map(move |log| {
            let (old, _) = log.held();
            (old, fields.texts(root), Some(1 + width))
        });
        let joins = self.factorised.iter().flat_map(|joins| joins.logs());
        let joins = joins.map(|moved| {
            let shown = factorised::columns(&self.plan);
            (moved, fields.texts(&shown), None)
        });
        groups.chain(joins)
    }

    fn logged_tallies(&self) -> impl Iterator<Item = &Tallies> {
        self.followers.segments().flat_map(|log| log.held().1)
    }
}

impl HoldsStrings for ViewTree {
    fn mark_strings(&self, held: &mut Held) {
        self.tree.mark_strings(held);
        self.beside.mark_strings(held);
        for (part, texts, further) in self.logged() {
            mark(part, &texts, held);
            if let Some(from) = further.filter(|_| !self.beside.summarized.is_empty()) {
                for slot in part.iter() {
                    self.beside.mark_further(&part.payload(slot)[from..], held);
                }
            }
        }
        for tallies in self.logged_tallies() {
            for (companion, tally) in self.beside.tallied.iter().zip(tallies.iter()) {
                companion.mark_tally(tally, held);
            }
        }
    }

    fn string_words(&self) -> usize {
        let logs = self
            .logged()
            .map(|(part, texts, _)| part.len() * (texts.len() + 2 * self.beside.summarized.len()));
        let tallies = self.logged_tallies().flat_map(|tallies| tallies.iter());
        self.tree.string_words()
            + self.beside.string_words()
            + logs.sum::<usize>()
            + tallies.map(Vec::len).sum::<usize>()
    }

    fn forget_strings(&mut self, gone: &Gone) {
        self.tree.forget_strings(gone);
        self.beside.forget_strings(gone);
    }
}
