//! Constants: those of an expression as the engines compute with them, and decimals, dates and timestamps from text,
//! exactly.
//!
//! Invariant: nothing is rounded. A value that does not fit, or does not exist (February 30), is
//! refused with the expected form.

use chrono::{NaiveDate, NaiveTime, Timelike};
use datafusion_common::ScalarValue;
use ringview_core::{Error, Result, TimeUnit};

use crate::bind::polynomial::Polynomial;

/// A constant as the engines take it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    /// In quotes: it becomes what it is compared with.
    Text(String),
    Number(Polynomial),
    Bool(bool),
    /// Days since 1970-01-01.
    Date(i64),
    /// Ticks since 1970-01-01 00:00, in the coarsest unit that is exact.
    Timestamp(i64, TimeUnit),
}

impl Literal {
    /// For messages.
    pub(crate) fn description(&self) -> String {
        match self {
            Literal::Null => "NULL".to_owned(),
            Literal::Text(text) => format!("the string '{text}'"),
            Literal::Number(_) => "a number".to_owned(),
            Literal::Bool(value) => value.to_string(),
            Literal::Date(_) => "a date".to_owned(),
            Literal::Timestamp(..) => "a timestamp".to_owned(),
        }
    }
}

/// Literal of a value.
pub(crate) fn literal(value: &ScalarValue) -> Result<Literal> {
    let integer = |value: i128| match i64::try_from(value) {
        Ok(value) => Literal::Number(Polynomial::int(value)),
        Err(_) => Literal::Number(Polynomial::decimal(value, 0)),
    };
    let unknown = || Error::Unsupported {
        what: format!("the constant {value}"),
        why: "no column of a table has values of its type".to_owned(),
        instead: "write a number, a text, a Boolean, a date or a timestamp".to_owned(),
    };
    if value.is_null() {
        return Ok(Literal::Null);
    }
    Ok(match value {
        ScalarValue::Boolean(Some(value)) => Literal::Bool(*value),
        ScalarValue::Int8(Some(value)) => integer((*value).into()),
        ScalarValue::Int16(Some(value)) => integer((*value).into()),
        ScalarValue::Int32(Some(value)) => integer((*value).into()),
        ScalarValue::Int64(Some(value)) => integer((*value).into()),
        ScalarValue::UInt8(Some(value)) => integer((*value).into()),
        ScalarValue::UInt16(Some(value)) => integer((*value).into()),
        ScalarValue::UInt32(Some(value)) => integer((*value).into()),
        ScalarValue::UInt64(Some(value)) => integer((*value).into()),
        ScalarValue::Float32(Some(value)) if value.is_finite() => {
            Literal::Number(Polynomial::real((*value).into()))
        }
        ScalarValue::Float64(Some(value)) if value.is_finite() => {
            Literal::Number(Polynomial::real(*value))
        }
        ScalarValue::Decimal128(Some(value), _, scale) => {
            Literal::Number(Polynomial::decimal(*value, *scale))
        }
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => Literal::Text(text.clone()),
        ScalarValue::Date32(Some(days)) => Literal::Date((*days).into()),
        // Moments with a zone are those of UTC.
        ScalarValue::TimestampSecond(Some(ticks), _) => coarsest(*ticks, TimeUnit::Second),
        ScalarValue::TimestampMillisecond(Some(ticks), _) => {
            coarsest(*ticks, TimeUnit::Millisecond)
        }
        ScalarValue::TimestampMicrosecond(Some(ticks), _) => {
            coarsest(*ticks, TimeUnit::Microsecond)
        }
        ScalarValue::TimestampNanosecond(Some(ticks), _) => coarsest(*ticks, TimeUnit::Nanosecond),
        _ => return Err(unknown()),
    })
}

/// A moment in the coarsest unit that is exact.
fn coarsest(ticks: i64, unit: TimeUnit) -> Literal {
    let coarser = match unit {
        TimeUnit::Nanosecond => TimeUnit::Microsecond,
        TimeUnit::Microsecond => TimeUnit::Millisecond,
        TimeUnit::Millisecond | TimeUnit::Second => TimeUnit::Second,
    };
    match ticks % 1_000 {
        0 if unit != TimeUnit::Second => coarsest(ticks / 1_000, coarser),
        _ => Literal::Timestamp(ticks, unit),
    }
}

/// `"123.45"` as (12345, 2).
pub(crate) fn decimal(text: &str) -> Result<(i128, i8)> {
    let fail = || wrong(text, "a decimal number of at most 38 digits, like 123.45");
    let (negative, digits) = match text.trim().strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.trim().trim_start_matches('+')),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let missing = whole.is_empty() && fraction.is_empty();
    if missing || !all_digits(whole) || !all_digits(fraction) || fraction.len() > 38 {
        return Err(fail());
    }
    let value: i128 = format!("0{whole}{fraction}").parse().map_err(|_| fail())?;
    let scale = i8::try_from(fraction.len()).map_err(|_| fail())?;
    Ok((if negative { -value } else { value }, scale))
}

