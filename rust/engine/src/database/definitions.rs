//! Definitions that are committed or rolled back together.
//!
//! Invariant: between `begin_definitions` and its end, each definition records its reversal. A dropped or altered table is
//! kept with its rows. Of a dropped view only that is kept which the rows of its tables do not give: its change log and the
//! state of a sample. A rollback applies the reversals in reverse order and fills the views anew. Cost: O(1) a definition,
//! and the memory of the kept tables; a rollback costs the birth of each dropped view.

use std::sync::Arc;

use ringview_core::{Budget, Error, Result};
use ringview_sampling::Samples;
use ringview_view::Engine;

use super::Database;
use super::birth::Wanted;
use super::sample::sample;
use crate::catalogue::choose::By;
use crate::graph::declared::{Declared, Newborn};
use crate::graph::node::Node;
use crate::reversal::{DroppedView, Maintainer, Reversal};

impl Database {
    /// Begins definitions that can be rolled back. O(1).
    pub fn begin_definitions(&mut self) {
        self.state.reversals = Some(Vec::new());
    }

    /// Commits the definitions since `begin_definitions`, and releases what they dropped.
    pub fn commit_definitions(&mut self) {
        self.state.reversals = None;
        self.state.collect_strings();
        self.state.recount();
    }

    /// Rolls back the definitions since `begin_definitions`. No rows may have been changed since.
    ///
    /// # Errors
    /// `Function` if a function of the user raises while a dropped view is filled again: that view is lost, with those that
    /// read it.
    pub fn roll_back_definitions(&mut self) -> Result<()> {
        let mut done = Ok(());
        while let Some(reversal) = self.state.reversals.as_mut().and_then(Vec::pop) {
            done = done.and(self.reverse(reversal));
        }
        self.state.wire();
        self.commit_definitions();
        done
    }

    fn reverse(&mut self, reversal: Reversal) -> Result<()> {
        let tables = &mut self.state.storage.tables;
        match reversal {
            Reversal::DropTable(id) => tables.retain(|table| table.id != id),
            Reversal::RestoreTable(position, table) => tables.insert(position, table),
            Reversal::ReplaceTable(position, table) => tables[position] = table,
            Reversal::RestoreDefaults(position, defaults) => tables[position].defaults = defaults,
            Reversal::DropView(id) => {
                let mut views = self.state.graph.declared.iter();
                if let Some(view) = views.find(|view| view.id == id) {
                    let name = view.name.clone();
                    self.state.graph.undeclare(&name)?;
                    self.sweep();
                }
            }
            Reversal::RestoreView(dropped) => return self.restore_view(*dropped),
        }
        Ok(())
    }

    fn restore_view(&mut self, dropped: DroppedView) -> Result<()> {
        let DroppedView {
            view,
            maintainer,
            logs,
        } = dropped;
        let (name, query) = (&*view.name, &view.query);
        let engine: Arc<dyn Engine>;
        let (by, sample) = match &maintainer {
            Maintainer::Engine(name) => (By::Choice(Some(name)), None),
            Maintainer::Sample(k, state) => {
                engine = Arc::new(Samples { k: *k, seed: 0 });
                (By::This(&engine), Some(state))
            }
        };
        let born = self.bear(&[Wanted { name, query, by }], &Budget::free())?;
        let node = born.view().node;
        let (name, declared) = (view.name.clone(), vec![Declared { node, ..view }]);
        self.adopt(Newborn { declared, ..born });
        self.state.wire();
        if let Some(state) = sample {
            self.resume_sample(&name, state)?;
        }
        if let Some(at) = self
            .state
            .graph
            .position(node)
            .filter(|_| logs.were_followed())
        {
            let node = &mut self.state.graph.nodes[at];
            node.logs = logs;
            node.choose_wanted();
        }
        Ok(())
    }

    /// Records how a definition is undone, if definitions can be rolled back.
    pub(super) fn record(&mut self, reversal: impl FnOnce() -> Reversal) {
        if let Some(reversals) = &mut self.state.reversals {
            reversals.push(reversal());
        }
    }

    /// Declares new views, which a rollback drops.
    pub(super) fn adopt_recorded(&mut self, newborn: Newborn) {
        for view in &newborn.declared {
            self.record(|| Reversal::DropView(view.id));
        }
        self.adopt(newborn);
    }

    /// The engine that maintains a view which is about to be dropped; `None` if nothing can be rolled back.
    pub(super) fn maintainer(&self, name: &str) -> Result<Option<Maintainer>> {
        if self.state.reversals.is_none() {
            return Ok(None);
        }
        let node = self.state.graph.view(name)?;
        if let Some(sample) = sample(node) {
            let state = self.sample_state(name)?;
            return Ok(Some(Maintainer::Sample(sample.k(), state)));
        }
        match &node.signature {
            Some(signature) if !self.options.trust_deletes => {
                Ok(Some(Maintainer::Engine(signature.engine.clone())))
            }
            _ => Err(Error::Unsupported {
                what: format!("dropping view {name:?} in a transaction"),
                why: "a rollback could not fill it again, as no rows are kept for it".to_owned(),
                instead: "drop it outside of a transaction".to_owned(),
            }),
        }
    }

    /// Keeps of a dropped view what a rollback needs; `nodes` were removed with it.
    pub(super) fn record_dropped(
        &mut self,
        view: Declared,
        maintainer: Option<Maintainer>,
        nodes: &mut [Node],
    ) {
        let Some(maintainer) = maintainer else {
            return;
        };
        let own = nodes.iter_mut().find(|node| node.id == view.node);
        let logs = own.map(|node| std::mem::take(&mut node.logs));
        let logs = logs.unwrap_or_default();
        self.record(|| {
            Reversal::RestoreView(Box::new(DroppedView {
                view,
                maintainer,
                logs,
            }))
        });
    }
}
