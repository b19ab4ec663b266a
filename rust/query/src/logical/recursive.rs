//! Parts of a recursion: what its step reads, and how its fixpoint is found.
//!
//! Invariant: whoever writes a step down says how its fixpoint may be found; nothing here looks into the step. Cost: none.

use serde::{Deserialize, Serialize};

/// Columns of an atom that the step reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepTable {
    /// The name that the step calls it.
    pub table: String,
    /// The columns.
    pub columns: Vec<String>,
}

/// Method that finds the fixpoint of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Strategy {
    /// `UNION`: each row once. The step is linear in the rows so far and hands on their level, the last column of the
    /// table and of the step: a row that loses a derivation stays where it has another one of a lower level.
    Ranked {
        /// The name of that column.
        level: String,
    },
    /// `UNION` by a step that is linear and monotone, and has no level to hand on: a row that loses a derivation is
    /// deleted, and derived again where it has another.
    Rederived,
    /// `UNION ALL`: rows by the level at which they are derived, with multiplicities. The step works level by level and
    /// outputs the level.
    Levels {
        /// The name of that column.
        level: String,
    },
    /// Any step, over the rows of the last round alone, computed anew from the seed after each change.
    Anew {
        /// Whether each row is there once.
        distinct: bool,
    },
}

impl Strategy {
    /// The column of the level, where there is one.
    #[must_use]
    pub fn level(&self) -> Option<&String> {
        match self {
            Self::Ranked { level } | Self::Levels { level } => Some(level),
            Self::Rederived | Self::Anew { .. } => None,
        }
    }
}
