//! What a group has beside the payload in its table: further payload fields, kept elsewhere by key.
//!
//! Invariant: rows with the same keys get the same words whoever asks, as of the moment that is asked
//! for. Cost: what each payload field says; nothing where there is none.

use super::payload_layout::PayloadLayout;
use super::values::{Tallies, When};

/// Where the fields of payloads behind the first are read from.
pub trait AuxiliaryPayload: Send + Sync {
    /// The payload fields of a row, those of the table first.
    fn payload_layout(&self) -> &PayloadLayout;

    /// Fills the payload fields behind the first in rows of this width (`payload_layout().width()`); `keys` are the
    /// fields of the table's key, column by column.
    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>);

    /// What the groups of these keys have of each category, row by row; none where no feature is
    /// categorical.
    fn tallies(&self, _keys: &[Vec<u64>], _rows: usize, _when: When<'_>) -> Vec<Tallies> {
        Vec::new()
    }

    /// The keys, column by column and how many, of groups that the running transaction changed beside the table.
    fn touched(&self) -> Vec<(Vec<Vec<u64>>, usize)> {
        Vec::new()
    }

    /// Whether the commit of the running transaction will show every group otherwise.
    fn changes_all(&self) -> bool {
        false
    }
}

/// Nothing stands beside the table.
impl AuxiliaryPayload for PayloadLayout {
    fn payload_layout(&self) -> &PayloadLayout {
        self
    }

    fn fill(&self, _keys: &[Vec<u64>], _rows: &mut [u64], _when: When<'_>) {}
}
