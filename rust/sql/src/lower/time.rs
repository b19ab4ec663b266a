//! Conditions on the clock: `ts > now() - INTERVAL '7 days'` and its kin.
//!
//! A conjunct of a WHERE that compares a value of a row with an expression of `now()` or `current_date` becomes a
//! condition of a block below, which keeps rows by the times at which they enter and leave it. The other conditions on
//! the same rows are moved into the block, so that it keeps no others. Invariant: a row is in the block exactly while
//! its conditions hold. Cost: linear in the expressions.

use std::collections::BTreeSet;

use arrow_schema::DataType;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{Between, BinaryExpr, ScalarFunction};
use datafusion_expr::{Expr, Operator};
use ringview_core::Result;
use ringview_query::{Catalog, Clock, ClockStep, Comparison, Interval, Rows, TimeCondition, Timed};

use super::lowered::{bare, filter};
use super::pending::{Pending, any, atoms_of, is_nested};
use super::state::{Lowering, computing};
use crate::clock::{Reading, reading, reads_clock};
use crate::row_scalar::{clock_refused, row_scalar};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Monday 2000-01-03, from which DuckDB counts buckets.
const BUCKETS: i64 = 10_959 * DAY;

/// Something of a row, and the clock that it is compared with.
struct ClockComparison {
    value: Expr,
    op: Comparison,
    clock: Clock,
}

/// Conjuncts that read the clock apart from the others.
pub(super) fn split_clock(conjuncts: Vec<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    conjuncts.into_iter().partition(|one| !reads_clock(one))
}

impl Lowering<'_> {
    /// Rows that meet conditions on the clock, besides what they meet already.
    pub(super) fn timed(
        &mut self,
        rows: Pending,
        conjuncts: &[Expr],
        schema: &DFSchema,
    ) -> Result<Pending> {
        if conjuncts.is_empty() {
            return Ok(rows);
        }
        let mut rows = self.flat(rows)?;
        let mut found = clock_comparisons(&rows, conjuncts, schema)?;
        if found.iter().any(|one| atoms_of(&one.value).len() > 1) {
            // They become columns of one block.
            let (name, stored) = self.single(rows)?;
            rows = Pending::over(&name, &stored);
            found = clock_comparisons(&rows, conjuncts, schema)?;
        }
        let atom = |one: &ClockComparison| atoms_of(&one.value).first().copied().unwrap_or(0);
        let atoms: BTreeSet<usize> = found.iter().map(atom).collect();
        for at in atoms {
            let own = found.iter().filter(|one| atom(one) == at);
            let conditions = own.map(|one| {
                Ok(TimeCondition {
                    value: row_scalar(bare(one.value.clone())?)?,
                    op: one.op,
                    clock: one.clock.clone(),
                })
            });
            let conditions = conditions.collect::<Result<_>>()?;
            let (filters, rest): (Vec<Expr>, Vec<Expr>) = std::mem::take(&mut rows.filters)
                .into_iter()
                .partition(|filter| atoms_of(filter).into_iter().eq([at]));
            rows.filters = rest;
            let fields = self.table(&rows.atoms[at])?.schema;
            let timed = Timed {
                names: fields.fields().iter().map(|one| one.name.clone()).collect(),
                filter: filter(&filters)?,
                conditions,
            };
            let block = computing(&[rows.atoms[at].clone()], Rows::Timed(timed));
            rows.atoms[at] = self.emit("timed", block)?;
        }
        Ok(rows)
    }
}

/// Comparisons of the conjuncts with the clock, over the atoms of rows.
fn clock_comparisons(
    rows: &Pending,
    conjuncts: &[Expr],
    schema: &DFSchema,
) -> Result<Vec<ClockComparison>> {
    let mut found = Vec::new();
    for conjunct in conjuncts {
        comparisons(&rows.meant(conjunct, schema)?, false, &mut found)?;
    }
    Ok(found)
}

