//! Types as text: `int64`, `decimal128(12, 2)`, `list<struct<a: int64, b: string>>`.
//!
//! Invariant: what `Display` writes, `FromStr` reads. Cost: linear in the text.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::arrow_types::DEPTH;
use crate::types::{MAX_PRECISION, unsupported};
use crate::{Error, Result, TimeUnit, Type};

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
            Type::List(_) | Type::Struct(_) | Type::Map(_) => return write(self, out),
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
                .or_else(|| parse(text.trim()))
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

/// `list<int64>`, `struct<a: int64, b: string>`, `map<string, int64>`.
fn write(ty: &Type, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match ty {
        Type::List(of) => write!(out, "list<{of}>"),
        Type::Struct(of) => {
            out.write_str("struct<")?;
            for (at, (name, ty)) in of.iter().enumerate() {
                let between = if at == 0 { "" } else { ", " };
                let is_plain = |one: char| one.is_ascii_alphanumeric() || one == '_';
                if !name.is_empty() && name.chars().all(is_plain) {
                    write!(out, "{between}{name}: {ty}")?;
                } else {
                    write!(out, "{between}\"{}\": {ty}", name.replace('"', "\"\""))?;
                }
            }
            out.write_str(">")
        }
        Type::Map(of) => write!(out, "map<{}, {}>", of.0, of.1),
        plain => write!(out, "{plain}"),
    }
}

/// Reads what `write` writes, and `int64[]`.
fn parse(text: &str) -> Option<Type> {
    if text.matches(['<', '[']).count() > 2 * DEPTH {
        return None;
    }
    if let Some(of) = text.strip_suffix("[]") {
        return Some(Type::List(Arc::new(of.parse().ok()?)));
    }
    let (name, rest) = text.split_once('<')?;
    let within = rest.strip_suffix('>')?;
    let ty = |text: &str| text.trim().parse::<Type>().ok();
    match name.trim().to_ascii_lowercase().as_str() {
        "list" => Some(Type::List(Arc::new(ty(within)?))),
        "map" => match parts(within)[..] {
            [key, value] => Some(Type::Map(Arc::new((ty(key)?, ty(value)?)))),
            _ => None,
        },
        "struct" => {
            let member = |part: &str| {
                let (name, of) = named(part.trim())?;
                Some((Arc::from(name), ty(of)?))
            };
            let members: Option<Vec<_>> = parts(within).into_iter().map(member).collect();
            members.map(|members| Type::Struct(members.into()))
        }
        _ => None,
    }
}

/// The name in front of a colon, quoted or plain, and the text behind it.
fn named(part: &str) -> Option<(String, &str)> {
    let Some(quoted) = part.strip_prefix('"') else {
        let (name, of) = part.split_once(':')?;
        return Some((name.trim().to_owned(), of));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (before, behind) = rest.split_once('"')?;
        name.push_str(before);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, behind.trim_start().strip_prefix(':')?)),
        }
    }
}

/// The texts between commas that no bracket and no quotes enclose.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0, 0, Vec::new());
    let mut is_quoted = false;
    for (at, character) in text.char_indices() {
        is_quoted ^= character == '"';
        match character {
            _ if is_quoted => {}
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                all.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(&text[start..]);
    all
}
