//! Checks of indicator projections, for tests.

use ringview_relation::{ABSENT, KeyScratch, Keys};

use super::state::{Payloads, Tree};

impl<P: Payloads> Tree<P> {
    /// Checks the indicators, and that no view has a key that one of its indicators lacks; for
    /// tests.
    pub(crate) fn check_indicators(&self) {
        let nodes = &self.plan.tree.nodes;
        for (id, node) in nodes.iter().enumerate() {
            if let Some(watch) = node.atom.and_then(|atom| self.watches[atom].as_ref()) {
                watch.check(&self.views[id], &self.views);
            }
            if let (Some(_), Some(parent)) = (node.indicator, node.parent()) {
                self.check_bound(id, parent);
            }
        }
    }

    fn check_bound(&self, indicator: usize, parent: usize) {
        let (Some(within), Some(table)) =
            (self.views[indicator].table(), self.views[parent].table())
        else {
            return;
        };
        let nodes = &self.plan.tree.nodes;
        let keys = nodes[indicator].keys.iter();
        let fields = keys.flat_map(|&v| self.fields.positions(&nodes[parent].keys, v));
        let columns: Vec<Vec<u64>> = fields
            .map(|field| table.iter().map(|slot| table.field(slot, field)).collect())
            .collect();
        let all: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &all,
            rows: table.len(),
        };
        let mut found = Vec::new();
        within.find(keys, &mut KeyScratch::default(), &mut found);
        assert!(!found.contains(&ABSENT), "a key that its indicator lacks");
        if nodes[indicator].keys.len() == nodes[parent].keys.len() {
            assert!(table.len() <= within.len());
        }
    }
}
