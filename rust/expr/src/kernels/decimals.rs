//! Decimals as doubles.
//!
//! Invariant: the double is the nearest one, ties to the even; the library divides two doubles, of which the first is
//! rounded where a decimal has more than 15 digits. NULL where the argument is. Cost: one pass, and one reading of digits
//! for each value of more than 53 bits.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// `double_of_decimal`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct DoubleOfDecimal {
    signature: Signature,
}

impl Default for DoubleOfDecimal {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for DoubleOfDecimal {
    fn name(&self) -> &str {
        "double_of_decimal"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let DataType::Decimal128(_, scale) = *values.data_type() else {
            return exec_err!("{} takes a decimal", self.name());
        };
        let values = values.as_primitive::<Decimal128Type>();
        let doubles = values.unary::<_, Float64Type>(|value| nearest(value, scale));
        Ok(ColumnarValue::Array(Arc::new(doubles)))
    }
}

/// Whether the library's cast of decimals of so many digits gives the nearest double: digits and power are doubles.
pub(crate) fn is_cast(precision: u8) -> bool {
    precision <= 15
}

/// The double nearest to `digits / 10^scale`.
fn nearest(digits: i128, scale: i8) -> f64 {
    let is_double = digits.unsigned_abs() <= 1 << 53;
    // Up to there powers of ten are doubles, too.
    if is_double && (0..=22).contains(&scale) {
        return digits as f64 / 10f64.powi(i32::from(scale));
    }
    let text = format!("{digits}e{}", -i32::from(scale));
    text.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_decimal_is_the_nearest_double() {
        assert_eq!(
            nearest(41_000_000_000_000_003, 17),
            0.410_000_000_000_000_03
        );
        assert_eq!(nearest(9_999_999_999_999_999, 16), 0.999_999_999_999_999_9);
        assert_eq!(nearest(-12_345, 2), -123.45);
        assert_eq!(nearest(1, 38), 1e-38);
        assert_eq!(nearest(10_000_000_000_000_000_000_000_000, 5), 1e20);
    }
}
