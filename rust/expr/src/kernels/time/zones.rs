//! `timezone(zone, x)`, which `x AT TIME ZONE zone` is: the clock of a zone at an instant, or the instant of its clock.
//!
//! Invariant: a clock that is set back shows a time twice, and the later one is meant; a time that it leaves out counts by
//! the offset before. Cost: one pass, and a search by name where the zone is another than that of the row before.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use chrono::{MappedLocalTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use datafusion_common::{Result, exec_datafusion_err};
use datafusion_expr::ScalarUDF;

use super::clock::{MOMENT, calendar, each_moment, instant};
use crate::kernels::plain::Plain;

const SECOND: i64 = 1_000_000;

/// `clock_in_zone(zone, instant)` and `instant_in_zone(zone, moment)`.
pub(super) fn functions() -> [Arc<ScalarUDF>; 2] {
    let clock = [DataType::Utf8, instant()];
    let moment = [DataType::Utf8, MOMENT];
    [
        Plain::function("clock_in_zone", (&clock, 2), MOMENT, |args| {
            in_zone(args, |zone, ticks| {
                let offset = zone.offset_from_utc_datetime(&calendar(ticks)?);
                later(ticks, offset.fix().local_minus_utc())
            })
        }),
        Plain::function("instant_in_zone", (&moment, 2), instant(), |args| {
            Ok(Arc::new(
                in_zone_ticks(args, to_instant)?.with_timezone("UTC"),
            ))
        }),
    ]
}

/// The zone of a name, in any case.
///
/// # Errors
/// `Execution` for a name of none.
pub(super) fn zone(name: &str) -> Result<Tz> {
    let of_any_case = || {
        let mut all = TZ_VARIANTS.iter();
        all.find(|zone| zone.name().eq_ignore_ascii_case(name))
            .copied()
    };
    let found = name.parse().ok().or_else(of_any_case);
    found.ok_or_else(|| {
        exec_datafusion_err!(
            "there is no time zone '{name}'; write a name such as 'Europe/Berlin' or 'UTC'"
        )
    })
}

/// The instant at which the clock of a zone shows a moment.
pub(super) fn to_instant(zone: Tz, ticks: i64) -> Result<i64> {
    later(ticks, -offset(zone, calendar(ticks)?))
}

/// Seconds from UTC by which a clock of a zone counts.
fn offset(zone: Tz, clock: NaiveDateTime) -> i32 {
    let seconds = |of: &<Tz as TimeZone>::Offset| of.fix().local_minus_utc();
    let skipped = || {
        // No clock leaves out more than a day.
        let before = [3, 27].map(|hours| clock - TimeDelta::hours(hours));
        let mut known = before
            .iter()
            .filter_map(|clock| zone.offset_from_local_datetime(clock).latest());
        known.next().map_or(0, |of| seconds(&of))
    };
    match zone.offset_from_local_datetime(&clock) {
        MappedLocalTime::Single(of) | MappedLocalTime::Ambiguous(_, of) => seconds(&of),
        MappedLocalTime::None => skipped(),
    }
}

fn later(ticks: i64, seconds: i32) -> Result<i64> {
    ticks
        .checked_add(i64::from(seconds) * SECOND)
        .ok_or_else(|| exec_datafusion_err!("overflow of a moment"))
}

fn in_zone(args: &[ArrayRef], of: fn(Tz, i64) -> Result<i64>) -> Result<ArrayRef> {
    Ok(Arc::new(in_zone_ticks(args, of)?))
}

fn in_zone_ticks(
    args: &[ArrayRef],
    of: fn(Tz, i64) -> Result<i64>,
) -> Result<arrow_array::TimestampMicrosecondArray> {
    let names = args[0].as_string::<i32>();
    let mut last: Option<(&str, Tz)> = None;
    each_moment(&args[1], |row, ticks| {
        if names.is_null(row) {
            return Ok(None);
        }
        let name = names.value(row);
        let known = last.filter(|(known, _)| *known == name);
        let (_, zone) = match known {
            Some(known) => known,
            None => (name, zone(name)?),
        };
        last = Some((name, zone));
        of(zone, ticks).map(Some)
    })
}
