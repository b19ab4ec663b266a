//! Shifts of the bits of integers, `<<` and `>>`, as DuckDB defines them.
//!
//! Invariant: no bit is lost to the left: a negative number, a shift by one, and a result that does not fit are errors.
//! To the right, the bits shifted out are lost, and a shift by the width or more, or by a negative number, is 0. Cost:
//! one pass.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{ArrowError, DataType};
use datafusion_common::arrow::compute::kernels::arity::try_binary;
use datafusion_common::{Result, plan_err};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// `shift_left(x, by)`.
pub(crate) fn left() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("shift_left"));
    Arc::clone(&MADE)
}

/// `shift_right(x, by)`.
pub(crate) fn right() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("shift_right"));
    Arc::clone(&MADE)
}

fn made(name: &'static str) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Shift {
        name,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Shift {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Shift {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_taken = |of: &DataType| of.is_integer() || of.is_null();
        match types {
            [one, other] if one == other && one.is_integer() => Ok(types.to_vec()),
            [_, _] if types.iter().all(is_taken) => Ok(vec![DataType::Int64; 2]),
            _ => plan_err!("{} takes two integers", self.name),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(self.coerce_types(types)?.remove(0))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [of, by] = [&args.args[0], &args.args[1]].map(|of| of.to_array(args.number_rows));
        let (of, by) = (of?, by?);
        let is_left = self.name == "shift_left";
        let shifted = match of.data_type() {
            DataType::Int8 => shifted::<Int8Type>(&of, &by, is_left),
            DataType::Int16 => shifted::<Int16Type>(&of, &by, is_left),
            DataType::Int32 => shifted::<Int32Type>(&of, &by, is_left),
            DataType::UInt8 => shifted::<UInt8Type>(&of, &by, is_left),
            DataType::UInt16 => shifted::<UInt16Type>(&of, &by, is_left),
            DataType::UInt32 => shifted::<UInt32Type>(&of, &by, is_left),
            DataType::UInt64 => shifted::<UInt64Type>(&of, &by, is_left),
            _ => shifted::<Int64Type>(&of, &by, is_left),
        };
        Ok(ColumnarValue::Array(shifted?))
    }
}

fn shifted<T>(of: &ArrayRef, by: &ArrayRef, is_left: bool) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128> + TryFrom<i128>,
{
    let width = 8 * i128::try_from(size_of::<T::Native>()).unwrap_or_default();
    let shift = if is_left { to_left } else { to_right };
    let one = |of: T::Native, by: T::Native| {
        let (of, by) = (of.into(), by.into());
        let shifted = shift(of, by, width)?;
        T::Native::try_from(shifted).map_err(|_| overflow(of, by))
    };
    let made: PrimitiveArray<T> = try_binary(of.as_primitive::<T>(), by.as_primitive::<T>(), one)?;
    Ok(Arc::new(made))
}

fn overflow(of: i128, by: i128) -> ArrowError {
    ArrowError::ArithmeticOverflow(format!("overflow in {of} << {by}"))
}

fn to_left(of: i128, by: i128, width: i128) -> std::result::Result<i128, ArrowError> {
    let refused = |what: &str| Err(ArrowError::ComputeError(format!("{of} << {by}: {what}")));
    match (of, by) {
        (..0, _) => refused("a negative number is not shifted to the left"),
        (_, ..0) => refused("a number is not shifted by less than nothing"),
        (0, _) | (_, 0) => Ok(of),
        // The highest bit stays free, of types without a sign too.
        _ if by < width && of < 1 << (width - by - 1) => Ok(of << by),
        _ => Err(overflow(of, by)),
    }
}

fn to_right(of: i128, by: i128, width: i128) -> std::result::Result<i128, ArrowError> {
    Ok(if (0..width).contains(&by) {
        of >> by
    } else {
        0
    })
}
