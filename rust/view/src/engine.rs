//! An engine, as the database sees it: it accepts or refuses a query, and states the cost.
//!
//! Invariant: planning changes nothing and reads no rows; a candidate that was made keeps what it said. Cost:
//! that of planning, once for each engine when a view is born or explained.

use std::cmp::Ordering;
use std::fmt;

use ringview_core::{Error, Result};
use ringview_explain::{Explanation, power};
use ringview_query::Bound;

use crate::view::View;

/// A way of keeping views up to date.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Its name: the value of `engine=`, shown in explanations. No two of a database have the same.
    fn name(&self) -> &str;

    /// Plan for a query.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal>;

    /// Plan for the groups of several queries over one join, a grouping each, in one tree. `None` if one of them would
    /// share nothing with the others, which is the default.
    fn plan_together(&self, _queries: &[Bound]) -> Option<Box<dyn Candidate>> {
        None
    }
}

/// A plan of one engine for one query, of which no view was made yet.
pub trait Candidate: Send {
    /// Worst cost of a change of one row, over all relations that change. If the answer is computed at a read, that
    /// counts as part of the change: engines are compared with fresh answers.
    fn change(&self) -> Cost;

    /// Minimum size of the smallest updated table above which this engine is faster than one of a greater exponent.
    /// Below it, and where the size is unknown, the engine is used only when requested by name; `None`: always so.
    fn crossover(&self) -> Option<u64> {
        Some(0)
    }

    /// Exponent of its size: N^space keys or rows, of tables of N rows each.
    fn space(&self) -> f64;

    /// Layout of the view, the reasons for it, and its costs; without the statistics of a built view.
    fn explanation(&self) -> Explanation;

    /// Whether it keeps groups of sums from which other queries may be answered, too: then its view has
    /// [`groups`](View::groups).
    fn keeps_groups(&self) -> bool {
        false
    }

    /// The view of its groups, which shows nothing of its own, without rows; of what keeps groups alone.
    ///
    /// # Errors
    /// As `make`.
    fn make_groups(self: Box<Self>) -> Result<Box<dyn View>> {
        self.make()
    }

    /// The view, without rows.
    ///
    /// # Errors
    /// What the query's expressions cannot be compiled for.
    fn make(self: Box<Self>) -> Result<Box<dyn View>>;
}

/// A cost, in the number N of rows of the tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cost {
    /// O(1).
    Constant,
    /// O(log N).
    Logarithmic,
    /// O(N^x), for an x above 0; 1 is linear.
    Power(f64),
}

impl Cost {
    /// N to a power, which may be 0.
    #[must_use]
    pub fn power(exponent: f64) -> Self {
        match exponent > 0.0 {
            true => Self::Power(exponent),
            false => Self::Constant,
        }
    }

    /// The dearer of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self.compare(&other) {
            Ordering::Less => other,
            _ => self,
        }
    }

    /// Compares the cost with another; the cheaper one is less.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        self.rank().total_cmp(&other.rank())
    }

    /// A logarithm is dearer than O(1) and cheaper than any power.
    fn rank(self) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Logarithmic => f64::MIN_POSITIVE,
            Self::Power(exponent) => exponent,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("O(1)"),
            Self::Logarithmic => f.write_str("O(log N)"),
            Self::Power(exponent) => f.write_str(&power(*exponent)),
        }
    }
}

/// Why an engine cannot keep a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    error: Box<Error>,
    is_silent: bool,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            error: Box::new(error),
            is_silent: false,
        }
    }
}

impl Refusal {
    /// The same of an engine for other sorts of queries: shown only to a caller who names the engine.
    #[must_use]
    pub fn silent(self) -> Self {
        Self {
            is_silent: true,
            ..self
        }
    }

    /// Whether the engine is for other sorts of queries.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Refuses a query that gives thresholds of heavy values, for an engine that has none.
    ///
    /// # Errors
    /// A silent refusal.
    pub fn thresholds(query: &Bound, engine: &str) -> std::result::Result<(), Self> {
        if query.epsilons.is_empty() {
            return Ok(());
        }
        let refusal = Error::Value {
            place: "epsilon".to_owned(),
            problem: format!(
                "the engine {engine:?} has no heavy and light values that it could tell apart; leave \
                 epsilon out, or the engine"
            ),
        };
        Err(Self::from(refusal).silent())
    }

    /// The reason, as an error.
    #[must_use]
    pub fn error(self) -> Error {
        *self.error
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}
