//! `format('{:,} of {}', n, name)` and `printf('%d of %s', n, name)`.
//!
//! Invariant: a text is read once for each run of rows with the same one; NULL where any argument is. A format that
//! does not fit its value is an error. Cost: linear in what is written.
//!
//! | file | holds |
//! |---|---|
//! | `spec` | how one value is shown |
//! | `text` | a format as the pieces that it is made of |

mod spec;
mod text;

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use datafusion_common::arrow::compute::cast;
use datafusion_common::{Result, exec_err, plan_err};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use spec::Shown;
use text::{Piece, Style};

/// `format(text, ..)`.
pub(crate) fn format() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("format", Style::Braces));
    Arc::clone(&MADE)
}

/// `printf(text, ..)`.
pub(crate) fn printf() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| made("printf", Style::Percent));
    Arc::clone(&MADE)
}

fn made(name: &'static str, style: Style) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Formatted {
        name,
        style,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Formatted {
    name: &'static str,
    style: Style,
    signature: Signature,
}

impl ScalarUDFImpl for Formatted {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Numbers are shown as integers or doubles, all else as text.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [_, values @ ..] = types else {
            return plan_err!("{} takes a text, and what stands in it", self.name);
        };
        let of = |ty: &DataType| match ty {
            // HUGEINT.
            DataType::UInt64 | DataType::Boolean | DataType::Decimal128(38, 0) => ty.clone(),
            other if other.is_integer() => DataType::Int64,
            DataType::Decimal128(..) | DataType::Float32 | DataType::Float64 => DataType::Float64,
            _ => DataType::Utf8,
        };
        let mut all = vec![DataType::Utf8];
        all.extend(values.iter().map(of));
        Ok(all)
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|of| of.to_array(rows));
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        let formats = cast(&arrays[0], &DataType::Utf8)?;
        let formats = formats.as_string::<i32>();
        let mut last: Option<(&str, Vec<Piece>)> = None;
        let shown = (0..rows).map(|row| {
            if formats.is_null(row) || arrays.iter().any(|array| array.is_null(row)) {
                return Ok(None);
            }
            let format = formats.value(row);
            let pieces = match &mut last {
                Some((known, pieces)) if *known == format => pieces,
                other => &mut other.insert((format, self.style.pieces(format)?)).1,
            };
            let mut shown = String::new();
            for piece in pieces {
                match piece {
                    Piece::Text(text) => shown.push_str(text),
                    Piece::Value(at, spec) => match arrays.get(*at + 1) {
                        Some(array) => spec.write(&value(array, row), &mut shown)?,
                        None => {
                            return exec_err!(
                                "{format:?} asks for value {}, which is not given",
                                *at + 1
                            );
                        }
                    },
                }
            }
            Ok(Some(shown))
        });
        let shown = shown.collect::<Result<StringArray>>()?;
        Ok(ColumnarValue::Array(Arc::new(shown)))
    }
}

fn value(of: &ArrayRef, row: usize) -> Shown<'_> {
    match of.data_type() {
        DataType::Boolean => Shown::Text(if of.as_boolean().value(row) {
            "true"
        } else {
            "false"
        }),
        DataType::Int64 => Shown::Integer(of.as_primitive::<Int64Type>().value(row).into()),
        DataType::Decimal128(..) => Shown::Integer(of.as_primitive::<Decimal128Type>().value(row)),
        DataType::UInt64 => Shown::Integer(of.as_primitive::<UInt64Type>().value(row).into()),
        DataType::Float64 => Shown::Double(of.as_primitive::<Float64Type>().value(row)),
        _ => Shown::Text(of.as_string::<i32>().value(row)),
    }
}
