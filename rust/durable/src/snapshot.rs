//! The file rewritten from the current state; and copies of a database.
//!
//! Invariant: it holds the moment of the clock, the tables with their rows, the views as they were defined, the
//! identities of what was applied, and last the states of samples over those rows. If tables keep no base rows, the
//! remaining rows are computed from the file, which has all changes; if more were deleted than inserted, they are
//! unknown, and the file stays as it is. Cost: O(rows), one commit; where rows are not kept, O(changes since the last
//! one), and the memory of the rows that are left.

use std::path::Path;

use ringview_core::{Error, Result};
use ringview_engine::{Database, TableStatus};

use crate::database::DurableDatabase;
use crate::disk::target::Target;
use crate::file::{File, Write};
use crate::journal::{Durability, of_defaults};
use crate::record::{Entry, PART, Record, TableDefinition};

impl DurableDatabase {
    /// Writes the file anew: opening it costs what is there then, not what happened. On return all that
    /// happened is durable.
    ///
    /// # Errors
    /// `Storage` if the file cannot be written; what it held before is there then. `Unsupported` without a
    /// file, or where rows are not kept and only snapshots are durable; `Memory` where those that are left are
    /// counted.
    pub fn snapshot(&mut self) -> Result<()> {
        if let Some(file) = &mut self.journal.file {
            file.revive()?;
            self.take_in_changes()?;
        }
        let counted = self.counted();
        let cursors = self.cursors()?;
        let Some(mut file) = self.journal.file.take() else {
            return Err(Error::Unsupported {
                what: "a snapshot of a database in memory".to_owned(),
                why: "it has no file".to_owned(),
                instead: "copy it with save(path), or begin with Database.open(path)".to_owned(),
            });
        };
        let before = file.commits;
        let written = match counted {
            Ok(Rows::Stored) => file.rewrite(cursors, |write| self.write(&self.engine, write)),
            Ok(Rows::Counted(rows)) => file.rewrite(cursors, |write| self.write(&rows, write)),
            // Its changes stay in the file.
            Ok(Rows::Overdrawn(_)) => Ok(()),
            Err(problem) => Err(problem),
        };
        if file.commits > before {
            // It was, whatever failed then.
            self.renumber(file.head.records);
        }
        self.journal.file = Some(file);
        self.ahead &= written.is_err();
        written
    }

    /// Rewrites the file if that is due. A failure does not fail the call: the status of the file reports it, and the
    /// rewrite is tried again when the log has doubled.
    pub(crate) fn compact_if_due(&mut self) {
        let ratio = self.compact_at.filter(|_| self.is_written());
        let is_due = |file: &File| ratio.is_some_and(|ratio| file.outgrows(ratio));
        if !self.journal.file.as_ref().is_some_and(is_due) {
            return;
        }
        let done = self.snapshot();
        if let Some(file) = &mut self.journal.file {
            if let Err(problem) = done {
                file.problem = Some(problem.to_string());
            }
            if is_due(file) {
                file.be_patient();
            }
        }
    }

