//! Rows of a factorised result by their position: any range of them, as runs of entries.
//!
//! Rows are ordered by the entries of the topmost union, then by its branches, the last one fastest.
//! So within a product the rows of branch j repeat in runs as long as the branches behind it have
//! rows, and the whole pattern is repeated for each row of the branches before it. A range is therefore a list of
//! operations for each union: fill a number of rows from this slot, or repeat the rows a given distance back. Each
//! column of a union replays its list (`fill.rs`).
//!
//! Invariant: after `read`, the operations of every union that holds columns cover the same rows.
//! Cost: every entry has a row, so there are no dead ends: O(1) look-ups an entry that is touched,
//! O(1) a run and O(log) a repeated pattern; memory is that of a block, whatever the result's size.

use std::collections::VecDeque;

use arrow_buffer::Buffer;
use ringview_core::Result;
use ringview_relation::{ABSENT, Index, KeyScratch, KeyedTable, Keys};

use super::shape::{Branch, Shape, Union};
use super::starts::{Starts, count, inconsistent, skip_to};

/// Entries whose branches are looked up together.
const AHEAD: usize = 256;

/// The values of a column in the last blocks; whoever reads one may still hold the one before.
pub(crate) type Lent = VecDeque<Buffer>;

/// Operation that produces the next rows of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// `rows` rows with the key at `slot`.
    Fill {
        /// The slot.
        slot: u32,
        /// Number of rows.
        rows: u32,
    },
    /// `rows` rows that repeat the last `back`, over and over.
    Repeat {
        /// The length of the pattern.
        back: u32,
        /// Number of rows.
        rows: u32,
    },
}

/// The views of a factorised result.
pub(crate) struct Views<'a> {
    pub(crate) shape: &'a Shape,
    /// By node.
    pub(crate) tables: Vec<&'a KeyedTable>,
}

impl Views<'_> {
    fn group(&self, union: usize, group: u32) -> &[u32] {
        self.walked(union).1.group(group)
    }

    /// The part of a union's view, and the index that it is walked by.
    fn walked(&self, union: usize) -> (&KeyedTable, &Index) {
        let Union { node, index, .. } = self.shape.unions[union];
        (self.tables[node], self.tables[node].index_at(index))
    }

    /// The number of rows: the count of the root.
    pub(crate) fn rows(&self) -> Result<u64> {
        let root = self.tables[self.shape.root.count];
        match root.iter().next() {
            Some(slot) => count(root, slot),
            None => Ok(0),
        }
    }
}

/// Position of a read in a union, with the entries around it.
#[derive(Clone, Debug, Default)]
struct Cursor {
    group: Option<u32>,
    /// The place in the group of the first entry that is loaded.
    first: usize,
    /// The current loaded entry, and the number of rows of the group before it.
    at: usize,
    before: u64,
    slots: Vec<u32>,
    counts: Vec<u64>,
    /// By branch: the group and the number of rows of each entry.
    branches: Vec<(Vec<u32>, Vec<u64>)>,
}

/// A range of the rows of a union's group, each repeated.
#[derive(Clone, Copy, Debug)]
struct Range {
    group: u32,
    /// Rows of the group.
    total: u64,
    /// Number of repetitions of each row.
    repeat: u64,
    /// Of the repeated rows.
    from: u64,
    to: u64,
}

/// Reads rows; keeps its memory, and its place, between ranges.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    cursors: Vec<Cursor>,
    /// By union.
    pub(crate) ops: Vec<Vec<Op>>,
    /// Rows covered so far.
    pub(crate) rows: usize,
    /// By column: memory that was lent.
    pub(crate) lent: Vec<Lent>,
    /// Start of each entry, for random access; without it, reads are sequential.
    pub(crate) starts: Option<Starts>,
    /// Entries and patterns handled: the work that delay is about.
    pub(crate) steps: u64,
    scratch: KeyScratch,
    keys: Vec<Vec<u64>>,
    found: Vec<u32>,
}

