//! What a group has beside the payload in its part: further members, kept elsewhere by key.
//!
//! Invariant: rows with the same keys get the same words whoever asks, as of the moment that is asked
//! for. Cost: what each member says; nothing where there is none.

use ringview_relation::Part;

use super::members::Members;
use super::values::{Tallies, When};

/// Where the members of payloads behind the first are read from.
pub trait Further {
    /// The members of a row, those of the part first.
    fn members(&self) -> &Members;

    /// Fills the members behind the first in rows of this width (`members().width()`); `keys` are the
    /// fields of the part's key, column by column.
    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>);

    /// What the groups of these keys have of each category, row by row; none where no feature is
    /// categorical.
    fn tallies(&self, _keys: &[Vec<u64>], _rows: usize, _when: When<'_>) -> Vec<Tallies> {
        Vec::new()
    }

    /// That of a group without rows.
    fn no_tallies(&self) -> Option<Tallies> {
        None
    }

    /// A part with the groups as keys whose payloads may move while those of the groups' part stay.
    fn part(&self) -> Option<&Part> {
        None
    }
}

/// Nothing stands beside the part.
impl Further for Members {
    fn members(&self) -> &Members {
        self
    }

    fn fill(&self, _keys: &[Vec<u64>], _rows: &mut [u64], _when: When<'_>) {}
}

/// The members behind the first, of some rows.
pub(crate) struct Behind {
    words: Vec<u64>,
    width: usize,
    first: usize,
}

impl Behind {
    /// Those of the rows with these keys.
    pub(crate) fn of(
        further: &dyn Further,
        keys: &[Vec<u64>],
        rows: usize,
        when: When<'_>,
    ) -> Self {
        let (width, first) = (further.members().width(), further.members().first());
        let mut words = Vec::new();
        if width > first {
            words.resize(rows * width, 0);
            further.fill(keys, &mut words, when);
        }
        Self {
            words,
            width,
            first,
        }
    }

    /// Those of a row.
    pub(crate) fn row(&self, row: usize) -> &[u64] {
        match self.words.is_empty() {
            true => &[],
            false => &self.words[row * self.width + self.first..][..self.width - self.first],
        }
    }
}
