//! A filter and columns over a row: bound once, then evaluated a batch at a time.
//!
//! Invariant: only the columns that some expression reads are asked for; integers that do not fit are an error, as in
//! DuckDB, and never wrap. Cost: a pass of vector kernels a node of the expressions, after one for the filter.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_empty_array,
};
use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use datafusion_common::arrow::compute::{CastOptions, cast_with_options, filter_record_batch};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, DataFusionError};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::type_coercion::binary::type_union_coercion;
use datafusion_expr::{Expr, ExprSchemable, cast};
use datafusion_physical_expr::expressions::{BinaryExpr, Column};
use datafusion_physical_expr::utils::collect_columns;
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use ringview_core::{Error, Result, Schema, Type};

use crate::error::{broken, of_a_row, own};
use crate::parser::{bound, typed as meant};

/// Columns computed from a row, for the rows that a filter passes.
///
/// ```
/// use ringview_core::{Field, Schema, Type};
/// use ringview_expr::Projection;
/// let sales = Schema::new(vec![Field::new("day", Type::Date32, true), Field::new("price", Type::Int64, true)])?;
/// let of = Projection::bind(Some("price > 0"), &["year(\"day\")", "price / 2"], &sales)?;
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
    /// Which columns may have no value that fits; whether the filter may.
    fallible: Vec<bool>,
    decides: bool,
    /// What messages call the columns.
    places: Vec<String>,
}

/// What a projection makes of a batch.
#[derive(Debug)]
pub struct Projected {
    /// Which rows pass; all where absent.
    pub passes: Option<BooleanArray>,
    /// The columns, for the rows that pass.
    pub columns: Vec<ArrayRef>,
}

impl Projection {
    /// Binds a filter and columns over the rows of a schema. O(length of the texts).
    ///
    /// # Errors
    /// `Value` for a text that is no expression, an unknown function, types that do not go together; `UnknownColumn`;
    /// `Type` for a filter that is no condition; `Unsupported` for a result that no column can hold.
    pub fn bind(filter: Option<&str>, columns: &[&str], schema: &Schema) -> Result<Projection> {
        let whole = schema.to_arrow();
        let all = frame(&whole)?;
        let of = |text: &str| Ok((bound(text, &all)?, format!("the expression {text}")));
        let columns = columns.iter().map(|text| of(text));
        let columns = columns.collect::<Result<_>>()?;
        Self::of_typed(filter.map(of).transpose()?, columns, &whole)
    }

    /// The same of expressions that were read; messages call them as it is said here.
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
        let of = |(expr, place): (Expr, String)| Ok((meant(expr, &all, &place)?, place));
        let columns = columns.into_iter().map(of).collect::<Result<_>>()?;
        Self::of_typed(filter.map(of).transpose()?, columns, &whole)
    }

    fn of_typed(
        filter: Option<(Expr, String)>,
        columns: Vec<(Expr, String)>,
        whole: &ArrowSchema,
    ) -> Result<Projection> {
        let all = frame(whole)?;
        let condition = filter.map(|(expr, place)| condition(expr, &place, &all));
        let condition = condition.transpose()?;
        let mut exprs = Vec::with_capacity(columns.len());
        let mut places = Vec::with_capacity(columns.len());
        for (expr, place) in columns {
            let ty = column_type(&expr, &place, &all)?;
            exprs.push((expr, ty));
            places.push(place);
        }
        let mut read = vec![false; whole.fields().len()];
        for column in exprs
            .iter()
            .map(|(expr, _)| expr)
            .chain(&condition)
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
            filter: condition.as_ref().map(physical).transpose()?,
            columns: exprs
                .iter()
                .map(|(expr, _)| physical(expr))
                .collect::<Result<_>>()?,
            nullable: exprs
                .iter()
                .map(|(expr, _)| expr.nullable(&frame).unwrap_or(true))
                .collect(),
            fallible: exprs
                .iter()
                .map(|(expr, _)| may_fail(expr, &frame))
                .collect(),
            decides: condition.as_ref().is_some_and(|of| may_fail(of, &frame)),
            types: exprs.into_iter().map(|(_, ty)| ty).collect(),
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

    /// Which rows of a batch pass the filter, if there is one.
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
        let found = value(filter, batch, "the condition")?;
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
            place: place.clone(),
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

/// The type of a column of a union whose sides have these.
#[must_use]
pub fn common_type(one: &Type, other: &Type) -> Option<Type> {
    if one == other {
        return Some(one.clone());
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

fn value(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch, place: &str) -> Result<ArrayRef> {
    let found = expr
        .evaluate(batch)
        .and_then(|value| value.into_array(batch.num_rows()));
    found.map_err(|problem| of_a_row(&problem, place))
}

/// The type of the column that an expression makes.
fn column_type(expr: &Expr, place: &str, schema: &DFSchema) -> Result<Type> {
    let ty = match type_of(expr, schema)? {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        other => other,
    };
    Type::from_arrow(&ty).map_err(|_| Error::Unsupported {
        what: format!("a column of type {ty} ({place})"),
        why: "no column of a view holds such values".to_owned(),
        instead: "cast it to a number, a date, a timestamp or a text".to_owned(),
    })
}

fn type_of(expr: &Expr, schema: &DFSchema) -> Result<DataType> {
    let ty = expr.get_type(schema);
    ty.map_err(|problem| broken(&problem.to_string()))
}

/// A condition.
fn condition(expr: Expr, place: &str, schema: &DFSchema) -> Result<Expr> {
    match type_of(&expr, schema)? {
        DataType::Boolean => Ok(expr),
        other if other.is_numeric() => Ok(cast(expr, DataType::Boolean)),
        other => Err(Error::Type {
            place: place.to_owned(),
            expected: "bool".to_owned(),
            found: other.to_string(),
        }),
    }
}

/// Whether an expression may have no value in a row: what fits always are columns, constants, comparisons, what is
/// chosen among those, and doubles.
fn may_fail(expr: &Expr, schema: &DFSchema) -> bool {
    let fits = |node: &Expr| {
        let ty = node.get_type(schema);
        matches!(ty, Ok(DataType::Float64 | DataType::Boolean))
    };
    let is_safe = |node: &Expr| match node {
        Expr::BinaryExpr(_) | Expr::Cast(_) | Expr::Negative(_) => fits(node),
        Expr::ScalarFunction(call) => {
            matches!(
                call.func.name(),
                "coalesce" | "nullif" | "ordered" | "text_like"
            )
        }
        _ => true,
    };
    expr.exists(|node| Ok(!is_safe(node))).unwrap_or(true)
}

/// Kernels for an expression; sums and products of integers are checked.
fn physical(expr: &Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
    let failed =
        |problem: DataFusionError| own(&problem).unwrap_or_else(|| broken(&problem.to_string()));
    let made = create_physical_expr(
        expr,
        schema,
        &ExecutionProps::new(),
        &PhysicalPlanningContext::default(),
    );
    let checked = made.map_err(failed)?.transform_up(|node| {
        let Some(binary) = node.downcast_ref::<BinaryExpr>() else {
            return Ok(Transformed::no(node));
        };
        let (left, right) = (Arc::clone(binary.left()), Arc::clone(binary.right()));
        let checked = BinaryExpr::new(left, *binary.op(), right).with_fail_on_overflow(true);
        Ok(Transformed::yes(Arc::new(checked) as Arc<dyn PhysicalExpr>))
    });
    Ok(checked.map_err(failed)?.data)
}

fn frame(schema: &ArrowSchema) -> Result<DFSchema> {
    DFSchema::try_from(schema.clone()).map_err(|problem| broken(&problem.to_string()))
}
