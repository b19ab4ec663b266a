//! Names of DuckDB's that stand for something else.
//!
//! Invariant: each is a function to the planner, and none is left once `meaning` has gone through a text. Cost: none.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::DataFusionError;
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The names.
pub(crate) const NAMES: &[&str] = &[
    "century",
    "date_add",
    "ceiling",
    "date_diff",
    "datediff",
    "day",
    "dayname",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "decade",
    "divide_checked",
    "divide_integers",
    "epoch",
    "epoch_ms",
    "epoch_us",
    "hour",
    "if",
    "isfinite",
    "isinf",
    "ifnull",
    "iff",
    "int_divide",
    "isodow",
    "isoyear",
    "len",
    "list_max",
    "list_min",
    "list_pack",
    "list_reverse_sort",
    "list_value",
    "microsecond",
    "millennium",
    "millisecond",
    "minute",
    "mod",
    "month",
    "monthname",
    "ord",
    "prefix",
    "quarter",
    "regexp_matches",
    "second",
    "sign",
    "split",
    "str_split",
    "strftime",
    "strlen",
    "strptime",
    "struct_extract",
    "suffix",
    "time_bucket",
    "tumble",
    "unicode",
    "week",
    "weekday",
    "weekofyear",
    "year",
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
            "dayname" | "monthname" | "strftime" => DataType::Utf8,
            "strptime" => DataType::Timestamp(TimeUnit::Microsecond, None),
            "isfinite" | "isinf" | "prefix" | "regexp_matches" | "suffix" => DataType::Boolean,
            "date_add" => DataType::Timestamp(TimeUnit::Microsecond, None),
            "epoch" | "divide_checked" => DataType::Float64,
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
