//! How a table changes, as it is asked for and kept in files.
//!
//! Invariant: none beyond its shape. Cost: none.

use ringview_core::{Field, Type};
use serde::{Deserialize, Serialize};

/// How the columns of a table change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Alteration {
    /// A column comes behind all others.
    AddColumn(Field),
    /// A column goes.
    DropColumn(String),
    /// A column gets another name.
    RenameColumn {
        /// The column.
        column: String,
        /// Its name from then on.
        to: String,
    },
    /// The table gets another name.
    RenameTable(String),
    /// A column gets a type that has all values of its own.
    Widen {
        /// The column.
        column: String,
        /// Its type from then on.
        to: Type,
    },
    /// A column gets a default, or has none.
    SetDefault(String),
}
