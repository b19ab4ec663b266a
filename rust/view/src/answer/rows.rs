//! The rows of a result before they are columns: keys and payloads.
//!
//! Invariant: a row has a word in each column, `width` words of payload (the members, in their order) and,
//! where a feature is categorical, tallies. Cost: O(rows), and what the members beside the part ask.

use ringview_core::Dictionary;
use ringview_relation::Part;

use super::cells::retain;
use super::further::Further;
use super::values::{Tallies, When};

/// Rows of a result: fields of the keys column by column, payloads row by row.
#[derive(Clone, Debug, Default)]
pub struct ResultRows {
    /// How many.
    pub rows: usize,
    /// The fields of the keys.
    pub columns: Vec<Vec<u64>>,
    /// The payloads, one after the other.
    pub payloads: Vec<u64>,
    /// Words of a payload.
    pub width: usize,
    /// What the group has of each category, row by row; empty where no feature is categorical.
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

    /// Appends a row with the key at `slot` of a part and a payload; the words that it lacks are 0.
    pub fn push(&mut self, part: &Part, slot: u32, payload: &[u64]) {
        for (field, column) in self.columns.iter_mut().enumerate() {
            column.push(part.field(slot, field));
        }
        self.payloads.extend_from_slice(payload);
        self.rows += 1;
        self.payloads.resize(self.rows * self.width, 0);
    }

    /// The keys at some slots of a part alone.
    #[must_use]
    pub fn keys_at(part: &Part, slots: &[u32]) -> Self {
        let mut rows = Self::new(part.layout().fields(), 0);
        let slots = slots.iter();
        slots.for_each(|&slot| rows.push(part, slot, &[]));
        rows
    }

    /// The rows at some slots, whole, as they will be once the running transaction is kept; without tallies.
    #[must_use]
    pub fn settling(
        part: &Part,
        slots: &[u32],
        further: &dyn Further,
        dictionary: &Dictionary,
    ) -> Self {
        let mut rows = Self::keyed(part, slots, further);
        rows.fill(further, When::Settling(dictionary));
        rows
    }

    /// All rows of a part; of one without key fields its one row, zero if it has none.
    #[must_use]
    pub fn all(part: &Part, further: &dyn Further) -> Self {
        let slots: Vec<u32> = part.iter().collect();
        let mut all = Self::keyed(part, &slots, further);
        if part.layout().fields() == 0 && all.rows == 0 {
            all.payloads.resize(all.width, 0);
            all.rows = 1;
            all.tally(further, When::Now);
            return all;
        }
        all.filled(further)
    }

    /// The rows at some slots of a part.
    #[must_use]
    pub fn of(part: &Part, slots: &[u32], further: &dyn Further) -> Self {
        Self::keyed(part, slots, further).filled(further)
    }

    /// The rows at some slots of a part, without tallies.
    #[must_use]
    pub fn untallied(part: &Part, slots: &[u32], further: &dyn Further) -> Self {
        let mut rows = Self::keyed(part, slots, further);
        rows.fill(further, When::Now);
        rows
    }

    fn keyed(part: &Part, slots: &[u32], further: &dyn Further) -> Self {
        let fields = part.layout().fields();
        Self::gather(part, slots, fields, further.members().width())
    }

    fn gather(part: &Part, slots: &[u32], fields: usize, width: usize) -> Self {
        let mut rows = Self::new(fields, width);
        rows.payloads.reserve(slots.len() * width);
        for &slot in slots {
            rows.push(part, slot, part.payload(slot));
        }
        rows
    }

    /// The same with what stands beside the part.
    fn filled(mut self, further: &dyn Further) -> Self {
        self.tally(further, When::Now);
        self.fill(further, When::Now);
        self
    }

    /// Adds the tallies of the groups.
    pub(crate) fn tally(&mut self, further: &dyn Further, when: When<'_>) {
        self.tallies = further.tallies(&self.columns, self.rows, when);
    }

    /// Fills the members that stand beside the part, in rows that are as wide as all.
    pub fn fill(&mut self, further: &dyn Further, when: When<'_>) {
        further.fill(&self.columns, &mut self.payloads, when);
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
