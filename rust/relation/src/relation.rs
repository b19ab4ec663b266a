//! A relation: a finite map from keys to payloads of a ring, and what the running transaction did
//! to it.
//!
//! Invariant: between transactions it holds exactly the keys whose payload is not zero, and each
//! sum fits its payload; in one, a sum may leave its range as long as it returns to it, or the
//! relation widens. A transaction is undone to the bit (a relation that grew stays wide). Cost:
//! O(1) expected a row added; sums that do not fit cost a search each, growing O(keys) once.

use std::collections::BTreeMap;

use ringview_core::{Error, empty};
use ringview_ring::{Overflow, PayloadRing, Slab};

use crate::delta::{Delta, GatherScratch};
use crate::directory::{KeyScratch, Keys};
use crate::keyed_table::{KeyedTable, Relocated};
use crate::sort::ascends;

/// A delta with this many rows for each slot of the relation is folded while it is stored.
const FOLD: usize = 2;

/// Rows in a batch from which it is worth a check whether they are in the order of their keys. With debug assertions
/// every batch is checked, so that tests cover it.
const BULK: usize = if cfg!(debug_assertions) { 2 } else { 1 << 10 };

/// A relation. It may be one that is not kept: then it has a shape and no table.
#[derive(Clone, Debug)]
pub struct Relation<R: PayloadRing> {
    name: String,
    shape: R::Shape,
    table: Option<KeyedTable>,
    /// Slots whose count became 0 at some time in this transaction.
    emptied: Vec<u32>,
    /// Whether the running transaction wrote to it.
    touched: bool,
    slots: Vec<u32>,
    /// Widened payloads of the slots whose sums do not fit at the moment; the table has what wrapped
    /// around. Empty when the transaction settles, or it is refused.
    unfit: BTreeMap<u32, Vec<u64>>,
    /// Rows of changes that reached it and stayed, and those of the running transaction.
    updates: u64,
    pending: u64,
}

impl<R: PayloadRing> Relation<R> {
    /// A relation over a table whose payloads are of this shape; without one it is not kept.
    #[must_use]
    pub fn new(name: String, shape: R::Shape, table: Option<KeyedTable>) -> Self {
        Self {
            name,
            shape,
            table,
            emptied: Vec::new(),
            touched: false,
            slots: Vec::new(),
            unfit: BTreeMap::new(),
            updates: 0,
            pending: 0,
        }
    }

