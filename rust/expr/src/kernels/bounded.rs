//! Functions whose results may be far longer than their arguments: a number among those says how long.
//!
//! Invariant: the room for a result is checked before the library allocates it (`check_room`); what the check counts is never
//! less than the bytes of the result. Cost: one pass over the lengths of the arguments.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef};
use datafusion_common::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use ringview_core::check_room;

/// Bytes of the results over all rows, from the arguments.
type Size = fn(&[ArrayRef]) -> Result<u64>;

/// The functions, and the sizes of their results.
const BOUNDED: &[(&str, Size)] = &[
    ("array_resize", |of| {
        Ok(sum(of, |row| VALUE * row.number(1)))
    }),
    ("concat", joined),
    ("concat_ws", joined),
    ("generate_series", counted),
    ("lpad", padded),
    ("range", counted),
    ("regexp_replace", replaced_anywhere),
    ("repeat", |of| {
        Ok(sum(of, |row| row.bytes(0).saturating_mul(row.number(1))))
    }),
    ("replace", replaced),
    ("rpad", padded),
    ("translate", |of| {
        Ok(sum(of, |row| CHARACTER * row.bytes(0)))
    }),
];

/// The most bytes of a character.
const CHARACTER: u64 = 4;
/// Bytes of a value of a list, at least.
const VALUE: u64 = 8;

/// A function that checks the room for its result, in the place of one that does not; the same where none is needed.
pub(crate) fn bounded(function: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match BOUNDED.iter().find(|(name, _)| *name == function.name()) {
        Some(&(_, size)) => Arc::new(ScalarUDF::new_from_impl(Bounded { function, size })),
        None => function,
    }
}

#[derive(Debug)]
struct Bounded {
    function: Arc<ScalarUDF>,
    size: Size,
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.function.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.function.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.function.coerce_types(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let are_constant = (args.args.iter()).all(|of| matches!(of, ColumnarValue::Scalar(_)));
        let rows = if are_constant { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|of| of.to_array(rows));
        let bytes = (self.size)(&arrays.collect::<Result<Vec<_>>>()?)?;
        let what = || format!("the result of {}", self.function.name());
        check_room(bytes, what).map_err(|of| DataFusionError::External(Box::new(of)))?;
        self.function.invoke_with_args(args)
    }
}

/// The arguments of one row.
struct Row<'a> {
    of: &'a [Argument],
    at: usize,
}

/// An argument, as far as it says how long a result is.
enum Argument {
    Numbers(ArrayRef),
    /// Texts, by the ends of each.
    Texts(ArrayRef),
    Other,
}

impl Argument {
    fn new(of: &ArrayRef) -> Argument {
        let lenient = CastOptions {
            safe: true,
            ..CastOptions::default()
        };
        let cast_to = |ty| cast_with_options(of, ty, &lenient);
        match of.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                cast(of, &DataType::LargeUtf8).map_or(Argument::Other, Argument::Texts)
            }
            ty if ty.is_integer() => {
                cast_to(&DataType::Int64).map_or(Argument::Other, Argument::Numbers)
            }
            _ => Argument::Other,
        }
    }
}

impl Row<'_> {
    fn bytes(&self, argument: usize) -> u64 {
        match self.of.get(argument) {
            Some(Argument::Texts(of)) if of.is_valid(self.at) => {
                of.as_string::<i64>().value(self.at).len() as u64
            }
            _ => 0,
        }
    }

    fn signed(&self, argument: usize) -> Option<i64> {
        match self.of.get(argument) {
            Some(Argument::Numbers(of)) if of.is_valid(self.at) => {
                Some(of.as_primitive::<Int64Type>().value(self.at))
            }
            _ => None,
        }
    }

    /// A number, 0 where it is none or below.
    fn number(&self, argument: usize) -> u64 {
        let number = self.signed(argument).unwrap_or(0);
        u64::try_from(number).unwrap_or(0)
    }
}

/// The sum of a size over the rows.
fn sum(of: &[ArrayRef], size: impl Fn(&Row<'_>) -> u64) -> u64 {
    let rows = of.iter().map(Array::len).max().unwrap_or(0);
    let arguments: Vec<Argument> = of.iter().map(Argument::new).collect();
    let of = &arguments[..];
    let sizes = (0..rows).map(|at| size(&Row { of, at }));
    sizes.fold(0, u64::saturating_add)
}

fn joined(of: &[ArrayRef]) -> Result<u64> {
    let all = of.len();
    // For concat_ws, the first argument is the separator between the others.
    let one = |row: &Row<'_>| (0..all).map(|at| row.bytes(at)).sum::<u64>();
    Ok(sum(of, |row| {
        one(row) + row.bytes(0).saturating_mul(all as u64)
    }))
}

fn padded(of: &[ArrayRef]) -> Result<u64> {
    Ok(sum(of, |row| row.number(1).saturating_mul(CHARACTER)))
}

fn replaced(of: &[ArrayRef]) -> Result<u64> {
    Ok(sum(of, |row| {
        let (text, from, to) = (row.bytes(0), row.bytes(1), row.bytes(2));
        let times = text.checked_div(from).map_or(text + 1, |times| times);
        text.saturating_add(times.saturating_mul(to))
    }))
}

/// A pattern may match at each place, and say all of the text again.
fn replaced_anywhere(of: &[ArrayRef]) -> Result<u64> {
    Ok(sum(of, |row| {
        let (text, to) = (row.bytes(0), row.bytes(2));
        text.saturating_add((text + 1).saturating_mul(to))
    }))
}

/// Values from a start, or 0, to an end in steps.
fn counted(of: &[ArrayRef]) -> Result<u64> {
    Ok(sum(of, |row| {
        let (start, end) = match (row.signed(0), row.signed(1)) {
            (Some(start), Some(end)) => (start, end),
            (Some(end), None) => (0, end),
            _ => return 0,
        };
        let step = row.signed(2).unwrap_or(1).unsigned_abs().max(1);
        VALUE.saturating_mul(start.abs_diff(end) / step + 1)
    }))
}
