//! Values of columns for which a statement gives none.
//!
//! Invariant: a default is of the type of its column, and is dropped or changed with it. Only code that makes rows of
//! statements reads it: rows inserted in a table have all its columns. Cost: O(columns with a default).

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use ringview_core::{Error, Result};

use super::Database;
use super::alteration::Alteration;
use crate::OnCommit;
use crate::reversal::Reversal;
use crate::storage::table::Defaults;

impl Database {
    /// The defaults of a table.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub fn defaults(&self, table: &str) -> Result<&Defaults> {
        let storage = &self.state.storage;
        Ok(&storage.tables[storage.index(table)?].defaults)
    }

    /// Gives a column a default, or takes its own away. `keep` is called once nothing else can fail.
    pub(super) fn set_default(
        &mut self,
        index: usize,
        (column, value): (&str, Option<&RecordBatch>),
        keep: OnCommit<'_>,
    ) -> Result<()> {
        let table = &mut self.state.storage.tables[index];
        let at = table.schema.index_of(column).map_err(|error| match error {
            Error::UnknownColumn { column, known, .. } => Error::UnknownColumn {
                table: table.name.clone(),
                column,
                known,
            },
            other => other,
        })?;
        let ty = table.schema.fields()[at].ty.to_arrow();
        let value = value.map(|value| Arc::clone(value.column(0)));
        if let Some(value) = &value
            && (value.len() != 1 || *value.data_type() != ty)
        {
            return Err(Error::Value {
                place: format!("the default of column {column:?} of table {:?}", table.name),
                problem: format!("one value of type {ty} was expected"),
            });
        }
        keep()?;
        let before = table.defaults.clone();
        match value.filter(|value| value.is_valid(0)) {
            Some(value) => table.defaults.insert(column.to_owned(), value),
            None => table.defaults.remove(column),
        };
        self.record(|| Reversal::RestoreDefaults(index, before));
        Ok(())
    }
}

/// The defaults of a table after an alteration; `value` is the value of an added column in existing rows.
pub(super) fn after(
    mut defaults: Defaults,
    (change, value): (&Alteration, Option<&RecordBatch>),
) -> Result<Defaults> {
    match change {
        Alteration::AddColumn(field) => {
            let value = value.map(|value| Arc::clone(value.column(0)));
            let value = value.filter(|value| value.is_valid(0));
            defaults.extend(value.map(|value| (field.name.clone(), value)));
        }
        Alteration::DropColumn(column) => drop(defaults.remove(column)),
        Alteration::RenameColumn { column, to } => {
            let value = defaults.remove(column);
            defaults.extend(value.map(|value| (to.clone(), value)));
        }
        Alteration::Widen { column, to } => {
            if let Some(value) = defaults.get_mut(column) {
                *value = cast(value, &to.to_arrow()).map_err(|problem| Error::Value {
                    place: format!("the default of column {column:?}"),
                    problem: problem.to_string(),
                })?;
            }
        }
        Alteration::RenameTable(_) | Alteration::SetDefault(_) => {}
    }
    Ok(defaults)
}
