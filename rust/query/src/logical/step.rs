//! The query of the step of a recursion.
//!
//! Invariant: it is written down as the JSON form of a query, for a part of a query holds no query: so it is read again by
//! whoever keeps it. Cost: linear in it.

use ringview_core::{Error, Result};

use super::{Query, Recursion};

impl Recursion {
    /// The query of its step.
    ///
    /// # Errors
    /// `Value` for what is no query.
    pub fn query(&self) -> Result<Query> {
        let step: Query =
            serde_json::from_value(self.step.clone()).map_err(|problem| unread(&problem))?;
        step.check_blocks()?;
        Ok(step)
    }
}

impl Query {
    /// The query as the step of a recursion.
    ///
    /// # Errors
    /// None in practice.
    pub fn as_step(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self).map_err(|problem| unread(&problem))
    }
}

fn unread(problem: &serde_json::Error) -> Error {
    Error::Value {
        place: "the step of a recursion".to_owned(),
        problem: problem.to_string(),
    }
}
