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
    "date_diff",
    "datediff",
    "day",
    "dayname",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "decade",
    "epoch",
    "hour",
    "if",
    "ifnull",
    "int_divide",
    "isodow",
    "isoyear",
    "len",
    "millennium",
    "minute",
    "mod",
    "month",
    "monthname",
    "quarter",
    "regexp_matches",
    "second",
    "sign",
    "strftime",
    "strlen",
    "strptime",
    "time_bucket",
    "tumble",
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
            "regexp_matches" => DataType::Boolean,
            "epoch" => DataType::Float64,
            "ifnull" | "int_divide" | "mod" | "tumble" => {
                types.first().ok_or_else(|| self.unmeant())?.clone()
            }
            "if" | "time_bucket" => types.get(1).ok_or_else(|| self.unmeant())?.clone(),
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
