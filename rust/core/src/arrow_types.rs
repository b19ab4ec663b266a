//! Types of columns and those of Arrow.
//!
//! Invariant: the type of a type's Arrow counterpart is that type. Cost: linear in the type.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use crate::types::unsupported;
use crate::{Error, Result, Type};

impl Type {
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
            | DataType::Map(..) => nested(arrow)?,
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
            Type::List(_) | Type::Struct(_) | Type::Map(_) => nested_arrow(self),
        }
    }
}

/// Maximal depth of nested types.
pub(crate) const DEPTH: usize = 32;

/// The type of an Arrow list, struct or map; the names of inner columns of lists and maps are forgotten.
fn nested(arrow: &DataType) -> Result<Type> {
    if is_deeper(arrow, DEPTH) {
        return Err(malformed(&format!(
            "the type is nested more than {DEPTH} deep"
        )));
    }
    let inner = |field: &Field| Type::from_arrow(field.data_type());
    let member = |field: &Arc<Field>| Ok((Arc::from(field.name().as_str()), inner(field)?));
    match arrow {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Ok(Type::List(Arc::new(inner(field)?)))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                Ok(Type::Map(Arc::new((inner(&pair[0])?, inner(&pair[1])?))))
            }
            _ => Err(malformed("a map has entries of a key and a value")),
        },
        DataType::Struct(fields) => Ok(Type::Struct(
            fields.iter().map(member).collect::<Result<_>>()?,
        )),
        other => Err(malformed(&format!("{other} is not nested"))),
    }
}

/// Whether a type is nested more deeply than this.
fn is_deeper(arrow: &DataType, than: usize) -> bool {
    let within = |field: &Arc<Field>| than == 0 || is_deeper(field.data_type(), than - 1);
    match arrow {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => within(field),
        DataType::Struct(fields) => fields.iter().any(within),
        _ => false,
    }
}

/// The Arrow type in which values of a nested type are handed out.
fn nested_arrow(ty: &Type) -> DataType {
    let field = |name: &str, ty: &Type| Field::new(name, ty.to_arrow(), true);
    match ty {
        Type::List(of) => DataType::List(Arc::new(field("item", of))),
        Type::Struct(of) => {
            let fields = of.iter().map(|(name, ty)| field(name, ty));
            DataType::Struct(fields.collect::<Fields>())
        }
        Type::Map(of) => {
            let key = Field::new("key", of.0.to_arrow(), false);
            let entry = DataType::Struct(Fields::from(vec![key, field("value", &of.1)]));
            DataType::Map(Arc::new(Field::new("entries", entry, false)), false)
        }
        plain => plain.to_arrow(),
    }
}

fn malformed(problem: &str) -> Error {
    Error::Value {
        place: "a nested type".to_owned(),
        problem: problem.to_owned(),
    }
}
