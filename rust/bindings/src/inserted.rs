//! Rows that an INSERT adds, and its treatment of those whose key is there.
//!
//! Invariant: as of `planned`. Cost: that of the query of the rows, and a look-up a row where keys may be there.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Int64Array, RecordBatch, Scalar, StringArray,
    UInt32Array, UInt64Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use arrow_select::zip::zip;
use ringview_core::{Error, Field, Result, Schema, SqlProblem};
use ringview_engine::Defaults;
use ringview_expr::{assigned, repeated};
use ringview_sql::{Conflict, Constants, Insert, Select};

use crate::planned::{Planned, Reader, StepKind, broken};

impl Reader<'_> {
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
                        let what = format!("{:?} is given twice; leave one out", column.as_str());
                        return Err(column.refused(SqlProblem::Query, &what));
                    }
                    given.push(at);
                }
                given
            }
        };
        let rows = self.given(of, (&table, &schema), &given)?;
        let (steps, after) = self.resolved(of, (&table, &schema), rows)?;
        let returned = self.returned(of.returning.as_ref(), (&table, &schema), &after)?;
        let counted = steps.iter().map(|(_, rows)| rows.num_rows() as u64);
        Ok(Planned {
            returned,
            rows: counted.sum(),
            table,
            steps,
        })
    }

    /// The rows that are given, each value cast to its column; in the columns that are not given their defaults, or NULL.
    fn given(
        &mut self,
        of: &Insert,
        (table, schema): (&str, &Schema),
        given: &[usize],
    ) -> Result<RecordBatch> {
        let found = match of.rows.constants() {
            Some(columns) => vec![constants(table, columns)?],
            None => match of.rows.each_row() {
                None => vec![self.select(&of.rows)?],
                Some(each) => {
                    let row = |row: &Select| match row.constants() {
                        Some(columns) => constants(table, columns),
                        None => self.select(row),
                    };
                    each.iter().map(row).collect::<Result<_>>()?
                }
            },
        };
        let fields = schema.fields();
        let is_whole = given.len() == fields.len() && of.defaulted.is_empty();
        let defaults = match is_whole {
            true => Defaults::new(),
            false => self.database.defaults(table)?.clone(),
        };
        let (mut parts, mut before) = (Vec::with_capacity(found.len()), 0);
        for part in found {
            if part.num_columns() != given.len() {
                let names = given.iter().map(|&at| fields[at].name.as_str());
                let what = format!(
                    "{} values are given for {} columns of table \"{table}\": {}",
                    part.num_columns(),
                    given.len(),
                    names.collect::<Vec<_>>().join(", ")
                );
                return Err(of.table.refused(SqlProblem::Query, &what));
            }
            let rows = part.num_rows();
            let same = UInt32Array::from(vec![0; rows]);
            let other = |field: &Field| match defaults.get(&field.name) {
                Some(value) => take(value, &same, None).map_err(|problem| broken(table, &problem)),
                None => Ok(new_null_array(&field.ty.to_arrow(), rows)),
            };
            let mut columns: Vec<ArrayRef> = fields.iter().map(other).collect::<Result<_>>()?;
            for (column, (&at, values)) in given.iter().zip(part.columns()).enumerate() {
                columns[at] = match defaults.get(&fields[at].name) {
                    Some(default) => {
                        let mut marks = vec![false; rows];
                        let own = of.defaulted.iter().filter(|(_, of)| *of == column);
                        let places = own.filter_map(|(row, _)| row.checked_sub(before));
                        places
                            .filter(|row| *row < rows)
                            .for_each(|row| marks[row] = true);
                        // In the column's own type, which a default has.
                        let values = assigned(values, &fields[at], table)?;
                        zip(&BooleanArray::from(marks), &Scalar::new(default), &values)
                            .map_err(|problem| broken(table, &problem))?
                    }
                    None => Arc::clone(values),
                };
            }
            let taken = self.rows(table, schema, columns, rows);
            parts.push(taken.map_err(|problem| behind(problem, before))?);
            before += rows;
        }
        match &parts[..] {
            [one] => Ok(one.clone()),
            [first, ..] => {
                concat_batches(&first.schema(), &parts).map_err(|problem| broken(table, &problem))
            }
            [] => self.rows(table, schema, Vec::new(), 0),
        }
    }

    /// Steps of an INSERT for its rows, by whether their keys are there, and the resulting rows.
    fn resolved(
        &mut self,
        of: &Insert,
        (table, schema): (&str, &Schema),
        rows: RecordBatch,
    ) -> Result<(Vec<(StepKind, RecordBatch)>, RecordBatch)> {
        let refused = |what: &str| Err(of.table.refused(SqlProblem::Unsupported, what));
        let unique = self.database.table(table)?.unique;
        let Some(unique) = unique else {
            return match of.conflict {
                Conflict::Refuse => Ok((vec![(StepKind::Insert, rows.clone())], rows)),
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
                    "the key of table \"{table}\" is ({}); write ON CONFLICT ({0})",
                    unique.join(", ")
                );
                return refused(&what);
            }
        }
        let rows = match &of.conflict {
            Conflict::SetGiven => last_of_each(&rows, &key),
            _ => Ok(rows),
        };
        let rows = rows.map_err(|problem| broken(table, &problem))?;
        let set = match &of.conflict {
            Conflict::Refuse => return Ok((vec![(StepKind::Insert, rows.clone())], rows)),
            Conflict::SetGiven if of.columns.as_ref().map(Vec::len) != Some(names.len()) => {
                Some(of.columns.as_deref().unwrap_or_default())
            }
            Conflict::Replace | Conflict::SetGiven => {
                return Ok((vec![(StepKind::Upsert, rows.clone())], rows));
            }
            Conflict::Keep => None,
            Conflict::Set(columns) => Some(columns.as_slice()),
        };
        let is_replaced = matches!(of.conflict, Conflict::SetGiven);
        let project = |columns: &[usize]| {
            rows.project(columns)
                .map_err(|problem| broken(table, &problem))
        };
        let keys = project(&key)?;
        let copy = self.changed_copy(&BTreeSet::from([table.to_owned()]))?;
        let (before, places) = match copy {
            Some(mut copy) => copy.rows_by_key(table, &keys)?,
            None => self.database.rows_by_key(table, &keys)?,
        };
        let mut is_there = vec![false; rows.num_rows()];
        places.iter().for_each(|&row| is_there[row] = true);
        let repeated = repeated(keys.columns())?;
        let chosen = |which: &dyn Fn(usize) -> bool, from: &RecordBatch| {
            let mask: BooleanArray = (0..rows.num_rows()).map(|row| Some(which(row))).collect();
            filter_record_batch(from, &mask).map_err(|problem| broken(table, &problem))
        };
        let Some(set) = set else {
            let new = chosen(&|row| !is_there[row] && !repeated[row], &rows)?;
            return Ok((vec![(StepKind::Insert, new.clone())], new));
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
            if key.contains(&column) && !is_replaced {
                let what = "DO UPDATE leaves the key as it is; set other columns";
                return Err(name.refused(SqlProblem::Unsupported, what));
            }
            given.push(column);
        }
        given.sort_unstable();
        given.dedup();
        let steps = vec![
            (StepKind::Insert, chosen(&|row| !is_there[row], &rows)?),
            (
                StepKind::Update,
                chosen(&|row| is_there[row], &project(&given)?)?,
            ),
        ];
        let after = match &of.returning {
            Some(_) => met(&rows, &given, (&before, &places)),
            None => Ok(rows),
        };
        Ok((steps, after.map_err(|problem| broken(table, &problem))?))
    }
}

