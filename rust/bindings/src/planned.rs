//! Which rows of a table a statement takes away and which it adds.
//!
//! Invariant: it reads the tables as they are, behind the changes of its transaction so far, and changes nothing. An UPDATE
//! takes away all rows that meet its condition before it adds what they become, so keys may trade places. Cost: that of the
//! query; where that reads what the transaction changed, that of a copy of those tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::filter::filter_record_batch;
use ringview_core::{Error, Result, Schema, SqlProblem};
use ringview_engine::{Alteration, ByKey, Change, Database, Direction, Keyed, Op, Poll};
use ringview_expr::{UserFunction, assigned, repeated};
use ringview_sql::{
    Alter, AlterColumns, Conflict, Definition, Delete, Insert, Name, Select, Update,
};

/// A name for multiplicities, until a column has it.
const TIMES: &str = "multiplicity";

/// The changes of one statement.
pub(crate) struct Planned {
    pub(crate) table: String,
    pub(crate) steps: Vec<(Way, RecordBatch)>,
    /// How many rows it changes.
    pub(crate) rows: u64,
}

/// What is done with rows.
#[derive(Debug)]
pub(crate) enum Way {
    Insert,
    /// With the name of the column that says how often.
    Delete(Option<String>),
    Upsert,
    Update,
}

/// What a statement reads.
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

    fn change<'a>(&'a self, (way, rows): &'a (Way, RecordBatch)) -> Change<'a> {
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
        match way {
            Way::Insert => of_rows(Direction::Insert, None),
            Way::Delete(times) => of_rows(Direction::Delete, times.as_deref()),
            Way::Upsert => keyed(ByKey::Upsert),
            Way::Update => keyed(ByKey::Update),
        }
    }
}

