//! The sums of the relations of a block, memoised where nothing around the block can change them.
//!
//! Invariant: the sums of a part that is not stale are those that it would tell now: no row has
//! come of a table that it, or a block among its closed values, reads. Cost: O(parts) a row; only
//! parts whose rows moved are asked again.

use std::sync::Arc;

use ringview_core::Result;

#[derive(Clone, Debug)]
pub(crate) struct Memo {
    /// By part, the tables that it reads.
    reads: Arc<[Vec<usize>]>,
    stale: Vec<bool>,
    /// The sums of all parts, one behind the other.
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

    /// A row of a table comes or goes.
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

    /// Asks the parts that are stale; those of which one fails stay so.
    pub(crate) fn refresh(
        &mut self,
        mut ask: impl FnMut(usize, &mut [i128]) -> Result<()>,
    ) -> Result<()> {
        for (relation, stale) in self.stale.iter_mut().enumerate() {
            if *stale {
                ask(relation, &mut self.numbers)?;
                *stale = false;
            }
        }
        Ok(())
    }

    /// The sums of all parts.
    pub(crate) fn numbers(&self) -> &[i128] {
        &self.numbers
    }

    pub(crate) fn memory_usage(&self) -> usize {
        size_of::<Self>() + self.stale.capacity() + self.numbers.capacity() * size_of::<i128>()
    }
}
