//! Kernels for an expression, those that rows and constants are computed by.
//!
//! Invariant: sums, differences and products of integers are checked, and never wrap. Cost: O(size of the expression).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Schema};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{ColumnarValue, Expr, ExprSchemable, Operator};
use datafusion_physical_expr::expressions::{BinaryExpr, Column, Literal, NegativeExpr};
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};

use crate::attempt;
use crate::error::{broken, own};
use crate::first_known;
use crate::kernels::bounded::bounded;
use crate::parts::Parts;

/// Kernels for an expression; sums and products of integers are checked.
pub(crate) fn physical(
    expr: &Expr,
    schema: &DFSchema,
) -> ringview_core::Result<Arc<dyn PhysicalExpr>> {
    let failed =
        |problem: DataFusionError| own(&problem).unwrap_or_else(|| broken(&problem.to_string()));
    let mut parts = Parts::over(schema);
    let last = parts.make(expr.clone(), &mut |parts, node, frame| {
        let of = placed(kernel(&node, frame)?, parts, (frame, schema))?;
        let field = node.to_field(frame)?.1;
        let made: Arc<dyn PhysicalExpr> = Arc::new(Part { of, field });
        Ok((node, made))
    });
    let made = last.and_then(|last| {
        let frame = parts.frame(&last)?;
        placed(kernel(&last, &frame)?, &mut parts, (&frame, schema))
    });
    made.map_err(failed)
}

/// The kernel of a node over its operands.
fn kernel(node: &Expr, frame: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
    // The library allocates memory by the values of arguments.
    let checked = match node {
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            let func = bounded(Arc::clone(func));
            Some(Expr::ScalarFunction(ScalarFunction::new_udf(
                func,
                args.clone(),
            )))
        }
        _ => None,
    };
    let made = create_physical_expr(
        checked.as_ref().unwrap_or(node),
        frame,
        &ExecutionProps::new(),
        &PhysicalPlanningContext::default(),
    );
    let columns = frame.as_arrow();
    let of_integer = |of: &NegativeExpr| -> Result<bool> {
        Ok(of.arg().data_type(columns)?.is_signed_integer())
    };
    let checked = made?.transform_up(|node| {
        let (left, op, right) = match node.downcast_ref::<BinaryExpr>() {
            Some(binary) => (
                Arc::clone(binary.left()),
                *binary.op(),
                Arc::clone(binary.right()),
            ),
            // The library's minus wraps around.
            None => match node.downcast_ref::<NegativeExpr>() {
                Some(negative) if of_integer(negative)? => {
                    let zero = ScalarValue::new_zero(&negative.arg().data_type(columns)?)?;
                    let zero: Arc<dyn PhysicalExpr> = Arc::new(Literal::new(zero));
                    (zero, Operator::Minus, Arc::clone(negative.arg()))
                }
                _ => {
                    let ours = first_known::kernel(node.as_ref());
                    return Ok(match ours.or_else(|| attempt::kernel(node.as_ref())) {
                        Some(kernel) => Transformed::yes(kernel),
                        None => Transformed::no(node),
                    });
                }
            },
        };
        let checked = BinaryExpr::new(left, op, right).with_fail_on_overflow(true);
        Ok(Transformed::yes(Arc::new(checked) as Arc<dyn PhysicalExpr>))
    });
    Ok(checked?.data)
}

/// A kernel with those of its operands in the place of their columns.
fn placed(
    kernel: Arc<dyn PhysicalExpr>,
    parts: &mut Parts<'_, Arc<dyn PhysicalExpr>>,
    (frame, schema): (&DFSchema, &DFSchema),
) -> Result<Arc<dyn PhysicalExpr>> {
    let placed = kernel.transform_up(|node| {
        let Some(column) = node.downcast_ref::<Column>() else {
            return Ok(Transformed::no(node));
        };
        if let Some(part) = parts.of(column.name()) {
            return Ok(Transformed::yes(Arc::clone(part)));
        }
        let at = schema.index_of_column(&frame.columns()[column.index()])?;
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), at));
        Ok(Transformed::yes(column))
    });
    Ok(placed?.data)
}

/// The kernel of a part, whose type the nodes above it need not compute.
#[derive(Debug)]
struct Part {
    of: Arc<dyn PhysicalExpr>,
    field: FieldRef,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.of.eq(&other.of)
    }
}

impl Eq for Part {}

impl Hash for Part {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of.hash(state);
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.of)
    }
}

impl PhysicalExpr for Part {
    fn return_field(&self, _schema: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.field))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.of.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.of]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let field = Arc::clone(&self.field);
        let of = children.into_iter().next();
        let of = of.unwrap_or_else(|| Arc::clone(&self.of));
        Ok(Arc::new(Self { of, field }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of.fmt_sql(f)
    }
}

/// The value of an expression that reads no row.
pub(crate) fn evaluated(expr: &Expr) -> Result<ScalarValue> {
    let own = |problem| DataFusionError::External(Box::new(problem));
    let kernel = physical(expr, &DFSchema::empty()).map_err(own)?;
    let row = RecordBatchOptions::new().with_row_count(Some(1));
    let none = RecordBatch::try_new_with_options(Schema::empty().into(), Vec::new(), &row)?;
    let value = match kernel.evaluate(&none)? {
        ColumnarValue::Scalar(value) => value,
        ColumnarValue::Array(of) if of.len() == 1 => ScalarValue::try_from_array(&of, 0)?,
        ColumnarValue::Array(of) => {
            let problem = format!("{expr} has {} values", of.len());
            return Err(DataFusionError::Execution(problem));
        }
    };
    match &value {
        ScalarValue::Decimal128(Some(digits), precision, _)
            if digits.unsigned_abs() >= 10u128.pow((*precision).into()) =>
        {
            Err(DataFusionError::Execution(format!("overflow in {expr}")))
        }
        _ => Ok(value),
    }
}