impl Reader<'_> {
    /// The rows of a query.
    pub(crate) fn select(&mut self, select: &Select) -> Result<RecordBatch> {
        let functions = self.functions.clone();
        let read = select.reads(&names_of(self.database));
        let evaluated = |database: &mut Database, poll: Poll<'_>| {
            let known = names_of(database);
            let of = Definition::of_script(select, functions, &known, &database.catalog())?;
            of.kept(|_, query| database.evaluate(query, &mut *poll))
        };
        match self.apart(&read)? {
            Some(mut apart) => evaluated(&mut apart, &mut *self.poll),
            None => evaluated(self.database, &mut *self.poll),
        }
    }

    /// A database with the tables of some names as the transaction leaves them, if it changed any.
    fn apart(&mut self, names: &BTreeSet<String>) -> Result<Option<Database>> {
        let (pending, net) = self.pending;
        if pending.is_empty() {
            return Ok(None);
        }
        let (tables, _) = self.database.rested_on(names)?;
        let mut changed = pending.iter().filter_map(Change::table);
        match changed.any(|table| tables.contains(table)) {
            true => self
                .database
                .apart(names, (pending, net), &mut *self.poll)
                .map(Some),
            false => Ok(None),
        }
    }

    /// The table that a statement changes, and its columns.
    fn table(&self, name: &Name) -> Result<(String, Arc<Schema>)> {
        let views = self.database.views();
        let tables = self.database.tables();
        if name.among(tables.iter().map(String::as_str)).is_none()
            && let Some(view) = name.among(views.iter().map(String::as_str))
        {
            let what = format!(
                "'{view}' is a view, whose rows change with those of its tables; change these"
            );
            return Err(name.refused(SqlProblem::Unsupported, &what));
        }
        let found = name.table(&tables)?;
        let (_, schema) = self.database.table_schema(&found)?;
        Ok((found, schema))
    }

    /// What an ALTER TABLE does: to which table, what, and what its rows have in a column that comes; none where there is
    /// nothing to do.
    pub(crate) fn alter(
        &mut self,
        of: &Alter,
    ) -> Result<Option<(String, Alteration, Option<RecordBatch>)>> {
        let tables = self.database.tables();
        let is_there = of.table.among(tables.iter().map(String::as_str)).is_some();
        if of.if_exists && !is_there {
            return Ok(None);
        }
        let (table, schema) = self.table(&of.table)?;
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        let named = |column: &Name| column.column(&table, &names).map(|at| names[at].to_owned());
        let free = |name: &Name, but: Option<&str>| match name.among(names.iter().copied()) {
            Some(taken) if Some(taken) != but => {
                let what =
                    format!("table '{table}' has a column '{taken}' already; take another name");
                Err(name.refused(SqlProblem::Query, &what))
            }
            _ => Ok(name.as_str().to_owned()),
        };
        let mut value = None;
        let change = match &of.change {
            AlterColumns::Add {
                name,
                if_not_exists: true,
                ..
            } if name.among(names.iter().copied()).is_some() => {
                return Ok(None);
            }
            AlterColumns::Add {
                name,
                field,
                value: filled,
                ..
            } => {
                free(name, None)?;
                if let Some(select) = filled {
                    let found = self.select(select)?;
                    let of = Schema::new(vec![field.clone()])?;
                    value =
                        Some(self.rows(&table, &of, found.columns().to_vec(), found.num_rows())?);
                }
                Alteration::AddColumn(field.clone())
            }
            AlterColumns::Drop {
                column,
                if_exists: true,
            } if column.among(names.iter().copied()).is_none() => {
                return Ok(None);
            }
            AlterColumns::Drop { column, .. } => Alteration::DropColumn(named(column)?),
            AlterColumns::Rename { column, to } => {
                let column = named(column)?;
                let to = free(to, Some(&column))?;
                Alteration::RenameColumn { column, to }
            }
            AlterColumns::RenameTable(to) => {
                let all = names_of(self.database);
                match to.among(all.iter().map(String::as_str)) {
                    Some(taken) if taken != table => {
                        let what = format!(
                            "there is a table or view '{taken}' already; take another name"
                        );
                        return Err(to.refused(SqlProblem::Query, &what));
                    }
                    _ => Alteration::RenameTable(to.as_str().to_owned()),
                }
            }
            AlterColumns::Widen { column, to } => Alteration::Widen {
                column: named(column)?,
                to: to.clone(),
            },
        };
        Ok(Some((table, change, value)))
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
        Ok(Planned {
            table,
            rows: found.num_rows() as u64,
            steps: vec![(Way::Delete(None), before), (Way::Insert, after)],
        })
    }

    pub(crate) fn delete(&mut self, of: &Delete) -> Result<Planned> {
        let (table, schema) = self.table(&of.table)?;
        if let Some(select) = of.select(&schema)? {
            let found = self.select(&select)?;
            let rows = self.rows(&table, &schema, found.columns().to_vec(), found.num_rows())?;
            return Ok(Planned {
                table,
                rows: rows.num_rows() as u64,
                steps: vec![(Way::Delete(None), rows)],
            });
        }
        let mut times = TIMES.to_owned();
        while schema.index_of(&times).is_ok() {
            times.push('_');
        }
        let apart = self.apart(&BTreeSet::from([table.clone()]))?;
        let database = apart.as_ref().unwrap_or(self.database);
        let rows = database.table_rows(&table, Some(&times))?;
        Ok(Planned {
            rows: database.table(&table)?.rows,
            table,
            steps: vec![(Way::Delete(Some(times)), rows)],
        })
    }

    pub(crate) fn insert(&mut self, of: &Insert) -> Result<Planned> {
        let (table, schema) = self.table(&of.table)?;
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        let given = match &of.columns {
            None => (0..schema.len()).collect::<Vec<_>>(),
            Some(columns) => {
                let mut given = Vec::new();
                for column in columns {
                    let at = column.column(&table, &names)?;
                    if given.contains(&at) {
                        let what = format!("'{}' is given twice; leave one out", column.as_str());
                        return Err(column.refused(SqlProblem::Query, &what));
                    }
                    given.push(at);
                }
                given
            }
        };
        let found = self.select(&of.rows)?;
        if found.num_columns() != given.len() {
            let what = format!(
                "{} values are given for {} columns of table '{table}': {}",
                found.num_columns(),
                given.len(),
                given
                    .iter()
                    .map(|&at| names[at])
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            return Err(of.table.refused(SqlProblem::Query, &what));
        }
        let rows = found.num_rows();
        let fields = schema.fields().iter();
        let mut columns: Vec<ArrayRef> = fields
            .map(|field| new_null_array(&field.ty.to_arrow(), rows))
            .collect();
        for (&at, values) in given.iter().zip(found.columns()) {
            columns[at] = Arc::clone(values);
        }
        let rows = self.rows(&table, &schema, columns, rows)?;
        let steps = self.resolved(of, (&table, &schema), rows)?;
        let counted = steps.iter().map(|(_, rows)| rows.num_rows() as u64);
        Ok(Planned {
            rows: counted.sum(),
            table,
            steps,
        })
    }

    /// What is done with the rows of an INSERT, by whether their keys are there.
    fn resolved(
        &mut self,
        of: &Insert,
        (table, schema): (&str, &Schema),
        rows: RecordBatch,
    ) -> Result<Vec<(Way, RecordBatch)>> {
        let refused = |what: &str| Err(of.table.refused(SqlProblem::Unsupported, what));
        let unique = self.database.table(table)?.unique;
        let Some(unique) = unique else {
            return match of.conflict {
                Conflict::Refuse => Ok(vec![(Way::Insert, rows)]),
                _ => refused(
                    "the table has no key, so no row conflicts; declare it with PRIMARY KEY",
                ),
            };
        };
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        let key: Vec<usize> = unique
            .iter()
            .map(|name| schema.index_of(name))
            .collect::<Result<_>>()?;
        if let Some(named) = &of.key {
            let columns = named.iter().map(|name| name.column(table, &names));
            let columns: BTreeSet<usize> = columns.collect::<Result<_>>()?;
            if columns != key.iter().copied().collect() {
                let what = format!(
                    "the key of table '{table}' is ({}); write ON CONFLICT ({0})",
                    unique.join(", ")
                );
                return refused(&what);
            }
        }
        let set = match &of.conflict {
            Conflict::Refuse => return Ok(vec![(Way::Insert, rows)]),
            Conflict::Replace => return Ok(vec![(Way::Upsert, rows)]),
            Conflict::Keep => None,
            Conflict::Set(columns) => Some(columns),
        };
        let project = |columns: &[usize]| {
            rows.project(columns)
                .map_err(|problem| broken(table, &problem))
        };
        let keys = project(&key)?;
        let apart = self.apart(&BTreeSet::from([table.to_owned()]))?;
        let places = match apart {
            Some(mut apart) => apart.rows_by_key(table, &keys)?.1,
            None => self.database.rows_by_key(table, &keys)?.1,
        };
        let mut is_there = vec![false; rows.num_rows()];
        places.into_iter().for_each(|row| is_there[row] = true);
        let repeated = repeated(keys.columns())?;
        let chosen = |which: &dyn Fn(usize) -> bool, from: &RecordBatch| {
            let mask: BooleanArray = (0..rows.num_rows()).map(|row| Some(which(row))).collect();
            filter_record_batch(from, &mask).map_err(|problem| broken(table, &problem))
        };
        let Some(set) = set else {
            let new = chosen(&|row| !is_there[row] && !repeated[row], &rows)?;
            return Ok(vec![(Way::Insert, new)]);
        };
        if let Some(row) = repeated.iter().position(|&again| again) {
            let what = format!(
                "row {row} has the key of a row before it, and DO UPDATE changes a row once; give each key once, or \
                 write INSERT OR REPLACE, with which the last stays"
            );
            return Err(of.table.refused(SqlProblem::Value, &what));
        }
        let mut given = key.clone();
        for name in set {
            let column = name.column(table, &names)?;
            if key.contains(&column) {
                let what = "DO UPDATE leaves the key as it is; set other columns";
                return Err(name.refused(SqlProblem::Unsupported, what));
            }
            given.push(column);
        }
        given.sort_unstable();
        given.dedup();
        Ok(vec![
            (Way::Insert, chosen(&|row| !is_there[row], &rows)?),
            (
                Way::Update,
                chosen(&|row| is_there[row], &project(&given)?)?,
            ),
        ])
    }

    /// Values as rows of a table.
    fn rows(
        &self,
        table: &str,
        schema: &Schema,
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch> {
        let taken = columns.iter().zip(schema.fields());
        let taken = taken.map(|(values, field)| assigned(values, field, table));
        let taken: Vec<ArrayRef> = taken.collect::<Result<_>>()?;
        // What must not be NULL is told by who takes the rows.
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

fn names_of(database: &Database) -> Vec<String> {
    database
        .tables()
        .into_iter()
        .chain(database.views())
        .collect()
}

fn broken(table: &str, problem: &arrow_schema::ArrowError) -> Error {
    Error::Value {
        place: format!("the rows of table {table:?}"),
        problem: problem.to_string(),
    }
}
