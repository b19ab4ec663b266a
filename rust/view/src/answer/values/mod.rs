//! The values of a column by group, or of two together: the source of MIN, MAX, COUNT(DISTINCT) and
//! categories.
//!
//! An engine keeps a table whose keys are groups and values (the root here). Invariant: after a commit `groups` has a
//! key for each group with a value, and its number of distinct values. At the same slot, `ordered` has the slots of the
//! root that hold them, least first. Within a transaction only the root moves; its gains and losses are applied at the
//! commit ([`GroupValues::absorb`]), so a rollback has nothing to do here. Cost: O(log n) comparisons a value that
//! appears or disappears, of blocks if only the ends are read; nothing for one that stays.
//!
//! | file | holds |
//! |---|---|
//! | `ordered` | slots in the order of their values |
//! | `summary` | how many values a group has, the least and the greatest |
//! | `tally` | all of them, with counts and sums |

mod ordered;
mod summary;
mod tally;

use std::cmp::Ordering;
use std::ops::Range;

use ringview_core::{Dictionary, Type};
use ringview_query::{Companion, CompanionValue, OutputKind, PlanOutput, VarId};
use ringview_relation::{KeyLayout, KeyScratch, KeyedTable, Keys, Relocated, SlotChange};

use crate::fields::{Aspect, Fields};
use ordered::{Order, OrderedSlots};
pub use summary::SUMMARY;
pub(crate) use summary::{GREATEST, LEAST};
pub(crate) use tally::SUM;
pub use tally::{Tallies, Tally, by_row};

/// State of the groups that is read.
#[derive(Clone, Copy, Debug)]
pub enum When<'a> {
    /// Before the running transaction.
    Before,
    /// Now, between transactions.
    Now,
    /// Once the running transaction is kept. The dictionary holds its strings.
    Settling(&'a Dictionary),
}

/// Positions of groups and their values in a table.
#[derive(Clone, Debug)]
pub struct ValueSource {
    /// The fields of its key that identify the group, in the order of the groups' own key here.
    pub key: Vec<usize>,
    /// The same fields in the requested keys.
    pub asked: Vec<usize>,
    /// The values.
    pub values: Vec<ValueFields>,
    /// The words of its payload that hold sums, each the parts of an expansion.
    pub sums: Vec<Range<usize>>,
    /// Whether values are read in their order: for the least or the greatest.
    pub ordered: bool,
}

/// Position of a value.
#[derive(Clone, Debug)]
pub struct ValueFields {
    /// The fields of the key that hold it: its word, for decimals its upper half too.
    pub fields: Vec<usize>,
    /// Its type.
    pub ty: Type,
}

impl ValueSource {
    /// Positions of a companion's values in a table of these variables, which shows `outputs`. `words` gives the
    /// position of each term in its payloads, and `groups` are the variables of the view's groups.
    #[must_use]
    pub fn new<P>(
        companion: &Companion<P>,
        (groups, asks): (&Fields, &[VarId]),
        (fields, keys): (&Fields, &[VarId]),
        (words, outputs): (impl Fn(usize) -> Range<usize>, &[PlanOutput]),
    ) -> Self {
        let (mut key, mut asked) = (Vec::new(), Vec::new());
        for (variable, inner) in &companion.groups {
            asked.extend(groups.positions(asks, *variable));
            key.extend(fields.positions(keys, *inner));
        }
        let all = fields.of_all(keys);
        let value = |value: &CompanionValue| {
            let mut at = fields.positions(keys, value.variable);
            // The plan leaves NULLs out.
            at.retain(|&at| fields.field(all[at]).aspect != Aspect::Null);
            ValueFields {
                fields: at,
                ty: value.ty.clone(),
            }
        };
        let sums = outputs.iter().filter_map(|output| match &output.kind {
            // One product, of one column.
            OutputKind::Sum { terms, .. } => Some(words(*terms.first()?)),
            _ => None,
        });
        Self {
            key,
            asked,
            values: companion.values.iter().map(value).collect(),
            sums: sums.collect(),
            ordered: companion.ordered,
        }
    }
}

/// The values of each group.
#[derive(Clone, Debug)]
pub struct GroupValues {
    source: ValueSource,
    groups: KeyedTable,
    /// `None` if neither the least nor the greatest is read.
    ordered: Option<Vec<OrderedSlots>>,
    /// Whether all values are read in their order, and not the ends alone.
    whole: bool,
    scratch: KeyScratch,
}

impl GroupValues {
    /// Of a table without keys, of this layout.
    #[must_use]
    pub fn new(source: ValueSource, root: &KeyLayout) -> Self {
        Self {
            groups: KeyedTable::new(root.project(&source.key), 1),
            ordered: source.ordered.then(Vec::new),
            whole: true,
            scratch: KeyScratch::default(),
            source,
        }
    }

    /// Restricts reads to the least and the greatest; it has no values yet.
    pub fn read_ends_alone(&mut self) {
        self.whole = false;
    }

