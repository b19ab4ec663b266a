//! Functions that number rows or show others of them: the library's, over one partition.
//!
//! Invariant: arguments are a column, if any, then constants. Cost: that of the library, O(rows) but for frames.

use std::any::Any;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, FieldRef};
use datafusion_common::arrow::compute::cast;
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::function::{ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::{LimitEffect, PartitionEvaluator, WindowFrame, WindowUDF};
use datafusion_functions_window::{cume_dist, lead_lag, nth_value, ntile, rank, row_number};
use datafusion_physical_expr::expressions::Literal;
use datafusion_physical_expr::window::{
    StandardWindowExpr, StandardWindowFunctionExpr, WindowExpr,
};
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr};

/// The names of all window functions that are no aggregates.
pub const WINDOWS: &[&str] = &[
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// The function of the library.
fn function(name: &str) -> Option<Arc<WindowUDF>> {
    Some(match name {
        "cume_dist" => cume_dist::cume_dist_udwf(),
        "dense_rank" => rank::dense_rank_udwf(),
        "first_value" => nth_value::first_value_udwf(),
        "lag" => lead_lag::lag_udwf(),
        "last_value" => nth_value::last_value_udwf(),
        "lead" => lead_lag::lead_udwf(),
        "nth_value" => nth_value::nth_value_udwf(),
        "ntile" => ntile::ntile_udwf(),
        "percent_rank" => rank::percent_rank_udwf(),
        "rank" => rank::rank_udwf(),
        "row_number" => row_number::row_number_udwf(),
        _ => return None,
    })
}

/// The type of a window function whose argument has this type; none for an aggregate.
#[must_use]
pub fn window_type(name: &str, of: Option<&DataType>) -> Option<DataType> {
    Some(match name {
        "cume_dist" | "percent_rank" => DataType::Float64,
        "dense_rank" | "ntile" | "rank" | "row_number" => DataType::Int64,
        _ if WINDOWS.contains(&name) => of?.clone(),
        _ => return None,
    })
}

/// A window function over a column, with its constants.
#[derive(Debug)]
pub(super) struct Windowed {
    function: StandardWindowExpr,
    ty: DataType,
}

/// The description of rows that a window function gets.
pub(super) struct Over<'o> {
    pub(super) order: &'o [PhysicalSortExpr],
    pub(super) frame: Arc<WindowFrame>,
    pub(super) ignore_nulls: bool,
}

impl Windowed {
    /// A function of these names; none where it is an aggregate.
    pub(super) fn new(
        name: &str,
        column: Option<(Arc<dyn PhysicalExpr>, FieldRef)>,
        constants: &[ScalarValue],
        over: Over<'_>,
    ) -> Result<Option<Self>> {
        let Some(library) = function(name) else {
            return Ok(None);
        };
        let Some(ty) = window_type(name, column.as_ref().map(|(_, field)| field.data_type()))
        else {
            return plan_err!("{name} is of a column");
        };
        let shows = matches!(
            name,
            "lag" | "lead" | "first_value" | "last_value" | "nth_value"
        );
        let most = match name {
            "lag" | "lead" => 2,
            "nth_value" | "ntile" => 1,
            _ => 0,
        };
        let least = usize::from(matches!(name, "nth_value" | "ntile"));
        if column.is_some() != shows || !(least..=most).contains(&constants.len()) {
            return plan_err!("{name} does not take these arguments");
        }
        let (mut arguments, mut fields) = (Vec::new(), Vec::new());
        if let Some((column, field)) = column {
            arguments.push(column);
            fields.push(field);
        }
        for (at, constant) in constants.iter().enumerate() {
            let of = if at == 0 { DataType::Int64 } else { ty.clone() };
            let constant = constant.cast_to(&of)?;
            let is_number = matches!(&constant, ScalarValue::Int64(Some(number)) if *number > 0);
            if least == 1 && !is_number {
                return plan_err!("{name} takes a number from 1");
            }
            let literal = Literal::new(constant);
            fields.push(literal.return_field(&arrow_schema::Schema::empty())?);
            arguments.push(Arc::new(literal) as Arc<dyn PhysicalExpr>);
        }
        let standard = Standard {
            function: library,
            arguments,
            fields,
            ignore_nulls: over.ignore_nulls,
        };
        let function = StandardWindowExpr::new(Arc::new(standard), &[], over.order, over.frame);
        Ok(Some(Self { function, ty }))
    }

    /// The type of its values.
    pub(super) fn ty(&self) -> &DataType {
        &self.ty
    }

    /// A value for each row of a partition.
    pub(super) fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        Ok(cast(&self.function.evaluate(rows)?, &self.ty)?)
    }
}

/// A function of the library as its executor takes it.
#[derive(Debug)]
struct Standard {
    function: Arc<WindowUDF>,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    fields: Vec<FieldRef>,
    ignore_nulls: bool,
}

impl StandardWindowFunctionExpr for Standard {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self) -> Result<FieldRef> {
        let args = WindowUDFFieldArgs::new(&self.fields, self.function.name());
        self.function.field(args)
    }

    fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        let args = ExpressionArgs::new(&self.arguments, &self.fields);
        self.function.expressions(args)
    }

    fn create_evaluator(&self) -> Result<Box<dyn PartitionEvaluator>> {
        let (arguments, fields) = (&self.arguments, &self.fields);
        let args = PartitionEvaluatorArgs::new(arguments, fields, false, self.ignore_nulls);
        self.function.partition_evaluator_factory(args)
    }

    fn limit_effect(&self) -> LimitEffect {
        LimitEffect::Unknown
    }
}
