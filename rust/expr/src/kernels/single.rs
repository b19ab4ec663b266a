//! The value of a scalar subquery's only row.
//!
//! Invariant: a value is shown only where it is that of one row, or of none. Cost: one pass over the counts.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// `only(value, rows)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Only {
    signature: Signature,
}

impl Default for Only {
    fn default() -> Self {
        Self {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Only {
    fn name(&self) -> &str {
        "only"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.args[1].to_array(args.number_rows)?;
        let most = rows.as_primitive::<Int64Type>().iter().flatten().max();
        match most {
            Some(rows @ 2..) => exec_err!(
                "a subquery that stands for a value gives {rows} rows, not one: aggregate it, or \
                 choose one by ORDER BY .. LIMIT 1"
            ),
            _ => Ok(args.args[0].clone()),
        }
    }
}
