//! Exponents of the thresholds between heavy and light values, as the user gives them.
//!
//! Invariant: none beyond its shape; `bind` checks numbers and names. Their meaning is defined by
//! the engine that has such thresholds; an engine without them refuses the query.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// Epsilon: a value is heavy if it occurs in N^epsilon tuples or more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Exponents {
    /// One for all atoms.
    All(f64),
    /// By alias; an atom that is not named has what the engine takes by itself.
    Of(BTreeMap<String, f64>),
}

impl Exponents {
    /// The numbers, by alias where they have one.
    fn numbers(&self) -> Vec<(Option<&str>, f64)> {
        match self {
            Self::All(one) => vec![(None, *one)],
            Self::Of(all) => all
                .iter()
                .map(|(alias, one)| (Some(&**alias), *one))
                .collect(),
        }
    }
}

/// No text says a number that differs from itself.
impl Eq for Exponents {}

impl Hash for Exponents {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (alias, number) in self.numbers() {
            // The two zeros are equal.
            (alias, (number + 0.0).to_bits()).hash(state);
        }
    }
}
