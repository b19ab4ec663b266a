//! SQL's names of types, as columns of a table store them.
//!
//! Invariant: a name has the meaning of its dialect; the length of a text is not kept, as DuckDB keeps none. A type
//! that is not stored is refused, with the ones that are. Cost: O(1).

use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{DataType, ExactNumberInfo, TimezoneInfo};
use ringview_core::{TimeUnit, Type};

use crate::dialect::Dialect;

/// The most digits of a decimal.
const DIGITS: u8 = 38;

/// The type of a column, or what is said instead.
pub(crate) fn column_type(of: &DataType, dialect: Dialect) -> Result<Type, String> {
    use DataType as Sql;
    Ok(match of {
        Sql::Boolean | Sql::Bool => Type::Bool,
        Sql::TinyInt(_) => Type::Int8,
        Sql::SmallInt(_) | Sql::Int2(_) | Sql::Int16 => Type::Int16,
        Sql::Int(_) | Sql::Integer(_) | Sql::Int4(_) | Sql::MediumInt(_) | Sql::Int32 => {
            match dialect {
                // All of BigQuery's integers, and Snowflake's up to 38 digits, are at least so wide.
                Dialect::BigQuery | Dialect::Snowflake => Type::Int64,
                _ => Type::Int32,
            }
        }
        Sql::BigInt(_) | Sql::Int8(_) | Sql::Int64 | Sql::Signed | Sql::SignedInteger => {
            Type::Int64
        }
        Sql::HugeInt | Sql::Int128 => decimal(DIGITS.into(), 0)?,
        Sql::UTinyInt | Sql::TinyIntUnsigned(_) | Sql::UInt8 => Type::UInt8,
        Sql::USmallInt | Sql::SmallIntUnsigned(_) | Sql::Int2Unsigned(_) | Sql::UInt16 => {
            Type::UInt16
        }
        Sql::IntUnsigned(_)
        | Sql::IntegerUnsigned(_)
        | Sql::Int4Unsigned(_)
        | Sql::MediumIntUnsigned(_)
        | Sql::UInt32 => Type::UInt32,
        Sql::UBigInt
        | Sql::BigIntUnsigned(_)
        | Sql::Int8Unsigned(_)
        | Sql::Unsigned
        | Sql::UnsignedInteger
        | Sql::UInt64 => Type::UInt64,
        Sql::Real | Sql::Float4 | Sql::Float32 => Type::Float32,
        Sql::Float(ExactNumberInfo::None) => match dialect {
            Dialect::Postgres | Dialect::Snowflake | Dialect::BigQuery | Dialect::Ansi => {
                Type::Float64
            }
            _ => Type::Float32,
        },
        // So many binary digits.
        Sql::Float(ExactNumberInfo::Precision(..=24)) => Type::Float32,
        Sql::Float(_) | Sql::Double(_) | Sql::DoublePrecision | Sql::Float8 | Sql::Float64 => {
            Type::Float64
        }
        Sql::Decimal(digits) | Sql::Numeric(digits) | Sql::Dec(digits) => match (digits, dialect) {
            (ExactNumberInfo::PrecisionAndScale(all, scale), _) => decimal(*all, *scale)?,
            (ExactNumberInfo::Precision(all), _) => decimal(*all, 0)?,
            (ExactNumberInfo::None, Dialect::DuckDb) => decimal(18, 3)?,
            (ExactNumberInfo::None, Dialect::BigQuery) => decimal(38, 9)?,
            (ExactNumberInfo::None, Dialect::Snowflake) => decimal(38, 0)?,
            (ExactNumberInfo::None, Dialect::Spark | Dialect::Databricks | Dialect::MySql) => {
                decimal(10, 0)?
            }
            (ExactNumberInfo::None, Dialect::Postgres | Dialect::Ansi) => {
                return Err(format!(
                    "{of} has any number of digits, and a column so many; write how many, as in {of}(18, 3)"
                ));
            }
        },
        Sql::Varchar(_)
        | Sql::Nvarchar(_)
        | Sql::Char(_)
        | Sql::Character(_)
        | Sql::CharacterVarying(_)
        | Sql::CharVarying(_)
        | Sql::Text
        | Sql::TinyText
        | Sql::MediumText
        | Sql::LongText
        | Sql::Clob(_)
        | Sql::String(_) => Type::Utf8,
        Sql::Date | Sql::Date32 => Type::Date32,
        Sql::Datetime(digits) | Sql::TimestampNtz(digits) => moment(*digits, false)?,
        Sql::Timestamp(digits, zone) => {
            let is_zoned = matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz);
            moment(*digits, is_zoned)?
        }
        Sql::Custom(name, arguments) => {
            named(&name.to_string(), arguments).unwrap_or_else(|| Err(unknown(of)))?
        }
        other => return Err(unknown(other)),
    })
}

/// Types whose names the parser has no word for.
fn named(name: &str, arguments: &[String]) -> Option<Result<Type, String>> {
    let digits = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
    Some(Ok(match name.to_lowercase().as_str() {
        "logical" => Type::Bool,
        "byteint" | "int1" => Type::Int8,
        "short" => Type::Int16,
        "long" => Type::Int64,
        "uinteger" => Type::UInt32,
        "utinyint" => Type::UInt8,
        "usmallint" => Type::UInt16,
        "ubigint" => Type::UInt64,
        "hugeint" => return Some(decimal(DIGITS.into(), 0)),
        "number" => {
            return Some(decimal(
                digits(0).unwrap_or(38),
                digits(1).unwrap_or(0) as i64,
            ));
        }
        "bpchar" => Type::Utf8,
        "timestamptz" => return Some(moment(None, true)),
        "timestamp_s" => return Some(moment(Some(0), false)),
        "timestamp_ms" => return Some(moment(Some(3), false)),
        "timestamp_us" | "timestamp_ntz" => return Some(moment(Some(6), false)),
        "timestamp_ns" => return Some(moment(Some(9), false)),
        _ => return None,
    }))
}

fn decimal(precision: u64, scale: i64) -> Result<Type, String> {
    let digits = u8::try_from(precision)
        .ok()
        .filter(|all| (1..=DIGITS).contains(all));
    let behind = i8::try_from(scale)
        .ok()
        .filter(|&all| all >= 0 && i64::from(all) <= precision as i64);
    match (digits, behind) {
        (Some(precision), Some(scale)) => Ok(Type::Decimal { precision, scale }),
        _ => Err(format!(
            "DECIMAL({precision}, {scale}) is not stored; a decimal has 1 to {DIGITS} digits, and as many behind the \
             point at the most"
        )),
    }
}

/// A timestamp of a clock with so many digits behind the second.
fn moment(digits: Option<u64>, is_zoned: bool) -> Result<Type, String> {
    let unit = match digits.unwrap_or(6) {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        7..=9 => TimeUnit::Nanosecond,
        more => {
            return Err(format!(
                "a second has at most 9 digits behind the point, not {more}"
            ));
        }
    };
    let timezone = is_zoned.then(|| Arc::from("UTC"));
    Ok(Type::Timestamp { unit, timezone })
}

fn unknown(of: &DataType) -> String {
    format!(
        "the type {of} is not stored; take BOOLEAN, TINYINT to BIGINT and their unsigned kin, REAL, DOUBLE, \
         DECIMAL(p, s), VARCHAR, DATE, TIMESTAMP or TIMESTAMP WITH TIME ZONE"
    )
}
