//! Parts of queries that compute rows of rows: projections, filters, the first rows in an order, functions over the rows of
//! a partition, ASOF joins.
//!
//! Invariant: none beyond its shape. Expressions are over the columns of one atom's table, by their plain names. `bind` gives
//! them types.

use serde::{Deserialize, Serialize};

use ringview_expr::Scalar;
pub use ringview_expr::{Call, Edge, Frame, FrameUnit, SortKey};

/// A projection and a filter of the rows of one atom.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Condition on the rows that take part; all where absent.
    #[serde(default)]
    pub filter: Option<Scalar>,
    /// The columns; NULL where absent, of the type that the other branches give it.
    pub columns: Vec<Option<Scalar>>,
    /// Whether its rows are taken away from those of the other branches, not added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub minus: bool,
    /// The names of columns that are lists: each value makes a row of its own, with the other columns of its row.
    /// Several lists are combined by position: the first values make a row, then the second ones; a shorter list is
    /// filled with NULL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unnested: Vec<String>,
}

impl Branch {
    /// The columns that are computed, by their places.
    pub fn computed(&self) -> impl Iterator<Item = (usize, &Scalar)> {
        let columns = self.columns.iter().enumerate();
        columns.filter_map(|(at, column)| Some((at, column.as_ref()?)))
    }
}

/// Rows in an order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ordering {
    /// The columns that are shown.
    pub names: Vec<String>,
    /// Columns whose values identify the partitions; none for one partition of all rows.
    #[serde(default)]
    pub partition: Vec<String>,
    /// The order within a partition; rows that are equal in it have an order of their own that does not change.
    pub order: Vec<SortKey>,
    /// Numbering of the rows of a partition.
    #[serde(default)]
    pub rank: Rank,
    /// Rows of these numbers, counted from 0, are left out: those below.
    #[serde(default)]
    pub skip: u64,
    /// Count of numbers that take part behind those; all where absent.
    #[serde(default)]
    pub keep: Option<u64>,
}

/// Numbering of rows that are equal in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    /// Each row has a number of its own.
    #[default]
    RowNumber,
    /// They share a number, and as many numbers are skipped behind them.
    Rank,
    /// They share a number, and none is skipped.
    DenseRank,
}

/// Each row of one table with the row of another that is the latest before it, among those of the same key.
///
/// The times of both sides have a common type, and so has each pair of keys; NULL in one of them matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latest {
    /// The names of the columns: those of the first side, then those of the second.
    pub names: Vec<String>,
    /// Both sides.
    pub sides: [LatestSide; 2],
    /// Whether the second row is the first one behind, not the last one before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub following: bool,
    /// Whether a row of the same time is no match.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Whether a row without a match is shown, with NULL in the columns of the second side.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outer: bool,
}

/// One side of such a join.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatestSide {
    /// The columns that are shown.
    pub shown: Vec<String>,
    /// Columns whose values must be those of the other side; none where all rows may match.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The column that says what is later: a time, a number, a text.
    pub time: String,
}

/// Functions over the rows of each partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parted {
    /// The columns that are shown before the functions; where a partition is one row, some of `partition`.
    pub names: Vec<String>,
    /// Columns whose values identify the partitions; none for one partition of all rows.
    #[serde(default)]
    pub partition: Vec<String>,
    /// The order within a partition; rows that are equal in it are ordered by all columns that are read.
    #[serde(default)]
    pub order: Vec<SortKey>,
    /// Whether a partition is one row of the result; else each of its rows is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grouped: bool,
    /// The functions.
    pub calls: Vec<Call>,
}

impl Parted {
    /// The columns that are read, each once: outputs before the others.
    #[must_use]
    pub fn columns(&self) -> Vec<&String> {
        let mut columns: Vec<&String> = Vec::new();
        let keys = self.order.iter().map(|key| &key.column);
        let own = self.names.iter().chain(&self.partition).chain(keys);
        let read = self.calls.iter().flat_map(|call| {
            let keys = call.order.iter().map(|key| &key.column);
            call.arguments.iter().chain(&call.filter).chain(keys)
        });
        for name in own.chain(read) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        columns
    }
}
