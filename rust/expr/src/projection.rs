//! A filter and columns over a row, compiled: evaluated a batch at a time.
//!
//! Invariant: only the columns that some expression reads are requested; integers that do not fit are an error, as in
//! DuckDB, and never wrap. Cost: a pass of vector kernels a node of the expressions, after one for the filter.

use std::fmt::Display;
use std::ops::Deref;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_empty_array,
};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use datafusion_common::arrow::compute::{CastOptions, cast_with_options, filter_record_batch};
use datafusion_expr::Expr;
use datafusion_expr::type_coercion::binary::type_union_coercion;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use ringview_core::{Error, Result, Schema, Type};

use crate::error::{broken, of_a_row};
use crate::facts::frame;
use crate::physical::physical;
use crate::row_types::{Place, RowTypes, Typed};
use crate::scalar::Scalar;

/// Columns computed from a row, for the rows that a filter passes. It has the types that it is read with.
///
/// ```
/// use ringview_core::{Field, Schema, Type};
/// use ringview_expr::Projection;
/// let sales = Schema::new(vec![Field::new("day", Type::Date32, true), Field::new("price", Type::Int64, true)])?;
/// let of = Projection::read(Some("price > 0"), &["year(\"day\")", "price / 2"], &sales)?;
/// assert_eq!(of.types(), [Type::Int64, Type::Float64]);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Projection {
    row: RowTypes,
    /// The columns of a row that are read.
    schema: SchemaRef,
    filter: Option<Arc<dyn PhysicalExpr>>,
    columns: Vec<Arc<dyn PhysicalExpr>>,
    /// Descriptions of the columns in messages.
    places: Vec<Place>,
}

impl Deref for Projection {
    type Target = RowTypes;

    fn deref(&self) -> &RowTypes {
        &self.row
    }
}

/// Result of a projection over a batch.
#[derive(Debug)]
pub struct Projected {
    /// The rows that pass; all where absent.
    pub passes: Option<BooleanArray>,
    /// The columns, for the rows that pass.
    pub columns: Vec<ArrayRef>,
}

impl Projection {
    /// Compiles a filter and columns over the rows of a schema. O(nodes).
    ///
    /// # Errors
    /// `Value` for an unknown function, incompatible types; `UnknownColumn`; `Type` for a filter that is no condition;
    /// `Unsupported` for a result that no column can hold.
    pub fn bind(
        filter: Option<&Scalar>,
        columns: &[&Scalar],
        schema: &Schema,
    ) -> Result<Projection> {
        Self::compiled(Typed::bind(filter, columns, schema)?)
    }

    /// The same of texts.
    ///
    /// # Errors
    /// As `bind`; `Value` for a text that is no expression.
    pub fn read(filter: Option<&str>, columns: &[&str], schema: &Schema) -> Result<Projection> {
        let filter = filter.map(Scalar::read).transpose()?;
        let columns = columns.iter().map(|text| Scalar::read(text));
        let columns = columns.collect::<Result<Vec<Scalar>>>()?;
        Self::bind(filter.as_ref(), &columns.iter().collect::<Vec<_>>(), schema)
    }

    /// The same of expressions, which messages call as it is said here.
    ///
    /// # Errors
    /// As `bind`.
    pub fn of(
        filter: Option<(Expr, String)>,
        columns: Vec<(Expr, String)>,
        schema: &Schema,
    ) -> Result<Projection> {
        Self::compiled(Typed::of(filter, columns, schema)?)
    }

    fn compiled(of: Typed) -> Result<Projection> {
        let frame = frame(&of.schema)?;
        let physical = |expr: &Expr| physical(expr, &frame);
        Ok(Projection {
            filter: of.condition.as_ref().map(physical).transpose()?,
            columns: of.columns.iter().map(physical).collect::<Result<_>>()?,
            schema: Arc::new(of.schema),
            places: of.places,
            row: of.row,
        })
    }

    /// By input, whether some of the columns read it.
    #[must_use]
    pub fn read_by(&self, columns: &[bool]) -> Vec<bool> {
        let mut read = vec![false; self.row.inputs.len()];
        let computed = self.columns.iter().zip(columns);
        for (column, _) in computed.filter(|(_, wanted)| **wanted) {
            let inputs = collect_columns(column);
            inputs.iter().for_each(|input| read[input.index()] = true);
        }
        read
    }

