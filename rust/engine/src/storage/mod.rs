//! The storage of base rows: tables, the dictionary of their strings, and buffers.
//!
//! Invariant: tables have distinct names and numbers; the dictionary holds every string of a table or a view. Cost: a
//! table is found in O(tables).

pub(crate) mod by_key;
pub(crate) mod keys;
pub(crate) mod retention;
pub(crate) mod table;

use ringview_core::{Batch, Dictionary, Error, Result};

use table::Table;

/// Count of strings that may have lost their last reference since the last sweep.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// Number of removed words that held strings, at the most.
    pub(crate) words: usize,
    /// Number at which a sweep is due.
    pub(crate) due: usize,
}

/// All tables.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    /// In the order of creation.
    pub(crate) tables: Vec<Table>,
    pub(crate) dictionary: Dictionary,
    /// Count of strings that may have no reference.
    pub(crate) leaving: Leaving,
    /// The batch at hand where it is large, for its memory.
    pub(crate) batch: Batch,
}

impl Storage {
    /// The names of the tables, in the order of their creation.
    pub(crate) fn names(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }

    /// Position of a table.
    pub(crate) fn index(&self, name: &str) -> Result<usize> {
        let found = self.tables.iter().position(|table| table.name == name);
        found.ok_or_else(|| Error::UnknownTable {
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// Counts removed words that held strings, for the next sweep.
    pub(crate) fn words_left(&mut self, words: usize) {
        self.leaving.words += words;
    }
}
