//! The values of companions as they are written, group by group.
//!
//! Invariant: each value of a group is written once, with its numbers. Cost: O(values that are written).

use std::collections::BTreeMap;

use ringview_core::{Dictionary, Type};
use ringview_query::{Bound, Companion, VarId};
use ringview_ring::NumberKind;

use super::super::ResultTable;
use super::bytes::Payload;
use super::since::{ChangedSlot, Since, difference};
use crate::fields::Aspect;

/// The values of a companion.
pub(super) struct Values<'a> {
    rows: ResultTable<'a>,
    /// Those of a group to be written, by its key.
    pub(super) of: BTreeMap<Vec<u64>, Vec<ChangedSlot<'a>>>,
    /// By value: the field of its word, for decimals that of its upper half, and its type.
    fields: Vec<(usize, Option<usize>, Type)>,
}

impl<'a> Values<'a> {
    pub(super) fn new(
        companion: &Companion<Bound>,
        groups: ResultTable<'_>,
        rows: ResultTable<'a>,
        since: Since,
    ) -> Self {
        // By field of the group's key, which field of this key holds it.
        let mut places = vec![0; groups.table.layout().fields()];
        for &(outer, inner) in &companion.groups {
            let at = groups.fields.positions(groups.keys, outer);
            let from = rows.fields.positions(rows.keys, inner);
            at.into_iter()
                .zip(from)
                .for_each(|(at, from)| places[at] = from);
        }
        let mut of: BTreeMap<Vec<u64>, Vec<ChangedSlot<'_>>> = BTreeMap::new();
        for changed in since.slots(rows.table) {
            let key = places
                .iter()
                .map(|&field| rows.table.field(changed.slot, field));
            of.entry(key.collect()).or_default().push(changed);
        }
        let all = rows.fields.of_all(rows.keys);
        let field = |variable: VarId, aspect| {
            let mut at = rows.fields.positions(rows.keys, variable).into_iter();
            at.find(|&at| rows.fields.field(all[at]).aspect == aspect)
        };
        let value = |value: &ringview_query::CompanionValue| {
            let word = field(value.variable, Aspect::Word).unwrap_or_default();
            (word, field(value.variable, Aspect::High), value.ty.clone())
        };
        Self {
            fields: companion.values.iter().map(value).collect(),
            rows,
            of,
        }
    }

    /// The values of a group, each with its numbers.
    pub(super) fn write<'d>(
        &self,
        key: &[u64],
        numbers: &[NumberKind],
        out: &mut Payload<'d>,
        dictionary: &'d Dictionary,
    ) {
        let all = self.of.get(key).map_or(&[][..], Vec::as_slice);
        let table = self.rows.table;
        out.counts.push(all.len());
        for &ChangedSlot { slot, was, now } in all {
            for (word, high, ty) in &self.fields {
                let word = table.field(slot, *word);
                match ty {
                    ty if ty.is_interned() => out.texts.push(dictionary.text(word as u32)),
                    _ => out.words.push(word),
                }
                out.words.extend(high.map(|high| table.field(slot, high)));
            }
            let payload_layout = self.rows.auxiliary.payload_layout();
            difference(numbers, (was, now), &mut out.words, |payload, out| {
                for number in numbers.iter().copied().enumerate() {
                    payload_layout.append_number(number, payload, out);
                }
            });
        }
    }
}
