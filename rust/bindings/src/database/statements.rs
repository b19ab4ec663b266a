//! Statements of a script, done on the database.
//!
//! Invariant: a statement that changes rows reads and changes them in one turn, so that no other change is between; one
//! of a transaction that is open returns the changes that it would make, and makes none. Cost: that of its query and
//! its changes.

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use ringview_core::{Error, Field, Result, Schema, SqlProblem};
use ringview_durable::ViewDefinition;
use ringview_engine::{Defaults, Poll};
use ringview_sql::{Definition, Statement as Sql};

use super::Database;
use super::changes::read_id;
use crate::ending::detach;
use crate::errors::OrRaise;
use crate::handle::Handle;
use crate::incoming::{Batches, BufferMode};
use crate::outgoing::Rows;
use crate::planned::{Planned, Reader, StepKind};
use crate::statement::Statement;
use crate::watch::Progress;

/// A change of a transaction as Python holds it: a table, how, rows, the name of a further column.
type ChangeTuple = (String, Py<PyAny>, Batches, Option<String>);

#[pymethods]
impl Database {
    /// The rows of a query, behind the changes of a transaction that is open.
    #[pyo3(signature = (statement, pending=Vec::new()))]
    fn select(
        &self,
        py: Python<'_>,
        statement: &Statement,
        pending: Vec<Bound<'_, PyTuple>>,
    ) -> PyResult<Rows> {
        let Sql::Select(select) = &statement.sql else {
            return Err(no_change(statement, "a query")).or_raise(py);
        };
        let found = self.reading(py, (&pending, false), |reader| reader.select(select))?;
        Ok(Rows::new(found))
    }

