//! A recursion: the rows of a seed, and all that a step makes of them, of what it made, and so on.
//!
//! Invariant: the step is a query with blocks of its own, over a table of the rows so far and over what the atoms behind
//! the first one read, under names that are its own. Whoever writes it down says how its fixpoint may be found: nothing
//! here looks into the step. Cost: none.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recursion {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The same columns of the first atom, which has the seed.
    pub seed: Vec<String>,
    /// The table that the step reads the rows so far by.
    pub table: String,
    /// What the step reads beside it, by the atoms behind the first one.
    #[serde(default)]
    pub reads: Vec<StepTable>,
    /// The query of the step: its columns are those of the result, and behind them the level where there is one.
    pub step: serde_json::Value,
    /// How the fixpoint is found.
    pub strategy: Strategy,
}

/// What the step reads of an atom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepTable {
    /// The name that the step calls it.
    pub table: String,
    /// The columns.
    pub columns: Vec<String>,
}

/// How the fixpoint of a step is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// `UNION ALL`: rows by the level at which they come, with multiplicities. The step works level by level and hands the
    /// level on.
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
