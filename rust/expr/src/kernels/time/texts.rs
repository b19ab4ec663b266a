//! Texts that are cast to dates, timestamps and timestamps with a time zone.
//!
//! A date is `2024-03-10`, its parts of one or two digits, `/`, a blank or `\` in the place of `-`; a time of day follows
//! after a blank or `T`, and behind it an offset from UTC, `Z`, or the name of a zone. A timestamp without a zone leaves out
//! what the text says of one, as DuckDB does. Invariant: what is no moment is an error, or NULL where it is tried. Cost: one
//! pass.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{ArrayRef, Date32Array, TimestampMicrosecondArray};
use arrow_schema::DataType;
use chrono::NaiveDate;
use datafusion_common::{Result, exec_err};
use datafusion_expr::ScalarUDF;

use super::clock::{MOMENT, instant};
use super::zones::{to_instant, zone};
use crate::kernels::plain::Plain;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// One for each type, and one that gives NULL for what is none.
pub(super) fn functions() -> [Arc<ScalarUDF>; 6] {
    let text = [DataType::Utf8];
    let takes = (&text[..], 1);
    [
        Plain::function("day_of_text", takes, DataType::Date32, |args| {
            days(args, refused_day)
        }),
        Plain::function("try_day_of_text", takes, DataType::Date32, |args| {
            days(args, |_| Ok(None))
        }),
        Plain::function("moment_of_text", takes, MOMENT, |args| {
            Ok(Arc::new(ticks(args, |read| Ok(read.clock), refused)?))
        }),
        Plain::function("try_moment_of_text", takes, MOMENT, |args| {
            Ok(Arc::new(ticks(args, |read| Ok(read.clock), |_| Ok(None))?))
        }),
        Plain::function("instant_of_text", takes, instant(), |args| {
            let found = ticks(args, |read| read.instant(), refused)?;
            Ok(Arc::new(found.with_timezone("UTC")))
        }),
        Plain::function("try_instant_of_text", takes, instant(), |args| {
            let found = ticks(args, |read| read.instant(), |_| Ok(None))?;
            Ok(Arc::new(found.with_timezone("UTC")))
        }),
    ]
}

fn refused_day<T>(text: &str) -> Result<Option<T>> {
    exec_err!("cannot cast '{text}' to a date, which is written YYYY-MM-DD")
}

fn refused<T>(text: &str) -> Result<Option<T>> {
    exec_err!(
        "cannot cast '{text}' to a timestamp, which is written YYYY-MM-DD HH:MM:SS, with an offset +HH:MM or a zone behind it"
    )
}

fn days(args: &[ArrayRef], wrong: fn(&str) -> Result<Option<i32>>) -> Result<ArrayRef> {
    let read = |text: &str| match Read::of(text) {
        Some(read) => Ok(Some(read.day)),
        None => wrong(text),
    };
    let texts = args[0].as_string::<i32>().iter();
    let found = texts.map(|text| text.map_or(Ok(None), read));
    Ok(Arc::new(found.collect::<Result<Date32Array>>()?))
}

fn ticks(
    args: &[ArrayRef],
    of: fn(&Read<'_>) -> Result<i64>,
    wrong: fn(&str) -> Result<Option<i64>>,
) -> Result<TimestampMicrosecondArray> {
    let read = |text: &str| match Read::of(text).map(|read| of(&read)) {
        Some(Ok(ticks)) => Ok(Some(ticks)),
        _ => wrong(text),
    };
    let texts = args[0].as_string::<i32>().iter();
    let found = texts.map(|text| text.map_or(Ok(None), read));
    found.collect()
}

/// The part of a text behind the time of day.
enum Zone<'t> {
    /// Nothing: UTC.
    None,
    /// Ticks that a clock is ahead of UTC.
    Offset(i64),
    Named(&'t str),
}

/// A text as a moment.
struct Read<'t> {
    /// As it is written: 24:00 belongs to it.
    day: i32,
    /// Ticks that the clock shows.
    clock: i64,
    zone: Zone<'t>,
}

