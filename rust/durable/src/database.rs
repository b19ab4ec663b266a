//! A database and its file: the effect of a call that returned is in both, of one that failed in
//! neither.
//!
//! Invariant: the file's records, done again, give tables and views as they are; without a file, or with durability of
//! snapshots only, they are written on request. A change is encoded as a record first, and the record is applied: the
//! caller's memory is read once. Cost: see the crate.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use arrow_array::RecordBatch;
use ringview_core::{Error, Result};
use ringview_engine::{Change, Database, Options, Poll};

use crate::applied::{Applied, BatchId};
use crate::definition::{Bind, Definitions, ViewDefinition, create_together};
use crate::file::{File, FileStatus};
use crate::journal::{Durability, Journal, Operation};
use crate::record::{Record, Steps};
use crate::standing::Named;

/// Options for opening a file.
#[derive(Clone, Copy)]
pub struct Opening<'b> {
    /// Function that binds the texts of its views; those that have none have their queries in the
    /// file.
    pub bind: Bind<'b>,
    /// Guarantee about the disk when a call returns.
    pub durability: Durability,
    /// Whether `view_changes` begins with what the last transaction moved, if it is the last record of the file: a
    /// caller that passes changes on, and may have crashed before that, receives them again.
    pub tell_last: bool,
    /// Ratio of the log to a snapshot, in bytes, at which the file is rewritten; only on request, if `None`. So the
    /// file has at most this ratio plus one times the bytes of a snapshot.
    pub compact_at: Option<f64>,
}

impl fmt::Debug for Opening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening")
            .field("durability", &self.durability)
            .field("tell_last", &self.tell_last)
            .field("compact_at", &self.compact_at)
            .finish_non_exhaustive()
    }
}

impl Default for Opening<'_> {
    fn default() -> Self {
        Self {
            bind: &|_, _| {
                let problem = "this database is opened without what binds texts".to_owned();
                let place = "a view".to_owned();
                Err(Error::Value { place, problem })
            },
            durability: Durability::default(),
            tell_last: false,
            compact_at: Some(2.0),
        }
    }
}

/// A database that may have a file.
///
/// It can be read as what it keeps: a [`Database`].
///
/// ```
/// use ringview_core::{Field, Schema, Type};
/// use ringview_durable::{DurableDatabase, Opening};
/// use ringview_engine::Options;
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("sales.ringview");
/// let open = || DurableDatabase::open(&path, Options::default(), Opening::default(), &mut |_| Ok(()));
/// let mut db = open()?;
/// let schema = Schema::new(vec![Field::new("units", Type::Int64, true)])?;
/// db.create_table("sales", schema, None, false)?;
/// drop(db);
/// assert_eq!(open()?.tables(), ["sales"]);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct DurableDatabase {
    pub(crate) engine: Database,
    pub(crate) definitions: Definitions,
    pub(crate) applied: Applied,
    pub(crate) named: Named,
    pub(crate) journal: Journal,
    /// When the file is written anew unasked.
    pub(crate) compact_at: Option<f64>,
    /// Whether something happened since the file was written anew, or opened.
    pub(crate) ahead: bool,
}

impl Deref for DurableDatabase {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.engine
    }
}

