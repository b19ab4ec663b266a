//! Exponents of thresholds by atom, from what the user gives.
//!
//! Invariant: each is a number from 0 to 1. An alias is found as it is written, else without case.
//! Cost: atoms times names.

use ringview_core::{Error, Result};

use crate::logical::{Exponents, Query};

/// By atom, absent where none is given for it; empty where the query gives none at all.
pub(crate) fn exponents(query: &Query) -> Result<Vec<Option<f64>>> {
    match &query.epsilon {
        None => Ok(Vec::new()),
        Some(Exponents::All(epsilon)) => {
            let checked = checked(*epsilon, "epsilon")?;
            Ok(vec![Some(checked); query.atoms.len()])
        }
        Some(Exponents::Of(named)) => {
            let mut found = vec![None; query.atoms.len()];
            for (alias, epsilon) in named {
                let place = format!("epsilon of {alias:?}");
                let checked = checked(*epsilon, &place)?;
                if found[atom(query, alias)?].replace(checked).is_some() {
                    return Err(Error::Value {
                        place,
                        problem: "is given twice, in two spellings; give it once".to_owned(),
                    });
                }
            }
            // Thresholds are requested even by a dict without entries.
            Ok(found)
        }
    }
}

fn atom(query: &Query, alias: &str) -> Result<usize> {
    let exact = query.atoms.iter().position(|atom| atom.alias == alias);
    let found = exact.or_else(|| {
        let alike = |atom: &crate::logical::Atom| atom.alias.to_lowercase() == alias.to_lowercase();
        query.atoms.iter().position(alike)
    });
    found.ok_or_else(|| {
        let known: Vec<&str> = query.atoms.iter().map(|atom| &*atom.alias).collect();
        Error::Value {
            place: "epsilon".to_owned(),
            problem: format!(
                "the query has no relation {alias:?}; it has {}, by the names that FROM gives them",
                known.join(", ")
            ),
        }
    })
}

fn checked(epsilon: f64, place: &str) -> Result<f64> {
    if (0.0..=1.0).contains(&epsilon) {
        return Ok(epsilon);
    }
    Err(Error::Value {
        place: place.to_owned(),
        problem: format!(
            "is {epsilon}, and must be a number from 0 to 1; leave it out, or give 0.5, at which \
             changes cost least"
        ),
    })
}
