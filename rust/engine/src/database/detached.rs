//! Rows of a table by its unique key, and a database by itself with some of the tables as changes would leave them.
//!
//! Invariant: nothing that is there changes. Cost: of rows by key O(1) a key; of a database by itself that of copying the
//! rows of its tables, applying the changes and filling its views.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Error, Result};

use super::{Database, Options};
use crate::Poll;
use crate::graph::declared::Declared;
use crate::op::{ByKey, Change, Direction, Op};

impl Database {
    /// The rows of a table that have some keys, and the place of each among the keys; keys that no row has are left out.
    /// `keys` has the columns of the unique key alone. O(keys).
    ///
    /// # Errors
    /// `UnknownTable`, `UnknownColumn`, `Type`; `Value` for a column of the key that is missing, or one beside it; `NullKey`;
    /// `Unsupported` for a table without a key, or whose rows are not kept.
    pub fn rows_by_key(
        &mut self,
        table: &str,
        keys: &RecordBatch,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        let index = self.state.storage.index(table)?;
        self.state.storage.tables[index].check_findable("a look-up by key")?;
        let found = self.found_by_key(index, keys);
        self.state.storage.dictionary.rollback();
        found
    }

    fn found_by_key(
        &mut self,
        index: usize,
        keys: &RecordBatch,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        let (mut batch, mut found) = (Batch::new(), Batch::new());
        self.state
            .read_by_key(index, ByKey::Delete, keys, 0, &mut batch)?;
        let storage = &mut self.state.storage;
        let table = &mut storage.tables[index];
        let places = match &mut table.rows {
            Some(rows) => rows.rows_by_key(&batch, &mut found),
            None => Vec::new(),
        };
        Ok((table.decoded(&found, None, &storage.dictionary)?, places))
    }

    /// A database by itself that has the tables and views of these names, what those views read, and the clock, as they are
    /// behind some changes, of which the net effect counts if `net`; of the changes, those of its tables count.
    ///
    /// # Errors
    /// `UnknownTable` for a name that is none; `Unsupported` for tables whose rows are not kept; as the changes.
    pub fn detached(
        &self,
        names: &BTreeSet<String>,
        (changes, net): (&[Change<'_>], bool),
        poll: Poll<'_>,
    ) -> Result<Database> {
        let mut made = Database::new(Options {
            trust_deletes: false,
            ..self.options()
        });
        let (tables, views) = self.rested_on(names)?;
        self.refuse_samples(&views)?;
        if let Some(now) = self.now() {
            made.apply(&[Change::Advance(now)], &mut *poll)?;
        }
        for name in self.tables().iter().filter(|name| tables.contains(*name)) {
            let status = self.table(name)?;
            made.create_table_with(
                name,
                (*status.schema).clone(),
                status.unique.as_deref(),
                false,
                status.keep_for.as_ref(),
            )?;
            self.copy_rows(name, &mut made, &mut *poll)?;
        }
        let is_of = |change: &&Change<'_>| {
            let table = change.table();
            table.is_none_or(|table| tables.contains(table))
        };
        let own: Vec<Change<'_>> = changes.iter().filter(is_of).copied().collect();
        made.apply_with(&own, net, &mut *poll, &mut || Ok(()))?;
        let mut left: Vec<&Declared> = self.state.graph.declared.iter().collect();
        left.retain(|view| views.contains(&view.name));
        // A view that was replaced may be listed behind those that read it.
        while !left.is_empty() {
            let before = left.len();
            let mut waiting = Vec::new();
            for view in left {
                if let Some(suspension) = &view.suspension {
                    return Err(suspension.error(&view.name));
                }
                let reads = view.query.reads();
                let is_there = |name: &&str| {
                    made.tables()
                        .iter()
                        .chain(&made.views())
                        .any(|one| one == name)
                };
                match reads.iter().all(is_there) {
                    true => made.create_view(&view.name, &view.query, &mut *poll)?,
                    false => waiting.push(view),
                }
            }
            left = waiting;
            if left.len() == before {
                return Err(Error::UnknownView {
                    name: left[0].name.clone(),
                    known: made.views(),
                });
            }
        }
        Ok(made)
    }

    /// Copies the rows of a table to the one of its name in another database.
    ///
    /// # Errors
    /// `UnknownTable`; `Unsupported` for a table whose rows are not kept; as a change.
    pub fn copy_rows(&self, name: &str, to: &mut Database, poll: Poll<'_>) -> Result<()> {
        let multiplicity = free_name(&self.table(name)?);
        let rows = [self.table_rows(name, Some(&multiplicity))?];
        let all = Op {
            table: name,
            direction: Direction::Insert,
            rows: &rows,
            multiplicity: Some(&multiplicity),
        };
        to.apply(&[all], poll)
    }

    /// Refuses to read samples beside the changes of a transaction.
    ///
    /// # Errors
    /// `Unsupported` if one of these views is a sample.
    pub fn refuse_samples(&self, views: &BTreeSet<String>) -> Result<()> {
        for view in views {
            if self.is_sample(view)? {
                return Err(Error::Unsupported {
                    what: format!(
                        "reading the sample {view:?} in a transaction that changed its tables"
                    ),
                    why: "which rows it comes to hold is drawn when the transaction ends"
                        .to_owned(),
                    instead: "commit first".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The tables of some names, with those that views of these names rest on; and those views.
    ///
    /// # Errors
    /// As [`rests_on`](Self::rests_on).
    pub fn rested_on(
        &self,
        names: &BTreeSet<String>,
    ) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
        let all = self.views();
        let mut views = BTreeSet::new();
        for name in names.iter().filter(|name| all.contains(name)) {
            views.extend(self.rests_on(name)?);
        }
        let mut tables: BTreeSet<String> = names.difference(&views).cloned().collect();
        for view in &views {
            let reads = self.view_query(view)?.reads();
            let reads = reads.into_iter().filter(|name| !views.contains(*name));
            tables.extend(reads.map(str::to_owned));
        }
        Ok((tables, views))
    }
}

/// A name for multiplicities that no column has.
fn free_name(of: &crate::TableStatus) -> String {
    let mut name = "multiplicity".to_owned();
    while of.schema.index_of(&name).is_ok() {
        name.push('_');
    }
    name
}
