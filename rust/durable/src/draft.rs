//! Transactions that contain definitions.
//!
//! Their statements run on a draft: a database in memory with the tables and views of another one behind the operations of
//! the transaction. Nobody else sees it. At the commit the operations run on the database itself.
//!
//! Invariant: a draft holds the rows of those tables alone that its statements read, and a commit applies all operations or
//! none, with one commit of the file. It runs the definitions first and the changes as one transaction behind them
//! (`carry`), so that a rollback never has to undo changes. Cost: a draft costs the plans of all views, and copies the
//! tables that are read; a commit costs its operations.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Error, Result};
use ringview_engine::{Alteration, Change, Database, Options, Poll};

use crate::carry::changes_last;
use crate::database::DurableDatabase;
use crate::journal::{Draft, Operation, of_defaults};
use crate::record::{Record, Steps, TableDefinition};

impl DurableDatabase {
    /// A draft of this database behind the changes of a transaction. Statements that run on it are not seen here before
    /// [`commit_draft`](Self::commit_draft). O(tables), and a plan a view.
    ///
    /// ```
    /// use ringview_core::{Field, Schema, Type};
    /// use ringview_durable::DurableDatabase;
    /// use ringview_engine::Options;
    ///
    /// let mut db = DurableDatabase::new(Options::default());
    /// let mut draft = db.draft(&[], &mut |_| Ok(()))?;
    /// let schema = Schema::new(vec![Field::new("units", Type::Int64, true)])?;
    /// draft.create_table("sales", schema, None, false)?;
    /// assert!(db.tables().is_empty());
    /// db.commit_draft(&draft, &mut |_| Ok(()))?;
    /// assert_eq!(db.tables(), ["sales"]);
    /// # Ok::<(), ringview_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Value` for rows that Arrow cannot write; `Memory`; what `poll` returns.
    pub fn draft(&self, changes: &[Change<'_>], poll: Poll<'_>) -> Result<Self> {
        let mut draft = Draft::default();
        if !changes.is_empty() {
            let record = Record::changes(changes, false, None)?;
            draft.operations.push(Operation::Changes(record));
        }
        self.drafted(draft, poll)
    }

    /// Copies the tables that a statement on a draft reads, by themselves or through views, if they are not there.
    ///
    /// # Errors
    /// `Unsupported` for a sample, and for a table whose rows are not kept; `Memory`; what `poll` returns; as the changes
    /// of the transaction.
    pub fn fill_draft(
        &self,
        draft: &mut Self,
        names: &BTreeSet<String>,
        poll: Poll<'_>,
    ) -> Result<()> {
        let Some(state) = &draft.journal.draft else {
            return Ok(());
        };
        let (tables, views) = draft.engine.rested_on(names)?;
        draft.engine.refuse_samples(&views)?;
        let mut origins = state.origins(self.engine.tables());
        let read = tables.iter().filter_map(|table| origins.remove(table)?);
        let mut copied: BTreeSet<String> = read.collect();
        if copied.is_subset(&state.copied) {
            return Ok(());
        }
        copied.extend(state.copied.iter().cloned());
        let operations = state.operations.clone();
        *draft = self.drafted(Draft { operations, copied }, poll)?;
        Ok(())
    }

    /// Number of operations of a draft. O(1).
    #[must_use]
    pub fn draft_len(&self) -> usize {
        let draft = self.journal.draft.as_ref();
        draft.map_or(0, |draft| draft.operations.len())
    }

    /// Undoes the operations of a draft behind the first so many.
    ///
    /// # Errors
    /// As [`draft`](Self::draft).
    pub fn undo_draft(&self, draft: &mut Self, operations: usize, poll: Poll<'_>) -> Result<()> {
        if let Some(state) = &draft.journal.draft
            && operations < state.operations.len()
        {
            let state = Draft {
                operations: state.operations[..operations].to_vec(),
                copied: state.copied.clone(),
            };
            *draft = self.drafted(state, poll)?;
        }
        Ok(())
    }

    /// Runs the operations of a draft on this database: all of them, or none.
    ///
    /// # Errors
    /// As the definitions and changes; `Unsupported` for a view over a static table that the transaction changed before;
    /// `Storage` if the file cannot be written.
    pub fn commit_draft(&mut self, draft: &Self, poll: Poll<'_>) -> Result<()> {
        let Some(Draft { operations, .. }) = &draft.journal.draft else {
            return Ok(());
        };
        let (definitions, changes) = changes_last(operations, self.static_tables()?)?;
        self.compact_if_due();
        let Self {
            engine, journal, ..
        } = self;
        engine.begin_definitions();
        let mut keep = || {
            journal.write(|| {
                let changes = (!changes.is_empty()).then(|| Operation::Changes(changes.clone()));
                Ok(definitions.iter().cloned().chain(changes).collect())
            })
        };
        let done = definitions
            .iter()
            .try_for_each(|one| run(engine, one, &mut *poll))
            .and_then(|()| Steps::read([&changes]))
            .and_then(|steps| {
                steps.with(|changes| engine.apply_with(changes, false, poll, &mut keep))
            });
        if let Err(problem) = done {
            return engine.roll_back_definitions().and(Err(problem));
        }
        engine.commit_definitions();
        self.ahead = true;
        definitions.iter().for_each(|one| self.know(one));
        Ok(())
    }

    /// A draft of this database with the rows of some tables, behind operations.
    fn drafted(&self, draft: Draft, poll: Poll<'_>) -> Result<Self> {
        let options = Options {
            trust_deletes: false,
            ..self.engine.options()
        };
        let mut made = Self::new(options);
        if let Some(now) = self.engine.now() {
            made.engine.apply(&[Change::Advance(now)], &mut *poll)?;
        }
        for name in self.engine.tables() {
            let status = self.engine.table(&name)?;
            let table = TableDefinition {
                name: name.clone(),
                schema: (*status.schema).clone(),
                unique: status.unique,
                is_static: status.is_static,
                keep_for: status.keep_for,
            };
            made.create_table_from(table, self.engine.defaults(&name)?)?;
            if draft.copied.contains(&name) {
                self.engine.copy_rows(&name, &mut made.engine, &mut *poll)?;
            }
        }
        made.definitions = self.definitions.clone();
        made.definitions.create(&mut made.engine, &mut *poll)?;
        let mut filled = draft.copied.clone();
        for operation in &draft.operations {
            match operation {
                Operation::Changes(record) => Steps::read([record])?.with(|changes| {
                    let is_filled = |change: &&Change<'_>| {
                        let table = change.table();
                        table.is_none_or(|table| filled.contains(table))
                    };
                    let own: Vec<Change<'_>> = changes.iter().filter(is_filled).copied().collect();
                    made.engine.apply(&own, &mut *poll)
                })?,
                definition => {
                    run(&mut made.engine, definition, &mut *poll)?;
                    made.know(definition);
                }
            }
            match operation {
                Operation::Table(table, _) => drop(filled.insert(table.name.clone())),
                Operation::DropTable(name) => drop(filled.remove(name)),
                Operation::Alter {
                    table,
                    change: Alteration::RenameTable(to),
                    ..
                } if filled.remove(table) => drop(filled.insert(to.clone())),
                _ => {}
            }
        }
        made.journal.draft = Some(draft);
        Ok(made)
    }