impl Reader {
    /// A reader of a result of this shape.
    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            cursors: vec![Cursor::default(); shape.unions.len()],
            ops: vec![Vec::new(); shape.unions.len()],
            lent: vec![Lent::new(); shape.columns.len()],
            ..Self::default()
        }
    }

    /// Forgets the rows, keeps the place.
    pub(crate) fn clear(&mut self) {
        self.ops.iter_mut().for_each(Vec::clear);
        self.rows = 0;
    }

    /// Appends the rows `from .. to`, fewer than 2^32.
    pub(crate) fn read(&mut self, views: &Views<'_>, from: u64, to: u64) -> Result<()> {
        let total = views.rows()?;
        if from >= to || to > total {
            return Ok(());
        }
        self.rows += (to - from) as usize;
        let Some(union) = views.shape.root.union else {
            return Ok(());
        };
        let Union { node, index, .. } = views.shape.unions[union];
        let index = views.tables[node].index_at(index);
        let top = Keys {
            columns: &[],
            fields: &[],
            rows: 1,
        };
        index.find(top, &mut self.scratch, &mut self.found);
        let group = self.found.first().copied().unwrap_or(ABSENT);
        let range = Range {
            group,
            total,
            repeat: 1,
            from,
            to,
        };
        self.emit(views, union, range)
    }

    fn emit(&mut self, views: &Views<'_>, union: usize, range: Range) -> Result<()> {
        if views.shape.unions[union].is_relation {
            return self.emit_relation(views, union, range);
        }
        let mut cursor = std::mem::take(&mut self.cursors[union]);
        let done = self.emit_product(views, union, range, &mut cursor);
        self.cursors[union] = cursor;
        done
    }

    /// The rows of a relation, each as often as its multiplicity.
    fn emit_relation(&mut self, views: &Views<'_>, union: usize, range: Range) -> Result<()> {
        let table = views.tables[views.shape.unions[union].node];
        let slots = views.group(union, range.group);
        // Every multiplicity is at least 1: where they sum up to the number of rows, all are 1.
        let plain = slots.len() as u64 == range.total;
        let first = range.from / range.repeat;
        let cursor = &self.cursors[union];
        let (mut at, mut before) = if plain {
            (first as usize, first)
        } else if cursor.group == Some(range.group)
            && cursor.before <= first
            && (self.starts.is_none() || cursor.before == first)
        {
            (cursor.at, cursor.before)
        } else {
            let at = (union, range.group);
            skip_to(&mut self.starts, at, views.walked(union), first)?
        };
        let ops = &mut self.ops[union];
        loop {
            let &slot = slots.get(at).ok_or_else(inconsistent)?;
            let rows = if plain { 1 } else { count(table, slot)? };
            let start = before.saturating_mul(range.repeat);
            let end = start.saturating_add(rows.saturating_mul(range.repeat));
            self.steps += 1;
            if end > range.from {
                let rows = end.min(range.to) - start.max(range.from);
                ops.push(Op::Fill {
                    slot,
                    rows: rows as u32,
                });
            }
            if end >= range.to {
                break;
            }
            before = before.saturating_add(rows);
            at += 1;
        }
        let cursor = &mut self.cursors[union];
        (cursor.group, cursor.at, cursor.before) = (Some(range.group), at, before);
        Ok(())
    }

    /// The rows of entries, each the product of its branches.
    fn emit_product(
        &mut self,
        views: &Views<'_>,
        union: usize,
        range: Range,
        cursor: &mut Cursor,
    ) -> Result<()> {
        let slots = views.group(union, range.group);
        self.move_cursor(views, union, range, cursor)?;
        loop {
            if cursor.at == cursor.slots.len() {
                let wanted = range.to.div_ceil(range.repeat) - cursor.before;
                self.load(views, union, slots, wanted, cursor)?;
            }
            let start = cursor.before.saturating_mul(range.repeat);
            let rows = cursor.counts[cursor.at];
            let end = start.saturating_add(rows.saturating_mul(range.repeat));
            self.steps += 1;
            if end > range.from {
                self.emit_entry(views, union, range, (start, end), cursor)?;
            }
            if end >= range.to {
                return Ok(());
            }
            cursor.before = cursor.before.saturating_add(rows);
            cursor.at += 1;
        }
    }

    /// Puts a cursor at the first entry that has rows of a range, or before it where it can walk there.
    fn move_cursor(
        &mut self,
        views: &Views<'_>,
        union: usize,
        range: Range,
        cursor: &mut Cursor,
    ) -> Result<()> {
        let first = range.from / range.repeat;
        // Forward alone, what lies between is walked; else no more than the entry at hand.
        let within = |cursor: &Cursor| {
            let rows = cursor.counts.get(cursor.at).copied().unwrap_or(0);
            first == cursor.before || first - cursor.before < rows
        };
        let goes_on = cursor.group == Some(range.group)
            && cursor.before <= first
            && (self.starts.is_none() || within(cursor));
        if !goes_on {
            let at = (union, range.group);
            (cursor.first, cursor.before) =
                skip_to(&mut self.starts, at, views.walked(union), first)?;
            cursor.group = Some(range.group);
            cursor.at = 0;
            cursor.slots.clear();
            cursor.counts.clear();
        }
        Ok(())
    }

    /// Emits the rows of the current entry, which covers `start` to `end`, as far as the range includes them.
    fn emit_entry(
        &mut self,
        views: &Views<'_>,
        union: usize,
        range: Range,
        (start, end): (u64, u64),
        cursor: &Cursor,
    ) -> Result<()> {
        let Union {
            has_columns,
            ref branches,
            ..
        } = views.shape.unions[union];
        let from = range.from.max(start) - start;
        let to = range.to.min(end) - start;
        if has_columns {
            self.ops[union].push(Op::Fill {
                slot: cursor.slots[cursor.at],
                rows: (to - from) as u32,
            });
        }
        let mut repeat = cursor.counts[cursor.at].saturating_mul(range.repeat);
        for (branch, (groups, totals)) in branches.iter().zip(&cursor.branches) {
            let total = totals[cursor.at];
            repeat /= total;
            let group = groups.get(cursor.at).copied().unwrap_or(ABSENT);
            let range = Range {
                group,
                total,
                repeat,
                from,
                to,
            };
            self.emit_pattern(views, branch, range)?;
        }
        Ok(())
    }

    /// Emits the rows of a branch, which repeat.
    fn emit_pattern(&mut self, views: &Views<'_>, branch: &Branch, range: Range) -> Result<()> {
        let Some(union) = branch.union.filter(|&u| views.shape.is_visible(u)) else {
            return Ok(());
        };
        let period = range.total.saturating_mul(range.repeat);
        let from = range.from % period;
        let mut left = range.to - range.from;
        if from > 0 {
            let to = period.min(from + left);
            self.emit(views, union, Range { from, to, ..range })?;
            left -= to - from;
        }
        let to = left.min(period);
        if to > 0 {
            let from = 0;
            self.emit(views, union, Range { from, to, ..range })?;
        }
        if left > to {
            let op = Op::Repeat {
                back: period as u32,
                rows: (left - to) as u32,
            };
            for below in views.shape.unions[union].subtree.clone() {
                if views.shape.unions[below].has_columns {
                    self.steps += 1;
                    self.ops[below].push(op);
                }
            }
        }
        Ok(())
    }

    /// Loads the next entries of a group, as many as `wanted` rows can need, with their branches.
    fn load(
        &mut self,
        views: &Views<'_>,
        union: usize,
        slots: &[u32],
        wanted: u64,
        cursor: &mut Cursor,
    ) -> Result<()> {
        let Union {
            node, ref branches, ..
        } = views.shape.unions[union];
        let table = views.tables[node];
        cursor.first += cursor.slots.len();
        cursor.at = 0;
        let left = slots.get(cursor.first..).unwrap_or_default();
        let taken = left.len().min(AHEAD).min(wanted as usize);
        cursor.slots.clear();
        cursor.slots.extend_from_slice(&left[..taken]);
        if taken == 0 {
            return Err(inconsistent());
        }
        cursor.counts.clear();
        for &slot in &cursor.slots {
            cursor.counts.push(count(table, slot)?);
        }
        cursor
            .branches
            .resize_with(branches.len(), Default::default);
        for (branch, loaded) in branches.iter().zip(&mut cursor.branches) {
            self.load_branch(views, branch, (table, &cursor.slots), loaded)?;
        }
        for (at, &rows) in cursor.counts.iter().enumerate() {
            let product = cursor
                .branches
                .iter()
                .try_fold(1u64, |product, (_, totals)| product.checked_mul(totals[at]));
            if product != Some(rows) {
                return Err(inconsistent());
            }
        }
        Ok(())
    }

    /// The groups of a branch below some entries of a part, and how many rows each has.
    fn load_branch(
        &mut self,
        views: &Views<'_>,
        branch: &Branch,
        (table, slots): (&KeyedTable, &[u32]),
        (groups, totals): &mut (Vec<u32>, Vec<u64>),
    ) -> Result<()> {
        self.keys
            .resize_with(branch.key.len().max(self.keys.len()), Vec::new);
        for (column, &field) in self.keys.iter_mut().zip(&branch.key) {
            column.clear();
            column.extend(slots.iter().map(|&slot| table.field(slot, field)));
        }
        let fields: Vec<usize> = (0..branch.key.len()).collect();
        let keys = Keys {
            columns: &self.keys,
            fields: &fields,
            rows: slots.len(),
        };
        let counted = views.tables[branch.count];
        counted.find(keys, &mut self.scratch, &mut self.found);
        totals.clear();
        for &slot in &self.found {
            let missing = slot == ABSENT;
            totals.push(if missing { 0 } else { count(counted, slot)? });
        }
        groups.clear();
        if let Some(below) = branch.union {
            let Union { node, index, .. } = views.shape.unions[below];
            let index = views.tables[node].index_at(index);
            index.find(keys, &mut self.scratch, groups);
        }
        Ok(())
    }
}
