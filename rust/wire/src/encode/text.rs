//! Values as texts, as PostgreSQL writes them.
//!
//! Invariant: a text reads back as its value, to the last bit of a double. Cost: linear in the text.

use std::fmt::Write;

use arrow_array::types::IntervalMonthDayNano;
use bytes::{BufMut, BytesMut};
use chrono::{DateTime, Days, NaiveDate};

const DAY: i64 = 86_400_000_000;

/// A double, or a float as the double of its own digits.
pub(super) fn float(number: f64, shortest: &str, exponent: &str, out: &mut BytesMut) {
    let size = number.abs();
    // Writing to memory never fails, here and below.
    let _ = match () {
        () if number.is_nan() => out.write_str("NaN"),
        () if number.is_infinite() => out.write_str(if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }),
        () if size != 0.0 && !(1e-4..1e15).contains(&size) => match exponent.split_once('e') {
            Some((digits, power)) if power.starts_with('-') => write!(out, "{digits}e{power}"),
            Some((digits, power)) => write!(out, "{digits}e+{power}"),
            None => out.write_str(exponent),
        },
        () => out.write_str(shortest),
    };
}

/// A day, counted from 1970.
pub(super) fn date(days: i32, out: &mut BytesMut) {
    let epoch = NaiveDate::default();
    let far = Days::new(u64::from(days.unsigned_abs()));
    let found = match days < 0 {
        true => epoch.checked_sub_days(far),
        false => epoch.checked_add_days(far),
    };
    match found {
        Some(day) => day_of(day, out),
        None => out.put_slice(if days < 0 { b"-infinity" } else { b"infinity" }),
    }
}

fn day_of(day: NaiveDate, out: &mut BytesMut) {
    use chrono::Datelike;
    // The year before 1 is the first before Christ.
    let (year, era) = match day.year() {
        year if year > 0 => (year, ""),
        year => (1 - year, " BC"),
    };
    let _ = write!(out, "{year:04}-{:02}-{:02}{era}", day.month(), day.day());
}

/// A time of the day, in microseconds.
pub(super) fn time(micros: i64, out: &mut BytesMut) {
    clock(micros, out);
}

fn clock(micros: i64, out: &mut BytesMut) {
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let _ = write!(out, "{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if rest != 0 {
        let digits = format!("{rest:06}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

/// A moment, in microseconds since 1970; in UTC if it has a zone.
pub(super) fn timestamp(micros: i64, zoned: bool, out: &mut BytesMut) {
    let Some(moment) = DateTime::from_timestamp_micros(micros) else {
        out.put_slice(if micros < 0 {
            b"-infinity"
        } else {
            b"infinity"
        });
        return;
    };
    let start = out.len();
    day_of(moment.date_naive(), out);
    let era = out[start..].ends_with(b" BC");
    if era {
        out.truncate(out.len() - 3);
    }
    out.put_u8(b' ');
    clock(micros.rem_euclid(DAY), out);
    if zoned {
        out.put_slice(b"+00");
    }
    if era {
        out.put_slice(b" BC");
    }
}

/// An interval.
pub(super) fn interval(of: IntervalMonthDayNano, out: &mut BytesMut) {
    let start = out.len();
    let mut part = |number: i32, one: &str, many: &str| {
        if number != 0 {
            let blank = if out.len() > start { " " } else { "" };
            let _ = write!(
                out,
                "{blank}{number} {}",
                if number == 1 { one } else { many }
            );
        }
    };
    part(of.months / 12, "year", "years");
    part(of.months % 12, "mon", "mons");
    part(of.days, "day", "days");
    let micros = of.nanoseconds / 1000;
    if micros != 0 || out.len() == start {
        if out.len() > start {
            out.put_u8(b' ');
        }
        if micros < 0 {
            out.put_u8(b'-');
        }
        clock(micros.abs(), out);
    }
}

/// Bytes in hexadecimal.
pub(super) fn bytes(of: &[u8], out: &mut BytesMut) {
    out.put_slice(b"\\x");
    for byte in of {
        let _ = write!(out, "{byte:02x}");
    }
}

/// An item of an array: in quotes where it would be read as something else.
pub(super) fn item(of: &[u8], out: &mut BytesMut) {
    let special = |byte: &u8| b"{},\"\\".contains(byte) || byte.is_ascii_whitespace();
    if !of.is_empty() && !of.iter().any(special) && !of.eq_ignore_ascii_case(b"null") {
        out.put_slice(of);
        return;
    }
    out.put_u8(b'"');
    for byte in of {
        if matches!(byte, b'"' | b'\\') {
            out.put_u8(b'\\');
        }
        out.put_u8(*byte);
    }
    out.put_u8(b'"');
}
