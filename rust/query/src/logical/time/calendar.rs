//! Months: they differ in length, so adding them is no shift.
//!
//! A month later is the same day of the next month, or its last day where it has no such day. So the 29th, the 30th and
//! the 31st of January map to one day of February, and each of these days repeats the times of that day: a comparison
//! may become TRUE several times. Invariant: results are exact. Cost: O(1), a few dates.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveTime};

use super::spans::{ALWAYS, FOREVER, Spans};

/// Microseconds of a day.
pub(super) const DAY: i64 = 86_400_000_000;

/// A moment so many months later; where the calendar ends, the first or the last moment.
pub(super) fn months_later(moment: i64, months: i32) -> i64 {
    let end = if months < 0 { i64::MIN } else { i64::MAX };
    let found = DateTime::from_timestamp_micros(moment).and_then(|at| {
        let by = Months::new(months.unsigned_abs());
        if months < 0 {
            at.checked_sub_months(by)
        } else {
            at.checked_add_months(by)
        }
    });
    found.map_or(end, |at| at.timestamp_micros())
}

/// The beginning of the months that a moment lies in, so many together.
pub(super) fn months_of(moment: i64, count: i32) -> i64 {
    let Some(at) = DateTime::from_timestamp_micros(moment) else {
        return moment;
    };
    let month = at.year() * 12 + at.month0() as i32;
    first_of(month.div_euclid(count) * count).unwrap_or(i64::MIN)
}

/// The beginning of the next months behind those that begin at a moment.
pub(super) fn next_months(begin: i64, count: i32) -> i64 {
    let Some(at) = DateTime::from_timestamp_micros(begin) else {
        return i64::MAX;
    };
    let month = at.year() * 12 + at.month0() as i32;
    first_of(month + count).unwrap_or(i64::MAX)
}

/// The first moment of a month, counted from January of the year 0.
fn first_of(month: i32) -> Option<i64> {
    let day = NaiveDate::from_ymd_opt(
        month.div_euclid(12),
        month.rem_euclid(12).unsigned_abs() + 1,
        1,
    )?;
    Some(midnight(day))
}

/// The moments that, so many months later, are in one of these intervals.
pub(super) fn before_months(spans: &Spans, months: i32) -> Spans {
    let mut found = Spans::default();
    for (from, until) in spans.iter() {
        let own = since_months(from, months).intersect(&since_months(until, months).complement());
        found = found.union(&own);
    }
    found
}

/// The moments that, so many months later, are this one or behind it.
fn since_months(value: i64, months: i32) -> Spans {
    match value {
        ALWAYS => return Spans::all(),
        FOREVER => return Spans::default(),
        _ => {}
    }
    let Some(at) = DateTime::from_timestamp_micros(value) else {
        return if value < 0 {
            Spans::all()
        } else {
            Spans::default()
        };
    };
    let day = at.date_naive();
    let time = value - midnight(day);
    let (Some(first), Some(behind)) = (
        first_day(day, months),
        day.succ_opt().and_then(|next| first_day(next, months)),
    ) else {
        return Spans::since(months_later(value, -months));
    };
    // Each day from `first` on that maps to the day itself has the time again.
    let mut spans = Vec::new();
    let mut start = midnight(first);
    while start < midnight(behind) {
        spans.push((start + time, start + DAY));
        start += DAY;
    }
    spans.push((midnight(behind), FOREVER));
    Spans::of(spans)
}

/// The first day that is, so many months later, this day or behind it.
fn first_day(day: NaiveDate, months: i32) -> Option<NaiveDate> {
    let by = Months::new(months.unsigned_abs());
    let later = |of: NaiveDate| {
        if months < 0 {
            of.checked_sub_months(by)
        } else {
            of.checked_add_months(by)
        }
    };
    let back = if months < 0 {
        day.checked_add_months(by)
    } else {
        day.checked_sub_months(by)
    };
    let mut found = back?.checked_sub_days(Days::new(4))?;
    while later(found)? < day {
        found = found.succ_opt()?;
    }
    Some(found)
}

fn midnight(day: NaiveDate) -> i64 {
    day.and_time(NaiveTime::MIN).and_utc().timestamp_micros()
}
