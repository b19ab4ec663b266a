//! Lists, structs and maps: their types in Arrow and as text, and their values as texts of the dictionary.
//!
//! Invariant: equal values are equal texts, and texts compare as the values do, NULLs behind all else. A text has a
//! character for each byte of arrow-row's encoding. Cost: O(bytes of a value) to write and to read.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array, make_array, new_null_array};
use arrow_cast::cast;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, Field, Fields, SortOptions};

use crate::{Error, Result, Type};

/// How deeply types may be nested.
const DEPTH: usize = 32;

/// The type of an Arrow list, struct or map; the names of inner columns of lists and maps are forgotten.
pub(crate) fn from_arrow(arrow: &DataType) -> Result<Type> {
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
pub(crate) fn to_arrow(ty: &Type) -> DataType {
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

/// `list<int64>`, `struct<a: int64, b: string>`, `map<string, int64>`.
pub(crate) fn write(ty: &Type, out: &mut fmt::Formatter<'_>) -> fmt::Result {
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
pub(crate) fn parse(text: &str) -> Option<Type> {
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

/// The name in front of a colon, quoted or plain, and what stands behind it.
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

/// What stands between commas that no bracket and no quotes enclose.
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

/// The text of each value of an array; of a NULL anything.
pub(crate) fn texts(array: &dyn Array, ty: &Type) -> Result<Vec<String>> {
    let data = array.to_data();
    // Who handed the array in may have made it without any check.
    data.validate_full().map_err(refused)?;
    let values = cast(&make_array(data), &ty.to_arrow()).map_err(refused)?;
    let rows = converter(ty)?.convert_columns(&[values]).map_err(refused)?;
    let text = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect();
    Ok(rows.iter().map(|row| text(row.data())).collect())
}

/// The array of the values of some texts; of none NULL.
pub(crate) fn array<'t>(
    texts: impl Iterator<Item = Option<&'t str>>,
    ty: &Type,
) -> Result<ArrayRef> {
    let converter = converter(ty)?;
    let mut bytes: Vec<u8> = Vec::new();
    let mut ends = Vec::new();
    let mut places = Vec::new();
    for text in texts {
        let Some(text) = text else {
            places.push(None);
            continue;
        };
        places.push(Some(ends.len() as u32));
        bytes.extend(text.chars().map(|character| u32::from(character) as u8));
        ends.push(bytes.len());
    }
    if ends.is_empty() {
        return Ok(new_null_array(&ty.to_arrow(), places.len()));
    }
    let parser = converter.parser();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let rows = starts
        .zip(&ends)
        .map(|(start, &end)| parser.parse(&bytes[start..end]));
    let values = converter.convert_rows(rows).map_err(refused)?.remove(0);
    if places.len() == ends.len() {
        return Ok(values);
    }
    arrow_select::take::take(&values, &UInt32Array::from(places), None).map_err(refused)
}

fn converter(ty: &Type) -> Result<RowConverter> {
    let nulls_last = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let field = SortField::new_with_options(ty.to_arrow(), nulls_last);
    RowConverter::new(vec![field]).map_err(refused)
}

fn refused(problem: ArrowError) -> Error {
    malformed(&problem.to_string())
}

fn malformed(problem: &str) -> Error {
    Error::Value {
        place: "a nested value".to_owned(),
        problem: problem.to_owned(),
    }
}
