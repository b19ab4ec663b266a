//! The one error of ringview: what was wrong, where, and what to do about it.
//!
//! Invariant: an operation that returns an `Error` has changed nothing that a user can see.
//! Names travel as owned strings, so that an error outlives the table or view that it speaks of.

use std::fmt;
use std::sync::Arc;

use thiserror::Error as ThisError;

/// Result of every fallible function of ringview.
pub type Result<T> = std::result::Result<T, Error>;

/// Kinds of problems of a text of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlProblem {
    /// It is no SQL, a name is ambiguous, or a part is out of place.
    Query,
    /// It names a table that does not exist.
    UnknownTable,
    /// It names a column that does not exist.
    UnknownColumn,
    /// An expression has a type that does not fit.
    Type,
    /// A value is out of range.
    Value,
    /// It is SQL that no view maintains.
    Unsupported,
}

/// A position in a text, both numbers from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

/// The original error behind a failed user function.
#[derive(Clone, Debug)]
pub struct Cause(pub Arc<dyn std::error::Error + Send + Sync>);

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// All errors, one variant for each kind that a caller may want to distinguish.
#[derive(ThisError, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A table that does not exist was named.
    #[error("there is no table {name:?}; {}", known_names("tables", known))]
    UnknownTable {
        /// The unknown name.
        name: String,
        /// The tables that do exist.
        known: Vec<String>,
    },
    /// A view that does not exist was named.
    #[error("there is no view {name:?}; {}", known_names("views", known))]
    UnknownView {
        /// The unknown name.
        name: String,
        /// The views that do exist.
        known: Vec<String>,
    },
    /// A column that does not exist was named.
    #[error(
        "there is no column {column:?}{}; {}",
        of_table(table),
        known_names("columns", known)
    )]
    UnknownColumn {
        /// The table in which it was looked for; empty where no table is known.
        table: String,
        /// The unknown name.
        column: String,
        /// The columns that do exist.
        known: Vec<String>,
    },
    /// A function of the user that does not exist was named.
    #[error("there is no function {name:?}; {}", known_names("functions", known))]
    UnknownFunction {
        /// The unknown name.
        name: String,
        /// The functions that do exist.
        known: Vec<String>,
    },
    /// A handle of a dropped object is used, whose name now means another.
    #[error(
        "this handle is of a {kind} {name:?} that was dropped; the {kind} that now has this name is \
         another, so ask the database for it"
    )]
    Stale {
        /// "table" or "view".
        kind: &'static str,
        /// The name of both.
        name: String,
    },
    /// A view that is not kept since a change made it fail.
    #[error(
        "the view {name:?} is suspended since {since}: {why}; correct the rows that it reads and resume it, or replace it"
    )]
    Suspended {
        /// The view.
        name: String,
        /// The moment, in UTC.
        since: String,
        /// The error that the change would have been refused with.
        why: String,
    },
    /// The name is taken.
    #[error("the {kind} {name:?} exists already; choose another name, or drop it first")]
    Exists {
        /// Kind of object with the name: "table", "view", "column", "function".
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A table, view or function that views use cannot be dropped, nor become what they could not use.
    #[error(
        "{kind} {name:?} is in use by {}; drop these views first",
        listed(views)
    )]
    InUse {
        /// "table", "view" or "function".
        kind: &'static str,
        /// Its name.
        name: String,
        /// The views that use it.
        views: Vec<String>,
    },
    /// A value, column or expression has one type where another is needed.
    #[error("{place}: expected {expected}, found {found}; cast it before it gets here")]
    Type {
        /// The place, in words.
        place: String,
        /// The type that is needed.
        expected: String,
        /// The type that was met.
        found: String,
    },
    /// A single value cannot be represented or used.
    #[error("{place}: {problem}")]
    Value {
        /// The place, in words, with the row.
        place: String,
        /// Its problem, and a correct form.
        problem: String,
    },
    /// NULL in a column that is not nullable.
    #[error(
        "row {row}: NULL in column {column:?} of table {table:?}, which is not nullable; \
         drop the row, or declare the column nullable"
    )]
    Null {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row, counted from 0 in the data handed in.
        row: u64,
    },
    /// NaN in a column that serves as a key.
    #[error(
        "row {row}: NaN in column {column:?} of table {table:?}, which a view joins or groups by; \
         NaN equals nothing, so replace it or drop the row"
    )]
    NotANumber {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row, counted from 0 in the data handed in.
        row: u64,
    },
    /// NULL in a column that is a feature of COFACTOR.
    #[error(
        "row {row} of table {table:?}: NULL in column {column:?}, which is a feature of COFACTOR; \
         create the view with nulls='skip', or with WHERE {column} IS NOT NULL, to leave such rows \
         out"
    )]
    NullFeature {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row, counted from 0 in the data handed in.
        row: u64,
    },
    /// More of a row was deleted than there is.
    #[error(
        "table {table:?} holds {present} of the row {row}, so {asked} cannot be deleted; \
         nothing of this transaction was applied"
    )]
    OverDelete {
        /// The table.
        table: String,
        /// The row, in words.
        row: String,
        /// Number of rows to delete.
        asked: u64,
        /// Number of rows that exist.
        present: u64,
    },
    /// A second row with the same unique key.
    #[error(
        "table {table:?} already holds a row with the unique key {key}; \
         delete that one first, or declare the table without `unique`"
    )]
    Duplicate {
        /// The table.
        table: String,
        /// The key, in words.
        key: String,
    },
    /// No row has the unique key of a row that was to be updated.
    #[error(
        "table {table:?} holds no row with the unique key {key}, so none can be updated; \
         an upsert brings rows whose key is not there; nothing of this transaction was applied"
    )]
    UnknownKey {
        /// The table.
        table: String,
        /// The key, in words.
        key: String,
    },
    /// NULL in the unique key of a row that is to be found by it.
    #[error(
        "row {row}: NULL in column {column:?}, which is of the unique key of table {table:?}; \
         NULL equals nothing, so no row can be found by it: give the key, or drop the row"
    )]
    NullKey {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row, counted from 0 in the data handed in.
        row: u64,
    },
    /// An integer or decimal left its range.
    #[error(
        "overflow in {place}: the exact value does not fit; \
         nothing of this transaction was applied"
    )]
    Overflow {
        /// The place, in words.
        place: String,
    },
    /// A static table cannot change once a view reads it.
    #[error(
        "table {table:?} is static and read by {}; \
         fill it before its views are created, or declare it without `static`",
        listed(views)
    )]
    Static {
        /// The table.
        table: String,
        /// The views that read it.
        views: Vec<String>,
    },
    /// A function of the user failed, or returned something else than it was declared to.
    #[error(
        "the function {name:?} {problem}{given}{}; nothing was changed",
        of_view(view)
    )]
    Function {
        /// Its name.
        name: String,
        /// Its failure, as in "raised ValueError: no such code".
        problem: String,
        /// Its arguments, as in " for the arguments ('x', 3)"; empty where they are unknown.
        given: String,
        /// The view that called it; empty where none is known.
        view: String,
        /// The error that it raised.
        cause: Option<Cause>,
    },
    /// Something that ringview does not do.
    #[error("{what} is not supported: {why}; {instead}")]
    Unsupported {
        /// The unsupported feature.
        what: String,
        /// Why not.
        why: String,
        /// The nearest thing that works.
        instead: String,
    },
    /// A text of SQL that is refused.
    #[error("{message}")]
    Sql {
        /// Kind of its problem.
        problem: SqlProblem,
        /// The whole message: the place, the problem, advice, and the line of the text with a mark.
        message: String,
        /// Position of the problem, if known.
        position: Option<Position>,
    },
    /// A view changed while its rows were read.
    #[error("the view {view:?} changed while its rows were read; read them again")]
    Changed {
        /// The view.
        view: String,
    },
    /// There is no room for something.
    #[error(
        "{what} takes {}{}; {instead}",
        bytes(*needed),
        over(*limit)
    )]
    Memory {
        /// The memory requested, in words, with its size.
        what: String,
        /// Bytes that it takes, with those that are held where they count.
        needed: u64,
        /// Bytes that there may be; `u64::MAX` where the system had none left.
        limit: u64,
        /// Advice to the user.
        instead: &'static str,
    },
    /// The caller interrupted the call.
    #[error("interrupted; nothing of this transaction was applied")]
    Interrupted,
    /// A file that is no database, is damaged, or was written by a later version.
    #[error("cannot read the database: {problem}")]
    Snapshot {
        /// Its problem.
        problem: String,
    },
    /// A file that could not be opened, made, read or written.
    #[error("cannot {action} {path}: {problem}")]
    Storage {
        /// The action that failed.
        action: &'static str,
        /// Its path.
        path: String,
        /// The reason of the failure.
        problem: String,
    },
}