/// Rows as they are when those that were there before, each in the place of the row that has its key, were given some columns.
fn met(
    rows: &RecordBatch,
    given: &[usize],
    (before, places): (&RecordBatch, &[usize]),
) -> std::result::Result<RecordBatch, ArrowError> {
    // From each row itself, or from the one that was there.
    let mut from: Vec<(usize, usize)> = (0..rows.num_rows()).map(|row| (0, row)).collect();
    for (at, &place) in places.iter().enumerate() {
        from[place] = (1, at);
    }
    let column = |(at, values): (usize, &ArrayRef)| match given.contains(&at) {
        true => Ok(Arc::clone(values)),
        false => interleave(&[values.as_ref(), before.column(at).as_ref()], &from),
    };
    let columns = rows.columns().iter().enumerate().map(column);
    RecordBatch::try_new(
        rows.schema(),
        columns.collect::<std::result::Result<_, _>>()?,
    )
}

/// The last row of each key.
fn last_of_each(rows: &RecordBatch, key: &[usize]) -> std::result::Result<RecordBatch, ArrowError> {
    let backwards: UInt64Array = (0..rows.num_rows() as u64).rev().collect();
    let keys = key
        .iter()
        .map(|&at| take(rows.column(at), &backwards, None));
    let keys = keys.collect::<std::result::Result<Vec<_>, _>>()?;
    let repeated =
        repeated(&keys).map_err(|problem| ArrowError::ComputeError(problem.to_string()))?;
    let mask: BooleanArray = repeated.iter().rev().map(|again| Some(!again)).collect();
    filter_record_batch(rows, &mask)
}

/// A refusal of a row that has so many before it.
fn behind(problem: Error, before: usize) -> Error {
    let (place, problem) = match problem {
        Error::Value { place, problem } => (place, problem),
        Error::Null { table, column, row } => {
            let row = before as u64 + row;
            return Error::Null { table, column, row };
        }
        other => return other,
    };
    let counted = place.strip_prefix("row ").and_then(|rest| {
        let (row, rest) = rest.split_once(", ")?;
        let row: usize = row.parse().ok()?;
        Some(format!("row {}, {rest}", before + row))
    });
    Error::Value {
        place: counted.unwrap_or(place),
        problem,
    }
}

/// Rows of constants.
fn constants(table: &str, columns: Vec<Constants>) -> Result<RecordBatch> {
    let column = |(at, constants): (usize, Constants)| {
        let values: ArrayRef = match constants {
            Constants::Null(times) => new_null_array(&DataType::Int32, times),
            Constants::Bool(all) => Arc::new(BooleanArray::from(all)),
            Constants::Int(all) => Arc::new(Int64Array::from(all)),
            Constants::Text(all) => Arc::new(StringArray::from(all)),
            Constants::Decimal(all, scale) => {
                let units = Decimal128Array::from(all).with_precision_and_scale(38, scale);
                Arc::new(units.map_err(|problem| broken(table, &problem))?)
            }
        };
        Ok((at.to_string(), values))
    };
    let columns = columns.into_iter().enumerate().map(column);
    let columns: Vec<(String, ArrayRef)> = columns.collect::<Result<_>>()?;
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, values)| (name, values, true)),
    )
    .map_err(|problem| broken(table, &problem))
}
