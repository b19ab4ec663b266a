//! A filter and columns over a row: bound once, then evaluated a batch at a time.
//!
//! Invariant: only the columns that some expression reads are requested; integers that do not fit are an error, as in
//! DuckDB, and never wrap. Cost: a pass of vector kernels a node of the expressions, after one for the filter.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_empty_array,
};
use arrow_schema::{DataType, FieldRef, Schema as ArrowSchema, SchemaRef};
use datafusion_common::DFSchema;
use datafusion_common::arrow::compute::{CastOptions, cast_with_options, filter_record_batch};
use datafusion_expr::expr::Cast;
use datafusion_expr::type_coercion::binary::type_union_coercion;
use datafusion_expr::{Expr, ExprSchemable};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use ringview_core::{Error, Result, Schema, Type};

use crate::checks::{deciding, is_match, is_value};
use crate::conditions::condition;
use crate::error::{broken, of_a_row};
use crate::parser::typed as meant;
use crate::parts::field_of;
use crate::physical::physical;
use crate::scalar::Scalar;
use crate::types::never_fails;

/// Columns computed from a row, for the rows that a filter passes.
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
    inputs: Vec<usize>,
    schema: SchemaRef,
    filter: Option<Arc<dyn PhysicalExpr>>,
    columns: Vec<Arc<dyn PhysicalExpr>>,
    types: Vec<Type>,
    nullable: Vec<bool>,
    /// Columns that may have a value that does not fit; whether the filter may.
    fallible: Vec<bool>,
    decides: bool,
    /// Descriptions of the columns in messages.
    places: Vec<Place>,
}