    /// Takes in what the running transaction did to the root, before that is committed; then `follow`.
    pub fn absorb(&mut self, root: &KeyedTable, dictionary: &Dictionary) {
        let toggled = toggled(root);
        let column = |&field: &usize| toggled.iter().map(|&(s, _)| root.field(s, field)).collect();
        let columns: Vec<Vec<u64>> = self.source.key.iter().map(column).collect();
        let fields: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &fields,
            rows: toggled.len(),
        };
        let mut slots = Vec::new();
        self.groups.locate(keys, &mut self.scratch, &mut slots);
        if let Some(ordered) = &mut self.ordered {
            ordered.resize_with(self.groups.slots(), OrderedSlots::default);
        }
        let values = SlotValues {
            root,
            fields: &self.source.values,
            dictionary,
        };
        let mut emptied = Vec::new();
        for (&group, &(slot, before)) in slots.iter().zip(&toggled) {
            let count = &mut self.groups.payload_mut(group)[0];
            *count = if before { *count - 1 } else { *count + 1 };
            if *count == 0 {
                emptied.push(group);
            }
            let Some(ordered) = &mut self.ordered else {
                continue;
            };
            let order = Order {
                compare: |one, other| values.compare(one, other),
                whole: self.whole,
            };
            let group = &mut ordered[group as usize];
            if before {
                group.remove(slot, order);
            } else {
                group.insert(slot, order);
            }
        }
        self.groups.commit(&emptied, |payload| payload[0] == 0);
    }

    /// After a commit of the root: updates the slots of the root that moved.
    pub fn follow(&mut self, root: Option<&Relocated>) {
        let shrunk = self.groups.shrink();
        let Some(ordered) = &mut self.ordered else {
            return;
        };
        if let Some(toggled) = shrunk {
            toggled.follow(ordered);
        }
        if let Some(toggled) = root {
            let lists = ordered.iter_mut();
            lists.for_each(|slots| slots.follow(|slot| toggled.to(slot)));
        }
    }

    /// The groups of some keys.
    fn groups_of(&self, keys: &[Vec<u64>], rows: usize) -> Vec<u32> {
        let keys = Keys {
            columns: keys,
            fields: &self.source.asked,
            rows,
        };
        let mut groups = Vec::new();
        self.groups
            .find(keys, &mut KeyScratch::default(), &mut groups);
        groups
    }

    /// Bytes that it takes beside the root.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let ordered = self.ordered.iter().map(|all| {
            let slots: usize = all.iter().map(OrderedSlots::memory_usage).sum();
            slots + all.capacity() * size_of::<OrderedSlots>()
        });
        self.groups.memory_usage() + ordered.sum::<usize>()
    }

    /// The same, by what is quickly counted.
    #[must_use]
    pub fn bytes(&self, root: Option<&KeyedTable>) -> usize {
        let ordered = self.ordered.as_ref().map_or(0, |all| {
            let slots = root.map_or(0, KeyedTable::slots);
            slots * size_of::<u32>() + all.capacity() * size_of::<OrderedSlots>()
        });
        self.groups.memory_usage() + ordered
    }

    /// Checks the invariants; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self, root: Option<&KeyedTable>) {
        self.groups.check();
        let values: u64 = self
            .groups
            .iter()
            .map(|slot| self.groups.payload(slot)[0])
            .sum();
        let root = root.map_or(0, KeyedTable::len);
        assert_eq!(
            values, root as u64,
            "each value of the root stands in its group"
        );
    }
}

/// The slots of values that appeared or disappeared in the running transaction, and whether they were there before.
fn toggled(root: &KeyedTable) -> Vec<(u32, bool)> {
    let change = |change| match change {
        SlotChange::New(slot) => (slot, false),
        SlotChange::Was(slot, _) => (slot, true),
    };
    let mut toggled: Vec<(u32, bool)> = root.changes().map(change).collect();
    // The first change of a slot shows whether it was there before.
    toggled.sort_by_key(|&(slot, _)| slot);
    toggled.dedup_by_key(|&mut (slot, _)| slot);
    toggled.retain(|&(slot, before)| before != is_there(root, slot));
    toggled
}

fn is_there(root: &KeyedTable, slot: u32) -> bool {
    root.is_live(slot) && root.payload(slot)[0] != 0
}

/// The values that slots of a root hold.
struct SlotValues<'a> {
    root: &'a KeyedTable,
    fields: &'a [ValueFields],
    dictionary: &'a Dictionary,
}

impl SlotValues<'_> {
    /// By value, the first one first; equal values have one slot.
    fn compare(&self, left: u32, right: u32) -> Ordering {
        let order = |value: &ValueFields| self.compare_one(value, left, right);
        let mut orders = self.fields.iter().map(order);
        orders
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn compare_one(&self, value: &ValueFields, left: u32, right: u32) -> Ordering {
        let word = |slot| self.root.field(slot, value.fields[0]);
        let (a, b) = (word(left), word(right));
        match &value.ty {
            ty if ty.is_interned() => {
                let text = |word: u64| self.dictionary.text(word as u32);
                text(a).cmp(text(b))
            }
            Type::Float32 | Type::Float64 => f64::from_bits(a).total_cmp(&f64::from_bits(b)),
            Type::Decimal { .. } => {
                let high = |slot| self.root.field(slot, value.fields[1]) as i64;
                (high(left), a).cmp(&(high(right), b))
            }
            ty if ty.is_signed() => (a as i64).cmp(&(b as i64)),
            _ => a.cmp(&b),
        }
    }
}
