//! The types of columns, and how they are named in text and in Arrow.
//!
//! Invariant: what `Display` writes, `FromStr` reads. A type is written as text wherever it is
//! serialised, so the same names serve users, JSON and messages.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::DataType;
pub use arrow_schema::TimeUnit;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, nested};

/// The largest precision of a decimal: what 128 bits hold.
pub(crate) const MAX_PRECISION: u8 = 38;

/// The type of a column.
///
/// ```
/// use ringview_core::Type;
/// let price: Type = "decimal128(12, 2)".parse()?;
/// assert_eq!(price, Type::Decimal { precision: 12, scale: 2 });
/// assert_eq!(price.to_string(), "decimal128(12, 2)");
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Type {
    /// True or false.
    Bool,
    /// 8 bits, signed.
    Int8,
    /// 16 bits, signed.
    Int16,
    /// 32 bits, signed.
    Int32,
    /// 64 bits, signed.
    Int64,
    /// 8 bits, unsigned.
    UInt8,
    /// 16 bits, unsigned.
    UInt16,
    /// 32 bits, unsigned.
    UInt32,
    /// 64 bits, unsigned.
    UInt64,
    /// IEEE single precision; computed with as double.
    Float32,
    /// IEEE double precision.
    Float64,
    /// Exact: an integer of at most `precision` digits, in units of 10^-scale.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: i8,
    },
    /// A string, kept in the dictionary.
    Utf8,
    /// Days since 1970-01-01.
    Date32,
    /// Ticks since 1970-01-01 00:00.
    Timestamp {
        /// The length of a tick.
        unit: TimeUnit,
        /// If set, ticks count from midnight UTC, and values are shown in this zone.
        timezone: Option<Arc<str>>,
    },
    /// Values of one type in their order; in the dictionary.
    List(Arc<Type>),
    /// Values with names; in the dictionary.
    Struct(Arc<[(Arc<str>, Type)]>),
    /// Values by keys, in an order; in the dictionary.
    Map(Arc<(Type, Type)>),
}

impl Type {
    /// How many bits tell two values apart: the width that storage needs.
    pub fn bits(&self) -> u32 {
        match self {
            Type::Bool => 1,
            Type::Int8 | Type::UInt8 => 8,
            Type::Int16 | Type::UInt16 => 16,
            Type::Int32 | Type::UInt32 | Type::Date32 => 32,
            Type::Utf8 | Type::List(_) | Type::Struct(_) | Type::Map(_) => 32,
            Type::Int64 | Type::UInt64 | Type::Timestamp { .. } => 64,
            Type::Float32 | Type::Float64 => 64,
            Type::Decimal { .. } => 128,
        }
    }

    /// Whether a stored value is sign-extended to its word.
    pub fn is_signed(&self) -> bool {
        matches!(
            self,
            Type::Int8
                | Type::Int16
                | Type::Int32
                | Type::Int64
                | Type::Date32
                | Type::Timestamp { .. }
                | Type::Decimal { .. }
        )
    }

    /// Whether a stored value is an id of the dictionary.
    pub fn is_interned(&self) -> bool {
        *self == Type::Utf8 || self.is_nested()
    }

    /// Whether a value is made of others: a list, a struct, a map.
    pub fn is_nested(&self) -> bool {
        matches!(self, Type::List(_) | Type::Struct(_) | Type::Map(_))
    }

    /// Whether this is an integer, signed or not.
    pub fn is_integer(&self) -> bool {
        self.integer_range().is_some()
    }

    /// Whether this is float32 or float64.
    pub fn is_float(&self) -> bool {
        matches!(self, Type::Float32 | Type::Float64)
    }

    /// The smallest and largest value of an integer type.
    pub fn integer_range(&self) -> Option<(i128, i128)> {
        Some(match self {
            Type::Int8 => (i8::MIN.into(), i8::MAX.into()),
            Type::Int16 => (i16::MIN.into(), i16::MAX.into()),
            Type::Int32 => (i32::MIN.into(), i32::MAX.into()),
            Type::Int64 => (i64::MIN.into(), i64::MAX.into()),
            Type::UInt8 => (0, u8::MAX.into()),
            Type::UInt16 => (0, u16::MAX.into()),
            Type::UInt32 => (0, u32::MAX.into()),
            Type::UInt64 => (0, u64::MAX.into()),
            _ => return None,
        })
    }

    /// The type that holds values of an Arrow type; `Error::Unsupported` if there is none.
    pub fn from_arrow(arrow: &DataType) -> Result<Type> {
        Ok(match arrow {
            DataType::Boolean => Type::Bool,
            DataType::Int8 => Type::Int8,
            DataType::Int16 => Type::Int16,
            DataType::Int32 => Type::Int32,
            DataType::Int64 => Type::Int64,
            DataType::UInt8 => Type::UInt8,
            DataType::UInt16 => Type::UInt16,
            DataType::UInt32 => Type::UInt32,
            DataType::UInt64 => Type::UInt64,
            DataType::Float32 => Type::Float32,
            DataType::Float64 => Type::Float64,
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => Type::Decimal {
                precision: *precision,
                scale: *scale,
            },
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Utf8,
            DataType::Dictionary(key, value)
                if key.is_dictionary_key_type() && value.is_string() =>
            {
                Type::Utf8
            }
            DataType::Date32 => Type::Date32,
            DataType::Timestamp(unit, timezone) => Type::Timestamp {
                unit: *unit,
                timezone: timezone.clone(),
            },
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::Struct(_)
            | DataType::Map(..) => nested::from_arrow(arrow)?,
            other => {
                return Err(unsupported(
                    &other.to_string(),
                    "tables cannot hold this type",
                ));
            }
        })
    }

