//! Numbers and texts as digits: of another base, of their bits, of a digest.
//!
//! Invariant: NULL where an argument is. Cost: one pass over numbers, or over the bytes of texts.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use datafusion_common::{Result, exec_err};
use datafusion_expr::ScalarUDF;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::plain::{OfArrays, Plain};

const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// All of them.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let of = |name, takes, fewest, of: OfArrays| {
        Plain::function(name, (takes, fewest), DataType::Utf8, of)
    };
    let number = &[const { DataType::Int64 }; 3];
    let text = &[DataType::Utf8];
    vec![
        of("md5", text, 1, |args| texts(args, digest::<Md5>)),
        of("sha1", text, 1, |args| texts(args, digest::<Sha1>)),
        of("sha256", text, 1, |args| texts(args, digest::<Sha256>)),
        of("hex_of_text", text, 1, |args| {
            texts(args, |text| in_digits(text.as_bytes(), "02X"))
        }),
        of("bits_of_text", text, 1, |args| {
            texts(args, |text| in_digits(text.as_bytes(), "08b"))
        }),
        of("hex_of_number", &number[..1], 1, |args| {
            numbers(args, |number| format!("{number:X}"))
        }),
        of("bits_of_number", &number[..1], 1, |args| {
            numbers(args, |number| format!("{number:b}"))
        }),
        of("to_base", number, 2, to_base),
    ]
}

fn texts(args: &[ArrayRef], of: impl Fn(&str) -> String) -> Result<ArrayRef> {
    let texts = args[0].as_string::<i32>().iter();
    let found: StringArray = texts.map(|text| text.map(&of)).collect();
    Ok(Arc::new(found))
}

fn numbers(args: &[ArrayRef], of: impl Fn(i64) -> String) -> Result<ArrayRef> {
    let numbers = args[0].as_primitive::<Int64Type>().iter();
    let found: StringArray = numbers.map(|number| number.map(&of)).collect();
    Ok(Arc::new(found))
}

fn digest<D: Digest>(text: &str) -> String {
    in_digits(&D::digest(text.as_bytes()), "02x")
}

/// Each byte in digits of a form.
fn in_digits(bytes: &[u8], form: &str) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let written = match form {
            "08b" => write!(digits, "{byte:08b}"),
            "02X" => write!(digits, "{byte:02X}"),
            _ => write!(digits, "{byte:02x}"),
        };
        debug_assert!(written.is_ok(), "a String takes all that is written");
    }
    digits
}

/// A number in digits of a base, with zeros in front up to a length.
fn to_base(args: &[ArrayRef]) -> Result<ArrayRef> {
    let args: Vec<_> = args
        .iter()
        .map(|of| of.as_primitive::<Int64Type>())
        .collect();
    let rows = 0..args[0].len();
    let found = rows.map(|row| {
        if args.iter().any(|of| of.is_null(row)) {
            return Ok(None);
        }
        let (number, base) = (args[0].value(row), args[1].value(row));
        let length = args.get(2).map_or(0, |of| of.value(row));
        if number < 0 {
            return exec_err!("to_base takes numbers from 0 on, not {number}");
        }
        if !(2..=36).contains(&base) {
            return exec_err!("the base of to_base is from 2 to 36, not {base}");
        }
        if !(0..=64).contains(&length) {
            return exec_err!("the length of to_base is from 0 to 64, not {length}");
        }
        let (mut rest, mut digits) = (number, Vec::new());
        while rest > 0 || digits.is_empty() {
            digits.push(char::from(DIGITS[(rest % base) as usize]));
            rest /= base;
        }
        digits.resize(digits.len().max(length as usize), '0');
        Ok(Some(digits.into_iter().rev().collect::<String>()))
    });
    Ok(Arc::new(found.collect::<Result<StringArray>>()?))
}