/// The comparisons that a condition is, all of which must hold; those of its opposite if `negated`.
fn comparisons(of: &Expr, negated: bool, into: &mut Vec<ClockComparison>) -> Result<()> {
    match of {
        Expr::Alias(alias) => comparisons(&alias.expr, negated, into),
        Expr::Not(inner) => comparisons(inner, !negated, into),
        Expr::Between(Between {
            expr,
            negated: outside,
            low,
            high,
        }) if *outside == negated => {
            into.push(comparison(expr, Comparison::Ge, low, of)?);
            into.push(comparison(expr, Comparison::Le, high, of)?);
            Ok(())
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            if let (Operator::And, false) | (Operator::Or, true) = (op, negated) {
                comparisons(left, negated, into)?;
                return comparisons(right, negated, into);
            }
            let op = match op {
                Operator::Eq => Comparison::Eq,
                Operator::NotEq => Comparison::Ne,
                Operator::Lt => Comparison::Lt,
                Operator::LtEq => Comparison::Le,
                Operator::Gt => Comparison::Gt,
                Operator::GtEq => Comparison::Ge,
                _ => return Err(clock_refused(of)),
            };
            let op = if negated { opposite(op) } else { op };
            into.push(comparison(left, op, right, of)?);
            Ok(())
        }
        _ => Err(clock_refused(of)),
    }
}

/// A comparison with a clock on either side, or with how far it is from one.
fn comparison(left: &Expr, op: Comparison, right: &Expr, whole: &Expr) -> Result<ClockComparison> {
    let found = match (reads_clock(left), reads_clock(right)) {
        (false, true) => clock(right).map(|steps| (left.clone(), op, steps)),
        (true, false) => match clock(left) {
            Some(steps) => Some((right.clone(), flipped(op), steps)),
            None => distance(left, op, right),
        },
        // Comparisons that depend on no row.
        _ => None,
    };
    let is_of_rows = |value: &Expr| {
        !any(value, |node| {
            is_nested(node) || matches!(node, Expr::OuterReferenceColumn(..))
        })
    };
    match found {
        Some((value, op, steps)) if is_of_rows(&value) => Ok(ClockComparison {
            value,
            op,
            clock: Clock {
                text: shown(&steps),
                steps,
            },
        }),
        _ => Err(clock_refused(whole)),
    }
}

/// `now() - ts < INTERVAL ..` and `current_date - d < 7`: the row's moment on one side, the clock on the other.
fn distance(
    left: &Expr,
    op: Comparison,
    right: &Expr,
) -> Option<(Expr, Comparison, Vec<ClockStep>)> {
    let Expr::BinaryExpr(BinaryExpr {
        left: one,
        op: Operator::Minus,
        right: other,
    }) = left
    else {
        return None;
    };
    let by = match interval(right) {
        // Months have no length, and a difference has none.
        Some(by) if by.months == 0 => by,
        Some(_) => return None,
        None => days(right)?,
    };
    let (one, other) = (day(one), day(other));
    let shifted = |of: &Expr, by: Interval| {
        let mut steps = clock(of)?;
        steps.push(ClockStep::Shift { by });
        Some(steps)
    };
    match (reads_clock(one), reads_clock(other)) {
        (true, false) => Some((other.clone(), flipped(op), shifted(one, by.negated())?)),
        (false, true) => Some((one.clone(), op, shifted(other, by)?)),
        _ => None,
    }
}

/// The steps of an expression of the clock and constants.
fn clock(of: &Expr) -> Option<Vec<ClockStep>> {
    let today = ClockStep::Floor {
        width: DAY,
        origin: 0,
    };
    match reading(of) {
        Some(Reading::Moment) => return Some(Vec::new()),
        Some(Reading::Date) => return Some(vec![today]),
        None => {}
    }
    match of {
        Expr::Alias(alias) => clock(&alias.expr),
        Expr::Cast(cast) => match cast.field.data_type() {
            DataType::Date32 => {
                if let Some(steps) = days_later(&cast.expr) {
                    return Some(steps);
                }
                let mut steps = clock(&cast.expr)?;
                steps.push(today);
                Some(steps)
            }
            DataType::Timestamp(..) => clock(&cast.expr),
            _ => None,
        },
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (of, by) = match (op, interval(left), interval(right)) {
                (Operator::Plus, None, Some(by)) => (left, by),
                (Operator::Minus, None, Some(by)) => (left, by.negated()),
                (Operator::Plus, Some(by), None) => (right, by),
                _ => return None,
            };
            let mut steps = clock(of)?;
            steps.push(ClockStep::Shift { by });
            Some(steps)
        }
        Expr::ScalarFunction(call) => truncated(call),
        _ => None,
    }
}

