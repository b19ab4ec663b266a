//! Drafts: what the statements of a transaction with definitions run on.
//!
//! Invariant: a draft is a database of its own, which nobody else holds; its transaction changes nothing before
//! `commit_draft`. Cost: see `ringview_durable`.

use std::collections::BTreeSet;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ringview_core::Result;
use ringview_sql::{AlterColumns, Conflict, Statement as Sql};

use super::Database;
use crate::ending::detach;
use crate::function::Declared;
use crate::planned::names_of;
use crate::statement::Statement;
use crate::watch::Progress;

#[pymethods]
impl Database {
    /// A draft of this database behind the changes of a transaction.
    fn draft(&self, py: Python<'_>, pending: Vec<Bound<'_, PyTuple>>) -> PyResult<Database> {
        let draft = self.with_changes(&pending, |changes, _| {
            let held = self.engine(py)?;
            let database = &*held.value;
            let mut watch = Progress::new(None, 0);
            let draft = detach(py, || database.draft(changes, &mut |done| watch.poll(done)));
            watch.finish(py, draft)
        })?;
        let draft = Database::of(draft);
        let functions = self.declared().iter().map(Declared::copy).collect();
        *draft.declared() = functions;
        Ok(draft)
    }

    /// Gives a draft the rows that a statement reads, if it has not got them.
    fn fill_draft(&self, py: Python<'_>, draft: &Database, statement: &Statement) -> PyResult<()> {
        let held = self.engine(py)?;
        let mut drafted = draft.engine(py)?;
        let (database, drafted) = (&*held.value, &mut *drafted.value);
        let mut watch = Progress::new(None, 0);
        let filled = detach(py, || {
            let names = read_by(statement, drafted)?;
            database.fill_draft(drafted, &names, &mut |done| watch.poll(done))
        });
        draft.forget_row_layouts();
        watch.finish(py, filled)
    }

    /// Number of operations of a draft.
    fn draft_len(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.engine(py)?.value.draft_len())
    }

    /// Undoes the operations of a draft behind the first so many.
    fn undo_draft(&self, py: Python<'_>, draft: &Database, operations: usize) -> PyResult<()> {
        let held = self.engine(py)?;
        let mut drafted = draft.engine(py)?;
        let (database, drafted) = (&*held.value, &mut *drafted.value);
        let mut watch = Progress::new(None, 0);
        let undone = detach(py, || {
            database.undo_draft(drafted, operations, &mut |done| watch.poll(done))
        });
        draft.forget_row_layouts();
        watch.finish(py, undone)
    }

    /// Does what was done to a draft: all of it, or nothing.
    fn commit_draft(&self, py: Python<'_>, draft: &Database) -> PyResult<()> {
        let drafted = draft.engine(py)?;
        let draft = &*drafted.value;
        self.change_views(py, |database, poll| database.commit_draft(draft, poll))?;
        self.forget_row_layouts();
        Ok(())
    }
}

/// The tables and views that a statement reads.
fn read_by(
    statement: &Statement,
    database: &ringview_engine::Database,
) -> Result<BTreeSet<String>> {
    let (known, tables) = (names_of(database), database.tables());
    let of_table = |name: &ringview_sql::Name| Ok(BTreeSet::from([name.table(&tables)?]));
    let schema = |name: &ringview_sql::Name| {
        let table = name.table(&tables)?;
        Ok(database.table_schema(&table)?.1)
    };
    match &statement.sql {
        Sql::Select(of) => Ok(of.reads(&known)),
        Sql::Insert(of) => {
            let mut names = of.rows.reads(&known);
            if !matches!(of.conflict, Conflict::Refuse) {
                names.append(&mut of_table(&of.table)?);
            }
            Ok(names)
        }
        Sql::Update(of) => {
            let mut names = of_table(&of.table)?;
            let table: Option<&String> = names.first();
            let table = table.cloned().unwrap_or_default();
            let (select, _) = of.select(&table, &*schema(&of.table)?)?;
            names.append(&mut select.reads(&known));
            Ok(names)
        }
        Sql::Delete(of) => {
            let mut names = of_table(&of.table)?;
            if let Some(select) = of.select(&*schema(&of.table)?)? {
                names.append(&mut select.reads(&known));
            }
            Ok(names)
        }
        Sql::CreateTable(of) => Ok(of
            .rows
            .as_ref()
            .map_or_else(BTreeSet::new, |rows| rows.reads(&known))),
        // Whether a column may be NOT NULL hangs on the rows.
        Sql::Alter(of) => match &of.change {
            AlterColumns::Add { field, .. } if !field.nullable => of_table(&of.table),
            _ => Ok(BTreeSet::new()),
        },
        _ => Ok(BTreeSet::new()),
    }
}
