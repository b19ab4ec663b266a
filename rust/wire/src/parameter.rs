//! The values of parameters, from what clients send.
//!
//! Invariant: a value is read as the type that was said of it; where none was, it is a text, which takes the type of its
//! place. Cost: linear in the bytes.

use bytes::Buf;
use chrono::{DateTime, Days, NaiveDate};

use crate::backend::{Failure, Value};
use crate::encode::numeric;

/// Reads the value of a parameter of a type.
pub(crate) fn read(bytes: Option<&[u8]>, oid: u32, binary: bool) -> Result<Value, Failure> {
    let Some(bytes) = bytes else {
        return Ok(Value::Null);
    };
    match binary {
        true => of_binary(bytes, oid),
        false => {
            let text = std::str::from_utf8(bytes).map_err(|_| {
                Failure::new("22021", "a parameter is no text in UTF-8; send it as UTF-8")
            })?;
            of_text(text, oid)
        }
    }
}

fn of_text(text: &str, oid: u32) -> Result<Value, Failure> {
    let bad = |kind: &str| {
        Failure::new(
            "22P02",
            format!("the parameter {text:?} is no {kind}; send one that is"),
        )
    };
    let trimmed = text.trim();
    Ok(match oid {
        16 => match trimmed.to_ascii_lowercase().as_str() {
            "t" | "true" | "1" | "on" | "yes" | "y" => Value::Bool(true),
            "f" | "false" | "0" | "off" | "no" | "n" => Value::Bool(false),
            _ => return Err(bad("boolean")),
        },
        20 | 21 | 23 | 26 => Value::Int(trimmed.parse().map_err(|_| bad("integer"))?),
        700 | 701 => Value::Float(trimmed.parse().map_err(|_| bad("number"))?),
        1700 => {
            trimmed.parse::<f64>().map_err(|_| bad("number"))?;
            match trimmed
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b".-".contains(&byte))
            {
                true => Value::Decimal(trimmed.to_owned()),
                false => Value::Float(trimmed.parse().map_err(|_| bad("number"))?),
            }
        }
        1082 => match NaiveDate::parse_from_str(trimmed, "%Y-%m-%d") {
            Ok(day) => Value::Date(day.to_string()),
            Err(_) => return Err(bad("date")),
        },
        1114 => Value::Timestamp(trimmed.replace('T', " ")),
        1184 => match zoned(trimmed) {
            Some(moment) => moment,
            None => return Err(bad("timestamp with time zone")),
        },
        17 => return Err(unread(oid)),
        _ => Value::Text(text.to_owned()),
    })
}

/// A moment with a zone, as PostgreSQL or ISO 8601 writes it; without a zone it is of UTC.
fn zoned(text: &str) -> Option<Value> {
    let text = text.replacen('T', " ", 1);
    let forms = ["%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f %#z"];
    let found = forms
        .iter()
        .find_map(|form| DateTime::parse_from_str(&text, form).ok());
    let moment = match found {
        Some(moment) => moment.naive_utc(),
        None => {
            let bare = text.trim_end_matches(['Z', 'z']);
            chrono::NaiveDateTime::parse_from_str(bare, "%Y-%m-%d %H:%M:%S%.f").ok()?
        }
    };
    Some(Value::Timestamp(
        moment.format("%Y-%m-%d %H:%M:%S%.6f").to_string(),
    ))
}

