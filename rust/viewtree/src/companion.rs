//! A companion at work: values by group, for MIN, MAX, COUNT(DISTINCT) and categories.
//!
//! Its tree is the view's join with a column, or two, as free variables more. Invariant: after a commit
//! `groups` has a key for each group with a value, how many different ones it has, and `ordered`, at
//! the same slot, the slots of the root that hold them, least first. Within a transaction only the
//! tree moves; what its root gained and lost is taken in at the commit, so a rollback has nothing to
//! do here. Cost: O(log n) comparisons a value that comes or leaves; nothing for one that stays.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ringview_core::{Dictionary, Gone, Held, HoldsStrings, Meter, Result, Type};
use ringview_query as query;
use ringview_relation::{ABSENT, Change, KeyScratch, Keys, Part};
use ringview_ring::{Expansion, Number, PayloadRing, SumProduct};
use ringview_view::RowDelta;

use crate::maintained::{Maintained, NodeStatus};
use crate::multiset::OrderedSlots;
use crate::program::ProductPlan;
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;
use ringview_view::fields::{Aspect, Fields};

/// Words of a summary: how many values, then the least and the greatest, two words each.
pub(crate) const SUMMARY: usize = 5;

/// Words of a sum: an expansion's.
pub(crate) const SUM: usize = <Expansion as Number>::WORDS;

/// The values of one column, or of two together, by group.
pub(crate) struct Companion {
    tree: Tree<SumProductPayloads>,
    /// The fields of the root's key that tell the group, in the order of `groups`.
    key: Vec<usize>,
    values: Vec<ValueFields>,
    /// The words of the root's payload that hold sums, each the parts of an expansion.
    sums: Vec<Range<usize>>,
    /// The fields of the view's key (positions among them) in the order of `groups`.
    outer: Vec<usize>,
    groups: Part,
    /// `None` if nobody asks for the least or the greatest.
    ordered: Option<Vec<OrderedSlots>>,
    scratch: KeyScratch,
}

/// Where a value stands.
struct ValueFields {
    /// The fields of the root's key that hold it: its word, for decimals its upper half too.
    fields: Vec<usize>,
    ty: Type,
}

/// The values of a group, in their order, and what the companion says of each, one after the other:
/// the words of the value, a count, the sums, `SUM` words each.
pub(crate) type Tally = Vec<u64>;

impl Companion {
    /// An empty companion of a view with these fields and this root key.
    pub(crate) fn new(
        companion: &crate::plan::Companion,
        fields: &Fields,
        keys: &[query::VarId],
    ) -> Result<Self> {
        let plan = Arc::new(companion.plan.clone());
        let payloads = SumProductPayloads::compile(&plan)?;
        let tree = Tree::new(Arc::clone(&plan), payloads);
        let inner_keys = &plan.tree.nodes[plan.tree.root].keys;
        let (mut key, mut outer) = (Vec::new(), Vec::new());
        for (variable, inner) in &companion.groups {
            outer.extend(fields.positions(keys, *variable));
            key.extend(tree.fields.positions(inner_keys, *inner));
        }
        let all = tree.fields.of_all(inner_keys);
        let value = |value: &query::CompanionValue| {
            let mut at = tree.fields.positions(inner_keys, value.variable);
            // The plan leaves NULLs out.
            at.retain(|&at| tree.fields.field(all[at]).aspect != Aspect::Null);
            ValueFields {
                fields: at,
                ty: value.ty.clone(),
            }
        };
        let shape = tree.payloads.shape(plan.tree.root);
        let elements = shape.elements();
        let words = |at: usize| {
            let end = elements.get(at + 1).map(|next| next.word);
            elements[at].word..end.unwrap_or_else(|| SumProduct::stride(&shape))
        };
        let sums = plan.outputs.iter().filter_map(|output| match &output.kind {
            // One product, of one column.
            query::OutputKind::Sum { terms, .. } => Some(words(*terms.first()?)),
            _ => None,
        });
        Ok(Self {
            groups: Part::new(tree.fields.layout(&all).project(&key), 1),
            values: companion.values.iter().map(value).collect(),
            sums: sums.collect(),
            key,
            outer,
            ordered: companion.ordered.then(Vec::new),
            scratch: KeyScratch::default(),
            tree,
        })
    }

