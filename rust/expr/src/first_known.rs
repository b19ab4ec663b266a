//! The first of some values that is not NULL.
//!
//! Invariant: a value is computed for the rows alone in which all before it are NULL, and once. Cost: a pass of kernels a
//! value, over those rows.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{FieldRef, Schema};
use datafusion_common::arrow::compute::is_null;
use datafusion_common::arrow::compute::kernels::zip::zip;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Expr, lit};
use datafusion_functions::core::coalesce;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// The first of some values that is not NULL; those after it are not computed.
pub(crate) fn first_known(mut of: Vec<Expr>) -> Expr {
    match of.len() {
        0 => lit(ScalarValue::Null),
        1 => of.remove(0),
        _ => coalesce().call(of),
    }
}

/// The kernel of a call, if it is one of this function: the library's evaluates all arguments.
pub(crate) fn kernel(of: &dyn PhysicalExpr) -> Option<Arc<dyn PhysicalExpr>> {
    let call: &ScalarFunctionExpr = of.downcast_ref()?;
    let field = call.return_field(&Schema::empty()).ok()?;
    let values = call.args().to_vec();
    let is_one = call.fun().name() == "coalesce" && !values.is_empty();
    is_one.then(|| Arc::new(FirstKnown { values, field }) as Arc<dyn PhysicalExpr>)
}

#[derive(Debug)]
struct FirstKnown {
    values: Vec<Arc<dyn PhysicalExpr>>,
    field: FieldRef,
}

impl PartialEq for FirstKnown {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for FirstKnown {}

impl Hash for FirstKnown {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values.hash(state);
    }
}

impl fmt::Display for FirstKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_sql(f)
    }
}

impl PhysicalExpr for FirstKnown {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let mut found = self.values[0].evaluate(batch)?.into_array(rows)?;
        for value in &self.values[1..] {
            if found.logical_null_count() == 0 {
                break;
            }
            let missing = is_null(&found)?;
            let other = value.evaluate_selection(batch, &missing)?;
            found = zip(&missing, &other.into_array(rows)?, &found)?;
        }
        Ok(ColumnarValue::Array(found))
    }

    fn return_field(&self, _schema: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.field))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.values.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        values: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let field = Arc::clone(&self.field);
        Ok(Arc::new(Self { values, field }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("coalesce(")?;
        for (at, value) in self.values.iter().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            value.fmt_sql(f)?;
        }
        f.write_str(")")
    }
}
