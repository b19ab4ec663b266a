//! The values of a companion as they are merged: a part whose keys are groups and values.
//!
//! Invariant and cost: those of [`GroupValues`]; a value is there while parts count it.

use ringview_core::Dictionary;
use ringview_query::{Bound, Companion};
use ringview_relation::{Delta, Part};
use ringview_ring::{PayloadRing, SumProduct};

use super::super::{Grouped, SumGroups};
use crate::answer::values::{GroupValues, ValueSource};
use crate::fields::Aspect;

/// The values of a companion by group.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) sums: SumGroups,
    pub(super) values: GroupValues,
    /// By field of the key: where it comes from.
    fields: Vec<From>,
}

/// Where a field of a key of values comes from.
#[derive(Clone, Copy, Debug)]
enum From {
    /// A field of the key of the group.
    Group(usize),
    /// A value.
    Value(usize, Aspect),
}

impl Values {
    pub(super) fn new(companion: &Companion<Bound>, groups: &SumGroups) -> Self {
        let sums = SumGroups::new(companion.plan.clone());
        let (outer, own) = (groups.grouped(), sums.grouped());
        let source = ValueSource::new(
            companion,
            (outer.fields, outer.keys),
            (own.fields, own.keys),
            (
                |term| own.further.members().words(term),
                own.outputs.columns,
            ),
        );
        let ids = sums.key_fields();
        let from = |&id: &usize| {
            let field = sums.fields.field(id);
            let value = companion
                .values
                .iter()
                .position(|v| v.variable == field.variable);
            if let Some(value) = value {
                return From::Value(value, field.aspect);
            }
            let pair = companion
                .groups
                .iter()
                .find(|(_, inner)| *inner == field.variable);
            let at = pair.and_then(|(variable, _)| {
                let mut at = outer.fields.positions(outer.keys, *variable).into_iter();
                let all = outer.fields.of_all(outer.keys);
                at.find(|&at| outer.fields.field(all[at]).aspect == field.aspect)
            });
            From::Group(at.unwrap_or_default())
        };
        let values = GroupValues::new(source, own.part.layout());
        let fields = ids.iter().map(from).collect();
        Self {
            sums,
            values,
            fields,
        }
    }

    pub(super) fn nothing(&self) -> Delta {
        let mut delta = Delta::with_registers(self.fields.len());
        delta.width = SumProduct::stride(self.sums.groups.shape());
        delta
    }

    /// Appends the key of a value of the group in a row.
    pub(super) fn push(
        &self,
        groups: &Delta,
        row: usize,
        values: &[(u64, u64)],
        delta: &mut Delta,
    ) {
        for (from, column) in self.fields.iter().zip(&mut delta.columns) {
            column.push(match *from {
                From::Group(field) => groups.columns[field][row],
                From::Value(value, Aspect::Word) => values[value].0,
                From::Value(value, Aspect::High) => values[value].1,
                // A NULL is no value.
                From::Value(_, Aspect::Null) => 0,
            });
        }
        delta.rows += 1;
    }

    pub(super) fn part(&self) -> &Part {
        self.sums.grouped().part
    }

    pub(super) fn commit(&mut self, dictionary: &Dictionary) {
        let Some(root) = self.sums.groups.part() else {
            return;
        };
        self.values.absorb(root, dictionary);
        let moved = self.sums.groups.commit();
        self.values.follow(moved.as_ref());
    }
}
