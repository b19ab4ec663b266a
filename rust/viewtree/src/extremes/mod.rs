//! The least and the greatest of values by group, over relations that never change.
//!
//! The tree is the view's but for its ring ([`Extremes`](ringview_ring::Extremes)), so a key of one root is a key of the
//! other. A companion holds each value by group, so that the others are at hand when one leaves; here none
//! leaves, and a group takes two numbers. Invariant: it has taken the rows that the view has taken. Cost: that of the
//! tree, whatever the number of values.

mod order;
mod payloads;
mod table;

use std::fmt;
use std::sync::{Arc, OnceLock};

use ringview_core::Result;
use ringview_view::answer::PayloadLayout;
use ringview_view::answer::values::When;
use ringview_view::result_table::ResultTable;

use crate::plan::{ExtremeValue, Plan};
use crate::root::payloads_of;
use crate::tree::Tree;
use order::Order;
use payloads::ExtremePayloads;
use table::ValueTable;

/// The least and the greatest of some companions' values, by group.
pub(crate) struct ExtremeTree {
    pub(crate) tree: Tree<ExtremePayloads>,
    values: Vec<(usize, Order)>,
    /// The same as the values of companions, made for the first partial.
    tables: OnceLock<Vec<ValueTable>>,
}

impl ExtremeTree {
    /// Of no rows; `None` if the plan has none.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Self>> {
        let Some(extremes) = &plan.extremes else {
            return Ok(None);
        };
        let payloads = ExtremePayloads::compile(plan, extremes)?;
        let value = |value: &ExtremeValue| (value.companion, Order::of(&value.ty));
        Ok(Some(Self {
            tree: Tree::new(Arc::new(plan.clone()), payloads),
            values: extremes.values.iter().map(value).collect(),
            tables: OnceLock::new(),
        }))
    }

    /// Fills the summaries of the groups of some keys.
    pub(crate) fn fill(
        &self,
        layout: &PayloadLayout,
        keys: &[Vec<u64>],
        rows: &mut [u64],
        when: When<'_>,
    ) {
        let Some(root) = self.tree.result() else {
            unreachable!("a root is kept")
        };
        let width = layout.width();
        let found = payloads_of(root, keys, rows.len() / width, when);
        let summaries: Vec<_> = layout.summaries().collect();
        for (row, payload) in rows.chunks_exact_mut(width).zip(found) {
            let payload = payload.map(|payload| &payload[1..]);
            let mut rest = payload.unwrap_or_default();
            for &(companion, order) in self.values.iter().filter(|_| payload.is_some()) {
                let numbers;
                (numbers, rest) = rest.split_at(2 * order.words());
                let summary = &mut row[summaries[companion].clone()];
                summary.copy_from_slice(&order.summary(numbers));
            }
        }
    }

    /// The values of a companion as a table: the ends of each group, as there is no other.
    pub(crate) fn table(&self, companion: usize) -> Option<ResultTable<'_>> {
        let at = self.values.iter().position(|value| value.0 == companion)?;
        let tables = self.tables.get_or_init(|| self.value_tables());
        Some(tables[at].grouped())
    }

    fn value_tables(&self) -> Vec<ValueTable> {
        let plan = &self.tree.plan;
        let Some(root) = self.tree.result() else {
            unreachable!("a root is kept")
        };
        let outer = (&self.tree.fields, &plan.tree.nodes[plan.tree.root].keys[..]);
        let mut at = 1;
        let table = |&(companion, order): &(usize, Order)| {
            let mut table = ValueTable::new(&plan.companions[companion]);
            for slot in root.iter() {
                let numbers = &root.payload(slot)[at..][..2 * order.words()];
                table.add((root, slot), outer, &order.summary(numbers));
            }
            table.finish();
            at += 2 * order.words();
            table
        };
        self.values.iter().map(table).collect()
    }

    /// The running transaction's changes stay.
    pub(crate) fn commit(&mut self) {
        self.tables.take();
        self.tree.commit_root();
    }
}

impl fmt::Debug for ExtremeTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtremeTree")
            .field("values", &self.values)
            .finish_non_exhaustive()
    }
}
