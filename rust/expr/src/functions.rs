//! The functions that a text may call: DataFusion's that are functions of their arguments alone, and DuckDB's names.
//!
//! Invariant: none of them reads a clock, draws a random number or keeps a state. Cost: the table is made once.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::DataFusionError;
use datafusion_expr::planner::ExprPlanner;
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::kernels;
use crate::meaning::{self, NAMES};

/// Functions of DataFusion whose results have types that no column has, or that say something of types.
const LEFT_OUT: [&str; 8] = [
    "arrow_cast",
    "arrow_typeof",
    "arrow_metadata",
    "version",
    "named_struct",
    "struct",
    "get_field",
    "union_extract",
];

static KNOWN: LazyLock<BTreeMap<String, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let mut known = BTreeMap::new();
    for function in datafusion_functions::all_default_functions() {
        let is_pure = function.signature().volatility == Volatility::Immutable;
        if !is_pure || LEFT_OUT.contains(&function.name()) {
            continue;
        }
        for alias in function.aliases() {
            known.insert(alias.clone(), Arc::clone(&function));
        }
        known.insert(function.name().to_owned(), function);
    }
    for function in kernels::functions() {
        known.insert(function.name().to_owned(), function);
    }
    for name in NAMES {
        let stands_for = ScalarUDF::new_from_impl(Renamed::new(name));
        known.insert((*name).to_owned(), Arc::new(stands_for));
    }
    known
});

/// The names of all functions.
#[must_use]
pub fn known() -> Vec<String> {
    KNOWN.keys().cloned().collect()
}

/// What the planner looks up.
#[derive(Debug)]
pub struct Functions {
    /// Those of syntax: EXTRACT, SUBSTRING, POSITION.
    pub planners: Vec<Arc<dyn ExprPlanner>>,
}

impl Default for Functions {
    fn default() -> Self {
        Self {
            planners: vec![
                Arc::new(meaning::Dates),
                Arc::new(datafusion_functions::core::planner::CoreFunctionPlanner::default()),
                Arc::new(datafusion_functions::datetime::planner::DatetimeFunctionPlanner),
                Arc::new(datafusion_functions::unicode::planner::UnicodeFunctionPlanner),
            ],
        }
    }
}

impl Functions {
    /// The function of a name, in any case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        KNOWN.get(&name.to_lowercase()).cloned()
    }
}

/// A name of DuckDB's that `meaning` replaces by what it stands for, before anything asks for its type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Renamed {
    name: &'static str,
    signature: Signature,
}

impl Renamed {
    fn new(name: &'static str) -> Self {
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
            "ifnull" | "int_divide" | "mod" => types.first().ok_or_else(|| self.unmeant())?.clone(),
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