/// Description of a column in messages.
#[derive(Debug)]
enum Place {
    Called(String),
    /// Its text, which is made where there is a message.
    Of(Scalar),
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Called(place) => f.write_str(place),
            Self::Of(scalar) => f.write_str(&scalar.place()),
        }
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
    /// Binds a filter and columns over the rows of a schema. O(nodes).
    ///
    /// # Errors
    /// `Value` for an unknown function, incompatible types; `UnknownColumn`; `Type` for a filter that is no condition;
    /// `Unsupported` for a result that no column can hold.
    pub fn bind(
        filter: Option<&Scalar>,
        columns: &[&Scalar],
        schema: &Schema,
    ) -> Result<Projection> {
        let whole = schema.to_arrow();
        let all = frame(&whole)?;
        let of = |scalar: &Scalar| {
            let place = Place::Of(scalar.clone());
            Ok((scalar.typed(&all, &place)?, place))
        };
        let columns = columns.iter().map(|scalar| of(scalar));
        let columns = columns.collect::<Result<_>>()?;
        Self::of_typed(filter.map(of).transpose()?, columns, &whole)
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
        let whole = schema.to_arrow();
        let all = frame(&whole)?;
        let of = |(expr, place): (Expr, String)| {
            let place = Place::Called(place);
            Ok((meant(expr, &all, &place)?, place))
        };
        let columns = columns.into_iter().map(of).collect::<Result<_>>()?;
        Self::of_typed(filter.map(of).transpose()?, columns, &whole)
    }

    fn of_typed(
        filter: Option<(Expr, Place)>,
        columns: Vec<(Expr, Place)>,
        whole: &ArrowSchema,
    ) -> Result<Projection> {
        let all = frame(whole)?;
        let truth = |(expr, place): (Expr, Place)| {
            let found = Inspected::new(&expr, &all)?;
            let ty = found.field.data_type().clone();
            let condition = match ty {
                DataType::Boolean => Ok(expr),
                _ => condition(expr, &all).map_err(|_| Error::Type {
                    place: place.to_string(),
                    expected: "bool".to_owned(),
                    found: ty.to_string(),
                }),
            };
            condition.map(|condition| (condition, found.may_fail))
        };
        let condition = filter.map(truth).transpose()?;
        let mut exprs = Vec::with_capacity(columns.len());
        let mut places = Vec::with_capacity(columns.len());
        let (mut types, mut nullable, mut fallible) = (Vec::new(), Vec::new(), Vec::new());
        for (expr, place) in columns {
            let found = Inspected::new(&expr, &all)?;
            types.push(column_type(found.field.data_type(), &place)?);
            nullable.push(found.field.is_nullable());
            fallible.push(found.may_fail);
            exprs.push(expr);
            places.push(place);
        }
        let mut read = vec![false; whole.fields().len()];
        for column in exprs
            .iter()
            .chain(condition.as_ref().map(|(condition, _)| condition))
            .flat_map(Expr::column_refs)
        {
            read[whole
                .index_of(&column.name)
                .map_err(|problem| broken(&problem.to_string()))?] = true;
        }
        let inputs: Vec<usize> = (0..read.len()).filter(|&at| read[at]).collect();
        let narrow = whole
            .project(&inputs)
            .map_err(|problem| broken(&problem.to_string()))?;
        let frame = frame(&narrow)?;
        let physical = |expr: &Expr| physical(expr, &frame);
        Ok(Projection {
            decides: condition.as_ref().is_some_and(|(_, may_fail)| *may_fail),
            filter: (condition.as_ref())
                .map(|(condition, _)| physical(condition))
                .transpose()?,
            columns: exprs.iter().map(physical).collect::<Result<_>>()?,
            nullable,
            fallible,
            types,
            schema: Arc::new(narrow),
            places,
            inputs,
        })
    }

    /// The columns of the row that are read, ascending.
    #[must_use]
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// By input, whether some of the columns read it.
    #[must_use]
    pub fn read_by(&self, columns: &[bool]) -> Vec<bool> {
        let mut read = vec![false; self.inputs.len()];
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
        let is_same = *self.schema.field(column.index()).data_type() == self.types[at].to_arrow();
        is_same.then(|| self.inputs[column.index()])
    }

    /// The types of the columns.
    #[must_use]
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// Whether each column may be NULL.
    #[must_use]
    pub fn nullable(&self) -> &[bool] {
        &self.nullable
    }

    /// Whether each column may have no value in a row: a sum that does not fit its type, a cast that fails.
    #[must_use]
    pub fn fallible(&self) -> &[bool] {
        &self.fallible
    }

    /// The same of the filter.
    #[must_use]
    pub fn has_fallible_filter(&self) -> bool {
        self.decides
    }

    /// Whether there is a filter.
    #[must_use]
    pub fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Hands the columns out in other types, each of which holds the values of its own.
    #[must_use]
    pub fn widened(self, types: Vec<Type>) -> Self {
        Self { types, ..self }
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
        let (ty, place) = (&self.types[at], &self.places[at]);
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

/// The type of the column that an expression of a type makes.
fn column_type(of: &DataType, place: &Place) -> Result<Type> {
    let ty = match of {
        DataType::Utf8View | DataType::LargeUtf8 => &DataType::Utf8,
        other => other,
    };
    Type::from_arrow(ty).map_err(|_| Error::Unsupported {
        what: format!("a column of type {ty} ({place})"),
        why: "no column of a view holds such values".to_owned(),
        instead: "cast it to a number, a date, a timestamp or a text".to_owned(),
    })
}

/// Facts about an expression.
struct Inspected {
    /// Its type, and whether it may be NULL.
    field: FieldRef,
    /// Whether it may have no value in a row.
    may_fail: bool,
}

impl Inspected {
    fn new(expr: &Expr, schema: &DFSchema) -> Result<Self> {
        let mut may_fail = false;
        let field = field_of(expr, schema, &mut |node, frame| {
            may_fail |= !is_safe(node, frame);
        });
        let field = field.map_err(|problem| broken(&problem.to_string()))?;
        Ok(Self { field, may_fail })
    }
}

/// Whether a node has a value in each row in which its operands have: what fits always are columns, constants, comparisons,
/// what is chosen among those, and doubles.
fn is_safe(node: &Expr, frame: &DFSchema) -> bool {
    let fits = |node: &Expr| {
        let ty = node.get_type(frame);
        matches!(ty, Ok(DataType::Float64 | DataType::Boolean))
    };
    match node {
        Expr::BinaryExpr(of) if is_match(of.op) => is_value(&of.right),
        Expr::BinaryExpr(_) | Expr::Negative(_) => fits(node),
        Expr::Cast(Cast { expr, field }) => {
            let from = expr.get_type(frame);
            from.is_ok_and(|from| never_fails(&from, field.data_type()))
        }
        Expr::ScalarFunction(call) => match call.func.name() {
            "coalesce" | "nullif" | "ordered" | "starts_with" | "text_like" => true,
            // Their constants were checked.
            name @ ("date_part" | "regexp_like") => {
                let known = |at: &usize| call.args.get(*at).is_none_or(is_value);
                deciding(name).is_some_and(|all| all.iter().all(known))
            }
            _ => false,
        },
        _ => true,
    }
}

fn frame(schema: &ArrowSchema) -> Result<DFSchema> {
    DFSchema::try_from(schema.clone()).map_err(|problem| broken(&problem.to_string()))
}
