//! A filter and columns over a row: bound once, then evaluated a batch at a time.
//!
//! Invariant: only the columns that some expression reads are asked for; integers that do not fit are an error, as in
//! DuckDB, and never wrap. Cost: a pass of vector kernels a node of the expressions, after one for the filter.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema as ArrowSchema, SchemaRef};
use datafusion_common::arrow::compute::{CastOptions, cast_with_options, filter_record_batch};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, DataFusionError};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::type_coercion::binary::type_union_coercion;
use datafusion_expr::{Expr, ExprSchemable, cast};
use datafusion_physical_expr::expressions::BinaryExpr;
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use ringview_core::{Error, Result, Schema, Type};

use crate::error::{broken, of_a_row};
use crate::parser::bound;

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
    /// The texts, for errors.
    texts: Vec<String>,
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
        let exprs = columns
            .iter()
            .map(|text| typed(text, &all))
            .collect::<Result<Vec<_>>>()?;
        let condition = filter.map(|text| condition(text, &all)).transpose()?;
        let mut read = vec![false; schema.len()];
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
            types: exprs.into_iter().map(|(_, ty)| ty).collect(),
            texts: columns.iter().map(|text| (*text).to_owned()).collect(),
            schema: Arc::new(narrow),
            inputs,
        })
    }

    /// The columns of the row that are read, ascending.
    #[must_use]
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
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
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), inputs, &options);
        let mut batch = batch.map_err(|problem| broken(&problem.to_string()))?;
        let mut passes = None;
        if let Some(filter) = &self.filter {
            let found = value(filter, &batch, "the condition")?;
            // NULL does not pass.
            let found = prepped(found.as_boolean());
            batch = filter_record_batch(&batch, &found)
                .map_err(|problem| broken(&problem.to_string()))?;
            passes = Some(found);
        }
        let columns = self.columns.iter().zip(&self.types).zip(&self.texts);
        let columns = columns.map(|((column, ty), text)| {
            let found = value(column, &batch, text)?;
            if *found.data_type() == ty.to_arrow() {
                return Ok(found);
            }
            let strict = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(&found, &ty.to_arrow(), &strict).map_err(|_| Error::Overflow {
                place: format!("the expression {text}"),
            })
        });
        Ok(Projected {
            columns: columns.collect::<Result<_>>()?,
            passes,
        })
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

fn value(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch, text: &str) -> Result<ArrayRef> {
    let found = expr
        .evaluate(batch)
        .and_then(|value| value.into_array(batch.num_rows()));
    found.map_err(|problem| of_a_row(&problem, text))
}

/// An expression with the type of a column.
fn typed(text: &str, schema: &DFSchema) -> Result<(Expr, Type)> {
    let expr = bound(text, schema)?;
    let ty = expr
        .get_type(schema)
        .map_err(|problem| broken(&problem.to_string()))?;
    let ty = match ty {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        other => other,
    };
    match Type::from_arrow(&ty) {
        Ok(found) => Ok((expr, found)),
        Err(_) => Err(Error::Unsupported {
            what: format!("a column of type {ty} ({text})"),
            why: "no column of a view holds such values".to_owned(),
            instead: "cast it to a number, a date, a timestamp or a text".to_owned(),
        }),
    }
}

/// A condition.
fn condition(text: &str, schema: &DFSchema) -> Result<Expr> {
    let expr = bound(text, schema)?;
    match expr
        .get_type(schema)
        .map_err(|problem| broken(&problem.to_string()))?
    {
        DataType::Boolean => Ok(expr),
        other if other.is_numeric() => Ok(cast(expr, DataType::Boolean)),
        other => Err(Error::Type {
            place: format!("the condition {text}"),
            expected: "bool".to_owned(),
            found: other.to_string(),
        }),
    }
}

/// Kernels for an expression; sums and products of integers are checked.
fn physical(expr: &Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
    let failed = |problem: DataFusionError| broken(&problem.to_string());
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
