//! `try(value)`: the value, or NULL in the rows in which it cannot be computed.
//!
//! Invariant: a row has NULL only where its value alone fails; what stops a call, such as an interrupt or the limit of memory,
//! is no failure of a value. Cost: a pass of the kernels of the value; where k of n rows fail, O(k log n) passes over parts.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, FieldRef, Schema};
use datafusion_common::arrow::compute::concat;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use ringview_core::Error;

use crate::error::own;

/// The name of the function.
pub(crate) const TRY: &str = "try";

/// The function, as the planner finds it.
pub(crate) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(Try {
        signature: Signature::any(1, Volatility::Immutable),
    })
}

/// The kernel of a call, if it is one of this function: the library's fails with its argument.
pub(crate) fn kernel(of: &dyn PhysicalExpr) -> Option<Arc<dyn PhysicalExpr>> {
    let call: &ScalarFunctionExpr = of.downcast_ref()?;
    let field = call.return_field(&Schema::empty()).ok()?;
    match call.args() {
        [value] if call.fun().name() == TRY => Some(Arc::new(Attempt {
            value: Arc::clone(value),
            field,
        })),
        _ => None,
    }
}

/// The types of the function alone; `Attempt` computes it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Try {
    signature: Signature,
}

impl ScalarUDFImpl for Try {
    fn name(&self) -> &str {
        TRY
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    /// The argument may fail, as one that is not computed may.
    fn short_circuits(&self) -> bool {
        true
    }

    fn conditional_arguments<'a>(
        &self,
        args: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        Some((Vec::new(), args.iter().collect()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[0].clone())
    }
}

#[derive(Debug)]
struct Attempt {
    value: Arc<dyn PhysicalExpr>,
    field: FieldRef,
}

impl Attempt {
    /// The values of some rows, which are halved as long as some fail.
    fn values(&self, rows: &RecordBatch, into: &mut Vec<ArrayRef>) -> Result<()> {
        let count = rows.num_rows();
        match self.value.evaluate(rows) {
            Ok(values) => into.push(values.into_array(count)?),
            Err(problem) if stops(own(&problem).as_ref()) => return Err(problem),
            Err(_) if count <= 1 => into.push(new_null_array(self.field.data_type(), count)),
            Err(_) => {
                let half = count / 2;
                self.values(&rows.slice(0, half), into)?;
                self.values(&rows.slice(half, count - half), into)?;
            }
        }
        Ok(())
    }
}

/// Whether an error is of the call and not of a value.
fn stops(error: Option<&Error>) -> bool {
    error.is_some_and(|error| !error.is_of_values())
}

impl PartialEq for Attempt {
    fn eq(&self, other: &Self) -> bool {
        self.value.eq(&other.value)
    }
}

impl Eq for Attempt {}

impl Hash for Attempt {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_sql(f)
    }
}

impl PhysicalExpr for Attempt {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let whole = self.value.evaluate(batch);
        let problem = match whole {
            Ok(values) => return Ok(values),
            Err(problem) => problem,
        };
        if stops(own(&problem).as_ref()) {
            return Err(problem);
        }
        if batch.num_rows() == 0 {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_new_null(
                self.field.data_type(),
            )?));
        }
        let mut parts = Vec::new();
        self.values(batch, &mut parts)?;
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }

    fn return_field(&self, _schema: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.field))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.value]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let field = Arc::clone(&self.field);
        let value = children.into_iter().next();
        let value = value.unwrap_or_else(|| Arc::clone(&self.value));
        Ok(Arc::new(Self { value, field }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("try(")?;
        self.value.fmt_sql(f)?;
        f.write_str(")")
    }
}
