//! Arguments that a meaning reads more than once, computed once.
//!
//! Invariant: an argument occurs in an expression once, even if its meaning reads it several times: copies would double
//! planning and computation at each level of nested calls. Cost: where an argument is computed, one batch of the
//! arguments.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue, internal_err};
use datafusion_expr::simplify::SimplifyContext;
use datafusion_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, ident,
};
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use datafusion_physical_expr::PhysicalExpr;

use crate::parts::is_part;
use crate::physical::physical;

/// The expression that `body` makes of its arguments, each of which is computed once.
pub(crate) fn shared(
    args: Vec<Expr>,
    schema: &DFSchema,
    body: impl FnOnce(Vec<Expr>) -> Result<Expr>,
) -> Result<Expr> {
    let is_leaf = |of: &Expr| match of {
        Expr::Column(column) => !is_part(column),
        of => matches!(of, Expr::Literal(..) | Expr::OuterReferenceColumn(..)),
    };
    if args.iter().all(is_leaf) {
        return body(args);
    }
    let (mut computed, mut fields, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for arg in args {
        if matches!(arg, Expr::Literal(..)) {
            read.push(arg);
            continue;
        }
        let name = format!("argument {}", fields.len());
        fields.push(Field::new(&name, arg.get_type(schema)?, true));
        read.push(ident(name));
        computed.push(arg);
    }
    let frame = DFSchema::try_from(Schema::new(fields))?;
    let body = coerced(body(read)?, &frame)?;
    let kernel = physical(&body, &frame).map_err(|of| DataFusionError::External(Box::new(of)))?;
    let gives = body.get_type(&frame)?;
    let signature = Signature::user_defined(Volatility::Immutable);
    let types = (frame.fields().iter()).map(|field| field.data_type().clone());
    let types = types.collect();
    let made = Shared {
        body,
        kernel,
        types,
        gives,
        signature,
    };
    Ok(ScalarUDF::new_from_impl(made).call(computed))
}

/// An expression with casts around operands whose types the library brings together.
pub(crate) fn coerced(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let context = SimplifyContext::builder().with_schema(Arc::new(schema.clone()));
    ExprSimplifier::new(context.build()).coerce(expr, schema)
}

/// A function that is an expression over its arguments.
#[derive(Debug)]
struct Shared {
    body: Expr,
    kernel: Arc<dyn PhysicalExpr>,
    types: Vec<DataType>,
    gives: DataType,
    signature: Signature,
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        self.body == other.body && self.types == other.types
    }
}

impl Eq for Shared {}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.body.hash(state);
    }
}

/// The columns of the body, as the arguments are given.
fn frame<'f>(fields: impl Iterator<Item = &'f FieldRef>) -> Schema {
    let named = |(at, field): (usize, &FieldRef)| {
        let name = format!("argument {at}");
        Field::new(name, field.data_type().clone(), field.is_nullable())
    };
    Schema::new(fields.enumerate().map(named).collect::<Vec<_>>())
}

impl ScalarUDFImpl for Shared {
    fn name(&self) -> &str {
        "shared"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// An argument whose type planning changes is made what the body reads.
    fn coerce_types(&self, _types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(self.types.clone())
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        internal_err!("its fields say more")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let frame = DFSchema::try_from(frame(args.arg_fields.iter()))?;
        let nullable = self.body.nullable(&frame)?;
        Ok(Arc::new(Field::new("shared", self.gives.clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let are_constant = (args.args.iter()).all(|of| matches!(of, ColumnarValue::Scalar(_)));
        let rows = if are_constant { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|of| of.to_array(rows));
        let schema = Arc::new(frame(args.arg_fields.iter()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        match self.kernel.evaluate(&batch)? {
            ColumnarValue::Array(of) if are_constant => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&of, 0)?))
            }
            found => Ok(found),
        }
    }
}
