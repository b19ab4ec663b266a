//! The change of a result whose rows are the keys of a table, from the table's own journal.
//!
//! Invariant: between `prepare` and `commit`, the rows are exactly the difference of the result as it will be and as it
//! was, in the columns that are wanted; a row that looks there as it did is left out. Cost: O(groups touched), or O(rows
//! that changed) of a listing; nothing where no delta is wanted.

use ringview_core::{Budget, Dictionary, Error, Result};
use ringview_query::{OutputKind, PlanOutput};
use ringview_relation::{ABSENT, KeyScratch, KeyedTable, Keys, SlotChange};

use super::ResultTable;
use crate::answer::values::When;
use crate::answer::{Cells, ResultRows, retain};
use crate::delta::{Context, Delta};

/// Slots of a table that are handed out at a time.
const BLOCK: usize = 1 << 16;

/// Rows with the slots of their keys.
struct Side {
    slots: Vec<u32>,
    columns: Vec<Option<Cells>>,
}

/// A slot that the running transaction touched, and its payload before, if it had one.
type Touched<'a> = (u32, Option<&'a [u64]>);

impl<'a> ResultTable<'a> {
    /// Old rows and new ones of the groups that the running transaction touched.
    ///
    /// # Errors
    /// As [`View::prepare`](crate::View::prepare).
    pub fn delta(&self, cx: &Context<'_, '_>) -> Result<Delta> {
        let Some(wanted) = cx.wanted else {
            return Ok(Delta::default());
        };
        let touched = self.touched();
        cx.budget.work(touched.len() as u64)?;
        if touched.is_empty() {
            return Ok(Delta::default());
        }
        let (mut before, mut after) = (self.before(&touched), self.after(&touched, cx.dictionary));
        if self.reads_tallies(wanted) {
            before.1.tally(self.auxiliary, When::Before);
            after.1.tally(self.auxiliary, When::Settling(cx.dictionary));
        }
        let old = self.side(wanted, before, cx.dictionary)?;
        let new = self.side(wanted, after, cx.dictionary)?;
        cx.budget.work((old.slots.len() + new.slots.len()) as u64)?;
        difference(old, new)
    }

    /// The same of a listing: each row with the change of its multiplicity.
    ///
    /// # Errors
    /// As `delta`.
    pub fn listing_delta(&self, cx: &Context<'_, '_>) -> Result<Delta> {
        let Some(wanted) = cx.wanted else {
            return Ok(Delta::default());
        };
        let touched = self.touched();
        cx.budget.work(touched.len() as u64)?;
        let (mut slots, mut multiplicity) = (Vec::new(), Vec::new());
        for &(slot, was) in &touched {
            let is_live = self.table.is_live(slot);
            let now = if is_live {
                self.table.payload(slot)[0] as i64
            } else {
                0
            };
            let change = now.checked_sub(was.map_or(0, |payload| payload[0] as i64));
            let change = change.ok_or_else(|| Error::Overflow {
                place: "a multiplicity among the changes".to_owned(),
            })?;
            if change != 0 {
                slots.push(slot);
                multiplicity.push(change);
            }
        }
        let rows = ResultRows::keys_at(self.table, &slots);
        self.weighed(wanted, (rows, multiplicity), (cx.dictionary, cx.budget))
    }

