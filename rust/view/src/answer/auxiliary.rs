//! Auxiliary payload of a group: further payload fields, kept outside its table by key.
//!
//! Invariant: rows with the same keys get the same words in every read, as of the requested state.
//! Cost: that of each payload field; nothing if there is none.

use super::payload_layout::PayloadLayout;
use super::values::{Tallies, When};

/// Source of the payload fields behind the first.
pub trait AuxiliaryPayload: Send + Sync {
    /// The payload fields of a row, those of the table first.
    fn payload_layout(&self) -> &PayloadLayout;

    /// Fills the payload fields behind the first in rows of this width (`payload_layout().width()`); `keys` are the
    /// fields of the table's key, column by column.
    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>);

    /// Tallies of the groups of these keys for each category, row by row; none if no feature is categorical.
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

/// A table without auxiliary payload.
impl AuxiliaryPayload for PayloadLayout {
    fn payload_layout(&self) -> &PayloadLayout {
        self
    }

    fn fill(&self, _keys: &[Vec<u64>], _rows: &mut [u64], _when: When<'_>) {}
}
