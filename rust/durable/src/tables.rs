//! Creating, altering and dropping tables, in a database and its file.
//!
//! Invariant: a change of a table is in both, or in neither: it is one commit of the file. Cost: that of the engine,
//! and of the commit.

use arrow_array::RecordBatch;
use ringview_core::{Result, Schema};
#[cfg(doc)]
use ringview_engine::Database;
use ringview_engine::{Alteration, Change, Defaults, Direction, Op, Poll};

use crate::database::DurableDatabase;
use crate::journal::{Operation, of_defaults};
use crate::record::{Record, TableDefinition};

impl DurableDatabase {
    /// As [`Database::create_table`].
    ///
    /// # Errors
    /// The same; `Storage` if the file cannot be written.
    pub fn create_table(
        &mut self,
        name: &str,
        schema: Schema,
        unique: Option<&[String]>,
        is_static: bool,
    ) -> Result<()> {
        self.create_table_from(
            TableDefinition {
                name: name.to_owned(),
                schema,
                unique: unique.map(<[String]>::to_vec),
                is_static,
                keep_for: None,
            },
            &Defaults::new(),
        )
    }

    /// Creates a table as it is defined, with the defaults of its columns.
    ///
    /// # Errors
    /// As [`Database::create_table_with`]; `UnknownColumn` and `Value` for a default that no column has, or not so;
    /// `Storage` if the file cannot be written.
    pub fn create_table_from(&mut self, table: TableDefinition, defaults: &Defaults) -> Result<()> {
        self.engine.create_table_with(
            &table.name,
            table.schema.clone(),
            table.unique.as_deref(),
            table.is_static,
            table.keep_for.as_ref(),
        )?;
        let name = table.name.clone();
        let done = self.give_defaults(table, defaults);
        done.or_else(|problem| self.engine.drop_table(&name).and(Err(problem)))
    }

    /// Gives a new table its defaults, and writes both.
    fn give_defaults(&mut self, table: TableDefinition, defaults: &Defaults) -> Result<()> {
        for (change, value) in &of_defaults(defaults)? {
            self.engine.alter_table(
                &table.name,
                change,
                Some(value),
                &mut |_| Ok(()),
                &mut || Ok(()),
            )?;
        }
        self.keep(|| Operation::Table(table, defaults.clone()))
    }

    /// Creates a table with rows in it: all of it, or nothing.
    ///
    /// # Errors
    /// As [`Database::create_table`] and [`Database::apply`]; `Storage` if the file cannot be written.
    pub fn create_table_filled(
        &mut self,
        name: &str,
        schema: Schema,
        rows: &[RecordBatch],
        poll: Poll<'_>,
    ) -> Result<()> {
        let Self {
            engine, journal, ..
        } = self;
        engine.create_table(name, schema.clone(), None, false)?;
        let table = TableDefinition {
            name: name.to_owned(),
            schema,
            unique: None,
            is_static: false,
            keep_for: None,
        };
        let all = Change::Rows(Op {
            table: name,
            direction: Direction::Insert,
            rows,
            multiplicity: None,
        });
        let mut keep = || {
            journal.write(|| {
                let filled = Record::changes(&[all], false, None)?;
                let table = Operation::Table(table.clone(), Defaults::new());
                Ok(vec![table, Operation::Changes(filled)])
            })
        };
        if let Err(problem) = engine.apply_with(&[all], false, poll, &mut keep) {
            return engine.drop_table(name).and(Err(problem));
        }
        self.ahead = true;
        Ok(())
    }

    /// As [`Database::drop_table`].
    ///
    /// # Errors
    /// The same; `Storage` if the file cannot be written.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        self.engine.can_drop_table(name)?;
        self.keep(|| Operation::DropTable(name.to_owned()))?;
        self.engine.drop_table(name)
    }

    /// Drops a table, or a view, and all views that read it on any way: all of them, or none.
    ///
    /// # Errors
    /// `UnknownTable` if there is neither of this name; `Storage` if the file cannot be written.
    pub fn drop_with_readers(&mut self, name: &str) -> Result<()> {
        let mut views = self.engine.views_above(name)?;
        let is_table = self.engine.table_schema(name).is_ok();
        if !is_table {
            views.push(name.to_owned());
        }
        self.ahead = true;
        self.journal.write(|| {
            let drops = views.iter().cloned().map(Operation::DropView);
            let table = is_table.then(|| Operation::DropTable(name.to_owned()));
            Ok(drops.chain(table).collect())
        })?;
        for view in &views {
            self.definitions.remove(view);
            self.forget_followers(view);
            self.engine.drop_view(view)?;
        }
        match is_table {
            true => self.engine.drop_table(name),
            false => Ok(()),
        }
    }

    /// As [`Database::alter_table`].
    ///
    /// # Errors
    /// The same; `Storage` if the file cannot be written.
    pub fn alter_table(
        &mut self,
        name: &str,
        change: &Alteration,
        value: Option<&RecordBatch>,
        poll: Poll<'_>,
    ) -> Result<()> {
        let Self {
            engine, journal, ..
        } = self;
        let mut keep = || {
            journal.write(|| {
                Ok(vec![Operation::Alter {
                    table: name.to_owned(),
                    change: change.clone(),
                    value: value.cloned(),
                }])
            })
        };
        engine.alter_table(name, change, value, poll, &mut keep)?;
        self.ahead = true;
        Ok(())
    }
}
