//! Rows of a table that a statement deletes and inserts.
//!
//! Invariant: it reads the tables as they are, behind the changes of its transaction so far, and changes nothing. An
//! UPDATE deletes all rows that meet its condition before it inserts their new values, so keys may trade places. Cost:
//! that of the query; if it reads tables that the transaction changed, that of a copy of those tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema as ArrowSchema;
use ringview_core::{Error, Field, Result, Schema, SqlProblem, Type};
use ringview_durable::DurableDatabase;
use ringview_engine::{ByKey, Change, Database, Direction, Keyed, Op, Poll};
use ringview_expr::{UserFunction, assigned};
use ringview_sql::{Definition, Delete, Name, Select, Update};

/// A name for multiplicities, until a column has it.
const TIMES: &str = "multiplicity";

/// The changes of one statement.
pub(crate) struct Planned {
    pub(crate) table: String,
    pub(crate) steps: Vec<(StepKind, RecordBatch)>,
    /// Number of rows that it changes.
    pub(crate) rows: u64,
    /// The rows of RETURNING.
    pub(crate) returned: Option<RecordBatch>,
}

/// Kind of a step, with its rows.
#[derive(Debug)]
pub(crate) enum StepKind {
    Insert,
    /// With the name of the column that says how often.
    Delete(Option<String>),
    Upsert,
    Update,
}

/// Reader of the inputs of a statement.
pub(crate) struct Reader<'a> {
    pub(crate) database: &'a mut Database,
    pub(crate) functions: Vec<Arc<UserFunction>>,
    /// The changes before it, and whether their net effect counts.
    pub(crate) pending: (&'a [Change<'a>], bool),
    pub(crate) poll: Poll<'a>,
}

impl Planned {
    /// The changes for the engine.
    pub(crate) fn changes(&self) -> Vec<Change<'_>> {
        self.steps.iter().map(|step| self.change(step)).collect()
    }

    fn change<'a>(&'a self, (kind, rows): &'a (StepKind, RecordBatch)) -> Change<'a> {
        let (table, rows) = (&*self.table, std::slice::from_ref(rows));
        let of_rows = |direction, multiplicity| {
            Change::Rows(Op {
                table,
                direction,
                rows,
                multiplicity,
            })
        };
        let keyed = |by| Change::Keyed(Keyed { table, by, rows });
        match kind {
            StepKind::Insert => of_rows(Direction::Insert, None),
            StepKind::Delete(times) => of_rows(Direction::Delete, times.as_deref()),
            StepKind::Upsert => keyed(ByKey::Upsert),
            StepKind::Update => keyed(ByKey::Update),
        }
    }
}

