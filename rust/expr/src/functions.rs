//! The functions that a text may call, by name: those of `registry`, the kernels of this crate, and DuckDB's names.
//!
//! Invariant: none of them reads a clock, draws a random number or keeps a state; those of the user are trusted. Cost: the
//! table is made once.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion_expr::ScalarUDF;
use datafusion_expr::planner::ExprPlanner;

use crate::attempt;
use crate::kernels;
use crate::lists::Lists;
use crate::operators;
use crate::registry::{is_public, is_taken};
use crate::renamed::{NAMES, Renamed};
use crate::user;

static KNOWN: LazyLock<BTreeMap<String, Arc<ScalarUDF>>> = LazyLock::new(|| {
    let mut known = BTreeMap::new();
    let nested = datafusion_functions_nested::all_default_nested_functions();
    for function in datafusion_functions::all_default_functions()
        .into_iter()
        .chain(nested)
    {
        let mut names = vec![function.name().to_owned()];
        names.extend(function.aliases().iter().cloned());
        for name in names.into_iter().filter(|name| is_taken(name)) {
            known.insert(name, Arc::clone(&function));
        }
    }
    for function in kernels::functions() {
        known.insert(function.name().to_owned(), function);
    }
    known.insert(attempt::TRY.to_owned(), Arc::new(attempt::function()));
    for name in NAMES {
        let stands_for = ScalarUDF::new_from_impl(Renamed::new(name));
        known.insert((*name).to_owned(), Arc::new(stands_for));
    }
    known
});

/// The names of the functions that a text may call.
#[must_use]
pub fn function_names() -> Vec<String> {
    KNOWN
        .keys()
        .filter(|name| is_public(name))
        .cloned()
        .collect()
}

/// Whether a name, in lower case, is that of a function for texts of ours alone, so no user's text may call it.
#[must_use]
pub fn is_inner_function(name: &str) -> bool {
    KNOWN.contains_key(name) && !is_public(name)
}

/// Functions for the planner to look up.
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
