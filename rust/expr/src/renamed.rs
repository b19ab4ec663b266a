//! Names of DuckDB's for other functions.
//!
//! Invariant: each is a function to the planner, and none is left once `meaning` has rewritten a text. Cost: none.

use arrow_schema::{DataType, IntervalUnit};
use datafusion_common::DataFusionError;
use datafusion_expr::type_coercion::binary::type_union_resolution;
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::kernels::time::{MOMENT, instant};

/// The names.
pub(crate) const NAMES: &[&str] = &[
    "array_aggregate",
    "array_unique",
    "bin",
    "ceiling",
    "century",
    "coalesce",
    "date_add",
    "date_diff",
    "date_sub",
    "datediff",
    "datesub",
    "day",
    "dayname",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "decade",
    "divide_checked",
    "divide_integers",
    "editdist3",
    "epoch",
    "epoch_ms",
    "epoch_us",
    "era",
    "hex",
    "hour",
    "if",
    "iff",
    "ifnull",
    "int_divide",
    "isfinite",
    "isinf",
    "isodow",
    "isoyear",
    "julian",
    "lcase",
    "len",
    "list_aggr",
    "list_aggregate",
    "list_contains",
    "list_max",
    "list_min",
    "list_pack",
    "list_reverse_sort",
    "list_unique",
    "list_value",
    "make_timestamp",
    "make_timestamptz",
    "microsecond",
    "millennium",
    "millisecond",
    "minute",
    "mismatches",
    "mod",
    "month",
    "monthname",
    "ord",
    "prefix",
    "quarter",
    "regexp_matches",
    "regexp_split_to_array",
    "second",
    "sign",
    "split",
    "str_split",
    "str_split_regex",
    "strftime",
    "string_to_array",
    "strlen",
    "strptime",
    "struct_extract",
    "suffix",
    "time_bucket",
    "timezone",
    "to_binary",
    "to_centuries",
    "to_days",
    "to_decades",
    "to_hours",
    "to_hex",
    "to_microseconds",
    "to_milliseconds",
    "to_minutes",
    "to_months",
    "to_quarters",
    "to_seconds",
    "to_timestamp",
    "to_weeks",
    "to_years",
    "try_strptime",
    "tumble",
    "ucase",
    "unicode",
    "week",
    "weekday",
    "weekofyear",
    "whole_part",
    "year",
    "yearweek",
];

/// Functions that make intervals of numbers, and the interval of 1.
pub(crate) const INTERVALS: &[(&str, &str)] = &[
    ("to_centuries", "100 years"),
    ("to_days", "1 day"),
    ("to_decades", "10 years"),
    ("to_hours", "1 hour"),
    ("to_microseconds", "1 microsecond"),
    ("to_milliseconds", "1 millisecond"),
    ("to_minutes", "1 minute"),
    ("to_months", "1 month"),
    ("to_quarters", "3 months"),
    ("to_seconds", "1 second"),
    ("to_weeks", "7 days"),
    ("to_years", "1 year"),
];

/// The type of a choice among values; a text among others is written as one of those.
fn one_of(types: &[DataType]) -> Option<DataType> {
    let is_other = |ty: &&DataType| !matches!(ty, DataType::Null | DataType::Utf8);
    let others: Vec<DataType> = types.iter().filter(is_other).cloned().collect();
    let known = type_union_resolution(&others).or_else(|| others.first().cloned());
    let is_known = |ty: &&DataType| **ty != DataType::Null;
    known.or_else(|| types.iter().find(is_known).or(types.first()).cloned())
}

/// `//`, until its operands are known.
pub(crate) fn int_divide(left: Expr, right: Expr) -> Expr {
    ScalarUDF::new_from_impl(Renamed::new("int_divide")).call(vec![left, right])
}

/// A name of DuckDB's that `meaning` replaces by its meaning, before its type is needed.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Renamed {
    name: &'static str,
    signature: Signature,
}

impl Renamed {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            signature: Signature::variadic_any(Volatility::Immutable),
        }
    }

    /// The refusal of arguments without a meaning.
    pub(crate) fn unmeant(&self) -> DataFusionError {
        DataFusionError::Plan(format!("{} does not take these arguments", self.name))
    }
}

impl ScalarUDFImpl for Renamed {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// An approximation of the type of its meaning, for callers before that is known.
    fn return_type(&self, types: &[DataType]) -> datafusion_common::Result<DataType> {
        Ok(match self.name {
            "bin" | "dayname" | "hex" | "lcase" | "monthname" | "strftime" | "to_binary"
            | "to_hex" | "ucase" => DataType::Utf8,
            "regexp_split_to_array" | "str_split_regex" | "string_to_array" => {
                DataType::new_list(DataType::Utf8, true)
            }
            name if INTERVALS.iter().any(|(known, _)| *known == name) => {
                DataType::Interval(IntervalUnit::MonthDayNano)
            }
            "make_timestamp" | "strptime" | "try_strptime" => MOMENT,
            "epoch_ms" if types.iter().all(DataType::is_integer) => MOMENT,
            "timezone" if matches!(types.get(1), Some(DataType::Timestamp(_, Some(_)))) => MOMENT,
            "isfinite" | "isinf" | "list_contains" | "prefix" | "regexp_matches" | "suffix" => {
                DataType::Boolean
            }
            "date_add" => MOMENT,
            "list_pack" | "list_value" => {
                DataType::new_list(one_of(types).unwrap_or(DataType::Null), true)
            }
            "make_timestamptz" | "timezone" | "to_timestamp" => instant(),
            "epoch" | "divide_checked" | "julian" => DataType::Float64,
            "divide_integers" if types.iter().all(DataType::is_integer) => DataType::Int64,
            "divide_integers" => DataType::Float64,
            "coalesce" => one_of(types).ok_or_else(|| self.unmeant())?,
            "ceiling" | "ifnull" | "int_divide" | "mod" | "tumble" | "whole_part" => {
                types.first().ok_or_else(|| self.unmeant())?.clone()
            }
            "if" | "iff" | "time_bucket" => types.get(1).ok_or_else(|| self.unmeant())?.clone(),
            _ => DataType::Int64,
        })
    }

    fn invoke_with_args(
        &self,
        _args: ScalarFunctionArgs,
    ) -> datafusion_common::Result<ColumnarValue> {
        Err(self.unmeant())
    }
}
