//! Values from texts, as a column of a table takes them.
//!
//! Invariant: a value is the nearest that its column holds, and one that is outside of it is refused; a double reads to its last
//! bit. Cost: linear in the text.

use arrow_schema::TimeUnit;

/// The problem of a value: its SQLSTATE, and the message behind its name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) code: &'static str,
    pub(super) problem: String,
}

impl Bad {
    /// A text that is no value of a type.
    pub(super) fn no(text: &str, kind: &str) -> Bad {
        Bad {
            code: "22P02",
            problem: format!("{} is no {kind}", shown(text)),
        }
    }

    /// A value that is none of the column's.
    pub(super) fn outside(text: &str, kind: &str) -> Bad {
        Bad {
            code: "22003",
            problem: format!("{} is out of range for {kind}", shown(text)),
        }
    }
}

/// A text in quotes, or its beginning where it is long.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{:?}..", &text[..at]),
        None => format!("{text:?}"),
    }
}

/// TRUE or FALSE.
pub(super) fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "t" | "true" | "1" | "on" | "yes" | "y" => Some(true),
        "f" | "false" | "0" | "off" | "no" | "n" => Some(false),
        _ => None,
    }
}

/// A double; infinities by their names alone.
pub(super) fn double(text: &str, kind: &str) -> Result<f64, Bad> {
    finite(text, kind, text.trim().parse().ok(), f64::is_infinite)
}

/// A single.
pub(super) fn single(text: &str, kind: &str) -> Result<f32, Bad> {
    finite(text, kind, text.trim().parse().ok(), f32::is_infinite)
}

fn finite<T: Copy>(
    text: &str,
    kind: &str,
    number: Option<T>,
    is_infinite: impl Fn(T) -> bool,
) -> Result<T, Bad> {
    match number {
        Some(number) if is_infinite(number) && text.bytes().any(|byte| byte.is_ascii_digit()) => {
            Err(Bad::outside(text, kind))
        }
        Some(number) => Ok(number),
        None => Err(Bad::no(text, kind)),
    }
}

/// A decimal in units of its last digit, rounded to the nearest, halves away from zero.
pub(super) fn decimal(text: &str, precision: u8, scale: i8, kind: &str) -> Result<i128, Bad> {
    let outside = || Bad::outside(text, kind);
    let (negative, digits, exponent) = digits(text).ok_or_else(|| Bad::no(text, kind))?;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(0);
    }
    // Number of the digits before the point of the units.
    let kept = digits.len() as i64 + exponent + i64::from(scale);
    if kept > i64::from(precision) + 1 {
        return Err(outside());
    }
    let number = |digits: &str| digits.parse::<i128>().map_err(|_| outside());
    let units = match usize::try_from(kept) {
        Err(_) => 0,
        Ok(kept) if kept >= digits.len() => {
            let zeros = (kept - digits.len()) as u32;
            let power = 10_i128.checked_pow(zeros).ok_or_else(outside)?;
            number(digits)?.checked_mul(power).ok_or_else(outside)?
        }
        Ok(kept) => {
            let whole = if kept == 0 {
                0
            } else {
                number(&digits[..kept])?
            };
            whole + i128::from(digits.as_bytes()[kept] >= b'5')
        }
    };
    match units < 10_i128.pow(u32::from(precision)) {
        true => Ok(if negative { -units } else { units }),
        false => Err(outside()),
    }
}

/// Whether a number is negative, its digits, and the power of ten that they are times.
fn digits(text: &str) -> Option<(bool, String, i64)> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, power) = match text.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{behind}");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = i64::from(power) - behind.len() as i64;
    is_number.then_some((negative, digits, exponent))
}

/// Ticks of a unit since 1970, of nanoseconds: the nearest.
pub(super) fn ticks(nanos: i128, unit: TimeUnit) -> Option<i64> {
    let length = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    i64::try_from((nanos + length / 2).div_euclid(length)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_to_the_nearest() {
        let of = |text: &str| decimal(text, 5, 2, "numeric(5,2)").ok();
        for (text, wanted) in [
            ("1.5", Some(150)),
            ("-0.005", Some(-1)),
            ("0.0049", Some(0)),
            (" 1e2 ", Some(10_000)),
            ("+.5", Some(50)),
            ("999.994", Some(99_999)),
            ("999.995", None),
            ("1e9", None),
            ("0e99999", Some(0)),
            ("1e-99999", Some(0)),
            ("00000000000000000000000000000000000000000001", Some(100)),
            ("NaN", None),
            ("1.2.3", None),
            (".", None),
            ("1 2", None),
            ("", None),
        ] {
            assert_eq!(of(text), wanted, "{text}");
        }
        let largest = "9".repeat(38);
        let found = decimal(&largest, 38, 0, "numeric");
        assert_eq!(found, Ok(largest.parse().unwrap()));
        assert_eq!(decimal("1500", 3, -2, "numeric"), Ok(15));
    }

    #[test]
    fn floats_are_infinite_by_name_alone() {
        assert_eq!(double("-Infinity", "d"), Ok(f64::NEG_INFINITY));
        assert!(double("nan", "d").unwrap().is_nan());
        assert_eq!(double("1e999", "d").unwrap_err().code, "22003");
        assert_eq!(single("1e39", "d").unwrap_err().code, "22003");
        assert_eq!(single("five", "d").unwrap_err().code, "22P02");
    }

    #[test]
    fn moments_are_rounded_to_their_unit() {
        assert_eq!(ticks(1_500, TimeUnit::Microsecond), Some(2));
        assert_eq!(ticks(-1_500, TimeUnit::Microsecond), Some(-1));
        assert_eq!(
            ticks(i128::from(i64::MAX) * 1000, TimeUnit::Nanosecond),
            None
        );
    }
}
