//! Rows of a join that moved between two places in time, each with how much its multiplicity did.
//!
//! Invariant: opposite changes of a row cancel, and it is no entry then; a transaction that is undone leaves
//! no trace. Cost: O(1) a row that moves.

use ringview_core::{Error, Result};
use ringview_relation::{Delta, GatherScratch, KeyLayout, KeyScratch, Part, Relation};
use ringview_ring::{NumberKind, PayloadRing, SumProduct, SumProductShape};

use super::followers::Segment;
use super::rows::ResultRows;

/// Rows stored at a time.
const BLOCK: usize = 1 << 12;

/// Rows that moved.
#[derive(Clone, Debug)]
pub struct MovedRows(Relation<SumProduct>);

impl Segment for MovedRows {
    fn is_empty(&self) -> bool {
        self.0.filled().is_none()
    }

    fn memory_usage(&self) -> usize {
        self.0.part().map_or(0, Part::memory_usage)
    }
}

impl MovedRows {
    /// None, of rows whose fields are packed so.
    #[must_use]
    pub fn new(layout: KeyLayout) -> Self {
        let shape = SumProductShape::new(&[NumberKind::Integer]);
        let part = Part::new(layout, SumProduct::stride(&shape));
        Self(Relation::new("the changes".to_owned(), shape, Some(part)))
    }

    /// What the running transaction moved stays.
    pub fn commit(&mut self) {
        self.0.commit();
    }

    /// It is undone.
    pub fn rollback(&mut self) {
        self.0.rollback();
    }

    /// The rows that moved.
    #[must_use]
    pub fn rows(&self) -> Option<&Part> {
        self.0.part()
    }

    /// What moved in all of `parts`, rows of so many fields, each with its multiplicity.
    ///
    /// # Errors
    /// `Overflow` for a multiplicity that does not fit.
    pub fn read(parts: &[&Self], fields: usize) -> Result<(ResultRows, Vec<i64>)> {
        let mut all;
        let one = match parts {
            [] => return Ok((ResultRows::new(fields, 0), Vec::new())),
            [only] => *only,
            [first, rest @ ..] => {
                all = (*first).clone();
                rest.iter().try_for_each(|next| all.add_all(next))?;
                &all
            }
        };
        let mut rows = ResultRows::new(fields, 0);
        let mut multiplicities = Vec::new();
        if let Some(part) = one.0.part() {
            // In a running transaction a row may stand there that did not move after all.
            for slot in part.iter().filter(|&slot| part.payload(slot)[0] != 0) {
                rows.push(part, slot, &[], None);
                multiplicities.push(part.payload(slot)[0] as i64);
            }
        }
        Ok((rows, multiplicities))
    }

    /// Takes in what moved next; false, and nothing done, if a multiplicity does not fit.
    pub fn absorb(&mut self, next: &Self) -> bool {
        let done = self.add_all(next);
        if done.is_err() {
            self.rollback();
        }
        done.is_ok()
    }

    fn add_all(&mut self, next: &Self) -> Result<()> {
        if let Some(part) = next.0.part() {
            self.add_part(part)?;
        }
        self.commit();
        Ok(())
    }

    /// In the running transaction the rows that are the keys of a part moved, by its counts.
    ///
    /// # Errors
    /// `Overflow` for a multiplicity that does not fit.
    pub fn add_part(&mut self, part: &Part) -> Result<()> {
        let fields = part.layout().fields();
        let (mut scratch, mut spare) = (KeyScratch::default(), GatherScratch::default());
        let slots: Vec<u32> = part.iter().collect();
        for block in slots.chunks(BLOCK) {
            let mut rows = Delta::with_registers(fields);
            for &slot in block {
                for (field, column) in rows.columns.iter_mut().enumerate() {
                    column.push(part.field(slot, field));
                }
                rows.payload.push(part.payload(slot)[0]);
            }
            rows.rows = block.len();
            self.add(&mut rows, &mut scratch, &mut spare)?;
        }
        Ok(())
    }

    /// In the running transaction rows moved: a column a field, counts as payloads. The delta comes back of
    /// no use.
    ///
    /// # Errors
    /// `Overflow` for a multiplicity that does not fit.
    pub fn add(
        &mut self,
        rows: &mut Delta,
        scratch: &mut KeyScratch,
        spare: &mut GatherScratch,
    ) -> Result<()> {
        let fields: Vec<usize> = (0..rows.columns.len()).collect();
        let added = self.0.add(rows, &fields, scratch, spare);
        added.map_err(|_| Error::Overflow {
            place: "a multiplicity among the changes".to_owned(),
        })
    }
}