    /// Writes a copy to a path; it is there whole, or not at all, and takes the place of a file there. Nobody can
    /// have that open: it is locked until the copy is there.
    ///
    /// # Errors
    /// `Storage` if it cannot be written, is the database's own file, or is open elsewhere; `Unsupported` where rows
    /// are not kept.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.refuse_own(path)?;
        self.refuse_merged()?;
        let (counted, cursors) = (self.counted()?, self.cursors()?);
        let rows = match &counted {
            Rows::Stored => &self.engine,
            Rows::Counted(rows) => rows,
            Rows::Overdrawn(table) => return Err(without_rows(table)),
        };
        let target = Target::take(path).map_err(|problem| problem.of(path, "write"))?;
        let (mut file, draft) = File::draft(
            path,
            self.options().trust_deletes,
            self.options().memory_limit,
        )?;
        file.rewrite(cursors, |write| self.write(rows, write))?;
        file.shut()?;
        file.publish(draft)?;
        target.replaced();
        Ok(())
    }

    /// Makes all unwritten state durable, closes the file, and empties the database.
    ///
    /// # Errors
    /// `Storage` if the states of samples cannot be written, but the file is closed: all else is there. With durability
    /// of snapshots only, as [`snapshot`](Self::snapshot), and the database stays open, so that nothing is lost and it
    /// can be closed once the disk has space.
    pub fn close(&mut self) -> Result<()> {
        let done = match self.journal.durability {
            Durability::Snapshot if self.ahead && self.journal.file.is_some() => {
                self.snapshot()?;
                Ok(())
            }
            Durability::Snapshot => Ok(()),
            Durability::Transaction => self.leave(),
        };
        *self = Self::default();
        done
    }

    /// Writes what is not in the file, and the file anew where that pays.
    fn leave(&mut self) -> Result<()> {
        let pays = self
            .journal
            .file
            .as_ref()
            .is_some_and(|file| file.outgrows(1.0));
        if pays && self.rowless().is_none() && self.snapshot().is_ok() {
            return Ok(());
        }
        let samples = self.samples()?;
        match &mut self.journal.file {
            Some(file) if self.ahead && !samples.is_empty() => file.append(&samples),
            _ => Ok(()),
        }
    }

    /// Source of the rows.
    fn counted(&self) -> Result<Rows> {
        match (self.rowless(), &self.journal.file) {
            (None, _) => Ok(Rows::Stored),
            (Some(table), Some(file)) if self.is_written() => {
                file.check_level()?;
                match file.rows(self.options().memory_limit) {
                    Ok(rows) => Ok(Rows::Counted(Box::new(rows))),
                    Err(Error::OverDelete { .. }) => Ok(Rows::Overdrawn(table)),
                    Err(problem) => Err(problem),
                }
            }
            (Some(table), _) => Err(without_rows(&table)),
        }
    }

    /// Refuses to write a copy over what it is a copy of.
    fn refuse_own(&self, path: &Path) -> Result<()> {
        let Some(file) = self.journal.file.as_ref().filter(|file| file.is_at(path)) else {
            return Ok(());
        };
        let problem = match self.journal.durability {
            Durability::Transaction => {
                "it is the file of this database, in which all that happened is saved already"
            }
            Durability::Snapshot => "it is the file of this database",
        };
        let path = file.path.display().to_string();
        let problem = format!("{problem}; write it anew with snapshot(), or save to another path");
        Err(Error::Storage {
            action: "write",
            path,
            problem,
        })
    }

    /// Refuses to write views whose rows are elsewhere.
    fn refuse_merged(&self) -> Result<()> {
        let is_merged = |name: &String| self.engine.is_merged(name) == Ok(true);
        match self.engine.views().into_iter().find(is_merged) {
            None => Ok(()),
            Some(view) => Err(Error::Unsupported {
                what: format!("saving view {view:?}, into which partials were merged"),
                why: "a file keeps rows, from which views are made anew, and a partial has none"
                    .to_owned(),
                instead: "save the databases that have the rows, or drop the view first".to_owned(),
            }),
        }
    }

    /// A table whose rows are not kept.
    fn rowless(&self) -> Option<String> {
        let trusting = self.options().trust_deletes;
        let mut tables = statuses(&self.engine).filter(|_| trusting);
        tables.find_map(|(name, table)| (!table.is_static).then_some(name))
    }

    /// Writes tables, views and the rows of a database with the same tables. Views are written behind the rows of
    /// static tables, and before all rows that are not kept, since they could not be filled from those.
    fn write(&self, rows: &Database, write: Write<'_>) -> Result<()> {
        for (name, table) in statuses(&self.engine) {
            let defaults = of_defaults(self.engine.defaults(&name)?)?;
            let definition = TableDefinition {
                name: name.clone(),
                schema: (*table.schema).clone(),
                unique: table.unique,
                is_static: table.is_static,
                keep_for: table.keep_for,
            };
            write(&Entry::Table(definition).into())?;
            for (change, value) in &defaults {
                write(&Record::alter(&name, change, Some(value))?)?;
            }
        }
        if let Some(now) = self.engine.now() {
            write(&Record::clock(now)?)?;
        }
        write_rows(rows, true, write)?;
        for view in self.definitions.iter() {
            write(&Entry::View(Box::new(view.into())).into())?;
        }
        write_rows(rows, false, write)?;
        write(&Entry::Applied(self.applied.clone()).into())?;
        self.samples()?.iter().try_for_each(write)
    }

    /// The states of all samples.
    fn samples(&self) -> Result<Vec<Record>> {
        let state = |name: &str| Ok(Record::sample(name, self.engine.sample_state(name)?));
        self.definitions.samples().map(state).collect()
    }
}

/// The rows that a file is written with.
enum Rows {
    /// Those of the tables.
    Stored,
    /// Those of this database, which has no views.
    Counted(Box<Database>),
    /// More rows of a table were deleted than inserted.
    Overdrawn(String),
}

fn write_rows(database: &Database, of_static: bool, write: Write<'_>) -> Result<()> {
    for (name, table) in statuses(database).filter(|(_, table)| table.is_static == of_static) {
        let multiplicity = fresh_column(&table);
        database.scan_table(&name, &multiplicity, PART, &mut |part| {
            write(&Record::insert(&name, &part, &multiplicity)?)
        })?;
    }
    Ok(())
}

fn statuses(database: &Database) -> impl Iterator<Item = (String, TableStatus)> {
    let names = database.tables().into_iter();
    names.filter_map(|name| database.table(&name).ok().map(|table| (name, table)))
}

/// A name that no column has.
fn fresh_column(table: &TableStatus) -> String {
    let mut name = "multiplicity".to_owned();
    while table.schema.fields().iter().any(|field| field.name == name) {
        name.push('_');
    }
    name
}

fn without_rows(table: &str) -> Error {
    Error::Unsupported {
        what: format!("writing the rows of table {table:?}"),
        why: "with trust_deletes they are not kept, and no file of its changes tells them"
            .to_owned(),
        instead: "open the database with durability=\"transaction\", which keeps its changes, or \
            create it without trust_deletes"
            .to_owned(),
    }
}
