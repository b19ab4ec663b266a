//! What a group has beside the payload in its part: further members, kept elsewhere by key.
//!
//! Invariant: rows with the same keys get the same words whoever asks, as of the moment that is asked
//! for. Cost: what each member says; nothing where there is none.

use super::members::PayloadLayout;
use super::values::{Tallies, When};

/// Where the members of payloads behind the first are read from.
pub trait AuxiliaryMembers: Send + Sync {
    /// The members of a row, those of the part first.
    fn members(&self) -> &PayloadLayout;

    /// Fills the members behind the first in rows of this width (`members().width()`); `keys` are the
    /// fields of the part's key, column by column.
    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>);

    /// What the groups of these keys have of each category, row by row; none where no feature is
    /// categorical.
    fn tallies(&self, _keys: &[Vec<u64>], _rows: usize, _when: When<'_>) -> Vec<Tallies> {
        Vec::new()
    }

    /// The keys, column by column and how many, of groups that the running transaction changed beside the part.
    fn touched(&self) -> Vec<(Vec<Vec<u64>>, usize)> {
        Vec::new()
    }

    /// Whether the commit of the running transaction will show every group otherwise.
    fn changes_all(&self) -> bool {
        false
    }
}

/// Nothing stands beside the part.
impl AuxiliaryMembers for PayloadLayout {
    fn members(&self) -> &PayloadLayout {
        self
    }

    fn fill(&self, _keys: &[Vec<u64>], _rows: &mut [u64], _when: When<'_>) {}
}