impl Reader<'_> {
    /// The rows of a query.
    pub(crate) fn select(&mut self, select: &Select) -> Result<RecordBatch> {
        self.selected(select, false)
    }

    /// The same; rows that are to be deleted are read whatever the memory limit.
    fn selected(&mut self, select: &Select, frees: bool) -> Result<RecordBatch> {
        let functions = self.functions.clone();
        let read = select.reads(&names_of(self.database));
        let evaluated = |database: &mut Database, poll: Poll<'_>| {
            let known = names_of(database);
            let of = Definition::of_script(select, functions, &known, &database.catalog())?;
            of.first_accepted(|_, query| match frees {
                true => database.freeing(|database| database.evaluate(query, &mut *poll)),
                false => database.evaluate(query, &mut *poll),
            })
        };
        match self.changed_copy(&read)? {
            Some(mut copy) => evaluated(&mut copy, &mut *self.poll),
            None if self.database.tables().is_empty() => {
                evaluated(empty_database()?.readers(), &mut *self.poll)
            }
            None => evaluated(self.database, &mut *self.poll),
        }
    }

    /// A database with the tables of some names as the transaction leaves them, if it changed any.
    pub(crate) fn changed_copy(&mut self, names: &BTreeSet<String>) -> Result<Option<Database>> {
        let (pending, net) = self.pending;
        if pending.is_empty() {
            return Ok(None);
        }
        let (tables, _) = self.database.rested_on(names)?;
        let mut changed = pending.iter().filter_map(Change::table);
        match changed.any(|table| tables.contains(table)) {
            true => self
                .database
                .detached(names, (pending, net), &mut *self.poll)
                .map(Some),
            false => Ok(None),
        }
    }

    /// The table that a statement changes, and its columns.
    pub(crate) fn table(&self, name: &Name) -> Result<(String, Arc<Schema>)> {
        let views = self.database.views();
        let tables = self.database.tables();
        if name.among(tables.iter().map(String::as_str)).is_none()
            && let Some(view) = name.among(views.iter().map(String::as_str))
        {
            let what = format!(
                "\"{view}\" is a view, whose rows change with those of its tables; change these"
            );
            return Err(name.refused(SqlProblem::Unsupported, &what));
        }
        let found = name.table(&tables)?;
        let (_, schema) = self.database.table_schema(&found)?;
        Ok((found, schema))
    }

    pub(crate) fn update(&mut self, of: &Update) -> Result<Planned> {
        let (table, schema) = self.table(&of.table)?;
        let (select, set) = of.select(&table, &schema)?;
        let found = self.select(&select)?;
        let width = schema.len();
        let mut rows: Vec<ArrayRef> = found.columns()[..width].to_vec();
        let before = self.rows(&table, &schema, rows.clone(), found.num_rows())?;
        for (column, values) in set.iter().zip(&found.columns()[width..]) {
            rows[*column] = Arc::clone(values);
        }
        let after = self.rows(&table, &schema, rows, found.num_rows())?;
        let returned = self.returned(of.returning.as_ref(), (&table, &schema), &after)?;
        Ok(Planned {
            returned,
            table,
            rows: found.num_rows() as u64,
            steps: vec![(StepKind::Delete(None), before), (StepKind::Insert, after)],
        })
    }

    pub(crate) fn delete(&mut self, of: &Delete) -> Result<Planned> {
        let (table, schema) = self.table(&of.table)?;
        if let Some(select) = of.select(&schema)? {
            let found = self.selected(&select, true)?;
            let rows = self.rows(&table, &schema, found.columns().to_vec(), found.num_rows())?;
            return Ok(Planned {
                returned: self.returned(of.returning.as_ref(), (&table, &schema), &rows)?,
                table,
                rows: rows.num_rows() as u64,
                steps: vec![(StepKind::Delete(None), rows)],
            });
        }
        let mut times = TIMES.to_owned();
        while schema.index_of(&times).is_ok() {
            times.push('_');
        }
        let copy = self.changed_copy(&BTreeSet::from([table.clone()]))?;
        let database = copy.as_ref().unwrap_or(self.database);
        let rows = database.table_rows(&table, Some(&times))?;
        Ok(Planned {
            returned: None,
            rows: database.table(&table)?.rows,
            table,
            steps: vec![(StepKind::Delete(Some(times)), rows)],
        })
    }

    /// Values as rows of a table.
    pub(crate) fn rows(
        &self,
        table: &str,
        schema: &Schema,
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch> {
        let taken = columns.iter().zip(schema.fields());
        let taken = taken.map(|(values, field)| assigned(values, field, table));
        let taken: Vec<ArrayRef> = taken.collect::<Result<_>>()?;
        for (values, field) in taken.iter().zip(schema.fields()) {
            let mut rows = 0..values.len();
            if let Some(row) = rows.find(|&row| !field.nullable && values.is_null(row)) {
                return Err(Error::Null {
                    table: table.to_owned(),
                    column: field.name.clone(),
                    row: row as u64,
                });
            }
        }
        let arrow = schema.to_arrow();
        let fields = arrow
            .fields()
            .iter()
            .map(|field| (**field).clone().with_nullable(true));
        let arrow = ArrowSchema::new(fields.collect::<Vec<_>>());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(arrow), taken, &options);
        batch.map_err(|problem| broken(table, &problem))
    }
}

/// A database with one table, of which nothing is read: what constants are computed beside where there is no other.
pub(crate) fn empty_database() -> Result<DurableDatabase> {
    let mut database = DurableDatabase::default();
    let column = Field::new("nothing", Type::Bool, true);
    database.create_table("nothing", Schema::new(vec![column])?, None, false)?;
    Ok(database)
}

/// All names of tables and views.
pub(crate) fn names_of(database: &Database) -> Vec<String> {
    database
        .tables()
        .into_iter()
        .chain(database.views())
        .collect()
}

/// Rows that Arrow does not make.
pub(crate) fn broken(table: &str, problem: &arrow_schema::ArrowError) -> Error {
    Error::Value {
        place: format!("the rows of table {table:?}"),
        problem: problem.to_string(),
    }
}
