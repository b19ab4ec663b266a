//! The functions that a text may call: DataFusion's that are functions of their arguments alone, and DuckDB's names.
//!
//! Invariant: none of them reads a clock, draws a random number or keeps a state; those of the user are trusted. Cost: the
//! table is made once.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::planner::ExprPlanner;
use datafusion_expr::{ScalarUDF, Volatility};

use crate::kernels;
use crate::lists::Lists;
use crate::operators;
use crate::renamed::{NAMES, Renamed};
use crate::user;

/// Functions of DataFusion whose results have types that no column has, that say something of types, or that mean
/// something else than DuckDB's.
const LEFT_OUT: [&str; 8] = [
    // Counts bytes.
    "levenshtein",
    "arrow_cast",
    "arrow_typeof",
    "arrow_metadata",
    "version",
    "struct",
    // Another says it.
    "string_to_array",
    "union_extract",
];

static KNOWN: LazyLock<BTreeMap<String, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let mut known = BTreeMap::new();
    let nested = datafusion_functions_nested::all_default_nested_functions();
    for function in datafusion_functions::all_default_functions()
        .into_iter()
        .chain(nested)
    {
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
pub fn function_names() -> Vec<String> {
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
                Arc::new(Lists),
                Arc::new(operators::Dates),
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
        let name = name.to_lowercase();
        let known = KNOWN.get(&name).cloned();
        known.or_else(|| user::called(&name)?.scalar())
    }
}
