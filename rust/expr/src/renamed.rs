//! Names of DuckDB's that stand for something else.
//!
//! Invariant: each is a function to the planner, and none is left once `meaning` has gone through a text. Cost: none.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::DataFusionError;
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The names.
pub(crate) const NAMES: &[&str] = &[
    "array_aggregate",
    "array_unique",
    "bin",
    "ceiling",
    "century",
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
    "list_max",
    "list_min",
    "list_pack",
    "list_reverse_sort",
    "list_unique",
    "list_value",
    "make_timestamp",
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
    "to_binary",
    "to_centuries",
    "to_days",
    "to_decades",
    "to_hours",
    "to_microseconds",
    "to_milliseconds",
    "to_minutes",
    "to_months",
    "to_quarters",
    "to_seconds",
    "to_weeks",
    "to_years",
    "tumble",
    "ucase",
    "unicode",
    "week",
    "weekday",
    "weekofyear",
    "year",
    "yearweek",
];

/// What makes intervals of numbers, and the interval of 1.
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

/// `//`, until its operands are known.
pub(crate) fn int_divide(left: Expr, right: Expr) -> Expr {
    ScalarUDF::new_from_impl(Renamed::new("int_divide")).call(vec![left, right])
}

/// A name of DuckDB's that `meaning` replaces by what it stands for, before anything asks for its type.
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

    fn unmeant(&self) -> DataFusionError {
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

    /// Close to the type of what it stands for, for whoever asks before that is known.
    fn return_type(&self, types: &[DataType]) -> datafusion_common::Result<DataType> {
        Ok(match self.name {
            "bin" | "dayname" | "hex" | "lcase" | "monthname" | "strftime" | "to_binary"
            | "ucase" => DataType::Utf8,
            "regexp_split_to_array" | "str_split_regex" | "string_to_array" => {
                DataType::new_list(DataType::Utf8, true)
            }
            name if INTERVALS.iter().any(|(known, _)| *known == name) => {
                DataType::Interval(IntervalUnit::MonthDayNano)
            }
            "make_timestamp" | "strptime" => DataType::Timestamp(TimeUnit::Microsecond, None),
            "isfinite" | "isinf" | "prefix" | "regexp_matches" | "suffix" => DataType::Boolean,
            "date_add" => DataType::Timestamp(TimeUnit::Microsecond, None),
            "epoch" | "divide_checked" | "julian" => DataType::Float64,
            "divide_integers" if types.iter().all(DataType::is_integer) => DataType::Int64,
            "divide_integers" => DataType::Float64,
            "ceiling" | "ifnull" | "int_divide" | "mod" | "tumble" => {
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
