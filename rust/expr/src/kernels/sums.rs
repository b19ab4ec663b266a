//! Sums of lists of integers and decimals, which the library adds up as doubles.
//!
//! Invariant: a sum is exact, or an overflow; that of no value is NULL. Cost: one pass over the values.

use std::sync::{Arc, LazyLock};

use arrow_array::Decimal128Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_schema::DataType;
use datafusion_common::{Result, exec_datafusion_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// `exact_list_sum(list)`.
pub(crate) fn exact() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        Arc::new(ScalarUDF::new_from_impl(ListSum {
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    });
    Arc::clone(&MADE)
}

/// The type of the sum of a list, where it is exact.
pub(crate) fn exact_type(of: &DataType) -> Option<DataType> {
    let DataType::List(item) = of else {
        return None;
    };
    match item.data_type() {
        DataType::Decimal128(_, scale) => Some(DataType::Decimal128(38, *scale)),
        whole if whole.is_integer() => Some(DataType::Decimal128(38, 0)),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ListSum {
    signature: Signature,
}

impl ScalarUDFImpl for ListSum {
    fn name(&self) -> &str {
        "exact_list_sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [one] if exact_type(one).is_some() => {
                let item = exact_type(one).map(|item| DataType::new_list(item, true));
                Ok(item.into_iter().collect())
            }
            _ => plan_err!("exact_list_sum takes a list of integers or decimals"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first().and_then(exact_type) {
            Some(ty) => Ok(ty),
            None => plan_err!("exact_list_sum takes a list of integers or decimals"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].to_array(args.number_rows)?;
        let sums = lists.as_list::<i32>().iter().map(|list| {
            let Some(list) = list else {
                return Ok(None);
            };
            let mut values = list.as_primitive::<Decimal128Type>().iter().flatten();
            let Some(first) = values.next() else {
                return Ok(None);
            };
            let sum = values.try_fold(first, |sum: i128, value| sum.checked_add(value));
            let sum = sum.filter(|sum| sum.unsigned_abs() < 10u128.pow(38));
            sum.map(Some)
                .ok_or_else(|| exec_datafusion_err!("overflow of the sum of a list"))
        });
        let sums = sums.collect::<Result<Decimal128Array>>()?;
        Ok(ColumnarValue::Array(Arc::new(
            sums.with_data_type(args.return_field.data_type().clone()),
        )))
    }
}
