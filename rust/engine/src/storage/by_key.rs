//! Checks of changes of a table by its key.
//!
//! Invariant: a change that passes has all columns that it needs, and no key that is NULL. Cost: O(columns), and O(rows)
//! where values are NULL.

use ringview_core::{Batch, Error, Result};
use ringview_relation::Action;

use super::keys::columns_of;
use super::table::Table;
use crate::op::{ByKey, Direction, Op};

/// The columns that a change needs are given, and no others.
pub(crate) fn check_columns(table: &Table, by: ByKey<'_>, columns: &[usize]) -> Result<()> {
    let key = table.unique.as_deref().unwrap_or_default();
    let lacks = |column: &usize| !columns.contains(column);
    let missing = |column: usize, problem: &str| Error::Value {
        place: table.location_of(column),
        problem: format!("is missing from the data; {problem}"),
    };
    if let Some(column) = key.iter().copied().find(lacks) {
        let problem = "it is of the unique key, by which rows are found";
        return Err(missing(column, problem));
    }
    let other = (0..table.schema.len()).find(lacks);
    match (by, other) {
        (ByKey::Upsert, Some(column)) => Err(missing(
            column,
            "an upsert gives whole rows; an update changes some columns of rows that are there",
        )),
        (ByKey::Cdc(_), Some(column)) => Err(missing(
            column,
            "a feed gives whole rows, NULLs where a delete has nothing but the key",
        )),
        (ByKey::Delete, _) if columns.len() > key.len() => Err(Error::Value {
            place: format!("rows to delete from table {:?}", table.name),
            problem: format!(
                "they have the unique key and some other columns; give the key ({}) alone, and \
                 whatever row has it goes, or every column, and that very row goes",
                table.names(key)
            ),
        }),
        _ => Ok(()),
    }
}

/// Whether a delete gives the columns of the key alone.
pub(crate) fn names_keys(table: &Table, op: &Op<'_>) -> Result<bool> {
    let Some(rows) = op.rows.first() else {
        return Ok(false);
    };
    let others = usize::from(op.multiplicity.is_some());
    let given = rows.num_columns().saturating_sub(others);
    if op.direction == Direction::Insert || given >= table.schema.len() {
        return Ok(false);
    }
    let columns = columns_of(
        (&table.name, &table.schema),
        rows.schema_ref(),
        op.multiplicity,
    )?;
    let Some(missing) = (0..table.schema.len()).find(|column| !columns.contains(column)) else {
        return Ok(false);
    };
    if table.unique.is_none() {
        return Err(Error::Value {
            place: table.location_of(missing),
            problem: "is missing from the data; a delete gives rows as they are there, with every \
                      column; declare the table with `unique` to delete by the key alone"
                .to_owned(),
        });
    }
    match op.multiplicity {
        None => Ok(true),
        Some(name) => Err(Error::Value {
            place: format!("column {name:?} of table {:?}", table.name),
            problem: "a row with a unique key is there once; multiplicities go with whole rows"
                .to_owned(),
        }),
    }
}

impl Table {
    /// Rows can be found by their key.
    pub(crate) fn check_findable(&self, what: &str) -> Result<()> {
        let refused = |why: &str, instead: &str| Error::Unsupported {
            what: format!("{what} of table {:?}", self.name),
            why: why.to_owned(),
            instead: instead.to_owned(),
        };
        if self.unique.is_none() {
            return Err(refused(
                "it has no unique key by which a row could be found",
                "declare it with `unique`, or delete the old rows and insert the new ones",
            ));
        }
        if self.rows.is_none() {
            return Err(refused(
                "with trust_deletes rows are not kept, so none can be found by its key",
                "create the database without trust_deletes, or delete and insert whole rows",
            ));
        }
        Ok(())
    }

    /// Checks that no key is NULL, and in rows that are not deleted no column that must not be.
    pub(crate) fn check_nulls(
        &self,
        batch: &Batch,
        actions: Option<&[Action]>,
        first: u64,
    ) -> Result<()> {
        let key = self.unique.as_deref().unwrap_or_default();
        for (column, field) in self.schema.fields().iter().enumerate() {
            let values = batch.columns[column].as_ref();
            let Some(valid) = values.and_then(|values| values.valid.as_ref()) else {
                continue;
            };
            let of_key = key.contains(&column);
            let stays = |row: usize| actions.is_none_or(|all| all[row] != Action::Delete);
            let wrong = |row: &usize| !valid[*row] && (of_key || (!field.nullable && stays(*row)));
            let Some(row) = (0..batch.rows).find(wrong) else {
                continue;
            };
            let (table, column) = (self.name.clone(), field.name.clone());
            let row = first + row as u64;
            return Err(if of_key {
                Error::NullKey { table, column, row }
            } else {
                Error::Null { table, column, row }
            });
        }
        Ok(())
    }

    fn location_of(&self, column: usize) -> String {
        let name = &self.schema.fields()[column].name;
        format!("column {name:?} of table {:?}", self.name)
    }

    fn names(&self, columns: &[usize]) -> String {
        let name = |&column: &usize| self.schema.fields()[column].name.as_str();
        columns.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}
