//! The keys of values of a companion as they are merged: of the group, and the value.
//!
//! Invariant: a key has the fields of the companion's own groups, in their order. Cost: O(fields) a value.

use ringview_query::{Bound, Companion};
use ringview_relation::Delta;
use ringview_ring::{PayloadRing, SumProduct};

use super::super::{ResultTable, SumGroups};
use crate::fields::Aspect;

/// Construction of the keys of a companion's values.
#[derive(Debug)]
pub(super) struct ValueKeys {
    /// By field of the key.
    fields: Vec<From>,
    /// Words of a payload.
    width: usize,
}

/// Source of a field of a key of values.
#[derive(Clone, Copy, Debug)]
enum From {
    /// A field of the key of the group.
    Group(usize),
    /// A value.
    Value(usize, Aspect),
}

impl ValueKeys {
    pub(super) fn new(
        companion: &Companion<Bound>,
        outer: ResultTable<'_>,
        sums: &SumGroups,
    ) -> Self {
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
        Self {
            fields: ids.iter().map(from).collect(),
            width: SumProduct::stride(sums.groups.shape()),
        }
    }

    pub(super) fn nothing(&self) -> Delta {
        let mut delta = Delta::with_registers(self.fields.len());
        delta.width = self.width;
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
}