    /// Groups from a slot on, and the place behind them if there may be more.
    ///
    /// # Errors
    /// As [`Answer::rows`](crate::Answer::rows).
    pub fn scan(
        &self,
        place: u64,
        wanted: &[bool],
        (dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        let (slots, next) = slots_from(self.table, place);
        budget.work(slots.len() as u64)?;
        let rows = match self.table.layout().fields() {
            0 => self.all(),
            _ => ResultRows::of(self.table, &slots, self.auxiliary),
        };
        let side = self.side(wanted, (vec![0; rows.rows], rows), dictionary)?;
        let multiplicity = vec![1; side.slots.len()];
        Ok((
            Delta {
                columns: side.columns,
                multiplicity,
            },
            next,
        ))
    }

    /// Rows of a listing from a slot on, and the place behind them if there may be more.
    ///
    /// # Errors
    /// As `scan`.
    pub fn scan_listing(
        &self,
        place: u64,
        wanted: &[bool],
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        let (slots, next) = slots_from(self.table, place);
        let counts = slots.iter().map(|&slot| self.table.payload(slot)[0] as i64);
        let rows = (ResultRows::keys_at(self.table, &slots), counts.collect());
        Ok((self.weighed(wanted, rows, reading)?, next))
    }

    /// Rows of a join over the variables of the keys, wherever they are from, with their multiplicities.
    ///
    /// # Errors
    /// As `scan`.
    pub fn weighed(
        &self,
        wanted: &[bool],
        (rows, multiplicity): (ResultRows, Vec<i64>),
        (dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<Delta> {
        budget.work(rows.rows as u64)?;
        let side = self.side(wanted, (vec![0; rows.rows], rows), dictionary)?;
        Ok(Delta {
            columns: side.columns,
            multiplicity,
        })
    }

    /// By slot, each once: the groups that changed in the table or beside it.
    pub(crate) fn touched(&self) -> Vec<Touched<'a>> {
        let table = self.table;
        let mut touched = changed(table);
        let fields: Vec<usize> = (0..table.layout().fields()).collect();
        for (columns, rows) in self.auxiliary.touched() {
            let mut slots = Vec::new();
            let keys = Keys {
                columns: &columns,
                fields: &fields,
                rows,
            };
            table.find(keys, &mut KeyScratch::default(), &mut slots);
            let there = slots.into_iter().filter(|&slot| slot != ABSENT);
            touched.extend(there.map(|slot| (slot, Some(table.payload(slot)))));
        }
        if self.auxiliary.changes_all() {
            touched.extend(table.iter().map(|slot| (slot, Some(table.payload(slot)))));
        }
        // A stable sort: the first entry of a slot is that of the table.
        touched.sort_by_key(|&(slot, _)| slot);
        touched.dedup_by_key(|&mut (slot, _)| slot);
        touched
    }

    /// The rows of touched keys as they were, with the slots of those that were there.
    fn before(&self, touched: &[Touched<'_>]) -> (Vec<u32>, ResultRows) {
        self.present(touched.iter().copied(), When::Before)
    }

    /// The rows of touched keys as they will be, with the slots of those that will be there.
    fn after(&self, touched: &[Touched<'_>], dictionary: &Dictionary) -> (Vec<u32>, ResultRows) {
        let table = self.table;
        let there = |slot| table.is_live(slot) && table.payload(slot)[0] != 0;
        let will = |&(slot, _): &Touched<'_>| (slot, there(slot).then(|| table.payload(slot)));
        self.present(touched.iter().map(will), When::Settling(dictionary))
    }

    /// The rows of slots that have a payload. An aggregate without GROUP BY has a row of zeros even over nothing.
    fn present<'p>(
        &self,
        payloads: impl Iterator<Item = Touched<'p>>,
        when: When<'_>,
    ) -> (Vec<u32>, ResultRows) {
        let fields = self.table.layout().fields();
        let mut rows = ResultRows::new(fields, self.auxiliary.payload_layout().width());
        let (mut slots, mut over_nothing) = (Vec::new(), false);
        for (slot, payload) in payloads {
            over_nothing |= fields == 0 && payload.is_none();
            if let Some(payload) = payload.or((fields == 0).then_some(&[][..])) {
                rows.push(self.table, slot, payload);
                slots.push(slot);
            }
        }
        if !over_nothing {
            rows.fill(self.auxiliary, when);
        }
        (slots, rows)
    }

    /// Whether a column that is wanted has categories.
    fn reads_tallies(&self, wanted: &[bool]) -> bool {
        let mut outputs = self.outputs.columns.iter().zip(wanted);
        outputs.any(|(output, wanted)| *wanted && output.kind == OutputKind::Cofactor)
    }

    /// Rows as columns, without those that HAVING leaves out.
    fn side(
        &self,
        wanted: &[bool],
        (mut slots, mut rows): (Vec<u32>, ResultRows),
        dictionary: &Dictionary,
    ) -> Result<Side> {
        let outputs = || self.outputs.columns.iter().zip(wanted);
        let assembler = self.assembler(dictionary);
        if let Some(kept) = assembler.passing(&rows)? {
            rows.retain(&kept);
            retain(&mut slots, &kept);
        }
        let chosen = outputs().filter(|(_, wanted)| **wanted);
        let chosen: Vec<&PlanOutput> = chosen.map(|(output, _)| output).collect();
        let mut cells = assembler
            .columns(&rows, chosen.iter().copied())?
            .into_iter();
        let columns = outputs().map(|(_, wanted)| if *wanted { cells.next() } else { None });
        Ok(Side {
            slots,
            columns: columns.collect(),
        })
    }
}

/// By slot, each once: the keys of a table that the running transaction changed.
pub(super) fn changed(table: &KeyedTable) -> Vec<Touched<'_>> {
    let change = |change| match change {
        SlotChange::New(slot) => (slot, None),
        SlotChange::Was(slot, payload) => (slot, Some(payload)),
    };
    let mut changed: Vec<Touched<'_>> = table.changes().map(change).collect();
    // The first change of a slot has its payload before the transaction.
    changed.sort_by_key(|&(slot, _)| slot);
    changed.dedup_by_key(|&mut (slot, _)| slot);
    changed
}

/// The live slots from a place on, and the place behind them if there may be more.
fn slots_from(result: &KeyedTable, place: u64) -> (Vec<u32>, Option<u64>) {
    let end = result.slots().min(place as usize + BLOCK);
    let slots = (place as u32..end as u32).filter(|&slot| result.is_live(slot));
    (
        slots.collect(),
        (end < result.slots()).then_some(end as u64),
    )
}

/// Old rows with -1 and new ones with 1; what looks the same at one slot is neither.
fn difference(old: Side, new: Side) -> Result<Delta> {
    let (mut left, mut came) = (Vec::new(), Vec::new());
    let (mut at, mut to) = (0, 0);
    while at < old.slots.len() || to < new.slots.len() {
        match (old.slots.get(at), new.slots.get(to)) {
            (Some(one), Some(other)) if one == other => {
                if !same(&old.columns, at, &new.columns, to) {
                    left.push(at as u32);
                    came.push(to as u32);
                }
                (at, to) = (at + 1, to + 1);
            }
            (Some(one), other) if other.is_none_or(|other| one < other) => {
                left.push(at as u32);
                at += 1;
            }
            _ => {
                came.push(to as u32);
                to += 1;
            }
        }
    }
    let mut multiplicity = vec![-1; left.len()];
    multiplicity.resize(left.len() + came.len(), 1);
    let both = old.columns.iter().zip(&new.columns).map(|(old, new)| {
        let Some((old, new)) = old.as_ref().zip(new.as_ref()) else {
            return Ok(None);
        };
        old.gather(&left)?.append(new.gather(&came)?).map(Some)
    });
    Ok(Delta {
        columns: both.collect::<Result<_>>()?,
        multiplicity,
    })
}

/// Whether two rows have equal cells in all columns that are there.
fn same(old: &[Option<Cells>], at: usize, new: &[Option<Cells>], to: usize) -> bool {
    let mut columns = old.iter().flatten().zip(new.iter().flatten());
    columns.all(|(old, new)| old.is_same(at, new, to))
}
