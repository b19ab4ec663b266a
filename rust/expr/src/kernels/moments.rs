//! Moments: made of their parts, and whole parts between two of them.
//!
//! Invariant: a part between two moments counts once it is full; a month is full on the same day of the next, or on its
//! last where it has none. NULL where an argument is. Cost: one pass.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Int64Array, TimestampMicrosecondArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, Months, NaiveDate, NaiveDateTime};
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::ScalarUDF;

use super::plain::Plain;

const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// All of them.
pub(crate) fn functions() -> [Arc<ScalarUDF>; 2] {
    let mut parts = vec![DataType::Int64; 5];
    parts.push(DataType::Float64);
    let between = [DataType::Utf8, MOMENT, MOMENT];
    [
        Plain::function("moment_of_parts", (&parts, 6), MOMENT, made),
        Plain::function("whole_parts", (&between, 3), DataType::Int64, |args| {
            let parts = args[0].as_string::<i32>();
            let [from, to] =
                [1, 2].map(|at: usize| args[at].as_primitive::<TimestampMicrosecondType>());
            let rows = parts.iter().zip(from.iter().zip(to));
            let found = rows.map(|row| match row {
                (Some(part), (Some(from), Some(to))) => whole(part, from, to).map(Some),
                _ => Ok(None),
            });
            Ok(Arc::new(found.collect::<Result<Int64Array>>()?))
        }),
    ]
}

/// Year, month, day, hour, minute, seconds.
fn made(args: &[ArrayRef]) -> Result<ArrayRef> {
    let whole: Vec<_> = args[..5]
        .iter()
        .map(|of| of.as_primitive::<Int64Type>())
        .collect();
    let seconds = args[5].as_primitive::<Float64Type>();
    let made = (0..seconds.len()).map(|row| {
        if args.iter().any(|of| of.is_null(row)) {
            return Ok(None);
        }
        let [year, month, day, hour, minute] = [0, 1, 2, 3, 4].map(|at: usize| whole[at].value(row));
        let second = seconds.value(row);
        let date = match (i32::try_from(year), u32::try_from(month), u32::try_from(day)) {
            (Ok(year), Ok(month), Ok(day)) => NaiveDate::from_ymd_opt(year, month, day),
            _ => None,
        };
        let is_time = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0.0..=60.0).contains(&second);
        // The end of a day has a name of its own.
        let is_time = is_time || (hour, minute) == (24, 0) && second == 0.0;
        let midnight = date.filter(|_| is_time).and_then(|date| date.and_hms_opt(0, 0, 0));
        let midnight = midnight.ok_or_else(|| {
            exec_datafusion_err!(
                "there is no moment of year {year}, month {month}, day {day} at {hour}:{minute}:{second}"
            )
        })?;
        let ticks = (hour * 60 + minute) * 60_000_000 + (second * 1e6).round_ties_even() as i64;
        Ok(Some(midnight.and_utc().timestamp_micros() + ticks))
    });
    Ok(Arc::new(
        made.collect::<Result<TimestampMicrosecondArray>>()?,
    ))
}

/// Number of whole parts between two moments, below zero where they are the other way round.
fn whole(part: &str, from: i64, to: i64) -> Result<i64> {
    const SECOND: i64 = 1_000_000;
    let part = part.to_lowercase();
    let fixed = match part.trim_end_matches('s') {
        "microsecond" => 1,
        "millisecond" => 1000,
        "second" => SECOND,
        "minute" => 60 * SECOND,
        "hour" => 3600 * SECOND,
        "day" => 86_400 * SECOND,
        "week" => 7 * 86_400 * SECOND,
        other => {
            let months = match other {
                "month" => 1,
                "quarter" => 3,
                "year" => 12,
                "decade" => 120,
                "century" | "centurie" => 1200,
                "millennium" | "millennia" => 12_000,
                _ => return Err(exec_datafusion_err!("{part:?} is no part of a moment")),
            };
            let read = |ticks: i64| {
                let moment = DateTime::from_timestamp_micros(ticks);
                let moment = moment.map(|moment| moment.naive_utc());
                moment.ok_or_else(|| exec_datafusion_err!("a moment that no calendar has"))
            };
            let (first, last) = (read(from.min(to))?, read(from.max(to))?);
            let found = months_between(first, last) / months;
            return Ok(if from <= to { found } else { -found });
        }
    };
    to.checked_sub(from)
        .map(|ticks| ticks / fixed)
        .ok_or_else(|| exec_datafusion_err!("the moments are too far from each other"))
}

fn months_between(first: NaiveDateTime, last: NaiveDateTime) -> i64 {
    let months = |of: NaiveDateTime| i64::from(of.year()) * 12 + i64::from(of.month0());
    let all = months(last) - months(first);
    let is_full = |by: i64| {
        let by = u32::try_from(by).unwrap_or_default();
        first
            .checked_add_months(Months::new(by))
            .is_some_and(|end| end <= last)
    };
    all - i64::from(!is_full(all))
}
