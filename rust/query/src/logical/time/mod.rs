//! Time in queries: what a condition compares a row's moment with, and when that condition holds.
//!
//! A moment is a number of microseconds since 1970-01-01 00:00 UTC; a date is its midnight. A [`Clock`] is an expression
//! of the moment that the database is at: steps such as "seven days before", or "the first day of its month".
//! Invariant: a comparison of a row's value with a clock holds in a finite union of intervals of moments, which do not
//! touch. Cost: O(steps) a row.
//!
//! | file | holds |
//! |---|---|
//! | `interval` | lengths of time, as text too |
//! | `calendar` | months of days |
//! | `spans` | unions of intervals |

mod calendar;
mod interval;
mod spans;

use ringview_expr::Scalar;
use serde::{Deserialize, Serialize};

use super::Comparison;
pub use interval::Interval;
pub use spans::{ALWAYS, FOREVER, Span, Spans};

/// Rows of the one atom, each while the database is at a moment at which its conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// The columns that are shown.
    pub names: Vec<String>,
    /// Condition on the rows that take part at all; all where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Scalar>,
    /// Conditions, all of which must hold.
    pub conditions: Vec<TimeCondition>,
}

/// A comparison of a row's date or timestamp with a clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeCondition {
    /// The left side, over the columns of the atom.
    pub value: Scalar,
    /// Comparison operator of the two.
    pub op: Comparison,
    /// The right side.
    pub clock: Clock,
}

impl TimeCondition {
    /// The moments at which it holds for a row with this value. O(steps).
    #[must_use]
    pub fn holds(&self, value: i64) -> Spans {
        let above = value.saturating_add(1);
        match self.op {
            Comparison::Le => self.clock.since(value),
            Comparison::Lt => self.clock.since(above),
            Comparison::Gt => self.clock.since(value).complement(),
            Comparison::Ge => self.clock.since(above).complement(),
            Comparison::Eq => {
                let not_above = self.clock.since(above).complement();
                self.clock.since(value).intersect(&not_above)
            }
            Comparison::Ne => {
                let not_since = self.clock.since(value).complement();
                not_since.union(&self.clock.since(above))
            }
        }
    }
}

/// An expression of the moment that the database is at: steps, the first of which takes that moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The steps.
    pub steps: Vec<ClockStep>,
    /// As what it was written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A step of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClockStep {
    /// So much later, or earlier where it is negative.
    Shift {
        /// By how much.
        by: Interval,
    },
    /// The beginning of its bucket, of buckets of one width.
    Floor {
        /// The width, in microseconds.
        width: i64,
        /// Start of a bucket.
        origin: i64,
    },
    /// The beginning of its months, so many together, counted from January of the year 0.
    Months {
        /// Number of months in a bucket.
        count: i32,
    },
}

impl Clock {
    /// Its value at a moment; beyond all moments the first or the last of them.
    #[must_use]
    pub fn at(&self, now: i64) -> i64 {
        self.steps.iter().fold(now, |moment, step| step.of(moment))
    }

    /// The moments at which its value is at least this. O(steps).
    #[must_use]
    pub fn since(&self, value: i64) -> Spans {
        let all = Spans::since(value);
        let steps = self.steps.iter().rev();
        steps.fold(all, |spans, step| step.before(&spans))
    }
}

impl ClockStep {
    /// Its value at a moment.
    fn of(&self, moment: i64) -> i64 {
        match *self {
            Self::Shift { by } => by.after(moment),
            Self::Floor { width, origin } => {
                let into = (i128::from(moment) - i128::from(origin)).rem_euclid(i128::from(width));
                saturated(i128::from(moment) - into)
            }
            Self::Months { count } => calendar::months_of(moment, count),
        }
    }

    /// The moments of which it makes one of these.
    fn before(&self, spans: &Spans) -> Spans {
        match *self {
            Self::Shift { by } if by.months != 0 => {
                let moved = spans.mapped(|end| saturated(i128::from(end) - i128::from(by.micros)));
                calendar::before_months(&moved, by.months)
            }
            Self::Shift { by } => {
                spans.mapped(|end| saturated(i128::from(end) - i128::from(by.micros)))
            }
            Self::Floor { width, origin } => spans.mapped(|end| {
                let into = (i128::from(end) - i128::from(origin)).rem_euclid(i128::from(width));
                let up = if into == 0 {
                    0
                } else {
                    i128::from(width) - into
                };
                saturated(i128::from(end) + up)
            }),
            Self::Months { count } => spans.mapped(|end| {
                let floor = calendar::months_of(end, count);
                if floor == end {
                    end
                } else {
                    calendar::next_months(floor, count)
                }
            }),
        }
    }
}

/// The nearest moment that there is.
fn saturated(moment: i128) -> i64 {
    i64::try_from(moment).unwrap_or(if moment < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;