    /// Does an INSERT, an UPDATE or a DELETE, and returns how many rows it changed, and what RETURNING shows of them.
    /// `progress`, `done` and `batch_id` are those of `apply`.
    #[pyo3(signature = (statement, progress=None, done=None, batch_id=None))]
    fn change(
        &self,
        py: Python<'_>,
        statement: &Statement,
        progress: Option<Py<PyAny>>,
        done: Option<&Bound<'_, PyList>>,
        batch_id: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(u64, Option<Rows>)> {
        let id = batch_id.map(read_id).transpose()?;
        let functions = self.callable();
        let mut held = self.engine(py)?;
        let engine = &mut *held.value;
        let mut watch = Progress::new(progress, 0);
        let changed = detach(py, || {
            if id.as_ref().is_some_and(|id| engine.is_applied(id)) {
                return Ok((0, None));
            }
            let mut poll = |done| watch.poll(done);
            let planned = planned(
                statement,
                &mut Reader {
                    database: engine.readers(),
                    functions,
                    pending: (&[], false),
                    poll: &mut poll,
                },
            )?;
            // An update that leaves a row as it was is no change.
            let net = matches!(statement.sql, Sql::Update(_));
            engine.apply(&planned.changes(), (net, id), &mut poll)?;
            Ok((planned.rows, planned.returned))
        });
        self.bell.ring();
        let (changed, returned) = watch.finish(py, changed)?;
        done.map_or(Ok(()), |done| done.append(changed))?;
        Ok((changed, returned.map(Rows::new)))
    }

    /// Number of rows that an INSERT, an UPDATE or a DELETE would change behind the changes of a transaction that is
    /// open, its own changes, as `apply` takes them, and the rows of RETURNING.
    fn changes_of(
        &self,
        py: Python<'_>,
        statement: &Statement,
        pending: Vec<Bound<'_, PyTuple>>,
        net: bool,
    ) -> PyResult<(u64, Vec<ChangeTuple>, Option<Rows>)> {
        let Planned {
            table,
            steps,
            rows,
            returned,
        } = self.reading(py, (&pending, net), |reader| planned(statement, reader))?;
        let tuples = steps.into_iter().map(|(kind, rows)| {
            let (how, name) = match kind {
                StepKind::Insert => (1_i64.into_pyobject(py)?.into_any(), None),
                StepKind::Delete(name) => ((-1_i64).into_pyobject(py)?.into_any(), name),
                StepKind::Upsert => ("upsert".into_pyobject(py)?.into_any(), None),
                StepKind::Update => ("update".into_pyobject(py)?.into_any(), None),
            };
            Ok((table.clone(), how.unbind(), Batches::new(vec![rows]), name))
        });
        let tuples = tuples.collect::<PyResult<_>>()?;
        Ok((rows, tuples, returned.map(Rows::new)))
    }

    /// The columns of what RETURNING would show of an INSERT, an UPDATE or a DELETE; None if it has none.
    fn returning(&self, py: Python<'_>, statement: &Statement) -> PyResult<Option<Rows>> {
        let (name, of) = match &statement.sql {
            Sql::Insert(insert) => (&insert.table, &insert.returning),
            Sql::Update(update) => (&update.table, &update.returning),
            Sql::Delete(delete) => (&delete.table, &delete.returning),
            _ => return Ok(None),
        };
        let found = self.reading(py, (&[], false), |reader| {
            let (table, schema) = reader.table(name)?;
            let none = RecordBatch::new_empty(schema.to_arrow().into());
            reader.returned(of.as_ref(), (&table, &schema), &none)
        });
        Ok(found?.map(Rows::new))
    }

    /// Declares the view of a CREATE VIEW under a name; if `replace`, in the place of a view of this name.
    fn create_view_stated(
        &self,
        py: Python<'_>,
        statement: &Statement,
        name: &str,
        replace: bool,
    ) -> PyResult<()> {
        let Sql::CreateView(of) = &statement.sql else {
            return Err(no_change(statement, "a CREATE VIEW")).or_raise(py);
        };
        let functions = self.callable();
        self.change_views(py, |database, poll| {
            let views = database.views().into_iter().filter(|view| view != name);
            let known: Vec<String> = database.tables().into_iter().chain(views).collect();
            let of = Definition::of_script(&of.query, functions, &known, &database.catalog())?;
            of.first_accepted(|definition, query| {
                let view = ViewDefinition {
                    name: name.to_owned(),
                    query: query.clone(),
                    text: Some(definition.text().to_owned()),
                    environment: Some(definition.environment()?),
                    engine: None,
                    sample: None,
                    suspends: false,
                };
                match replace {
                    true => database.replace_view(view, &mut *poll),
                    false => database.create_view(view, &mut *poll),
                }
            })
        })
    }

    /// Creates the table of a CREATE TABLE .. AS under a name, with its rows, and returns how many there are.
    fn create_table_filled(
        &self,
        py: Python<'_>,
        statement: &Statement,
        name: &str,
    ) -> PyResult<u64> {
        let Sql::CreateTable(of) = &statement.sql else {
            return Err(no_change(statement, "a CREATE TABLE")).or_raise(py);
        };
        let Some(select) = &of.rows else {
            return Err(no_change(statement, "a CREATE TABLE .. AS")).or_raise(py);
        };
        let functions = self.callable();
        let mut held = self.engine(py)?;
        let engine = &mut *held.value;
        let mut watch = Progress::new(None, 0);
        let made = detach(py, || {
            let mut poll = |done| watch.poll(done);
            let rows = Reader {
                database: engine.readers(),
                functions,
                pending: (&[], false),
                poll: &mut poll,
            }
            .select(select)?;
            let schema = Schema::from_arrow(&rows.schema())?;
            let fields = schema.fields().iter().map(|field| Field {
                nullable: true,
                ..field.clone()
            });
            let schema = Schema::new(fields.collect())?;
            let number = rows.num_rows() as u64;
            engine.create_table_filled(name, schema, &[rows], &mut poll)?;
            Ok(number)
        });
        watch.finish(py, made)
    }

    /// The name of what a DROP drops, as it is; None if that is not there, and need not be.
    fn dropped(&self, py: Python<'_>, statement: &Statement) -> PyResult<Option<String>> {
        let Sql::Drop(of) = &statement.sql else {
            return Err(no_change(statement, "a DROP")).or_raise(py);
        };
        let engine = self.engine(py)?;
        let (tables, views) = (engine.value.tables(), engine.value.views());
        let (known, others, other) = match of.views {
            true => (&views, &tables, "table"),
            false => (&tables, &views, "view"),
        };
        let among = |all: &[String]| {
            let found = of.name.among(all.iter().map(String::as_str));
            found.map(str::to_owned)
        };
        match (among(known), among(others)) {
            (Some(one), _) => Ok(Some(one)),
            (None, Some(one)) => {
                let what = format!(
                    "\"{one}\" is a {other}; write DROP {}",
                    other.to_uppercase()
                );
                Err(of.name.refused(SqlProblem::Query, &what)).or_raise(py)
            }
            (None, None) if of.if_exists => Ok(None),
            (None, None) => of.name.found(of.views, known).map(Some).or_raise(py),
        }
    }

    /// Does an ALTER TABLE.
    fn alter(&self, py: Python<'_>, statement: &Statement) -> PyResult<()> {
        let Sql::Alter(of) = &statement.sql else {
            return Err(no_change(statement, "an ALTER TABLE")).or_raise(py);
        };
        let functions = self.callable();
        let mut held = self.engine(py)?;
        let engine = &mut *held.value;
        let mut watch = Progress::new(None, 0);
        let done = detach(py, || {
            let mut poll = |done| watch.poll(done);
            let altered = Reader {
                database: engine.readers(),
                functions,
                pending: (&[], false),
                poll: &mut poll,
            }
            .alter(of)?;
            match altered {
                None => Ok(()),
                Some((table, change, value)) => {
                    engine.alter_table(&table, &change, value.as_ref(), &mut poll)
                }
            }
        });
        self.forget_row_layouts();
        watch.finish(py, done)
    }

    /// The rows of a table that have some keys, and the place of each among the keys.
    fn table_get_rows(
        &self,
        py: Python<'_>,
        table: Handle,
        keys: &Bound<'_, PyAny>,
    ) -> PyResult<(Rows, Vec<usize>)> {
        let mut batches = Vec::new();
        self.rows(keys, BufferMode::Shared, &mut batches)?;
        let mut held = self.engine(py)?;
        table.check_table(&held.value).or_raise(py)?;
        let engine = held.value.readers();
        let (mut rows, mut places, mut before) = (Vec::new(), Vec::new(), 0);
        for batch in &batches {
            let (found, of) = engine.rows_by_key(table.name(), batch).or_raise(py)?;
            rows.push(found);
            places.extend(of.into_iter().map(|place| before + place));
            before += batch.num_rows();
        }
        let (_, schema) = engine.table_schema(table.name()).or_raise(py)?;
        Ok((Rows::of(schema.to_arrow().into(), rows), places))
    }
}

impl Database {
    /// The defaults of the columns of a CREATE TABLE.
    pub(super) fn defaults_of(&self, py: Python<'_>, statement: &Statement) -> PyResult<Defaults> {
        let Sql::CreateTable(of) = &statement.sql else {
            return Err(no_change(statement, "a CREATE TABLE")).or_raise(py);
        };
        match of.defaults.is_empty() {
            true => Ok(Defaults::new()),
            false => self.reading(py, (&[], false), |reader| reader.defaults(of)),
        }
    }

    /// Result of a reader over the tables behind some changes.
    fn reading<T: Send>(
        &self,
        py: Python<'_>,
        (pending, net): (&[Bound<'_, PyTuple>], bool),
        read: impl FnOnce(&mut Reader<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let functions = self.callable();
        self.with_changes(pending, |pending, _| {
            let mut held = self.engine(py)?;
            let database = held.value.readers();
            let mut watch = Progress::new(None, 0);
            let found = detach(py, || {
                let poll: Poll<'_> = &mut |done| watch.poll(done);
                read(&mut Reader {
                    database,
                    functions,
                    pending: (pending, net),
                    poll,
                })
            });
            watch.finish(py, found)
        })
    }
}

fn planned(statement: &Statement, reader: &mut Reader<'_>) -> Result<Planned> {
    match &statement.sql {
        Sql::Insert(of) => reader.insert(of),
        Sql::Update(of) => reader.update(of),
        Sql::Delete(of) => reader.delete(of),
        _ => Err(no_change(statement, "INSERT, UPDATE or DELETE")),
    }
}

fn no_change(statement: &Statement, wanted: &str) -> Error {
    Error::Value {
        place: format!("a statement of the kind {:?}", statement.kind()),
        problem: format!("is not {wanted}"),
    }
}
