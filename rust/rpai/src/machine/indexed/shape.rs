//! Filter of one relation, whatever rows it has.
//!
//! Invariant: it is the same for all groups of a relation. Cost: none; this is data.

use crate::machine::indexed::correlation::Correlation;
use crate::machine::indexed::digits::Reals;
use crate::machine::indexed::reader::{Kinds, RowReaders};
use crate::machine::query::{Comparison, Value};
use crate::payload::Sums;

/// The filter of a relation, the same for all its groups.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) readers: RowReaders,
    pub(crate) kinds: Kinds,
    /// Whether keys grow downwards.
    pub(crate) mirrored: bool,
    /// From the innermost block to the relation.
    pub(crate) correlations: Vec<Correlation>,
    /// Comparisons of closed values with the key.
    pub(crate) bounds: Vec<Comparison>,
    /// The closed values: those of correlations, of bounds, and of equalities.
    pub(crate) closed: Vec<Value>,
    /// The lanes of each block, by correlation.
    pub(crate) blocks: Vec<BlockLanes>,
    /// The first lane of the relation, behind those of all blocks.
    pub(crate) first: usize,
    /// Sums of the relation, its count among them.
    pub(crate) width: usize,
}

/// The lanes of a block: its count, and its sum behind it.
#[derive(Clone, Debug)]
pub(crate) struct BlockLanes {
    pub(crate) count: usize,
    /// Its place among the sums of doubles, if it is one.
    pub(crate) real: Option<usize>,
}

impl Shape {
    /// The sum of a block that is one of doubles.
    pub(crate) fn real(&self, block: usize) -> Option<&Reals> {
        self.blocks[block].real.map(|real| self.readers.real(real))
    }

    /// Whether a sum of a block is negative.
    #[inline]
    pub(crate) fn is_negative<const N: usize>(&self, sums: &Sums<N>) -> bool {
        let mut reals = (0..self.blocks.len()).filter_map(|block| self.real(block));
        sums.0[..self.first].iter().any(|&sum| sum < 0)
            || reals.any(|real| real.lanes().any(|lane| sums.0[lane] < 0))
    }

    /// The role of each lane: a block, from the innermost on, or the relation behind all of them.
    pub(crate) fn roles(&self, lanes: usize) -> Vec<usize> {
        let of_block = |lane: usize| self.blocks.iter().rposition(|block| block.count <= lane);
        let mut roles = vec![self.blocks.len(); lanes];
        for (lane, role) in roles.iter_mut().enumerate().take(self.first) {
            *role = of_block(lane).unwrap_or(0);
        }
        for block in 0..self.blocks.len() {
            let lanes = self.real(block).into_iter().flat_map(Reals::lanes);
            lanes.for_each(|lane| roles[lane] = block);
        }
        roles
    }

    /// Whether anything depends on the order of rows.
    pub(crate) fn is_ordered(&self) -> bool {
        !self.correlations.is_empty() || !self.bounds.is_empty()
    }
}
