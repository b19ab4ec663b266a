//! The groups of a query in parts: those of its parts, added up.
//!
//! Invariant: where groups have all of the key, each is of one part alone, and no sums are stored
//! apart from the parts. Cost: O(groups) for all of them, O(parts that changed) for a delta.

use std::collections::BTreeMap;

use ringview_core::{Budget, Result};

use crate::machine::general::accumulator::Accumulator;
use crate::machine::general::{Group, GroupDelta};
use crate::machine::keyed::shape::own;
use crate::machine::part::results;
use crate::machine::query::{Aggregate, Row};
use crate::machine::state::{Partitioned, Touched};
use crate::machine::store::packed::unpack_cells;

impl Partitioned {
    /// The packed groups of a part's result.
    pub(crate) fn results(&self, slot: u32) -> Vec<Vec<u8>> {
        results(self.parts[slot as usize].packed())
    }

    /// A group of a part's result: its key, and its aggregates, of which the first counts the rows
    /// of the part.
    fn group(&self, slot: u32, body: &[u8]) -> Group {
        let mut rest = unpack_cells(&body[1..]);
        let all = rest.split_off(self.shape.rest());
        (
            self.shape.group(&self.shape.key(&self.keys, slot), &rest),
            all,
        )
    }

    /// Adds a group of a part's result to those of all, or takes it out.
    pub(crate) fn add(&mut self, slot: u32, body: &[u8], times: i128) -> Result<()> {
        if self.shape.groups_are_keys() {
            return Ok(());
        }
        let (group, all) = self.group(slot, body);
        let total = self.groups.get(&group);
        (self.old_groups.entry(group.clone())).or_insert_with(|| total.cloned());
        let total = self.groups.entry(group.clone()).or_default();
        let aggregates = &self.shape.aggregates;
        total
            .all
            .resize_with(aggregates.len(), Accumulator::default);
        for (into, value) in total.all.iter_mut().zip(&all[1..]) {
            into.take(&Aggregate::Sum(own(0)), *value, times)?;
        }
        total.parts = total.parts.wrapping_add_signed(times as isize);
        if total.parts == 0 {
            self.groups.remove(&group);
        }
        Ok(())
    }

    /// The groups changed since the last commit, deleted ones without aggregates.
    pub(crate) fn delta(&mut self, budget: &Budget<'_>) -> Result<GroupDelta> {
        self.prepare(budget)?;
        if self.shape.has_no_groups() {
            return self.groups(budget).map(GroupDelta::All);
        }
        if self.shape.groups_are_keys() {
            let mut moved = BTreeMap::new();
            for Touched { slot, was, .. } in &self.touched {
                let now = self.results(*slot);
                let was = results(was);
                for body in was.iter().filter(|body| !now.contains(body)) {
                    moved.entry(self.group(*slot, body).0).or_insert(None);
                }
                for body in now.iter().filter(|body| !was.contains(body)) {
                    let (group, all) = self.group(*slot, body);
                    moved.insert(group, Some(all[1..].to_vec()));
                }
            }
            return Ok(GroupDelta::Some(moved.into_iter().collect()));
        }
        let groups = self.old_groups.keys();
        let moved = groups.map(|group| {
            let total = self.groups.get(group);
            let all = total
                .map(|total| self.shape.values(Some(total)))
                .transpose()?;
            Ok((group.clone(), all))
        });
        moved.collect::<Result<_>>().map(GroupDelta::Some)
    }

    /// All groups.
    pub(crate) fn groups(&mut self, budget: &Budget<'_>) -> Result<Vec<Group>> {
        self.prepare(budget)?;
        if self.shape.has_no_groups() {
            let all = self.shape.values(self.groups.values().next())?;
            return Ok(vec![(Row::new(), all)]);
        }
        if self.shape.groups_are_keys() {
            let mut groups = Vec::new();
            for slot in self.keys.iter() {
                for body in self.results(slot) {
                    let (group, all) = self.group(slot, &body);
                    groups.push((group, all[1..].to_vec()));
                }
            }
            groups.sort_by(|one, other| one.0.cmp(&other.0));
            return Ok(groups);
        }
        let groups = self.groups.iter();
        groups
            .map(|(group, total)| Ok((group.clone(), self.shape.values(Some(total))?)))
            .collect()
    }
}
