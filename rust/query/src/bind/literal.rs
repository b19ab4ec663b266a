//! Reading constants: decimals, dates and timestamps from text, exactly.
//!
//! Invariant: nothing is rounded. What does not fit, or does not exist (February 30), is refused
//! with the form that is expected.

use ringview_core::{Error, Result, TimeUnit};

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
    days(text.trim()).ok_or_else(|| wrong(text, "a date, like 1995-03-15"))
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

/// How many ticks a second has.
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

fn number(text: &str, digits: usize) -> Option<i64> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok()).flatten()
}

/// Days from the civil calendar, counted in years that begin in March so that leap days come last.
fn days(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let year = number(parts.next()?, 4)?;
    let month = number(parts.next()?, 2)?;
    let day = number(parts.next()?, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719,468 days lie between 0000-03-01 and 1970-01-01; 153 days between a March and an August.
    Some(year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

fn ticks(text: &str) -> Option<(i64, TimeUnit)> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        Some((day, time)) => (day, time),
        None => (text, "00:00:00"),
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = clock.splitn(3, ':');
    let hour = number(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = number(parts.next()?, 2).filter(|minute| *minute < 60)?;
    let second = match parts.next() {
        Some(second) => number(second, 2).filter(|second| *second < 60)?,
        None => 0,
    };
    let seconds = days(day)? * 86_400 + hour * 3_600 + minute * 60 + second;

    let fraction = fraction.trim_end_matches('0');
    let (unit, digits) = match fraction.len() {
        0 => (TimeUnit::Second, 0),
        1..=3 => (TimeUnit::Millisecond, 3),
        4..=6 => (TimeUnit::Microsecond, 6),
        7..=9 => (TimeUnit::Nanosecond, 9),
        _ => return None,
    };
    let part = if digits == 0 {
        0
    } else {
        number(&format!("{fraction:0<digits$}"), digits)?
    };
    let ticks = seconds.checked_mul(per_second(unit))?.checked_add(part)?;
    Some((ticks, unit))
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
        assert!(timestamp("1970-01-01T24:00:00").is_err());
        assert!(timestamp("1970-01-01T00:00:00+02:00").is_err());
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