/// `date + 3` as the binder has it: days as integers.
fn days_later(of: &Expr) -> Option<Vec<ClockStep>> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = of else {
        return None;
    };
    let (of, by) = match (op, days(left), days(right)) {
        (Operator::Plus, None, Some(by)) => (left, by),
        (Operator::Minus, None, Some(by)) => (left, by.negated()),
        (Operator::Plus, Some(by), None) => (right, by),
        _ => return None,
    };
    let mut steps = clock(day(of))?;
    steps.push(ClockStep::Shift { by });
    Some(steps)
}

/// `date_trunc('month', ..)` and `time_bucket(INTERVAL .., ..)`.
fn truncated(call: &ScalarFunction) -> Option<Vec<ClockStep>> {
    let [first, of] = &call.args[..] else {
        return None;
    };
    let step = match call.func.name() {
        "date_trunc" => {
            let Expr::Literal(ScalarValue::Utf8(Some(part)), _) = first else {
                return None;
            };
            let part = part.to_lowercase();
            match part.strip_suffix('s').unwrap_or(&part) {
                // The epoch was a Thursday; weeks begin on Mondays.
                "week" => ClockStep::Floor {
                    width: 7 * DAY,
                    origin: 4 * DAY,
                },
                "month" => ClockStep::Months { count: 1 },
                "quarter" => ClockStep::Months { count: 3 },
                "year" => ClockStep::Months { count: 12 },
                unit => {
                    let width: Interval = format!("1 {unit}").parse().ok()?;
                    ClockStep::Floor {
                        width: Some(width.micros).filter(|_| width.months == 0)?,
                        origin: 0,
                    }
                }
            }
        }
        "time_bucket" => match interval(first)? {
            // Months are counted from 2000, and the step counts from the year 0.
            Interval { months, micros: 0 } if months > 0 && 24_000 % months == 0 => {
                ClockStep::Months { count: months }
            }
            Interval { months: 0, micros } if micros > 0 => ClockStep::Floor {
                width: micros,
                origin: BUCKETS,
            },
            _ => return None,
        },
        _ => return None,
    };
    let mut steps = clock(of)?;
    steps.push(step);
    Some(steps)
}

/// A constant interval.
fn interval(of: &Expr) -> Option<Interval> {
    let Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(of)), _) = of else {
        return None;
    };
    let micros = i64::from(of.days).checked_mul(DAY)?;
    Some(Interval {
        months: of.months,
        micros: micros.checked_add(of.nanoseconds / 1_000)?,
    })
}

/// A constant number of days.
fn days(of: &Expr) -> Option<Interval> {
    let of = match of {
        Expr::Cast(cast) => &cast.expr,
        other => other,
    };
    let days = match of {
        Expr::Literal(ScalarValue::Int64(Some(days)), _) => *days,
        Expr::Literal(ScalarValue::Int32(Some(days)), _) => i64::from(*days),
        Expr::Negative(of) => return days(of).map(Interval::negated),
        _ => return None,
    };
    Some(Interval {
        months: 0,
        micros: days.checked_mul(DAY)?,
    })
}

/// A date that the binder has made a number of days.
fn day(of: &Expr) -> &Expr {
    match of {
        Expr::Cast(cast) if cast.field.data_type().is_integer() => day(&cast.expr),
        other => other,
    }
}

fn flipped(op: Comparison) -> Comparison {
    match op {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        same => same,
    }
}

fn opposite(op: Comparison) -> Comparison {
    match op {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Ge,
        Comparison::Le => Comparison::Gt,
        Comparison::Gt => Comparison::Le,
        Comparison::Ge => Comparison::Lt,
    }
}

/// The steps as SQL.
fn shown(steps: &[ClockStep]) -> String {
    let mut text = "now()".to_owned();
    for step in steps {
        text = match step {
            ClockStep::Shift { by } if by.negated().is_positive() => {
                format!("{text} - INTERVAL '{}'", by.negated())
            }
            ClockStep::Shift { by } => format!("{text} + INTERVAL '{by}'"),
            ClockStep::Floor {
                width: DAY,
                origin: 0,
            } => match &*text {
                "now()" => "current_date".to_owned(),
                other => format!("CAST({other} AS DATE)"),
            },
            ClockStep::Floor { width, .. } => {
                let width = Interval {
                    months: 0,
                    micros: *width,
                };
                format!("time_bucket(INTERVAL '{width}', {text})")
            }
            ClockStep::Months { count } => {
                format!("time_bucket(INTERVAL '{count} months', {text})")
            }
        };
    }
    text
}