    /// Some of the columns, for all rows: those that have passed the filter elsewhere. Inputs that none of the columns reads
    /// may be NULL.
    ///
    /// # Errors
    /// As `evaluate`.
    pub fn compute(
        &self,
        inputs: Vec<ArrayRef>,
        rows: usize,
        columns: &[bool],
    ) -> Result<Vec<Option<ArrayRef>>> {
        let fields = self.schema.fields().iter();
        let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema, inputs, &options)
            .map_err(|problem| broken(&problem.to_string()))?;
        let columns = columns.iter().enumerate();
        columns
            .map(|(at, wanted)| wanted.then(|| self.column(at, &batch)).transpose())
            .collect()
    }

    /// The column of the row that a column is, where nothing is computed.
    #[must_use]
    pub fn input_of(&self, at: usize) -> Option<usize> {
        let column: &Column = self.columns[at].downcast_ref()?;
        let is_same =
            *self.schema.field(column.index()).data_type() == self.row.types[at].to_arrow();
        is_same.then(|| self.row.inputs[column.index()])
    }

    /// Hands the columns out in other types, each of which holds the values of its own.
    #[must_use]
    pub fn widened(mut self, types: Vec<Type>) -> Self {
        self.row.types = types;
        self
    }

    /// Computes the columns of a batch, given the columns that are read. O(rows) a node.
    ///
    /// # Errors
    /// `Value` for a row that cannot be computed: a cast that fails, a division by zero; `Overflow`.
    pub fn evaluate(&self, inputs: Vec<ArrayRef>, rows: usize) -> Result<Projected> {
        let mut batch = self.batch(inputs, rows)?;
        let mut passes = None;
        if let Some(found) = self.passes(&batch)? {
            batch = filter_record_batch(&batch, &found)
                .map_err(|problem| broken(&problem.to_string()))?;
            passes = Some(found);
        }
        let columns = (0..self.columns.len()).map(|at| self.column(at, &batch));
        Ok(Projected {
            columns: columns.collect::<Result<_>>()?,
            passes,
        })
    }

    /// The columns that are read of some rows, as `passes` and `column` take them.
    ///
    /// # Errors
    /// `Value` for others than those.
    pub fn batch(&self, inputs: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), inputs, &options);
        batch.map_err(|problem| broken(&problem.to_string()))
    }

    /// The rows of a batch that pass the filter, if there is one.
    ///
    /// # Errors
    /// As `evaluate`.
    pub fn passes(&self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        let Some(filter) = &self.filter else {
            return Ok(None);
        };
        if batch.num_rows() == 0 {
            return Ok(Some(BooleanArray::new_null(0)));
        }
        let found = value(filter, batch, &"the condition")?;
        // NULL does not pass.
        Ok(Some(prepped(found.as_boolean())))
    }

    /// One column over all rows of a batch.
    ///
    /// # Errors
    /// As `evaluate`.
    pub fn column(&self, at: usize, batch: &RecordBatch) -> Result<ArrayRef> {
        let (ty, place) = (&self.row.types[at], &self.places[at]);
        // Some kernels look at the first row, whether there is one or not.
        if batch.num_rows() == 0 {
            return Ok(new_empty_array(&ty.to_arrow()));
        }
        let found = value(&self.columns[at], batch, place)?;
        let too_large = || Error::Overflow {
            place: place.to_string(),
        };
        if let Some(decimals) = found.as_primitive_opt::<Decimal128Type>()
            && decimals
                .validate_decimal_precision(decimals.precision())
                .is_err()
        {
            return Err(too_large());
        }
        if *found.data_type() == ty.to_arrow() {
            return Ok(found);
        }
        let strict = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        cast_with_options(&found, &ty.to_arrow(), &strict).map_err(|_| too_large())
    }
}

/// The type of a column of a union, or another set operation, whose sides have these, as DuckDB has it.
#[must_use]
pub fn common_type(one: &Type, other: &Type) -> Option<Type> {
    if one == other {
        return Some(one.clone());
    }
    let is_integer = |of: &Type| of.to_arrow().is_integer();
    for (one, other) in [(one, other), (other, one)] {
        // The library reads a text as a day, and an integer as a number of days; a truth meets nothing. Moments have
        // other texts there than DuckDB's, and truths no decimals.
        match (one, other) {
            (Type::Utf8, Type::Bool | Type::Date32) => return Some(Type::Utf8),
            (Type::Utf8, Type::Timestamp { .. }) | (Type::Bool, Type::Decimal { .. }) => {
                return None;
            }
            (
                Type::Date32,
                Type::Timestamp {
                    timezone: Some(_), ..
                },
            ) => return Some(other.clone()),
            (Type::Date32, other) if is_integer(other) => return None,
            (Type::Bool, other) if other.to_arrow().is_numeric() => return Some(other.clone()),
            _ => {}
        }
    }
    Type::from_arrow(&type_union_coercion(&one.to_arrow(), &other.to_arrow())?).ok()
}

/// A mask without NULLs.
fn prepped(mask: &BooleanArray) -> BooleanArray {
    match mask.null_count() {
        0 => mask.clone(),
        _ => mask
            .iter()
            .map(|passes| Some(passes == Some(true)))
            .collect(),
    }
}

fn value(
    expr: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
    place: &dyn Display,
) -> Result<ArrayRef> {
    let found = expr
        .evaluate(batch)
        .and_then(|value| value.into_array(batch.num_rows()));
    found.map_err(|problem| of_a_row(&problem, &place.to_string()))
}
