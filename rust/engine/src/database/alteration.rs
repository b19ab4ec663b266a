//! Changes of a table's columns, as users request them and files store them; and the rows
//! afterwards.
//!
//! Invariant: rows keep their order, and columns that a change does not concern stay. Cost: O(rows) where values
//! change.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, Field as ArrowField, Schema};
use arrow_select::take::take;
use ringview_core::{Error, Field, Result, Type};
use serde::{Deserialize, Serialize};

/// Change of the columns of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Alteration {
    /// Adds a column behind all others.
    AddColumn(Field),
    /// Drops a column.
    DropColumn(String),
    /// A column gets another name.
    RenameColumn {
        /// The column.
        column: String,
        /// Its name from then on.
        to: String,
    },
    /// The table gets another name.
    RenameTable(String),
    /// A column gets a type that has all values of its own.
    Widen {
        /// The column.
        column: String,
        /// Its type from then on.
        to: Type,
    },
    /// A column gets a default, or has none.
    SetDefault(String),
}

impl Alteration {
    /// Rows of the table, or of a change of it, after this alteration; they may have columns beyond those of the table.
    /// `value` is one row with the value of an added column, NULL where absent. Partial rows lack columns, and still
    /// lack them afterwards.
    ///
    /// # Errors
    /// `Value` for what Arrow does not make.
    pub fn carried(
        &self,
        table: &str,
        rows: &RecordBatch,
        value: Option<&RecordBatch>,
        are_partial: bool,
    ) -> Result<RecordBatch> {
        self.changed(rows, value, are_partial)
            .map_err(|problem| Error::Value {
                place: format!("the rows of table {table:?}"),
                problem: problem.to_string(),
            })
    }

    fn changed(
        &self,
        rows: &RecordBatch,
        value: Option<&RecordBatch>,
        are_partial: bool,
    ) -> std::result::Result<RecordBatch, ArrowError> {
        let (schema, mut columns) = (rows.schema(), rows.columns().to_vec());
        let fields = schema.fields().iter();
        let mut fields: Vec<ArrowField> = fields.map(|of| (**of).clone()).collect();
        let place = |column: &str| schema.index_of(column).ok();
        match self {
            Self::AddColumn(_) if are_partial => {}
            Self::AddColumn(field) => {
                let ty = field.ty.to_arrow();
                let filled: ArrayRef = match value {
                    Some(value) => {
                        let first = UInt32Array::from(vec![0; rows.num_rows()]);
                        take(value.column(0), &first, None)?
                    }
                    None => new_null_array(&ty, rows.num_rows()),
                };
                columns.push(filled);
                fields.push(ArrowField::new(&field.name, ty, true));
            }
            Self::DropColumn(column) => {
                if let Some(at) = place(column) {
                    columns.remove(at);
                    fields.remove(at);
                }
            }
            Self::RenameColumn { column, to } => {
                if let Some(at) = place(column) {
                    fields[at] = fields[at].clone().with_name(to);
                }
            }
            Self::Widen { column, to } => {
                if let Some(at) = place(column) {
                    let strict = CastOptions {
                        safe: false,
                        ..CastOptions::default()
                    };
                    columns[at] = cast_with_options(&columns[at], &to.to_arrow(), &strict)?;
                    fields[at] = fields[at].clone().with_data_type(to.to_arrow());
                }
            }
            Self::RenameTable(_) | Self::SetDefault(_) => {}
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }
}
