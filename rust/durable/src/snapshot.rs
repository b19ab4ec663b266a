//! The file written anew, from what is there; and copies of a database.
//!
//! Invariant: it holds the tables with their rows, the views as they were defined, the identities of what was
//! applied, and last the states of samples over those rows. Where tables keep no base rows, what is left of
//! them is counted from the file, whose changes are all there; if more went than came, nobody can tell them,
//! and the file stays as it is. Cost: O(rows), one commit; where rows are not kept, O(changes since the last
//! one), and the memory of the rows that are left.

use std::path::{Path, PathBuf};

use ringview_core::{Error, Result};
use ringview_engine::{Database, TableStatus};

use crate::database::{Durability, DurableDatabase};
use crate::file::File;
use crate::record::{Entry, PART, Record, TableDefinition};

/// Where a record goes.
type Write<'a> = &'a mut dyn FnMut(&Record) -> Result<()>;

impl DurableDatabase {
    /// Writes the file anew: opening it costs what is there then, not what happened. On return all that
    /// happened is durable.
    ///
    /// # Errors
    /// `Storage` if the file cannot be written; what it held before is there then. `Unsupported` without a
    /// file, or where rows are not kept and only snapshots are durable; `Memory` where those that are left are
    /// counted.
    pub fn snapshot(&mut self) -> Result<()> {
        let counted = self.counted();
        if self.file.is_some() {
            self.take_in_changes()?;
        }
        let places = self.places()?;
        let Some(mut file) = self.file.take() else {
            return Err(Error::Unsupported {
                what: "a snapshot of a database in memory".to_owned(),
                why: "it has no file".to_owned(),
                instead: "copy it with save(path), or begin with Database.open(path)".to_owned(),
            });
        };
        let before = file.commits;
        let written = match counted {
            Ok(Rows::Kept) => file.rewrite(places, |write| self.write(&self.engine, write)),
            Ok(Rows::Counted(rows)) => file.rewrite(places, |write| self.write(&rows, write)),
            // Its changes are in the file, each as it came.
            Ok(Rows::Overdrawn(_)) => Ok(()),
            Err(problem) => Err(problem),
        };
        if file.commits > before {
            // It was, whatever failed then.
            self.renumber(file.head.records);
        }
        self.file = Some(file);
        self.ahead &= written.is_err();
        written
    }

    /// Writes a copy to a path; it is there whole, or not at all, and takes the place of a file there.
    ///
    /// # Errors
    /// `Storage` if it cannot be written; `Unsupported` where rows are not kept.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.refuse_merged()?;
        let (counted, places) = (self.counted()?, self.places()?);
        let rows = match &counted {
            Rows::Kept => &self.engine,
            Rows::Counted(rows) => rows,
            Rows::Overdrawn(table) => return Err(rows_are_not_kept(table)),
        };
        let draft = beside(path);
        let written = File::make(&draft, self.options().trust_deletes)
            .and_then(|mut file| file.rewrite(places, |write| self.write(rows, write)))
            .and_then(|()| {
                std::fs::rename(&draft, path).map_err(|problem| Error::Storage {
                    action: "write",
                    path: path.display().to_string(),
                    problem: problem.to_string(),
                })
            });
        if written.is_err() {
            // Nothing is lost with it, and what keeps it from going was told already.
            let _ = std::fs::remove_file(&draft);
        }
        written
    }

    /// Makes what is not in the file durable, lets the file go, and forgets all.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot); it stays open then.
    pub fn close(&mut self) -> Result<()> {
        let due = self
            .file
            .as_ref()
            .is_some_and(|file| match self.durability {
                Durability::Transaction => self.rowless().is_none() && file.has_grown(),
                Durability::Snapshot => self.ahead,
            });
        if due {
            self.snapshot()?;
        } else if self.ahead && self.is_written() {
            let samples = self.samples()?;
            if let Some(file) = self.file.as_mut().filter(|_| !samples.is_empty()) {
                file.append(&samples)?;
            }
        }
        *self = Self::default();
        Ok(())
    }

    /// Where the rows are.
    fn counted(&self) -> Result<Rows> {
        match (self.rowless(), &self.file) {
            (None, _) => Ok(Rows::Kept),
            (Some(table), Some(file)) if self.is_written() => {
                match file.rows(self.options().memory_limit) {
                    Ok(rows) => Ok(Rows::Counted(Box::new(rows))),
                    Err(Error::OverDelete { .. }) => Ok(Rows::Overdrawn(table)),
                    Err(problem) => Err(problem),
                }
            }
            (Some(table), _) => Err(rows_are_not_kept(&table)),
        }
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

    /// Writes tables, views and the rows of a database with the same tables. Views stand behind the rows of static
    /// tables, and before all that they could not have where rows are not kept.
    fn write(&self, rows: &Database, write: Write<'_>) -> Result<()> {
        for (name, table) in statuses(&self.engine) {
            let definition = TableDefinition {
                name,
                schema: (*table.schema).clone(),
                unique: table.unique,
                is_static: table.is_static,
            };
            write(&Entry::Table(definition).into())?;
        }
        write_rows(rows, true, write)?;
        for view in self.definitions.iter() {
            write(&Entry::View(Box::new(view.clone())).into())?;
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
    Kept,
    /// Those of this database, which has no views.
    Counted(Box<Database>),
    /// More went from a table than came.
    Overdrawn(String),
}

fn write_rows(database: &Database, of_static: bool, write: Write<'_>) -> Result<()> {
    for (name, table) in statuses(database).filter(|(_, table)| table.is_static == of_static) {
        let multiplicity = fresh_column(&table);
        let rows = database.table_rows(&name, Some(&multiplicity))?;
        for start in (0..rows.num_rows()).step_by(PART) {
            let part = rows.slice(start, PART.min(rows.num_rows() - start));
            write(&Record::insert(&name, &part, &multiplicity)?)?;
        }
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

/// Where a file is written until it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

fn rows_are_not_kept(table: &str) -> Error {
    Error::Unsupported {
        what: format!("writing the rows of table {table:?}"),
        why: "with trust_deletes they are not kept, and no file of its changes tells them"
            .to_owned(),
        instead: "open the database with durability=\"transaction\", which keeps its changes, or \
            create it without trust_deletes"
            .to_owned(),
    }
}