impl<'t> Read<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let text = text.trim_matches(|of: char| of.is_ascii_whitespace());
        if text.eq_ignore_ascii_case("epoch") {
            return Some(Self {
                day: 0,
                clock: 0,
                zone: Zone::None,
            });
        }
        let mut rest = Rest(text);
        let day = Date32Type::from_naive_date(rest.day()?);
        let mut read = Self {
            day,
            clock: i64::from(day).checked_mul(DAY)?,
            zone: Zone::None,
        };
        if !rest.0.is_empty() {
            rest.one_of(" Tt")?;
            read.clock = read.clock.checked_add(rest.time()?)?;
            read.zone = rest.zone()?;
        }
        rest.0.is_empty().then_some(read)
    }

    fn instant(&self) -> Result<i64> {
        match self.zone {
            Zone::None => Ok(self.clock),
            Zone::Offset(ahead) => match self.clock.checked_sub(ahead) {
                Some(ticks) => Ok(ticks),
                None => exec_err!("overflow of a moment"),
            },
            Zone::Named(name) => to_instant(zone(name)?, self.clock),
        }
    }
}

/// A text that is still to be read.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    /// Takes a character that is one of some.
    fn one_of(&mut self, of: &str) -> Option<char> {
        let found = self.0.chars().next().filter(|one| of.contains(*one))?;
        self.0 = &self.0[found.len_utf8()..];
        Some(found)
    }

    /// Takes a number of one digit at least.
    fn number(&mut self, most: usize) -> Option<i64> {
        let digits = self.0.bytes().take(most);
        let digits = digits.take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        number.parse().ok()
    }

    fn day(&mut self) -> Option<NaiveDate> {
        let is_before = self.one_of("-").is_some();
        let year = self.number(6)?;
        let between = self.one_of("-/ \\")?.to_string();
        let month = self.number(2)?;
        self.one_of(&between)?;
        let day = self.number(2)?;
        let mut year = if is_before { -year } else { year };
        let (era, rest) = self.0.split_at_checked(5).unwrap_or(("", self.0));
        if era.eq_ignore_ascii_case(" (BC)") {
            (self.0, year) = (rest, 1 - year);
        }
        NaiveDate::from_ymd_opt(year as i32, month as u32, day as u32)
    }

    fn time(&mut self) -> Option<i64> {
        let hours = self.number(2)?;
        self.one_of(":")?;
        let minutes = self.number(2)?;
        let (mut seconds, mut micros) = (0, 0);
        if self.one_of(":").is_some() {
            seconds = self.number(2)?;
            if self.one_of(".").is_some() {
                micros = self.fraction();
            }
        }
        let time = ((hours * 60 + minutes) * 60 + seconds) * SECOND + micros;
        let is_time = hours < 24 && minutes < 60 && seconds < 60;
        // The end of a day has a name of its own.
        (is_time || (hours, time) == (24, DAY)).then_some(time)
    }

    /// Takes digits behind the point, of which six count.
    fn fraction(&mut self) -> i64 {
        let all = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(all);
        self.0 = rest;
        let six = digits.bytes().chain(std::iter::repeat(b'0')).take(6);
        six.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    }

    fn zone(&mut self) -> Option<Zone<'t>> {
        if self.one_of("Zz").is_some() {
            return Some(Zone::Offset(0));
        }
        if let Some(sign) = self.one_of("+-") {
            let mut ahead = self.number(2)? * 3600;
            for unit in [60, 1] {
                let is_more = self.one_of(":").is_some();
                match self.number(2) {
                    Some(of) if of < 60 => ahead += of * unit,
                    None if !is_more => {}
                    _ => return None,
                }
            }
            let ahead = ahead * SECOND;
            return Some(Zone::Offset(if sign == '-' { -ahead } else { ahead }));
        }
        if self.one_of(" ").is_some() {
            let name = std::mem::take(&mut self.0);
            let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic());
            return (is_name && zone(name).is_ok()).then_some(Zone::Named(name));
        }
        Some(Zone::None)
    }
}
