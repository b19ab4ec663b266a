//! The rows of a result before they are columns: keys and payloads.
//!
//! Invariant: a row has a word in each column, `width` words of payload (the payload fields, in their order) and, where
//! a feature is categorical, tallies. Cost: O(rows), and that of the auxiliary payload fields.

use ringview_core::Dictionary;
use ringview_relation::KeyedTable;

use super::auxiliary::AuxiliaryPayload;
use super::cells::retain;
use super::values::{Tallies, When};

/// Rows of a result: fields of the keys column by column, payloads row by row.
#[derive(Clone, Debug, Default)]
pub struct ResultRows {
    /// Number of rows.
    pub rows: usize,
    /// The fields of the keys.
    pub columns: Vec<Vec<u64>>,
    /// The payloads, one after the other.
    pub payloads: Vec<u64>,
    /// Words of a payload.
    pub width: usize,
    /// Tallies of the group for each category, row by row; empty if no feature is categorical.
    pub tallies: Vec<Tallies>,
}

impl ResultRows {
    /// None, of so many fields and words of payload.
    #[must_use]
    pub fn new(fields: usize, width: usize) -> Self {
        Self {
            columns: vec![Vec::new(); fields],
            width,
            ..Self::default()
        }
    }

    /// Appends a row with the key at `slot` of a table and a payload; the words that it lacks are 0.
    pub fn push(&mut self, table: &KeyedTable, slot: u32, payload: &[u64]) {
        for (field, column) in self.columns.iter_mut().enumerate() {
            column.push(table.field(slot, field));
        }
        self.payloads.extend_from_slice(payload);
        self.rows += 1;
        self.payloads.resize(self.rows * self.width, 0);
    }

    /// The keys at some slots of a table alone.
    #[must_use]
    pub fn keys_at(table: &KeyedTable, slots: &[u32]) -> Self {
        let mut rows = Self::new(table.layout().fields(), 0);
        let slots = slots.iter();
        slots.for_each(|&slot| rows.push(table, slot, &[]));
        rows
    }

    /// The rows at some slots, whole, as they will be once the running transaction is kept; without tallies.
    #[must_use]
    pub fn prepared(
        table: &KeyedTable,
        slots: &[u32],
        auxiliary: &dyn AuxiliaryPayload,
        dictionary: &Dictionary,
    ) -> Self {
        let mut rows = Self::keyed(table, slots, auxiliary);
        rows.fill(auxiliary, When::Settling(dictionary));
        rows
    }

    /// All rows of a table; of one without key fields its one row, zero if it has none.
    #[must_use]
    pub fn all(table: &KeyedTable, auxiliary: &dyn AuxiliaryPayload) -> Self {
        let slots: Vec<u32> = table.iter().collect();
        let mut all = Self::keyed(table, &slots, auxiliary);
        if table.layout().fields() == 0 && all.rows == 0 {
            all.payloads.resize(all.width, 0);
            all.rows = 1;
            all.tally(auxiliary, When::Now);
            return all;
        }
        all.filled(auxiliary)
    }

    /// The rows at some slots of a table.
    #[must_use]
    pub fn of(table: &KeyedTable, slots: &[u32], auxiliary: &dyn AuxiliaryPayload) -> Self {
        Self::keyed(table, slots, auxiliary).filled(auxiliary)
    }

    /// The rows at some slots of a table, without tallies.
    #[must_use]
    pub fn untallied(table: &KeyedTable, slots: &[u32], auxiliary: &dyn AuxiliaryPayload) -> Self {
        let mut rows = Self::keyed(table, slots, auxiliary);
        rows.fill(auxiliary, When::Now);
        rows
    }

    fn keyed(table: &KeyedTable, slots: &[u32], auxiliary: &dyn AuxiliaryPayload) -> Self {
        let fields = table.layout().fields();
        Self::gather(table, slots, fields, auxiliary.payload_layout().width())
    }

    fn gather(table: &KeyedTable, slots: &[u32], fields: usize, width: usize) -> Self {
        let mut rows = Self::new(fields, width);
        rows.payloads.reserve(slots.len() * width);
        for &slot in slots {
            rows.push(table, slot, table.payload(slot));
        }
        rows
    }

    /// The same with the auxiliary payload.
    fn filled(mut self, auxiliary: &dyn AuxiliaryPayload) -> Self {
        self.tally(auxiliary, When::Now);
        self.fill(auxiliary, When::Now);
        self
    }

    /// Adds the tallies of the groups.
    pub(crate) fn tally(&mut self, auxiliary: &dyn AuxiliaryPayload, when: When<'_>) {
        self.tallies = auxiliary.tallies(&self.columns, self.rows, when);
    }

    /// Fills the auxiliary payload fields, in rows of full width.
    pub fn fill(&mut self, auxiliary: &dyn AuxiliaryPayload, when: When<'_>) {
        auxiliary.fill(&self.columns, &mut self.payloads, when);
    }

    /// The payloads, row by row.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = &[u64]> {
        self.payloads.chunks_exact(self.width.max(1))
    }

    /// Its rows so many times.
    #[must_use]
    pub fn repeated(&self, times: usize) -> Self {
        let mut all = self.clone();
        for (column, own) in all.columns.iter_mut().zip(&self.columns) {
            *column = own.repeat(times);
        }
        all.payloads = self.payloads.repeat(times);
        let tallies = std::iter::repeat_n(&self.tallies, times);
        all.tallies = tallies.flatten().cloned().collect();
        all.rows *= times;
        all
    }

    /// Keeps some rows.
    pub fn retain(&mut self, kept: &[bool]) {
        for column in &mut self.columns {
            retain(column, kept);
        }
        let payloads = std::mem::take(&mut self.payloads);
        for (payload, _) in payloads
            .chunks_exact(self.width.max(1))
            .zip(kept)
            .filter(|(_, kept)| **kept)
        {
            self.payloads.extend_from_slice(payload);
        }
        if !self.tallies.is_empty() {
            retain(&mut self.tallies, kept);
        }
        self.rows = kept.iter().filter(|kept| **kept).count();
    }
}
