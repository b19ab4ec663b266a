//! Layout of a payload in its words: the count, then s, then the upper triangle of Q, row by row.
//!
//! Invariant: 1 + m + m(m+1)/2 words. Cost: none.

use crate::number::Number;
use crate::payload::Slab;

/// The number of variables that a payload covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CofactorShape {
    /// m.
    pub variables: usize,
}

impl CofactorShape {
    /// Words of a payload: 1 + m + m(m+1)/2.
    #[must_use]
    pub fn words(self) -> usize {
        1 + self.variables + self.variables * (self.variables + 1) / 2
    }

    /// Words of a payload of copies of one row: their number, and the row.
    #[must_use]
    pub fn row_words(self) -> usize {
        1 + self.variables
    }

    /// Whether a payload of a slab is that of copies of one row, whose values follow the count: a
    /// delta's may be kept that short, a view's has the row's values for sums where the count is 1.
    #[inline(always)]
    pub(super) fn is_row(self, slab: Slab<'_>, row: usize) -> bool {
        slab.width() == self.row_words() || (slab.bags() && slab.row(row)[0] == 1)
    }
}

/// total += the count; whether it or the sum overflowed.
#[inline(always)]
pub(super) fn add_count(total: &mut u64, (count, wrapped): (i64, bool)) -> bool {
    let (sum, carried) = Number::add(*total as i64, count);
    *total = sum as u64;
    wrapped | carried
}
