//! Blocks of a query that is answered once: filled when their reader needs them, with the groups that it can join.
//!
//! The remaining rows of a reader restrict the values of a join column. If the column is a group of the block, or a plain
//! column of its source, rows of the block's tables with other values are left out too (magic sets: Beeri and Ramakrishnan
//! 1991, over blocks). Invariant: a block has all rows that its readers can join; with readers of different joins it has all
//! rows. Cost: that of the rows that are read.

use ringview_core::{Budget, Result};
use ringview_query::{OutputKind, VarId};
use ringview_relation::ValueSet;

use super::Database;
use super::births::{Births, Reading};
use crate::graph::node::Node;
use crate::plan::Source;

impl Database {
    /// Fills a source that has no rows yet; rows whose values in some columns are in these sets are enough.
    pub(super) fn fill_pending(
        &mut self,
        source: Source,
        sets: &[(usize, &ValueSet)],
        births: &mut Births,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let Source::View(id) = source else {
            return Ok(());
        };
        let id = births.graph.node_id(id);
        let Some((name, mut node, reading)) = births.take_pending(id) else {
            return Ok(());
        };
        let sets = if reading == Reading::Mixed { &[] } else { sets };
        if let Some(of) = node.answered_from() {
            // A union of one facet has the variables of that facet.
            let groups = by_variable(&node, sets);
            if let Some((name, mut union, reading)) = births.take_pending(of) {
                let is_alone = reading == Reading::Alone;
                let groups = if is_alone { &groups[..] } else { &[] };
                self.fill(&name, &mut union, groups, births, budget)?;
                births.family.push(union);
            }
            let checked = node.check_shown(births.find(of), &self.state.storage.dictionary);
            checked.map_err(|error| error.in_view(&name))?;
        } else if let Some(map) = node.row_map() {
            self.check_has_rows(&name, &node)?;
            let outputs = node.readable_outputs();
            for (atom, source) in node.sources().enumerate() {
                let own = sets.iter().filter_map(|&(column, set)| {
                    Some((map.source_of(atom, outputs[column])?, set))
                });
                let own: Vec<(usize, &ValueSet)> = own.collect();
                self.fill_pending(source, &own, births, budget)?;
            }
        } else {
            let groups = by_variable(&node, sets);
            self.fill(&name, &mut node, &groups, births, budget)?;
        }
        births.family.push(node);
        Ok(())
    }
}

/// The columns of a result that are groups, by their variables.
fn by_variable<'s>(node: &Node, sets: &[(usize, &'s ValueSet)]) -> Vec<(VarId, &'s ValueSet)> {
    let outputs = node.readable_outputs();
    let variable =
        |&(column, set): &(usize, &'s ValueSet)| match node.bound.outputs[outputs[column]].kind {
            OutputKind::Group { variable } => Some((variable, set)),
            _ => None,
        };
    sets.iter().filter_map(variable).collect()
}
