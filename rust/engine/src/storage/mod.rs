//! The storage of base rows: tables, the dictionary of their strings, and buffers.
//!
//! Invariant: tables have distinct names and numbers; the dictionary knows every string of a table or a view. Cost: a
//! table is found in O(tables).

pub(crate) mod by_key;
pub(crate) mod keys;
pub(crate) mod retention;
pub(crate) mod table;

use ringview_core::{Batch, Dictionary, Error, Result};

use table::Table;

/// What may have left since the last sweep.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// How many words that hold strings went, at the most.
    pub(crate) words: usize,
    /// How many are worth a look.
    pub(crate) due: usize,
}

/// All tables.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    /// In the order in which they came.
    pub(crate) tables: Vec<Table>,
    pub(crate) dictionary: Dictionary,
    /// Which strings may be nobody's.
    pub(crate) leaving: Leaving,
    /// The batch at hand where it is large, for its memory.
    pub(crate) batch: Batch,
}

impl Storage {
    /// The names of the tables, in the order in which they came.
    pub(crate) fn names(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }

    /// Where a table stands.
    pub(crate) fn index(&self, name: &str) -> Result<usize> {
        let found = self.tables.iter().position(|table| table.name == name);
        found.ok_or_else(|| Error::UnknownTable {
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// Words that held strings are gone; a sweep is to follow.
    pub(crate) fn words_left(&mut self, words: usize) {
        self.leaving.words += words;
    }
}
