//! The ends of groups as the values of a companion, which partials are written of.
//!
//! Invariant: a group has its least and its greatest value, once each. Cost: O(groups).

use ringview_relation::{KeyScratch, KeyedTable};
use ringview_view::answer::PayloadLayout;
use ringview_view::answer::values::SUMMARY;
use ringview_view::fields::{Aspect, Fields};
use ringview_view::result_table::ResultTable;

use crate::plan::Companion;

/// The values of one companion by group.
pub(super) struct ValueTable {
    companion: Companion,
    fields: Fields,
    layout: PayloadLayout,
    table: KeyedTable,
    scratch: KeyScratch,
}

impl ValueTable {
    pub(super) fn new(companion: &Companion) -> Self {
        let plan = &companion.plan;
        let fields = Fields::new(&plan.variables);
        let layout = plan.payload_layout();
        let keys = &plan.tree.nodes[plan.tree.root].keys;
        Self {
            table: KeyedTable::new(fields.layout(&fields.of_all(keys)), layout.first()),
            companion: companion.clone(),
            fields,
            layout,
            scratch: KeyScratch::default(),
        }
    }

    fn keys(&self) -> &[usize] {
        let tree = &self.companion.plan.tree;
        &tree.nodes[tree.root].keys
    }

    /// Adds the ends of a group, each once.
    pub(super) fn add(
        &mut self,
        (groups, slot): (&KeyedTable, u32),
        (outer, keys): (&Fields, &[usize]),
        summary: &[u64; SUMMARY],
    ) {
        let ids = self.fields.of_all(self.keys());
        for end in [1, 3].into_iter().filter(|_| summary[0] != 0) {
            let word = |&id: &usize| {
                let field = self.fields.field(id);
                let pairs = &self.companion.groups;
                let pair = pairs.iter().find(|(_, inner)| *inner == field.variable);
                match (pair, field.aspect) {
                    (Some(&(variable, _)), aspect) => {
                        let all = outer.of_all(keys);
                        let mut at = outer.positions(keys, variable).into_iter();
                        let at = at.find(|&at| outer.field(all[at]).aspect == aspect);
                        at.map_or(0, |at| groups.field(slot, at))
                    }
                    (None, Aspect::Word) => summary[end],
                    (None, Aspect::High) => summary[end + 1],
                    (None, Aspect::Null) => 0,
                }
            };
            let key: Vec<u64> = ids.iter().map(word).collect();
            let slot = self.table.locate_key(&key, &mut self.scratch);
            self.table.payload_mut(slot)[0] = 1;
        }
    }

    /// All groups are there.
    pub(super) fn finish(&mut self) {
        self.table.commit(&[], |_| false);
    }

    pub(super) fn grouped(&self) -> ResultTable<'_> {
        ResultTable {
            outputs: self.companion.plan.shown(),
            fields: &self.fields,
            keys: self.keys(),
            table: &self.table,
            auxiliary: &self.layout,
        }
    }
}