    fn static_tables(&self) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for name in self.engine.tables() {
            if self.engine.table(&name)?.is_static {
                found.insert(name);
            }
        }
        Ok(found)
    }

    /// Follows what a definition does to views.
    fn know(&mut self, definition: &Operation) {
        match definition {
            Operation::View(view) => {
                self.forget_followers(&view.name);
                self.definitions.put((**view).clone());
            }
            Operation::DropView(name) => {
                self.forget_followers(name);
                self.definitions.remove(name);
            }
            _ => {}
        }
    }

    /// Refuses to replace a view in a transaction if other views read it.
    pub(crate) fn refuse_readers_in_draft(&self, name: &str) -> Result<()> {
        if self.journal.draft.is_none() || self.engine.view_id(name).is_err() {
            return Ok(());
        }
        let readers = self.engine.views_above(name)?;
        match readers.is_empty() {
            true => Ok(()),
            false => Err(Error::Unsupported {
                what: format!("replacing view {name:?} in a transaction"),
                why: format!("other views read it: {}", readers.join(", ")),
                instead: "replace it outside of a transaction, or drop those and create them anew"
                    .to_owned(),
            }),
        }
    }
}

impl Draft {
    /// The tables that the transaction sees by their names, with the name of each in the database; `None` for new ones.
    fn origins(&self, tables: Vec<String>) -> BTreeMap<String, Option<String>> {
        let there = tables.into_iter().map(|name| (name.clone(), Some(name)));
        let mut origins: BTreeMap<String, Option<String>> = there.collect();
        for operation in &self.operations {
            match operation {
                Operation::Table(table, _) => drop(origins.insert(table.name.clone(), None)),
                Operation::DropTable(name) => drop(origins.remove(name)),
                Operation::Alter {
                    table,
                    change: Alteration::RenameTable(to),
                    ..
                } => {
                    if let Some(origin) = origins.remove(table) {
                        origins.insert(to.clone(), origin);
                    }
                }
                _ => {}
            }
        }
        origins
    }
}

/// Runs an operation, for whoever writes it elsewhere.
fn run(engine: &mut Database, operation: &Operation, poll: Poll<'_>) -> Result<()> {
    match operation {
        Operation::Table(table, defaults) => {
            engine.create_table_with(
                &table.name,
                table.schema.clone(),
                table.unique.as_deref(),
                table.is_static,
                table.keep_for.as_ref(),
            )?;
            for (change, value) in &of_defaults(defaults)? {
                let value = Some(value);
                engine.alter_table(&table.name, change, value, &mut *poll, &mut || Ok(()))?;
            }
            Ok(())
        }
        Operation::DropTable(name) => engine.drop_table(name),
        Operation::Alter {
            table,
            change,
            value,
        } => engine.alter_table(table, change, value.as_ref(), poll, &mut || Ok(())),
        Operation::View(view) => {
            if engine.view_id(&view.name).is_ok() {
                engine.drop_view(&view.name)?;
            }
            view.create(engine, poll)
        }
        Operation::DropView(name) => engine.drop_view(name),
        Operation::Changes(record) => {
            Steps::read([record])?.with(|changes| engine.apply(changes, poll))
        }
    }
}
