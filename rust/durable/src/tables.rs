//! Tables that come, change and go, in a database and its file.
//!
//! Invariant: what is done to a table is in both, or in neither: it is one commit of the file. Cost: that of the engine, and
//! of the commit.

use arrow_array::RecordBatch;
use ringview_core::{Result, Schema};
#[cfg(doc)]
use ringview_engine::Database;
use ringview_engine::{Alteration, Change, Direction, KeepFor, Op, Poll};

use crate::database::{Durability, DurableDatabase};
use crate::record::{Entry, Record, TableDefinition};

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
        self.create_table_with(name, schema, unique, is_static, None)
    }

    /// As [`Database::create_table_with`].
    ///
    /// # Errors
    /// The same; `Storage` if the file cannot be written.
    pub fn create_table_with(
        &mut self,
        name: &str,
        schema: Schema,
        unique: Option<&[String]>,
        is_static: bool,
        keep_for: Option<&KeepFor>,
    ) -> Result<()> {
        self.engine
            .create_table_with(name, schema.clone(), unique, is_static, keep_for)?;
        let kept = self.keep(|| {
            Entry::Table(TableDefinition {
                name: name.to_owned(),
                schema,
                unique: unique.map(<[String]>::to_vec),
                is_static,
                keep_for: keep_for.cloned(),
            })
        });
        kept.or_else(|problem| self.engine.drop_table(name).and(Err(problem)))
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
            engine,
            file,
            durability,
            ..
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
        let mut keep = || match (&mut *file, *durability) {
            (Some(file), Durability::Transaction) => {
                let filled = Record::changes(&[all], false, None)?;
                file.append(&[Entry::Table(table.clone()).into(), filled])
            }
            _ => Ok(()),
        };
        if let Err(problem) = engine.apply_kept(&[all], false, poll, &mut keep) {
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
        self.keep(|| Entry::DropTable(name.to_owned()))?;
        self.engine.drop_table(name)
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
            engine,
            file,
            durability,
            ..
        } = self;
        let mut keep = || match (&mut *file, *durability) {
            (Some(file), Durability::Transaction) => {
                file.append([&Record::alter(name, change, value)?])
            }
            _ => Ok(()),
        };
        engine.alter_table(name, change, value, poll, &mut keep)?;
        self.ahead = true;
        Ok(())
    }
}