fn of_binary(bytes: &[u8], oid: u32) -> Result<Value, Failure> {
    let wrong = || {
        let message = format!("a binary parameter of type {oid} has {} bytes", bytes.len());
        Failure::new("22P03", message)
    };
    let size = match oid {
        16 => Some(1),
        21 => Some(2),
        23 | 26 | 700 | 1082 => Some(4),
        20 | 701 | 1114 | 1184 => Some(8),
        2950 => Some(16),
        _ => None,
    };
    if size.is_some_and(|size| size != bytes.len()) {
        return Err(wrong());
    }
    let mut from = bytes;
    Ok(match oid {
        16 => Value::Bool(bytes[0] != 0),
        20 => Value::Int(from.get_i64()),
        21 => Value::Int(from.get_i16().into()),
        23 => Value::Int(from.get_i32().into()),
        26 => Value::Int(from.get_u32().into()),
        700 => Value::Float(from.get_f32().into()),
        701 => Value::Float(from.get_f64()),
        1700 => Value::Decimal(numeric::read(bytes).ok_or_else(wrong)?),
        1082 => {
            let days = from.get_i32();
            let start = NaiveDate::from_ymd_opt(2000, 1, 1).ok_or_else(wrong)?;
            let far = Days::new(days.unsigned_abs().into());
            let day = match days < 0 {
                true => start.checked_sub_days(far),
                false => start.checked_add_days(far),
            };
            Value::Date(day.ok_or_else(wrong)?.to_string())
        }
        1114 | 1184 => {
            let micros = from.get_i64().saturating_add(946_684_800_000_000);
            let moment = DateTime::from_timestamp_micros(micros).ok_or_else(wrong)?;
            Value::Timestamp(moment.format("%Y-%m-%d %H:%M:%S%.6f").to_string())
        }
        2950 => Value::Text(uuid(bytes)),
        0 | 18 | 19 | 25 | 114 | 705 | 1042 | 1043 => {
            let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
            Value::Text(text.to_owned())
        }
        _ => return Err(unread(oid)),
    })
}

fn uuid(bytes: &[u8]) -> String {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]]
        .map(|part| part.concat())
        .join("-")
}

fn unread(oid: u32) -> Failure {
    let message =
        format!("parameters of the type {oid} are not read in this format; cast it to text");
    Failure::new("0A000", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_both_formats() {
        let cases: [(&[u8], u32, bool, Value); 12] = [
            (b"5", 23, false, Value::Int(5)),
            (&5_i32.to_be_bytes(), 23, true, Value::Int(5)),
            (b"t", 16, false, Value::Bool(true)),
            (&[0], 16, true, Value::Bool(false)),
            (b"1.50", 1700, false, Value::Decimal("1.50".to_owned())),
            (b"NaN", 701, false, Value::Float(f64::INFINITY)),
            (
                b"2024-02-29",
                1082,
                false,
                Value::Date("2024-02-29".to_owned()),
            ),
            (
                &59_i32.to_be_bytes(),
                1082,
                true,
                Value::Date("2000-02-29".to_owned()),
            ),
            (
                b"2024-02-29 10:00:00+02",
                1184,
                false,
                Value::Timestamp("2024-02-29 08:00:00.000000".to_owned()),
            ),
            (
                b"2024-02-29T10:00:00.5Z",
                1184,
                false,
                Value::Timestamp("2024-02-29 10:00:00.500000".to_owned()),
            ),
            (b"x", 0, false, Value::Text("x".to_owned())),
            (
                &0_i64.to_be_bytes(),
                1114,
                true,
                Value::Timestamp("2000-01-01 00:00:00.000000".to_owned()),
            ),
        ];
        for (bytes, oid, binary, wanted) in cases {
            let found = read(Some(bytes), oid, binary).unwrap();
            match &found {
                Value::Float(number) => assert!(number.is_nan()),
                _ => assert_eq!(found, wanted),
            }
        }
        assert_eq!(read(None, 23, true).unwrap(), Value::Null);
    }

    #[test]
    fn what_is_no_value_of_its_type_is_refused() {
        for (bytes, oid, binary, code) in [
            (&b"five"[..], 23, false, "22P02"),
            (b"12", 23, true, "22P03"),
            (b"\xff", 25, false, "22021"),
            (b"{}", 1007, true, "0A000"),
            (b"2024-13-01", 1082, false, "22P02"),
            (b"noon", 1184, false, "22P02"),
        ] {
            assert_eq!(read(Some(bytes), oid, binary).unwrap_err().code, code);
        }
    }
}
