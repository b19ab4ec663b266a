//! Exponents of the thresholds between heavy and light values, as the user gives them.
//!
//! Invariant: none beyond its shape; `bind` checks numbers and names. What they mean is the affair
//! of the engine that has such thresholds; one that has none refuses the query.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Epsilon: a value is heavy where it stands in N^epsilon tuples or more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Exponents {
    /// One for all atoms.
    All(f64),
    /// By alias; an atom that is not named has what the engine takes by itself.
    Of(BTreeMap<String, f64>),
}
