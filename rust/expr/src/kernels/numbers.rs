//! Numbers: rounding, doubles that must fit a float32, and divisors.
//!
//! Invariant: NULL where the argument is. Cost: one pass.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// `round_even`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RoundEven {
    signature: Signature,
}

impl Default for RoundEven {
    fn default() -> Self {
        Self {
            signature: Signature::exact(vec![DataType::Float64], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for RoundEven {
    fn name(&self) -> &str {
        "round_even"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let values = values.as_primitive::<Float64Type>();
        let rounded = values.unary::<_, Float64Type>(f64::round_ties_even);
        Ok(ColumnarValue::Array(Arc::new(rounded)))
    }
}

/// `in_float32`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct InFloat32 {
    signature: Signature,
}

impl Default for InFloat32 {
    fn default() -> Self {
        Self {
            signature: Signature::exact(vec![DataType::Float64], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for InFloat32 {
    fn name(&self) -> &str {
        "in_float32"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let too_large = |value: f64| value.is_finite() && (value as f32).is_infinite();
        let found = values.as_primitive::<Float64Type>();
        if let Some(value) = found.iter().flatten().find(|&value| too_large(value)) {
            return exec_err!("{value} does not fit FLOAT");
        }
        Ok(ColumnarValue::Array(values))
    }
}

/// `ordered`: Arrow orders floats by their bits, where -0 is less than 0 and a NaN may be less than all.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ordered {
    signature: Signature,
}

impl Default for Ordered {
    fn default() -> Self {
        Self {
            signature: Signature::uniform(
                1,
                vec![DataType::Float64, DataType::Float32],
                Volatility::Immutable,
            ),
        }
    }
}

impl ScalarUDFImpl for Ordered {
    fn name(&self) -> &str {
        "ordered"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types.first().cloned().unwrap_or(DataType::Float64))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let found: ArrayRef = match values.data_type() {
            DataType::Float32 => {
                let one = |value: f32| {
                    if value.is_nan() {
                        f32::NAN
                    } else {
                        value + 0.0
                    }
                };
                Arc::new(
                    values
                        .as_primitive::<Float32Type>()
                        .unary::<_, Float32Type>(one),
                )
            }
            _ => {
                let one = |value: f64| {
                    if value.is_nan() {
                        f64::NAN
                    } else {
                        value + 0.0
                    }
                };
                Arc::new(
                    values
                        .as_primitive::<Float64Type>()
                        .unary::<_, Float64Type>(one),
                )
            }
        };
        Ok(ColumnarValue::Array(found))
    }
}

/// `nonzero`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct NonZero {
    signature: Signature,
}

impl Default for NonZero {
    fn default() -> Self {
        Self {
            signature: Signature::exact(vec![DataType::Float64], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for NonZero {
    fn name(&self) -> &str {
        "nonzero"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        if values
            .as_primitive::<Float64Type>()
            .iter()
            .flatten()
            .any(|value| value == 0.0)
        {
            return exec_err!("division by zero");
        }
        Ok(ColumnarValue::Array(values))
    }
}
