//! Type of PostgreSQL's for each type of Arrow's.
//!
//! Invariant: no value of a type is outside the type that it is sent as. Integers without a sign are sent as the next
//! wider type, 64 bits of them as numeric; types that PostgreSQL lacks (structs, maps, lists of lists) as json. Cost:
//! O(depth).

use arrow_array::ArrayRef;
use arrow_cast::CastOptions;
use arrow_schema::{ArrowError, DataType, Field, IntervalUnit, TimeUnit};

/// A type of PostgreSQL's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `boolean`.
    Bool,
    /// `smallint`.
    Int2,
    /// `integer`.
    Int4,
    /// `bigint`.
    Int8,
    /// `real`.
    Float4,
    /// `double precision`.
    Float8,
    /// `numeric`, of so many digits, and so many of them behind the point.
    Numeric(u8, i8),
    /// `text`.
    Text,
    /// `bytea`.
    Bytea,
    /// `date`.
    Date,
    /// `time`.
    Time,
    /// `timestamp`.
    Timestamp,
    /// `timestamp with time zone`.
    Timestamptz,
    /// `interval`.
    Interval,
    /// `json`.
    Json,
    /// An array of another, which is none.
    Array(Box<Kind>),
}

impl Kind {
    /// The kind of a type.
    #[must_use]
    pub fn of(data_type: &DataType) -> Kind {
        match plain(data_type) {
            DataType::Boolean => Kind::Bool,
            DataType::Int16 => Kind::Int2,
            DataType::Int32 => Kind::Int4,
            DataType::Int64 => Kind::Int8,
            DataType::Float32 => Kind::Float4,
            DataType::Float64 => Kind::Float8,
            DataType::Decimal128(precision, scale) => Kind::Numeric(precision, scale),
            DataType::Utf8 | DataType::Null => Kind::Text,
            DataType::Binary => Kind::Bytea,
            DataType::Date32 => Kind::Date,
            DataType::Time64(_) => Kind::Time,
            DataType::Timestamp(_, None) => Kind::Timestamp,
            DataType::Timestamp(_, Some(_)) => Kind::Timestamptz,
            DataType::Interval(_) => Kind::Interval,
            DataType::List(item) => match Kind::of(item.data_type()) {
                Kind::Array(_) | Kind::Json => Kind::Json,
                kind => Kind::Array(Box::new(kind)),
            },
            _ => Kind::Json,
        }
    }

    /// The number of the type in `pg_type`.
    #[must_use]
    pub fn oid(&self) -> u32 {
        match self {
            Kind::Bool => 16,
            Kind::Bytea => 17,
            Kind::Int8 => 20,
            Kind::Int2 => 21,
            Kind::Int4 => 23,
            Kind::Text => 25,
            Kind::Json => 114,
            Kind::Float4 => 700,
            Kind::Float8 => 701,
            Kind::Date => 1082,
            Kind::Time => 1083,
            Kind::Timestamp => 1114,
            Kind::Timestamptz => 1184,
            Kind::Interval => 1186,
            Kind::Numeric(..) => 1700,
            Kind::Array(of) => match **of {
                Kind::Bool => 1000,
                Kind::Bytea => 1001,
                Kind::Int2 => 1005,
                Kind::Int4 => 1007,
                Kind::Text | Kind::Json | Kind::Array(_) => 1009,
                Kind::Int8 => 1016,
                Kind::Float4 => 1021,
                Kind::Float8 => 1022,
                Kind::Timestamp => 1115,
                Kind::Date => 1182,
                Kind::Time => 1183,
                Kind::Timestamptz => 1185,
                Kind::Interval => 1187,
                Kind::Numeric(..) => 1231,
            },
        }
    }

    /// SQL's name of the type.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match self {
            Kind::Bool => "boolean",
            Kind::Int2 => "smallint",
            Kind::Int4 => "integer",
            Kind::Int8 => "bigint",
            Kind::Float4 => "real",
            Kind::Float8 => "double precision",
            Kind::Numeric(precision, scale) => return format!("numeric({precision},{scale})"),
            Kind::Text => "text",
            Kind::Bytea => "bytea",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::Timestamp => "timestamp",
            Kind::Timestamptz => "timestamp with time zone",
            Kind::Interval => "interval",
            Kind::Json => "json",
            Kind::Array(of) => return format!("{}[]", of.name()),
        };
        name.to_owned()
    }

    /// The bytes of a value; -1 where they differ.
    #[must_use]
    pub fn size(&self) -> i16 {
        match self {
            Kind::Bool => 1,
            Kind::Int2 => 2,
            Kind::Int4 | Kind::Float4 | Kind::Date => 4,
            Kind::Int8 | Kind::Float8 | Kind::Time | Kind::Timestamp | Kind::Timestamptz => 8,
            Kind::Interval => 16,
            _ => -1,
        }
    }

    /// Modifier of the type: the digits of a numeric; -1 if there is none.
    #[must_use]
    pub fn modifier(&self) -> i32 {
        match self {
            Kind::Numeric(precision, scale) => {
                // Eleven bits of two's complement hold the digits behind the point.
                ((i32::from(*precision) << 16) | (i32::from(*scale) & 0x7ff)) + 4
            }
            _ => -1,
        }
    }
}

/// Casts a column; a value that is none of the type is an error, not NULL.
pub(crate) fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    arrow_cast::cast_with_options(array, to, &options)
}

/// The type that a column is cast to before it is sent.
pub(super) fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Decimal256(precision, scale) => {
            DataType::Decimal128((*precision).min(38), *scale)
        }
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            DataType::Binary
        }
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Interval(_) | DataType::Duration(_) => {
            DataType::Interval(IntervalUnit::MonthDayNano)
        }
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let item = Field::new(item.name(), plain(item.data_type()), true);
            DataType::List(item.into())
        }
        other => other.clone(),
    }
}
