//! The class `Statement`: one of a script, as it was read.
//!
//! Invariant: only the text was read. Cost: linear in it.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ringview_sql::{Dialect, Name, Parameters, Stated, Statement as Sql};

use crate::errors::OrRaise;
use crate::outgoing::Columns;

/// A statement of a script.
///
/// >>> from ringview._native import script
/// >>> [statement.kind for statement in script("BEGIN; DELETE FROM r; COMMIT")]
/// ['begin', 'delete', 'commit']
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: Sql,
    line: u64,
}

/// The statements of a script, which is read whole; `parameters` are the values of `$1`, `?`, `$name` and `:name`.
#[pyfunction]
#[pyo3(signature = (sql, dialect="duckdb", parameters=None))]
pub(crate) fn script(
    py: Python<'_>,
    sql: &str,
    dialect: &str,
    parameters: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Statement>> {
    let dialect = Dialect::named(dialect).or_raise(py)?;
    let parameters = parameters.map(crate::parameters::of).transpose()?;
    let parameters = parameters.unwrap_or_else(Parameters::default);
    let statements = ringview_sql::script(sql, dialect, &parameters).or_raise(py)?;
    Ok(statements.into_iter().map(Statement::from).collect())
}

impl From<Stated> for Statement {
    fn from(of: Stated) -> Self {
        Self {
            line: of.at.map_or(1, |at| at.line),
            sql: of.statement,
        }
    }
}

#[pymethods]
impl Statement {
    /// Its kind, as a word.
    #[getter]
    pub(crate) fn kind(&self) -> &'static str {
        match &self.sql {
            Sql::Select(_) => "select",
            Sql::CreateTable(_) => "create_table",
            Sql::CreateView(_) => "create_view",
            Sql::Alter(_) => "alter_table",
            Sql::Drop(of) if of.views => "drop_view",
            Sql::Drop(_) => "drop_table",
            Sql::Insert(_) => "insert",
            Sql::Update(_) => "update",
            Sql::Delete(_) => "delete",
            Sql::Begin => "begin",
            Sql::Commit => "commit",
            Sql::Rollback => "rollback",
        }
    }

    /// Whether it says RETURNING.
    #[getter]
    fn returns(&self) -> bool {
        match &self.sql {
            Sql::Insert(of) => of.returning.is_some(),
            Sql::Update(of) => of.returning.is_some(),
            Sql::Delete(of) => of.returning.is_some(),
            _ => false,
        }
    }

    /// The line of the script at which it begins.
    #[getter]
    fn line(&self) -> u64 {
        self.line
    }

    /// The names of the tables or views that it is about, as they are spelt.
    #[getter]
    fn names(&self) -> Vec<String> {
        let names: Vec<&Name> = match &self.sql {
            Sql::CreateTable(of) => vec![&of.name],
            Sql::CreateView(of) => vec![&of.name],
            Sql::Drop(of) => vec![&of.name],
            Sql::Alter(of) => vec![&of.table],
            Sql::Insert(of) => vec![&of.table],
            Sql::Update(of) => vec![&of.table],
            Sql::Delete(of) => vec![&of.table],
            Sql::Select(_) | Sql::Begin | Sql::Commit | Sql::Rollback => Vec::new(),
        };
        names
            .into_iter()
            .map(|name| name.as_str().to_owned())
            .collect()
    }

    /// The columns that an UPDATE sets, as they are spelt.
    #[getter]
    fn columns(&self) -> Vec<String> {
        match &self.sql {
            Sql::Update(of) => of.columns().map(|name| name.as_str().to_owned()).collect(),
            _ => Vec::new(),
        }
    }

    /// The columns of a table that is created; None where they are those of a query.
    #[getter]
    fn schema(&self) -> Option<Columns> {
        match &self.sql {
            Sql::CreateTable(of) => of
                .schema
                .as_ref()
                .map(|schema| Columns::new(schema.to_arrow())),
            _ => None,
        }
    }

    /// The text of a view that is created.
    #[getter]
    fn text(&self) -> Option<&str> {
        match &self.sql {
            Sql::CreateView(of) => of.query.text(),
            _ => None,
        }
    }

    /// Its other options: `unique`, `static`, `keep_for`, `or_replace`, `if_not_exists`, `if_exists`.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let options = PyDict::new(py);
        match &self.sql {
            Sql::CreateTable(of) => {
                options.set_item("unique", of.unique.clone())?;
                options.set_item("static", of.is_static)?;
                options.set_item("keep_for", of.keep_for.clone())?;
                options.set_item("or_replace", of.or_replace)?;
                options.set_item("if_not_exists", of.if_not_exists)?;
            }
            Sql::CreateView(of) => {
                options.set_item("or_replace", of.or_replace)?;
                options.set_item("if_not_exists", of.if_not_exists)?;
            }
            Sql::Drop(of) => {
                options.set_item("if_exists", of.if_exists)?;
                options.set_item("cascade", of.cascade)?;
            }
            _ => {}
        }
        Ok(options)
    }

    fn __repr__(&self) -> String {
        format!("Statement({}, line {})", self.kind(), self.line)
    }
}
