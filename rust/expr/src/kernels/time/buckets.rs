//! `date_trunc(part, moment)` and `time_bucket(width, moment [, origin])`.
//!
//! Buckets of months are counted from 2000-01-01, others from Monday 2000-01-03, unless an origin is given; of an origin of
//! months the month alone counts. Invariant: a bucket begins at or before what it holds. Cost: one pass.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    IntervalMonthDayNano, IntervalMonthDayNanoType, TimestampMicrosecondType,
};
use arrow_schema::{DataType, IntervalUnit};
use chrono::{Datelike, NaiveDate, Weekday};
use datafusion_common::{Result, exec_datafusion_err, plan_datafusion_err, plan_err};
use datafusion_expr::ScalarUDF;

use super::clock::{MOMENT, calendar, each_moment};
use crate::kernels::plain::Plain;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// Monday 2000-01-03.
const BUCKETS: i64 = 10_959 * DAY;
const JANUARY_2000: i64 = 2000 * 12;

pub(super) fn functions() -> [Arc<ScalarUDF>; 2] {
    let trunc = [DataType::Utf8, MOMENT];
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    let bucket = [interval, MOMENT, MOMENT];
    [
        Plain::function("moment_trunc", (&trunc, 2), MOMENT, |args| {
            let parts = args[0].as_string::<i32>();
            let mut last: Option<(&str, Part)> = None;
            let made = each_moment(&args[1], |row, ticks| {
                if parts.is_null(row) {
                    return Ok(None);
                }
                let name = parts.value(row);
                let known = last.filter(|(known, _)| *known == name);
                let (_, part) = match known {
                    Some(known) => known,
                    None => (name, Part::of(name)?),
                };
                last = Some((name, part));
                part.begin(ticks).map(Some)
            });
            Ok(Arc::new(made?))
        }),
        Plain::function("moment_bucket", (&bucket, 2), MOMENT, |args| {
            let widths = args[0].as_primitive::<IntervalMonthDayNanoType>();
            let origins = args.get(2);
            let origins = origins.map(|of| of.as_primitive::<TimestampMicrosecondType>());
            let made = each_moment(&args[1], |row, ticks| {
                if widths.is_null(row) || origins.is_some_and(|of| of.is_null(row)) {
                    return Ok(None);
                }
                let origin = origins.map(|of| of.value(row));
                width(widths.value(row))?.begin(ticks, origin).map(Some)
            });
            Ok(Arc::new(made?))
        }),
    ]
}

/// The width of a bucket.
#[derive(Clone, Copy)]
enum Width {
    Months(i64),
    Ticks(i64),
}

/// The width that an interval is.
///
/// # Errors
/// `Plan` where it is none: not above zero, or of months and of time.
fn width(of: IntervalMonthDayNano) -> Result<Width> {
    let time = i64::from(of.days) * DAY + of.nanoseconds / 1_000;
    match (of.months, time) {
        (months @ 1.., 0) => Ok(Width::Months(months.into())),
        (0, 1..) => Ok(Width::Ticks(time)),
        (0, _) | (_, 0) => plan_err!("a bucket has a width above zero"),
        _ => plan_err!("a bucket is of months, or of days and time, and not of both"),
    }
}

impl Width {
    fn begin(self, ticks: i64, origin: Option<i64>) -> Result<i64> {
        match self {
            Self::Months(width) => {
                let origin = origin.map_or(Ok(JANUARY_2000), month)?;
                let since = month(ticks)? - origin;
                first_of(origin + since.div_euclid(width) * width)
            }
            Self::Ticks(width) => {
                let origin = i128::from(origin.unwrap_or(BUCKETS));
                let since = i128::from(ticks) - origin;
                let begins = origin + since.div_euclid(width.into()) * i128::from(width);
                i64::try_from(begins).map_err(|_| exec_datafusion_err!("overflow of a bucket"))
            }
        }
    }
}

/// A part of a moment.
#[derive(Clone, Copy)]
enum Part {
    Ticks(i64),
    /// From Monday.
    Week,
    /// Months, counted from January of the year 0.
    Months(i64),
    IsoYear,
}

impl Part {
    fn of(name: &str) -> Result<Self> {
        let part = name.to_lowercase();
        Ok(match part.strip_suffix('s').unwrap_or(&part) {
            "microsecond" | "u" | "usec" => Self::Ticks(1),
            "millisecond" | "m" if part.len() > 1 => Self::Ticks(1_000),
            "msec" => Self::Ticks(1_000),
            "second" | "sec" | "" | "epoch" => Self::Ticks(SECOND),
            "minute" | "min" | "m" => Self::Ticks(60 * SECOND),
            "hour" | "hr" | "h" => Self::Ticks(3600 * SECOND),
            "day" | "d" | "dow" | "weekday" | "dayofweek" | "isodow" | "doy" | "dayofyear" => {
                Self::Ticks(DAY)
            }
            "week" | "w" | "weekofyear" | "yearweek" => Self::Week,
            "month" | "mon" => Self::Months(1),
            "quarter" => Self::Months(3),
            "year" | "yr" | "y" => Self::Months(12),
            "decade" | "dec" | "de" => Self::Months(120),
            "century" | "centurie" | "cent" | "c" => Self::Months(1_200),
            "millennium" | "millennia" | "mil" => Self::Months(12_000),
            "isoyear" => Self::IsoYear,
            _ => {
                return Err(plan_datafusion_err!(
                    "there is no part {name:?} of a moment"
                ));
            }
        })
    }

    fn begin(self, ticks: i64) -> Result<i64> {
        match self {
            Self::Ticks(of) => Ok(ticks - ticks.rem_euclid(of)),
            // The epoch was a Thursday.
            Self::Week => Ok(ticks - (ticks - 4 * DAY).rem_euclid(7 * DAY)),
            Self::Months(of) => {
                let month = month(ticks)?;
                first_of(month - month.rem_euclid(of))
            }
            Self::IsoYear => {
                let year = calendar(ticks)?.iso_week().year();
                ticks_of(NaiveDate::from_isoywd_opt(year, 1, Weekday::Mon))
            }
        }
    }
}

/// The month of a moment, counted from January of the year 0.
fn month(ticks: i64) -> Result<i64> {
    let date = calendar(ticks)?;
    Ok(i64::from(date.year()) * 12 + i64::from(date.month0()))
}

/// The first moment of a month.
fn first_of(month: i64) -> Result<i64> {
    let year = i32::try_from(month.div_euclid(12)).unwrap_or(i32::MAX);
    ticks_of(NaiveDate::from_ymd_opt(
        year,
        month.rem_euclid(12) as u32 + 1,
        1,
    ))
}

fn ticks_of(date: Option<NaiveDate>) -> Result<i64> {
    let ticks = date.and_then(|date| date.and_hms_opt(0, 0, 0));
    ticks
        .map(|moment| moment.and_utc().timestamp_micros())
        .ok_or_else(|| exec_datafusion_err!("overflow of a moment"))
}
