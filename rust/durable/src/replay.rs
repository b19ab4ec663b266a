//! The database of a file: its records are applied again.
//!
//! Invariant: the outcome is that of the calls which wrote them. Views of tables that keep their rows are created last,
//! all at once, each filled from all rows. If rows are not kept, each is created at its record, consecutive ones at
//! once. The state of a sample belongs to the rows at its record, so all views are created there. Cost: O(rows of the
//! changes), and what filling the views costs.

use std::cell::Cell;
use std::path::Path;

use ringview_core::{Error, Result};
use ringview_engine::{Database, Options, Poll};

use crate::database::{DurableDatabase, Opening};
use crate::definition::{Bind, ViewDefinition};
use crate::file::{File, Sizes};
use crate::record::{Entry, Record, Steps};
use crate::unread::damaged;

impl DurableDatabase {
    /// Opens a database, or makes one if there is no file; it holds the file until it is closed or dropped.
    ///
    /// # Errors
    /// `Snapshot` for a file that is no database, is damaged, or of a later version; `Storage` if it cannot be
    /// opened, or is open elsewhere; `Value` if tables keep their rows in the file and not in the options,
    /// or the other way round; `Memory`; what `poll` returns.
    pub fn open(
        path: &Path,
        options: Options,
        opening: Opening<'_>,
        poll: Poll<'_>,
    ) -> Result<Self> {
        let file = File::open(path, options.trust_deletes, options.memory_limit)?;
        Self::from_file(file, options, opening, poll)
    }

    /// The database of a file, which it continues to write.
    pub(crate) fn from_file(
        mut file: File,
        options: Options,
        opening: Opening<'_>,
        poll: Poll<'_>,
    ) -> Result<Self> {
        if file.head.trust_deletes != options.trust_deletes {
            return Err(Error::Value {
                place: format!("the database {}", file.path.display()),
                problem: format!(
                    "was made with trust_deletes={}; open it so",
                    file.head.trust_deletes
                ),
            });
        }
        let Opening {
            bind, tell_last, ..
        } = opening;
        let (mut database, sizes) = Self::replayed(&file, options, bind, tell_last, poll)?;
        file.sizes = sizes;
        database.journal.file = Some(file);
        database.journal.durability = opening.durability;
        database.compact_at = opening.compact_at;
        Ok(database)
    }

    /// Reads a database from a file into memory; the file is closed again. The file defines whether deletes are
    /// trusted; `bind` as of an [`Opening`].
    ///
    /// # Errors
    /// As [`open`](Self::open); `Storage` if there is no file.
    pub fn load(path: &Path, options: Options, bind: Bind<'_>, poll: Poll<'_>) -> Result<Self> {
        let file = File::reading(path, options.memory_limit)?;
        let options = Options {
            trust_deletes: file.head.trust_deletes,
            ..options
        };
        let (mut database, _) = Self::replayed(&file, options, bind, false, poll)?;
        database.engine.count_external_bytes(0);
        Ok(database)
    }

    fn replayed(
        file: &File,
        options: Options,
        bind: Bind<'_>,
        tell_last: bool,
        poll: Poll<'_>,
    ) -> Result<(Self, Sizes)> {
        let mut database = Self::new(options);
        database.engine.count_external_bytes(file.cache_bytes());
        let mut told = !tell_last;
        // The first one last; followers that have received nothing yet are behind all records.
        let mut cursors = file.cursors()?;
        cursors.sort_by_key(|cursor| std::cmp::Reverse(cursor.at.unwrap_or(u64::MAX)));
        // From the first place on, changes of views are logged for followers.
        let mut stepwise = false;
        // Each call of the engine counts its rows from 0.
        let (before, counted) = (Cell::new(0), Cell::new(0));
        let mut poll = |done| {
            if done < counted.get() {
                before.set(before.get() + counted.get());
            }
            counted.set(done);
            poll(before.get() + done)
        };
        let sizes = file.read(|record, number, is_last| {
            while let Some(cursor) = cursors.pop_if(|cursor| cursor.at == Some(number)) {
                database.create_waiting(&mut poll)?;
                database.resume(&cursor)?;
                stepwise = true;
            }
            let is_view = matches!(record.entry, Entry::View(_) | Entry::Sample(_));
            let is_due = stepwise || options.trust_deletes || database.definitions.has_states();
            let to_be_told = !told && is_last && matches!(record.entry, Entry::Changes { .. });
            if to_be_told || is_due && !is_view {
                database.create_waiting(&mut poll)?;
            }
            if to_be_told {
                database.engine.begin_changes();
                told = true;
            }
            let done = database.replay(&record, bind, &mut poll);
            before.set(before.get() + counted.take());
            done.map_err(|problem| match problem {
                told @ (Error::Memory { .. }
                | Error::Interrupted
                | Error::Snapshot { .. }
                | Error::Function { .. }) => told,
                problem => damaged(&problem.to_string()),
            })
        })?;
        database.create_waiting(&mut poll)?;
        for cursor in cursors.iter().rev() {
            match cursor.at {
                Some(at) if at != file.head.records => {
                    return Err(damaged("a follower stands behind its end"));
                }
                _ => database.resume(cursor)?,
            }
        }
        if !told {
            // The last record was no transaction: there are no changes to report.
            database.engine.begin_changes();
        }
        Ok((database, sizes))
    }

