//! MIN, MAX and COUNT(DISTINCT) of the rows that are chosen: the values of a column by group.
//!
//! They have no inverse, so no sum keeps them. Invariant: for each of them the same query, grouped
//! by that column too, is kept by a machine of its own, which has taken the same rows; its keys, in
//! order by group, are the values. Cost: that of these machines, and O(log n) comparisons a value
//! that comes or leaves.

use ringview_core::{Dictionary, Gone, Held, HoldsStrings, Meter, Result, Type};
use ringview_query::{Companion, CompanionValue, VarId};
use ringview_relation::SlotChange;
use ringview_view::RowDelta;
use ringview_view::answer::values::{GroupValues, ValueFields, ValueSource, When};
use ringview_view::answer::{Further, Member, Members};
use ringview_view::fields::{Aspect, Fields};
use ringview_view::part::PartRows;

use super::groups::Groups;
use crate::plan::Plan;

/// The values of one column.
#[derive(Debug)]
struct Values {
    groups: Groups,
    values: GroupValues,
    /// Of the fields that tell its groups, where they stand in its keys and in those of the view.
    key: Vec<(usize, usize)>,
}

/// All that stands beside the groups of a view.
#[derive(Debug)]
pub(super) struct Beside {
    members: Members,
    all: Vec<Values>,
}

impl Values {
    fn new(companion: Companion<Plan>, of: PartRows<'_>) -> Result<Self> {
        let groups = Groups::new(companion.plan)?;
        let own = groups.rows();
        let (mut key, mut asked) = (Vec::new(), Vec::new());
        for &(variable, inner) in &companion.groups {
            asked.extend(of.fields.positions(of.keys, variable));
            key.extend(own.fields.positions(own.keys, inner));
        }
        let pairs = key.iter().copied().zip(asked.iter().copied()).collect();
        let value = |value: &CompanionValue| ValueFields {
            fields: value_fields(own.fields, own.keys, value.variable),
            ty: value.ty.clone(),
        };
        let source = ValueSource {
            key,
            asked,
            values: companion.values.iter().map(value).collect(),
            sums: Vec::new(),
            ordered: companion.ordered,
        };
        Ok(Self {
            values: GroupValues::new(source, own.part.layout()),
            groups,
            key: pairs,
        })
    }

    /// The groups whose values may have moved, as columns of fields of the view's keys, and how
    /// many.
    fn moved(&self) -> (Vec<Vec<u64>>, usize) {
        let part = self.groups.part();
        let slot = |change| match change {
            SlotChange::New(slot) | SlotChange::Was(slot, _) => slot,
        };
        let mut slots: Vec<u32> = part.changes().map(slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut columns = vec![Vec::new(); self.key.len()];
        for &(own, asked) in &self.key {
            columns[asked] = slots.iter().map(|&slot| part.field(slot, own)).collect();
        }
        (columns, slots.len())
    }
}

/// The fields of a variable in a key, without the one that tells NULL, which is no value.
fn value_fields(fields: &Fields, keys: &[VarId], variable: VarId) -> Vec<usize> {
    let all = fields.of_all(keys);
    let mut at = fields.positions(keys, variable);
    at.retain(|&at| fields.field(all[at]).aspect != Aspect::Null);
    at
}

impl Beside {
    /// What the outputs of a view with these groups ask for.
    pub(super) fn new(companions: Vec<Companion<Plan>>, of: PartRows<'_>) -> Result<Self> {
        let mut members = of.further.members().clone();
        let mut all = Vec::with_capacity(companions.len());
        for companion in companions {
            members.push(Member::Summary {
                texts: companion.ordered && companion.values[0].ty == Type::Utf8,
            });
            all.push(Values::new(companion, of)?);
        }
        Ok(Self { members, all })
    }

    pub(super) fn apply(&mut self, rows: RowDelta<'_>, meter: &Meter<'_>) -> Result<()> {
        let mut all = self.all.iter_mut();
        all.try_for_each(|one| one.groups.apply(rows, meter))
    }

    pub(super) fn seal(&mut self) {
        self.all.iter_mut().for_each(|one| one.groups.seal());
    }

    /// Brings the values to what the rows make of them, and notes the groups that have others now.
    pub(super) fn settle(&mut self, of: &mut Groups, meter: &Meter<'_>) -> Result<()> {
        for one in &mut self.all {
            one.groups.settle(meter)?;
            let (columns, rows) = one.moved();
            if !columns.is_empty() && rows > 0 {
                of.touch(&columns, rows);
            }
        }
        Ok(())
    }

    pub(super) fn commit(&mut self, dictionary: &Dictionary) {
        for one in &mut self.all {
            one.values.absorb(one.groups.part(), dictionary);
            let shrunk = one.groups.commit();
            one.values.follow(shrunk.as_ref());
        }
    }

    pub(super) fn rollback(&mut self) {
        self.all.iter_mut().for_each(|one| one.groups.rollback());
    }

    /// The values by group, as rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = PartRows<'_>> {
        self.all.iter().map(|one| one.groups.rows())
    }

    pub(super) fn memory_usage(&self) -> usize {
        let all = self.all.iter();
        all.map(|one| one.groups.memory_usage() + one.values.memory_usage())
            .sum()
    }

    pub(super) fn steps(&self) -> u64 {
        let all = self.all.iter();
        all.map(|one| one.groups.machine().steps()).sum()
    }

    pub(super) fn check(&self) {
        for one in &self.all {
            one.groups.check();
            one.values.check(Some(one.groups.part()));
        }
    }
}

impl Further for Beside {
    fn members(&self) -> &Members {
        &self.members
    }

    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>) {
        let width = self.members.width();
        let count = rows.len() / width;
        for (one, words) in self.all.iter().zip(self.members.summaries()) {
            let root = one.groups.part();
            let summaries = one.values.summaries(root, keys, count, when);
            for (row, summary) in rows.chunks_exact_mut(width).zip(summaries) {
                row[words.clone()].copy_from_slice(&summary);
            }
        }
    }
}

impl HoldsStrings for Beside {
    fn mark_strings(&self, held: &mut Held) {
        self.all
            .iter()
            .for_each(|one| one.groups.mark_strings(held));
    }

    fn string_words(&self) -> usize {
        self.all.iter().map(|one| one.groups.string_words()).sum()
    }

    fn forget_strings(&mut self, gone: &Gone) {
        let all = self.all.iter_mut();
        all.for_each(|one| one.groups.forget_strings(gone));
    }
}