    /// The Arrow type in which columns of this type are handed out.
    pub fn to_arrow(&self) -> DataType {
        match self {
            Type::Bool => DataType::Boolean,
            Type::Int8 => DataType::Int8,
            Type::Int16 => DataType::Int16,
            Type::Int32 => DataType::Int32,
            Type::Int64 => DataType::Int64,
            Type::UInt8 => DataType::UInt8,
            Type::UInt16 => DataType::UInt16,
            Type::UInt32 => DataType::UInt32,
            Type::UInt64 => DataType::UInt64,
            Type::Float32 => DataType::Float32,
            Type::Float64 => DataType::Float64,
            Type::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale),
            Type::Utf8 => DataType::Utf8,
            Type::Date32 => DataType::Date32,
            Type::Timestamp { unit, timezone } => DataType::Timestamp(*unit, timezone.clone()),
            Type::List(_) | Type::Struct(_) | Type::Map(_) => nested::to_arrow(self),
        }
    }
}

fn unsupported(what: &str, why: &str) -> Error {
    Error::Unsupported {
        what: format!("the type {what}"),
        why: why.to_owned(),
        instead: "use bool, int8 to int64, uint8 to uint64, float32, float64, \
                  decimal128(p, s), string, date32, timestamp[s|ms|us|ns], list<type>, \
                  struct<name: type, ..> or map<type, type>"
            .to_owned(),
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Type::Bool => "bool",
            Type::Int8 => "int8",
            Type::Int16 => "int16",
            Type::Int32 => "int32",
            Type::Int64 => "int64",
            Type::UInt8 => "uint8",
            Type::UInt16 => "uint16",
            Type::UInt32 => "uint32",
            Type::UInt64 => "uint64",
            Type::Float32 => "float32",
            Type::Float64 => "float64",
            Type::Utf8 => "string",
            Type::Date32 => "date32",
            Type::Decimal { precision, scale } => {
                return write!(out, "decimal128({precision}, {scale})");
            }
            Type::Timestamp { unit, timezone } => {
                let unit = unit_name(*unit);
                return match timezone {
                    None => write!(out, "timestamp[{unit}]"),
                    Some(zone) => write!(out, "timestamp[{unit}, tz={zone}]"),
                };
            }
            Type::List(_) | Type::Struct(_) | Type::Map(_) => return nested::write(self, out),
        })
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

impl FromStr for Type {
    type Err = Error;

    /// Reads the names that `Display` writes, and the other names that Arrow and SQL users expect.
    fn from_str(text: &str) -> Result<Type> {
        let lower = text.trim().to_ascii_lowercase();
        Ok(match lower.as_str() {
            "bool" | "boolean" => Type::Bool,
            "int8" | "tinyint" => Type::Int8,
            "int16" | "smallint" => Type::Int16,
            "int32" | "int" | "integer" => Type::Int32,
            "int64" | "bigint" | "long" => Type::Int64,
            "uint8" => Type::UInt8,
            "uint16" => Type::UInt16,
            "uint32" => Type::UInt32,
            "uint64" => Type::UInt64,
            "float32" | "float" => Type::Float32,
            "float64" | "double" => Type::Float64,
            "string" | "utf8" | "str" | "text" | "varchar" | "large_string" => Type::Utf8,
            "date32" | "date" | "date32[day]" => Type::Date32,
            "timestamp" => Type::Timestamp {
                unit: TimeUnit::Microsecond,
                timezone: None,
            },
            _ => parse_parameters(text.trim(), &lower)
                .or_else(|| nested::parse(text.trim()))
                .ok_or_else(|| unsupported(&format!("{text:?}"), "no type has this name"))?,
        })
    }
}

fn parse_parameters(text: &str, lower: &str) -> Option<Type> {
    if let Some(inside) = bracketed(lower, &["decimal128", "decimal", "numeric"], '(', ')') {
        let (precision, scale) = inside.split_once(',').unwrap_or((inside, "0"));
        let precision = precision
            .trim()
            .parse()
            .ok()
            .filter(|p| (1..=MAX_PRECISION).contains(p))?;
        let scale = scale
            .trim()
            .parse()
            .ok()
            .filter(|s: &i8| *s <= precision as i8)?;
        return Some(Type::Decimal { precision, scale });
    }
    let inside = bracketed(lower, &["timestamp"], '[', ']')?;
    let (unit, zone) = inside
        .split_once(',')
        .map_or((inside, None), |(u, z)| (u, Some(z)));
    let unit = match unit.trim() {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    };
    let timezone = match zone {
        None => None,
        Some(zone) => {
            let length = zone.trim().strip_prefix("tz=")?.len();
            // Zones keep their case: they are looked up by name elsewhere.
            let end = text.len() - 1;
            Some(text[end - length..end].trim().into())
        }
    };
    Some(Type::Timestamp { unit, timezone })
}

fn bracketed<'a>(text: &'a str, names: &[&str], open: char, close: char) -> Option<&'a str> {
    let (name, rest) = text.split_once(open)?;
    names
        .contains(&name.trim())
        .then(|| rest.strip_suffix(close))
        .flatten()
}

impl From<Type> for String {
    fn from(ty: Type) -> String {
        ty.to_string()
    }
}

impl TryFrom<String> for Type {
    type Error = Error;

    fn try_from(text: String) -> Result<Type> {
        text.parse()
    }
}