    /// Creates the views that are not there yet.
    fn create_waiting(&mut self, poll: Poll<'_>) -> Result<()> {
        self.definitions.create(&mut self.engine, poll)
    }

    /// Does what a record says, but for views that are not there yet.
    fn replay(&mut self, record: &Record, bind: Bind<'_>, poll: Poll<'_>) -> Result<()> {
        if let Entry::View(view) = &record.entry {
            return self.replay_view(view.read(bind)?, poll);
        }
        let Self { engine, .. } = self;
        match &record.entry {
            Entry::Table(table) => {
                let schema = table.schema.clone();
                engine.create_table_with(
                    &table.name,
                    schema,
                    table.unique.as_deref(),
                    table.is_static,
                    table.keep_for.as_ref(),
                )
            }
            Entry::DropTable(name) => engine.drop_table(name),
            Entry::Alter { table, change } => {
                let value = record.first_rows()?;
                engine.alter_table(table, change, value.as_ref(), poll, &mut || Ok(()))
            }
            Entry::View(_) => Ok(()),
            Entry::DropView(name) => {
                self.definitions.remove(name);
                match engine.view_id(name) {
                    Ok(_) => engine.drop_view(name),
                    Err(_) => Ok(()),
                }
            }
            Entry::Changes { net, id, .. } => {
                let steps = Steps::read([record])?;
                steps.with(|changes| engine.apply_with(changes, *net, poll, &mut || Ok(())))?;
                if let Some(id) = id {
                    self.applied.add(id.clone());
                }
                Ok(())
            }
            Entry::Applied(applied) => {
                self.applied = applied.clone();
                Ok(())
            }
            Entry::Sample(name) => {
                let state = record.parts.iter().flat_map(|part| &**part).copied();
                self.definitions.resume(name, state.collect(), engine)
            }
        }
    }
}

impl DurableDatabase {
    /// Defines a view, which waits; or, where there is one of its name by now, replaces that.
    fn replay_view(&mut self, view: ViewDefinition, poll: Poll<'_>) -> Result<()> {
        if self.engine.view_id(&view.name).is_ok() {
            // Those that wait may be what it reads.
            self.create_waiting(poll)?;
            let by = view.engine.as_deref();
            let engine = &mut self.engine;
            engine.replace_view_with(&view.name, &view.query, by, poll, &mut || Ok(()))?;
            view.mark(engine)?;
        }
        self.definitions.put(view);
        Ok(())
    }
}

impl File {
    /// The rows that its changes leave, in tables that keep them; no views.
    ///
    /// # Errors
    /// `OverDelete` where more rows were deleted than inserted; `Memory`; as
    /// [`DurableDatabase::open`].
    pub(crate) fn rows(&self, memory_limit: Option<u64>) -> Result<Database> {
        let mut rows = Database::new(Options {
            trust_deletes: false,
            memory_limit,
            ..Options::default()
        });
        let poll: Poll<'_> = &mut |_| Ok(());
        self.read(|record, _, _| match &record.entry {
            // Keys were not checked, and are not now.
            Entry::Table(table) => {
                rows.create_table(&table.name, table.schema.clone(), None, table.is_static)
            }
            Entry::DropTable(name) => rows.drop_table(name),
            Entry::Alter { table, change } => {
                let value = record.first_rows()?;
                rows.alter_table(table, change, value.as_ref(), &mut *poll, &mut || Ok(()))
            }
            Entry::Changes { .. } => {
                let steps = Steps::read([&record])?;
                steps.with(|changes| rows.apply_with(changes, true, poll, &mut || Ok(())))
            }
            _ => Ok(()),
        })?;
        Ok(rows)
    }
}