impl Error {
    /// The same for rows that are counted from `first`: who looks at a part of the data counts from
    /// its start, users from the start of what they handed in.
    #[must_use]
    pub fn counted_from(self, first: u64) -> Self {
        self.counted_by(|row| row + first)
    }

    /// The same for rows that were chosen from the data: `place` maps each to its position there.
    #[must_use]
    pub fn counted_by(mut self, place: impl FnOnce(u64) -> u64) -> Self {
        if let Error::NotANumber { row, .. } | Error::NullFeature { row, .. } = &mut self {
            *row = place(*row);
        }
        self
    }

    /// Whether the values of rows cause it, in an expression, sum or function of a view. Other rows may be free of it.
    #[must_use]
    pub fn is_of_values(&self) -> bool {
        matches!(
            self,
            Error::Type { .. }
                | Error::Value { .. }
                | Error::NotANumber { .. }
                | Error::NullFeature { .. }
                | Error::Overflow { .. }
                | Error::Function { .. }
        )
    }

    /// The same, met in a view: what left its range there may be called by the name of a table.
    #[must_use]
    pub fn in_view(mut self, view: &str) -> Self {
        match &mut self {
            Error::Overflow { place } => *place = format!("{place}, in the view {view:?}"),
            Error::Function { view: of, .. } if of.is_empty() => view.clone_into(of),
            _ => {}
        }
        self
    }
}

fn of_view(view: &str) -> String {
    if view.is_empty() {
        String::new()
    } else {
        format!(", in the view {view:?}")
    }
}

fn of_table(table: &str) -> String {
    if table.is_empty() {
        String::new()
    } else {
        format!(" in table {table:?}")
    }
}

/// A number of bytes as people read it: at most a tenth of a unit off.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut tenths, mut unit) = (u128::from(bytes) / 100, 0);
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

fn over(limit: u64) -> String {
    match limit {
        u64::MAX => ", which the system does not have".to_owned(),
        _ => format!(", over the limit of {}", bytes(limit)),
    }
}

fn known_names(kind: &str, known: &[String]) -> String {
    if known.is_empty() {
        format!("there are no {kind} yet")
    } else {
        format!("known {kind}: {}", known.join(", "))
    }
}

fn listed(names: &[String]) -> impl fmt::Display + use<> {
    names.join(", ")
}