impl DurableDatabase {
    /// A database in memory.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            engine: Database::new(options),
            ..Self::default()
        }
    }

    /// The database in memory, for what leaves no trace in the file: places of readers without names, queries.
    pub fn readers(&mut self) -> &mut Database {
        &mut self.engine
    }

    /// Path of its file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.journal.file.as_ref().map(|file| &*file.path)
    }

    /// Definitions of its views.
    pub fn definitions(&self) -> impl Iterator<Item = &ViewDefinition> {
        self.definitions.iter()
    }

    /// Status of its file.
    ///
    /// # Errors
    /// `Storage` if the file cannot be read.
    pub fn file_status(&self) -> Result<Option<FileStatus>> {
        self.journal.file.as_ref().map(File::status).transpose()
    }

    /// Bytes held, part by part; of a file as many of its pages as may be held.
    #[must_use]
    pub fn memory_usage(&self) -> Vec<(String, usize)> {
        let mut parts = self.engine.memory_usage();
        let cache = self.journal.file.as_ref().map(File::cache_bytes);
        let cache = cache.and_then(|bytes| usize::try_from(bytes).ok());
        parts.extend(cache.map(|bytes| ("file".to_owned(), bytes)));
        parts
    }

    /// Creates a view, or a sample, as it is defined.
    ///
    /// # Errors
    /// As [`Database::create_view_with`] and [`Database::create_sample`]; `Storage` if the file cannot be written.
    pub fn create_view(&mut self, definition: ViewDefinition, poll: Poll<'_>) -> Result<()> {
        definition.check(&self.engine)?;
        definition.create(&mut self.engine, poll)?;
        if let Err(problem) = self.keep(|| Operation::View(Box::new(definition.clone()))) {
            return self.engine.drop_view(&definition.name).and(Err(problem));
        }
        self.definitions.put(definition);
        Ok(())
    }

    /// Creates several views, all or none, of which none is a sample or reads another.
    ///
    /// # Errors
    /// As [`Database::create_views`]; `Storage` if the file cannot be written.
    pub fn create_views(&mut self, definitions: Vec<ViewDefinition>, poll: Poll<'_>) -> Result<()> {
        let all: Vec<&ViewDefinition> = definitions.iter().collect();
        create_together(&all, &mut self.engine, poll)?;
        self.ahead = true;
        let kept = self.journal.write(|| {
            let operations = definitions.iter().cloned();
            Ok(operations
                .map(|one| Operation::View(Box::new(one)))
                .collect())
        });
        if let Err(problem) = kept {
            let mut names = definitions.iter().rev().map(|one| &one.name);
            return names
                .try_for_each(|name| self.engine.drop_view(name))
                .and(Err(problem));
        }
        for definition in definitions {
            self.definitions.put(definition);
        }
        Ok(())
    }

    /// As [`Database::replace_view_with`].
    ///
    /// # Errors
    /// The same; `Storage` if the file cannot be written.
    pub fn replace_view(&mut self, definition: ViewDefinition, poll: Poll<'_>) -> Result<()> {
        self.refuse_readers_in_draft(&definition.name)?;
        definition.check(&self.engine)?;
        let Self {
            engine, journal, ..
        } = self;
        let mut keep = || journal.write(|| Ok(vec![Operation::View(Box::new(definition.clone()))]));
        let (name, by) = (&definition.name, definition.engine.as_deref());
        engine.replace_view_with(name, &definition.query, by, poll, &mut keep)?;
        definition.mark(engine)?;
        self.forget_followers(&definition.name);
        self.ahead = true;
        self.definitions.put(definition);
        Ok(())
    }

    /// As [`Database::drop_view`].
    ///
    /// # Errors
    /// The same; `Storage` if the file cannot be written.
    pub fn drop_view(&mut self, name: &str) -> Result<()> {
        self.engine.can_drop_view(name)?;
        self.keep(|| Operation::DropView(name.to_owned()))?;
        self.definitions.remove(name);
        self.forget_followers(name);
        self.engine.drop_view(name)
    }

    /// As [`Database::resume_view`]. Writes nothing: whoever opens the file fills the view from its rows.
    ///
    /// # Errors
    /// The same.
    pub fn resume_view(&mut self, name: &str, poll: Poll<'_>) -> Result<Vec<String>> {
        self.engine.resume_view(name, poll)
    }

    /// Applies a transaction, of which the net effect counts if `net`; with an identity that was applied
    /// before, does nothing and returns false.
    ///
    /// # Errors
    /// As [`Database::apply`] and [`Database::apply_net`]; `Storage` if the file cannot be written. Nothing has
    /// changed then; but if the disk failed while it was written, it may be there when the file is opened
    /// again, wholly.
    pub fn apply(
        &mut self,
        changes: &[Change<'_>],
        (net, id): (bool, Option<BatchId>),
        poll: Poll<'_>,
    ) -> Result<bool> {
        if id.as_ref().is_some_and(|id| self.is_applied(id)) {
            return Ok(false);
        }
        if self.is_written() {
            self.compact_if_due();
            let record = Record::changes(changes, net, id)?;
            return self.apply_written([&record], net, poll).map(|()| true);
        }
        self.engine.apply_with(changes, net, poll, &mut || Ok(()))?;
        self.ahead = true;
        self.applied.extend(id);
        Ok(true)
    }

    /// Applies transactions as one, and writes each.
    pub(crate) fn apply_written<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a Record> + Clone,
        net: bool,
        poll: Poll<'_>,
    ) -> Result<()> {
        let Self {
            engine, journal, ..
        } = self;
        let mut keep = || journal.write_changes(records.clone());
        Steps::read(records.clone())?
            .with(|changes| engine.apply_with(changes, net, poll, &mut keep))?;
        self.ahead = true;
        let ids = records.into_iter().filter_map(|record| record.identity().0);
        self.applied.extend(ids.cloned());
        Ok(())
    }

    /// Whether each transaction is written as it is committed.
    pub(crate) fn is_written(&self) -> bool {
        self.journal.is_written()
    }

    /// Number of writes of its file since it was opened.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.journal.file.as_ref().map_or(0, |file| file.commits)
    }

    /// As [`Database::merge_partials`], of a database in memory.
    ///
    /// # Errors
    /// The same; `Unsupported` with a file, which keeps rows.
    pub fn merge_partials(
        &mut self,
        name: &str,
        rows: &[RecordBatch],
        poll: Poll<'_>,
    ) -> Result<()> {
        if self.journal.file.is_some() {
            return Err(Error::Unsupported {
                what: "merging partials in a database with a file".to_owned(),
                why: "its file keeps rows, from which views are made anew, and a partial has none"
                    .to_owned(),
                instead: "merge into a view of Database()".to_owned(),
            });
        }
        self.engine.merge_partials(name, rows, poll)
    }

    /// Whether a change of this identity was applied.
    #[must_use]
    pub fn is_applied(&self, id: &BatchId) -> bool {
        self.applied.holds(id)
    }

    /// Writes an operation, if every one is durable.
    pub(crate) fn keep(&mut self, operation: impl FnOnce() -> Operation) -> Result<()> {
        self.ahead = true;
        self.journal.write(|| Ok(vec![operation()]))
    }
}