    /// Name of the relation.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Shape of its payloads.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &R::Shape {
        &self.shape
    }

    /// Its table, if it is kept.
    #[must_use]
    #[inline]
    pub fn table(&self) -> Option<&KeyedTable> {
        self.table.as_ref()
    }

    /// The same, to add or refresh an index, or to rewrite payloads between transactions. Rows are
    /// inserted and removed by `add` alone.
    #[inline]
    pub fn table_mut(&mut self) -> Option<&mut KeyedTable> {
        self.table.as_mut()
    }

    /// It is kept no more.
    pub fn release(&mut self) {
        self.table = None;
        self.unfit.clear();
    }

    /// Its table, if it is kept and holds a key.
    #[must_use]
    #[inline]
    pub fn filled(&self) -> Option<&KeyedTable> {
        self.table.as_ref().filter(|table| !table.is_empty())
    }

    /// Its payloads, by slot.
    #[must_use]
    #[inline]
    pub fn payloads(&self) -> Slab<'_> {
        let (words, width) = match &self.table {
            Some(table) => (table.payloads(), table.stride()),
            None => (&[][..], 0),
        };
        Slab::view(words, width)
    }

    /// Rows of a change have reached it. Once a batch.
    pub fn reached_by(&mut self, rows: usize) {
        self.pending += rows as u64;
    }

    /// Rows of changes that have reached it, those that were undone left out.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// The same, with those of the running transaction.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.updates + self.pending
    }

    /// R := R + dR. The delta may have fewer rows afterwards, of the same sum.
    ///
    /// # Errors
    /// `Overflow` where a sum fits no widened payload either; the transaction must be rolled back.
    pub fn add(
        &mut self,
        delta: &mut Delta,
        keys: &[usize],
        scratch: &mut KeyScratch,
        gather: &mut GatherScratch,
    ) -> Result<(), Overflow> {
        self.slots.clear();
        let Some(table) = self.table.as_mut().filter(|_| delta.rows > 0) else {
            return Ok(());
        };
        self.touched = true;
        let slots = &mut self.slots;
        let located = Keys {
            columns: &delta.columns,
            fields: keys,
            rows: delta.rows,
        };
        let is_bulk = delta.rows >= BULK && table.slots() == 0 && !table.keeps_order();
        let is_appended = is_bulk && ascends(located);
        if is_appended {
            table.append(located, scratch);
            slots.extend(0..delta.rows as u32);
        } else {
            table.locate(located, scratch, slots);
        }
        if delta.wide || !self.unfit.is_empty() {
            return self.add_wide(delta, Overflow { component: 0 });
        }
        if !is_appended && delta.rows >= FOLD * table.slots() && delta.rows > 1 {
            let limit = table.slots();
            if let Err(fault) = delta.fold_slots::<R>(&self.shape, keys, slots, limit, gather) {
                return self.add_wide(delta, fault);
            }
        }
        let payloads = table.write(slots);
        let emptied = &mut self.emptied;
        match R::add(&self.shape, payloads, slots, delta.slab(), emptied) {
            Ok(()) => Ok(()),
            Err(fault) => self.add_wide(delta, fault),
        }
    }

    /// That a sum does not fit here.
    #[cold]
    #[must_use]
    pub fn refusal(&self, _fault: Overflow) -> Error {
        let place = format!("a sum or count of {}", self.name);
        Error::Overflow { place }
    }

    /// The same where a sum does not fit: a row at a time, at the slots of `self.slots`. A sum that
    /// fits again is stored as an ordinary payload.
    #[cold]
    fn add_wide(&mut self, delta: &mut Delta, fault: Overflow) -> Result<(), Overflow> {
        let shape = &self.shape;
        let wide = R::widened(shape).ok_or(fault)?;
        let widened;
        let rows = match delta.wide {
            true => &delta.payload,
            false => {
                widened = R::widen(shape, &wide, &delta.payload);
                &widened
            }
        };
        let Some(table) = &mut self.table else {
            return Ok(());
        };
        let (stride, mut narrow) = (R::stride(&wide), Vec::new());
        for (&slot, row) in self.slots.iter().zip(rows.chunks_exact(stride)) {
            let unfit = self.unfit.remove(&slot);
            let mut sum = unfit.unwrap_or_else(|| R::widen(shape, &wide, table.payload(slot)));
            let row = Slab::delta(row, stride);
            R::add(&wide, &mut sum, &[0], row, &mut Vec::new())?;
            let fits = R::narrow(shape, &wide, &sum, &mut narrow);
            table.payload_mut(slot).copy_from_slice(&narrow);
            if narrow[0] == 0 {
                self.emptied.push(slot);
            }
            if !fits {
                self.unfit.insert(slot, sum);
            }
        }
        Ok(())
    }

    /// Whether all its sums fit.
    #[must_use]
    #[inline]
    pub fn fits(&self) -> bool {
        self.unfit.is_empty()
    }

    /// Brings all payloads to the ring's grown shape, if there is one, within a transaction or
    /// between two; whether it did. Compiled products of the former shape are of no use then.
    /// O(keys).
    #[cold]
    pub fn grow(&mut self) -> bool {
        let Some(grown) = R::grown(&self.shape) else {
            return false;
        };
        let shape = std::mem::replace(&mut self.shape, grown);
        let Some(table) = &mut self.table else {
            return true;
        };
        table.restride(R::stride(&self.shape), |payload, out| {
            out.extend(R::widen(&shape, &self.shape, payload));
        });
        let Some(wide) = R::widened(&self.shape) else {
            return true;
        };
        let mut narrow = Vec::new();
        for (slot, sum) in std::mem::take(&mut self.unfit) {
            let fits = R::narrow(&self.shape, &wide, &sum, &mut narrow);
            table.payload_mut(slot).copy_from_slice(&narrow);
            if !fits {
                self.unfit.insert(slot, sum);
            }
        }
        true
    }

    /// Gives all payloads another shape, between two transactions: `convert` appends the new form of one. Compiled
    /// products of the former shape are of no use then. O(keys).
    pub fn reshape(&mut self, shape: R::Shape, convert: impl FnMut(&[u64], &mut Vec<u64>)) {
        self.shape = shape;
        if let Some(table) = &mut self.table {
            table.restride(R::stride(&self.shape), convert);
        }
    }

    /// The payloads of some slots, of the widened shape, in passing.
    pub fn widened(&self, wide: &R::Shape, slots: &[u32]) -> Vec<u64> {
        let Some(table) = &self.table else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for slot in slots {
            match self.unfit.get(slot) {
                Some(payload) => out.extend_from_slice(payload),
                None => out.extend(R::widen(&self.shape, wide, table.payload(*slot))),
            }
        }
        out
    }

    /// Changes the payload of every key within a transaction; how many there are.
    pub fn rewrite(&mut self, mut change: impl FnMut(&mut [u64])) -> usize {
        let Some(table) = &mut self.table else {
            return 0;
        };
        self.touched = true;
        let (slots, stride) = (table.iter().collect::<Vec<_>>(), table.stride());
        let payloads = table.write(&slots);
        for &slot in &slots {
            let payload = &mut payloads[slot as usize * stride..][..stride];
            change(payload);
            if payload[0] == 0 {
                self.emptied.push(slot);
            }
        }
        slots.len()
    }

    /// Gives keys, no two of them equal, the payloads of a delta in the place of theirs. Within a
    /// transaction.
    pub fn put(&mut self, delta: &Delta, keys: &[usize], scratch: &mut KeyScratch) {
        self.slots.clear();
        let Some(table) = self.table.as_mut().filter(|_| delta.rows > 0) else {
            return;
        };
        self.touched = true;
        let keys = Keys {
            columns: &delta.columns,
            fields: keys,
            rows: delta.rows,
        };
        table.locate(keys, scratch, &mut self.slots);
        let stride = table.stride();
        let payloads = table.write(&self.slots);
        for (&slot, payload) in self.slots.iter().zip(delta.payload.chunks_exact(stride)) {
            payloads[slot as usize * stride..][..stride].copy_from_slice(payload);
            if payload[0] == 0 {
                self.emptied.push(slot);
            }
        }
    }

    /// The slots of the rows of the last delta.
    #[must_use]
    pub fn last_slots(&self) -> &[u32] {
        &self.slots
    }

    /// Whether the running transaction wrote to it, or rows of it have reached it.
    #[must_use]
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.touched || self.pending > 0
    }

    /// Keeps the changes of the running transaction. Returns the new slots, if they moved, for an
    /// owner that keeps slots outside the table.
    pub fn commit(&mut self) -> Option<Relocated> {
        self.updates += std::mem::take(&mut self.pending);
        if !std::mem::take(&mut self.touched) {
            return None;
        }
        debug_assert!(self.fits(), "a transaction settles before it is kept");
        let table = self.table.as_mut()?;
        table.commit(&self.emptied, |payload| R::is_zero(&self.shape, payload));
        empty(&mut self.emptied);
        empty(&mut self.slots);
        table.shrink()
    }

    /// Undoes the changes of the running transaction; slots stay where they are.
    pub fn rollback(&mut self) {
        self.pending = 0;
        if !std::mem::take(&mut self.touched) {
            return;
        }
        if let Some(table) = &mut self.table {
            table.rollback();
        }
        self.unfit.clear();
        empty(&mut self.emptied);
        empty(&mut self.slots);
    }

    /// Bytes beside those of its table.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        (self.emptied.capacity() + self.slots.capacity()) * size_of::<u32>()
    }
}