    pub(crate) fn apply(&mut self, rows: RowDelta<'_>, meter: &Meter<'_>) -> Result<()> {
        self.tree.apply(rows, meter)
    }

    pub(crate) fn seal(&mut self) {
        self.tree.seal();
    }

    pub(crate) fn settle(&self) -> Result<()> {
        Maintained::settle(&self.tree)
    }

    pub(crate) fn rollback(&mut self) {
        Maintained::rollback(&mut self.tree);
    }

    /// Takes in what the transaction changed, and keeps it.
    pub(crate) fn commit(&mut self, dictionary: &Dictionary) {
        self.absorb(dictionary);
        let root = self.tree.commit_root();
        if let (Some(moved), Some(ordered)) = (self.groups.shrink(), &mut self.ordered) {
            moved.follow(ordered);
        }
        if let (Some(moved), Some(ordered)) = (root, &mut self.ordered) {
            let lists = ordered.iter_mut();
            lists.for_each(|slots| slots.follow(|slot| moved.to(slot)));
        }
    }

    fn absorb(&mut self, dictionary: &Dictionary) {
        let Some(root) = self.tree.result() else {
            return;
        };
        let moved = moved(root);
        let column = |&field: &usize| moved.iter().map(|&(s, _)| root.field(s, field)).collect();
        let columns: Vec<Vec<u64>> = self.key.iter().map(column).collect();
        let fields: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &fields,
            rows: moved.len(),
        };
        let mut slots = Vec::new();
        self.groups.locate(keys, &mut self.scratch, &mut slots);
        if let Some(ordered) = &mut self.ordered {
            ordered.resize_with(self.groups.slots(), OrderedSlots::default);
        }
        let values = Values {
            root,
            fields: &self.values,
            dictionary,
        };
        let mut emptied = Vec::new();
        for (&group, &(slot, before)) in slots.iter().zip(&moved) {
            let count = &mut self.groups.payload_mut(group)[0];
            *count = if before { *count - 1 } else { *count + 1 };
            if *count == 0 {
                emptied.push(group);
            }
            let Some(ordered) = &mut self.ordered else {
                continue;
            };
            let order = |other| values.compare(other, slot);
            let group = &mut ordered[group as usize];
            if before {
                group.remove(slot, order);
            } else {
                group.insert(slot, order);
            }
        }
        self.groups.commit(&emptied, |payload| payload[0] == 0);
    }

    /// A summary for each row: `columns` are the fields of the view's key.
    pub(crate) fn summaries(&self, columns: &[Vec<u64>], rows: usize) -> Vec<[u64; SUMMARY]> {
        let keys = Keys {
            columns,
            fields: &self.outer,
            rows,
        };
        let mut slots = Vec::new();
        self.groups
            .find(keys, &mut KeyScratch::default(), &mut slots);
        slots.iter().map(|&slot| self.summary(slot)).collect()
    }

    /// The summaries that the commit of the running transaction will make. O(what it touched).
    pub(crate) fn settling(
        &self,
        columns: &[Vec<u64>],
        rows: usize,
        dictionary: &Dictionary,
    ) -> Vec<[u64; SUMMARY]> {
        let mut summaries = self.summaries(columns, rows);
        let Some(root) = self.tree.result() else {
            return summaries;
        };
        let mut of: HashMap<Vec<u64>, Vec<(u32, bool)>> = HashMap::new();
        for (slot, before) in moved(root) {
            let key = self.key.iter().map(|&field| root.field(slot, field));
            of.entry(key.collect()).or_default().push((slot, before));
        }
        let keys = Keys {
            columns,
            fields: &self.outer,
            rows,
        };
        let mut groups = Vec::new();
        self.groups
            .find(keys, &mut KeyScratch::default(), &mut groups);
        let values = Values {
            root,
            fields: &self.values,
            dictionary,
        };
        for (row, (summary, &group)) in summaries.iter_mut().zip(&groups).enumerate() {
            let key: Vec<u64> = self.outer.iter().map(|&at| columns[at][row]).collect();
            let Some(moved) = of.get(&key) else {
                continue;
            };
            let leave = moved.iter().filter(|(_, before)| *before).count() as u64;
            summary[0] = summary[0] + (moved.len() as u64 - leave) - leave;
            let Some(all) = &self.ordered else {
                continue;
            };
            // Those that stay, from either end, and those that come.
            let held = all.get(group as usize);
            let stays = |slot: &u32| is_there(root, *slot);
            let come = || {
                moved
                    .iter()
                    .filter(|(_, before)| !before)
                    .map(|&(slot, _)| slot)
            };
            let first = held.and_then(|held| held.iter().find(stays));
            let last = held.and_then(|held| held.iter().rev().find(stays));
            let least = first.into_iter().chain(come());
            let greatest = last.into_iter().chain(come());
            let ends = [
                (1, least.min_by(|&a, &b| values.compare(a, b))),
                (3, greatest.max_by(|&a, &b| values.compare(a, b))),
            ];
            for (at, slot) in ends {
                for (word, &field) in self.values[0].fields.iter().enumerate() {
                    summary[at + word] = slot.map_or(0, |slot| root.field(slot, field));
                }
            }
        }
        summaries
    }

    fn summary(&self, group: u32) -> [u64; SUMMARY] {
        let mut summary = [0; SUMMARY];
        let (Some(root), true) = (self.tree.result(), group != ABSENT) else {
            return summary;
        };
        summary[0] = self.groups.payload(group)[0];
        let Some(ordered) = self.ordered.as_ref().map(|all| &all[group as usize]) else {
            return summary;
        };
        for (at, slot) in [(1, ordered.first()), (3, ordered.last())] {
            for (word, &field) in self.values[0].fields.iter().enumerate() {
                summary[at + word] = slot.map_or(0, |slot| root.field(slot, field));
            }
        }
        summary
    }

    /// A tally for each row: `columns` are the fields of the view's key. O(values).
    pub(crate) fn tallies(&self, columns: &[Vec<u64>], rows: usize) -> Vec<Tally> {
        self.tallies_of(columns, rows, &HashMap::new())
    }

    /// As they were before the running transaction. O(values, and what it touched).
    pub(crate) fn tallies_before(&self, columns: &[Vec<u64>], rows: usize) -> Vec<Tally> {
        let mut before = HashMap::new();
        for change in self.tree.result().into_iter().flat_map(Part::changes) {
            if let Change::Was(slot, payload) = change {
                // The first change of a slot tells what was there before.
                before.entry(slot).or_insert(payload);
            }
        }
        self.tallies_of(columns, rows, &before)
    }

    fn tallies_of(
        &self,
        columns: &[Vec<u64>],
        rows: usize,
        before: &HashMap<u32, &[u64]>,
    ) -> Vec<Tally> {
        let keys = Keys {
            columns,
            fields: &self.outer,
            rows,
        };
        let mut groups = Vec::new();
        self.groups
            .find(keys, &mut KeyScratch::default(), &mut groups);
        let (Some(root), Some(ordered)) = (self.tree.result(), &self.ordered) else {
            return vec![Tally::new(); rows];
        };
        let tally = |&group: &u32| {
            let mut tally = Tally::new();
            if group == ABSENT {
                return tally;
            }
            for slot in ordered[group as usize].iter() {
                let fields = self.values.iter().flat_map(|value| &value.fields);
                tally.extend(fields.map(|&field| root.field(slot, field)));
                let payload = before
                    .get(&slot)
                    .map_or_else(|| root.payload(slot), |was| *was);
                tally.push(payload[0]);
                for sum in &self.sums {
                    let mut words = [0; SUM];
                    words[..sum.len()].copy_from_slice(&payload[sum.clone()]);
                    tally.extend(words);
                }
            }
            tally
        };
        groups.iter().map(tally).collect()
    }

    /// Marks the strings in a summary.
    pub(crate) fn mark_summary(&self, summary: &[u64], held: &mut Held) {
        if self.ordered.is_some() && self.values[0].ty == Type::Utf8 && summary[0] > 0 {
            held.mark(summary[1]);
            held.mark(summary[3]);
        }
    }

    /// Marks the strings in a tally.
    pub(crate) fn mark_tally(&self, tally: &Tally, held: &mut Held) {
        let words: usize = self.values.iter().map(|value| value.fields.len()).sum();
        for entry in tally.chunks_exact(words + 1 + self.sums.len()) {
            let mut at = 0;
            for value in &self.values {
                if value.ty == Type::Utf8 {
                    held.mark(entry[at]);
                }
                at += value.fields.len();
            }
        }
    }

    /// Bytes that it takes.
    pub(crate) fn memory_usage(&self) -> usize {
        let parts = self.tree.views.iter().filter_map(|view| view.part());
        let ordered = self.ordered.iter().map(|all| {
            let slots: usize = all.iter().map(OrderedSlots::memory_usage).sum();
            slots + all.capacity() * size_of::<OrderedSlots>()
        });
        parts.map(Part::memory_usage).sum::<usize>()
            + Maintained::memory_usage(&self.tree)
            + self.groups.memory_usage()
            + ordered.sum::<usize>()
    }

    /// The same, by what is quickly counted.
    pub(crate) fn bytes(&self) -> usize {
        let parts = self.tree.views.iter().filter_map(|view| view.part());
        let ordered = self.ordered.as_ref().map_or(0, |all| {
            let slots = self.tree.result().map_or(0, Part::slots);
            slots * size_of::<u32>() + all.capacity() * size_of::<OrderedSlots>()
        });
        parts.map(Part::memory_usage).sum::<usize>() + self.groups.memory_usage() + ordered
    }

    /// What each node of its tree holds.
    pub(crate) fn describe(&self) -> Vec<NodeStatus> {
        Maintained::describe(&self.tree)
    }

    pub(crate) fn steps(&self) -> u64 {
        self.tree.work.steps
    }

    /// Checks the invariants; for tests.
    pub(crate) fn check(&self) {
        for part in self.tree.views.iter().filter_map(|view| view.part()) {
            part.check();
        }
        self.groups.check();
        let values: u64 = self
            .groups
            .iter()
            .map(|slot| self.groups.payload(slot)[0])
            .sum();
        let root = self.tree.result().map_or(0, Part::len);
        assert_eq!(
            values, root as u64,
            "each value of the root stands in its group"
        );
    }
}

/// What it holds besides its tree are the keys of its root again.
impl HoldsStrings for Companion {
    fn mark_strings(&self, held: &mut Held) {
        self.tree.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.tree.string_words()
    }

    fn forget_strings(&mut self, gone: &Gone) {
        self.tree.forget_strings(gone);
    }
}

/// The slots of values that came or left in the running transaction, and whether they were there
/// before.
fn moved(root: &Part) -> Vec<(u32, bool)> {
    let change = |change| match change {
        Change::New(slot) => (slot, false),
        Change::Was(slot, _) => (slot, true),
    };
    let mut moved: Vec<(u32, bool)> = root.changes().map(change).collect();
    // The first change of a slot tells what was there before.
    moved.sort_by_key(|&(slot, _)| slot);
    moved.dedup_by_key(|&mut (slot, _)| slot);
    moved.retain(|&(slot, before)| before != is_there(root, slot));
    moved
}

fn is_there(root: &Part, slot: u32) -> bool {
    root.is_live(slot) && root.payload(slot)[0] != 0
}

/// The values that slots of a root hold.
struct Values<'a> {
    root: &'a Part,
    fields: &'a [ValueFields],
    dictionary: &'a Dictionary,
}

impl Values<'_> {
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
            Type::Utf8 => {
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
