//! Bits of integers: `xor`, `bit_not`, which a text writes `~`, and how many of them are set.
//!
//! Invariant: the type of a result is that of the operands, or a 64-bit integer where those differ; of a count int8. Cost: one pass.

use std::ops::{BitXor, Not};
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
use datafusion_common::arrow::compute::kernels::bitwise;
use datafusion_common::arrow::datatypes::ToByteSlice;
use datafusion_common::{Result, plan_err};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// `xor(x, y)`.
pub(crate) fn xor() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("xor"));
    Arc::clone(&MADE)
}

/// `bit_not(x)`.
pub(crate) fn not() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("bit_not"));
    Arc::clone(&MADE)
}

/// `bit_count(x)`.
pub(crate) fn count() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("bit_count"));
    Arc::clone(&MADE)
}

fn made(name: &'static str) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Bits {
        name,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Bits {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Bits {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let expected = if self.name == "xor" { 2 } else { 1 };
        let is_taken = |of: &DataType| of.is_integer() || of.is_null();
        if types.len() != expected || !types.iter().all(is_taken) {
            return plan_err!("{} takes {expected} integers", self.name);
        }
        let to = match types {
            [one, rest @ ..] if one.is_integer() && rest.iter().all(|other| other == one) => {
                one.clone()
            }
            _ => DataType::Int64,
        };
        Ok(vec![to; expected])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match self.name {
            "bit_count" => Ok(DataType::Int8),
            _ => Ok(self.coerce_types(types)?.remove(0)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let operands = args.args.iter().map(|of| of.to_array(rows));
        let operands = operands.collect::<Result<Vec<ArrayRef>>>()?;
        let computed = match operands[0].data_type() {
            DataType::Int8 => self.computed::<Int8Type>(&operands),
            DataType::Int16 => self.computed::<Int16Type>(&operands),
            DataType::Int32 => self.computed::<Int32Type>(&operands),
            DataType::UInt8 => self.computed::<UInt8Type>(&operands),
            DataType::UInt16 => self.computed::<UInt16Type>(&operands),
            DataType::UInt32 => self.computed::<UInt32Type>(&operands),
            DataType::UInt64 => self.computed::<UInt64Type>(&operands),
            _ => self.computed::<Int64Type>(&operands),
        };
        Ok(ColumnarValue::Array(computed?))
    }
}

impl Bits {
    fn computed<T>(&self, operands: &[ArrayRef]) -> Result<ArrayRef>
    where
        T: ArrowPrimitiveType,
        T::Native: BitXor<Output = T::Native> + Not<Output = T::Native>,
    {
        let first = operands[0].as_primitive::<T>();
        Ok(match operands.get(1) {
            Some(other) => Arc::new(bitwise::bitwise_xor(first, other.as_primitive::<T>())?),
            None if self.name == "bit_count" => {
                let ones = |value: T::Native| {
                    let bytes = value.to_byte_slice();
                    bytes.iter().map(|byte| byte.count_ones() as i8).sum()
                };
                Arc::new(first.unary::<_, Int8Type>(ones))
            }
            None => Arc::new(bitwise::bitwise_not(first)?),
        })
    }
}
