//! Aggregates and window functions over the rows of a partition, as data.
//!
//! Invariant: none beyond its shape. Arguments are columns; constants are SQL. This is the form in which a definition is
//! kept.

use serde::{Deserialize, Serialize};

/// A function of the rows of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The name of its column.
    pub name: String,
    /// Name of the function.
    pub function: String,
    /// Columns of the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Arguments behind those, as SQL constants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<String>,
    /// A column that is true for the rows that take part; all where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// In which order an aggregate takes its rows; in that of the partition where none is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<SortKey>,
    /// Whether equal arguments take part once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub distinct: bool,
    /// Whether rows with NULL are left out by a function that shows one of its rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_nulls: bool,
    /// Over which rows around each row; over the whole partition where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Frame>,
}

/// A column that rows are ordered by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SortKey {
    /// The column.
    pub column: String,
    /// From the greatest to the least.
    #[serde(default)]
    pub descending: bool,
    /// Whether NULL sorts before all values.
    #[serde(default)]
    pub nulls_first: bool,
}

/// The rows around a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Unit in which rows are counted.
    pub unit: FrameUnit,
    /// Start of the frame.
    pub start: Edge,
    /// End of the frame.
    pub end: Edge,
}

/// Unit in which the rows of a frame are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameUnit {
    /// By rows.
    Rows,
    /// By the difference of their values in the order.
    Range,
    /// By the values in the order that differ.
    Groups,
}

/// An end of a frame. A distance is a constant; without one, the end is that of the partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// Before the row.
    Preceding(Option<String>),
    /// The row, or the last of those that are equal to it in the order.
    CurrentRow,
    /// Behind the row.
    Following(Option<String>),
}
