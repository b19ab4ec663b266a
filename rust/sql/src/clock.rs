//! The functions that read the clock: known to the binder, and computed by nobody.
//!
//! The clock is the database's, which its user sets: a condition that compares a row's moment with it becomes a filter
//! by time (`lower/time`), and any other use is refused. Invariant: all of them are of UTC. Cost: none.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::tree_node::TreeNode;
use datafusion_common::{Result, not_impl_err};
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Names of the moment.
const MOMENTS: [&str; 7] = [
    "now",
    "current_timestamp",
    "get_current_timestamp",
    "transaction_timestamp",
    "localtimestamp",
    "current_localtimestamp",
    "statement_timestamp",
];

/// Names of its date.
const DATES: [&str; 2] = ["current_date", "today"];

/// A function that reads the clock.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Reads {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Reads {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(match DATES.contains(&self.name) {
            true => DataType::Date32,
            false => DataType::Timestamp(TimeUnit::Microsecond, None),
        })
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        not_impl_err!("{}() is the clock of the database", self.name)
    }
}

/// The function of a name, in any case.
pub(crate) fn function(name: &str) -> Option<ScalarUDF> {
    let name = name.to_lowercase();
    let known = MOMENTS.iter().chain(&DATES).find(|known| **known == name)?;
    Some(ScalarUDF::new_from_impl(Reads {
        name: known,
        signature: Signature::nullary(Volatility::Stable),
    }))
}

/// Kind of value that a node reads of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Moment,
    Date,
}

/// Kind of value that a node reads of the clock, if it is such a function.
pub(crate) fn reading(node: &Expr) -> Option<Reading> {
    let Expr::ScalarFunction(call) = node else {
        return None;
    };
    let name = call.func.name();
    if MOMENTS.contains(&name) {
        return Some(Reading::Moment);
    }
    DATES.contains(&name).then_some(Reading::Date)
}

/// Whether an expression reads the clock.
pub(crate) fn reads_clock(of: &Expr) -> bool {
    of.exists(|node| Ok(reading(node).is_some()))
        .unwrap_or(true)
}