/// `"1995-03-15"` as days since 1970-01-01.
pub(crate) fn date(text: &str) -> Result<i64> {
    let days = day(text.trim()).map(|day| (day - NaiveDate::default()).num_days());
    days.ok_or_else(|| wrong(text, "a date, like 1995-03-15"))
}

/// `"1995-03-15T12:30:00.5"` as ticks since 1970-01-01 00:00, in the coarsest unit that is exact.
/// The T may be a space; the time, the second or its digits may be missing; a Z may follow.
pub(crate) fn timestamp(text: &str) -> Result<(i64, TimeUnit)> {
    ticks(text.trim()).ok_or_else(|| {
        wrong(
            text,
            "a timestamp, like 1995-03-15T12:30:00.123456 (without a zone, or with Z)",
        )
    })
}

/// Ticks of a second.
pub(crate) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn wrong(text: &str, expected: &str) -> Error {
    Error::Value {
        place: format!("the constant {text:?}"),
        problem: format!("expected {expected}"),
    }
}

/// Whether a text has a form, in which each 0 matches a digit.
fn is_like(text: &str, form: &str) -> bool {
    let mut pairs = text.bytes().zip(form.bytes());
    text.len() == form.len()
        && pairs.all(|(byte, like)| byte == like || like == b'0' && byte.is_ascii_digit())
}

/// A day of the calendar. Forms are checked first: chrono takes more of them than SQL has.
fn day(text: &str) -> Option<NaiveDate> {
    is_like(text, "0000-00-00")
        .then(|| text.parse().ok())
        .flatten()
}

fn ticks(text: &str) -> Option<(i64, TimeUnit)> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00"));
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let formed = is_like(clock, "00:00") || is_like(clock, "00:00:00");
    // A leap second is a second of 2 * 10^9 nanoseconds to chrono, and none to SQL.
    let clock: NaiveTime = formed.then(|| clock.parse().ok()).flatten()?;
    let clock = (clock.nanosecond() == 0).then_some(clock)?;

    let fraction = fraction.trim_end_matches('0');
    let nanoseconds = format!("{fraction:0<9}");
    let nanoseconds = is_like(&nanoseconds, "000000000").then(|| nanoseconds.parse().ok());
    let time = clock.with_nanosecond(nanoseconds.flatten()?)?;
    let moment = day(date)?.and_time(time).and_utc();
    Some(match fraction.len() {
        0 => (moment.timestamp(), TimeUnit::Second),
        1..=3 => (moment.timestamp_millis(), TimeUnit::Millisecond),
        4..=6 => (moment.timestamp_micros(), TimeUnit::Microsecond),
        _ => (moment.timestamp_nanos_opt()?, TimeUnit::Nanosecond),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(date("1970-01-01"), Ok(0));
        assert_eq!(date("1969-12-31"), Ok(-1));
        assert_eq!(date("2000-02-29"), Ok(11_016));
        assert_eq!(date("0001-01-01"), Ok(-719_162));
        assert_eq!(date("9999-12-31"), Ok(2_932_896));
        for text in [
            "1900-02-29",
            "1995-13-01",
            "1995-04-31",
            "95-04-01",
            "1995-4-01",
            "",
        ] {
            assert!(date(text).is_err(), "{text}");
        }
    }

    #[test]
    fn timestamps_take_the_coarsest_exact_unit() {
        assert_eq!(timestamp("1970-01-02"), Ok((86_400, TimeUnit::Second)));
        assert_eq!(
            timestamp("1970-01-01 00:00:01.50"),
            Ok((1_500, TimeUnit::Millisecond))
        );
        assert_eq!(
            timestamp("1969-12-31T23:59:59.999999Z"),
            Ok((-1, TimeUnit::Microsecond))
        );
        assert_eq!(
            timestamp("1970-01-01t00:01.000000002"),
            Ok((60_000_000_002, TimeUnit::Nanosecond))
        );
        assert_eq!(timestamp("1970-01-01T00:00:07."), Ok((7, TimeUnit::Second)));
        for text in [
            "1970-01-01T24:00:00",
            "1970-01-01T00:00:00+02:00",
            "1970-01-01T23:59:60",
            "1970-01-01T1:00:00",
            "1970-01-01T00:00:00.0000000001",
            "1970-01-01T00:00:00.é",
            "9999-01-01T00:00:00.123456789",
            "1970-1-01T00:00",
        ] {
            assert!(timestamp(text).is_err(), "{text}");
        }
    }

    #[test]
    fn decimals_keep_their_digits() {
        assert_eq!(decimal("123.45"), Ok((12_345, 2)));
        assert_eq!(decimal("-.5"), Ok((-5, 1)));
        assert_eq!(decimal("7."), Ok((7, 0)));
        for text in [
            "",
            ".",
            "1e5",
            "--1",
            "1.2.3",
            "1234567890123456789012345678901234567890",
        ] {
            assert!(decimal(text).is_err(), "{text}");
        }
    }
}
