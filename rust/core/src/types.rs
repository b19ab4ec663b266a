//! The types of columns, and how they are named in text and in Arrow.
//!
//! Invariant: what `Display` writes, `FromStr` reads. A type is written as text wherever it is
//! serialised, so the same names serve users, JSON and messages.

use std::sync::Arc;

pub use arrow_schema::TimeUnit;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

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
    /// Number of bits that distinguish two values: the width that storage needs.
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
}

pub(crate) fn unsupported(what: &str, why: &str) -> Error {
    Error::Unsupported {
        what: format!("the type {what}"),
        why: why.to_owned(),
        instead: "use bool, int8 to int64, uint8 to uint64, float32, float64, \
                  decimal128(p, s), string, date32, timestamp[s|ms|us|ns], list<type>, \
                  struct<name: type, ..> or map<type, type>"
            .to_owned(),
    }
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
