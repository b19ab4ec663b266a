//! The sums of the relations of a block, memoised where no outer block can change them.
//!
//! Invariant: the sums of a relation that is not stale are up to date: no row of a table that it, or
//! a block among its closed values, reads has changed since. Cost: O(relations) a row; only relations
//! with changed rows are read again.

use std::sync::Arc;

use ringview_core::Result;

#[derive(Clone, Debug)]
pub(crate) struct Memo {
    /// By relation, the tables that it reads.
    reads: Arc<[Vec<usize>]>,
    stale: Vec<bool>,
    /// The sums of all relations, one behind the other.
    numbers: Vec<i128>,
}

impl Memo {
    pub(crate) fn new(reads: Vec<Vec<usize>>, width: usize) -> Self {
        Self {
            stale: vec![true; reads.len()],
            reads: reads.into(),
            numbers: vec![0; width],
        }
    }

    /// Inserts or deletes a row of a table.
    #[inline]
    pub(crate) fn touch(&mut self, table: usize) {
        for (stale, tables) in self.stale.iter_mut().zip(&*self.reads) {
            *stale |= tables.contains(&table);
        }
    }

    /// All of them are stale.
    pub(crate) fn forget(&mut self) {
        self.stale.fill(true);
    }

    /// Reads the relations that are stale; one that fails stays so.
    pub(crate) fn refresh(
        &mut self,
        mut read: impl FnMut(usize, &mut [i128]) -> Result<()>,
    ) -> Result<()> {
        for (relation, stale) in self.stale.iter_mut().enumerate() {
            if *stale {
                read(relation, &mut self.numbers)?;
                *stale = false;
            }
        }
        Ok(())
    }

    /// The sums of all relations.
    pub(crate) fn numbers(&self) -> &[i128] {
        &self.numbers
    }

    pub(crate) fn memory_usage(&self) -> usize {
        size_of::<Self>() + self.stale.capacity() + self.numbers.capacity() * size_of::<i128>()
    }
}
