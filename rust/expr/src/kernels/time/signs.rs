//! The format of a moment as signs: DuckDB's and no others.
//!
//! Invariant: a letter that is no sign is refused by name. Cost: linear in the format.

use datafusion_common::{Result, plan_err};

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// A text as it is.
    Text(String),
    /// The letter behind `%`, and whether a number is without zeros in front.
    Part(char, bool),
}

/// Letters that abbreviate several signs.
const WHOLES: &[(char, &str)] = &[
    ('c', "%Y-%m-%d %H:%M:%S"),
    ('x', "%Y-%m-%d"),
    ('X', "%H:%M:%S"),
    ('T', "%H:%M:%S"),
];
const PARTS: &str = "aAbBhdmyYHIMSfgnpjUWVGwuzZ";
const NUMBERS: &str = "dmyHIMSj";

/// The signs of a format.
///
/// # Errors
/// `Plan` for a letter that is no sign.
pub(crate) fn signs(format: &str) -> Result<Vec<Sign>> {
    let mut all = Vec::new();
    let mut rest = format;
    while let Some((text, behind)) = rest.split_once('%') {
        push(&mut all, text);
        let is_plain = behind.starts_with('-');
        let mut letters = behind[usize::from(is_plain)..].chars();
        let Some(letter) = letters.next() else {
            return plan_err!("the format '{format}' ends with %; write %% for the character");
        };
        rest = letters.as_str();
        let whole = WHOLES.iter().find(|(known, _)| *known == letter);
        match (letter, whole) {
            ('%', _) if !is_plain => push(&mut all, "%"),
            (_, Some((_, whole))) if !is_plain => all.extend(signs(whole)?),
            _ if is_plain && NUMBERS.contains(letter) || !is_plain && PARTS.contains(letter) => {
                all.push(Sign::Part(letter, is_plain));
            }
            _ => {
                let minus = if is_plain { "-" } else { "" };
                return plan_err!(
                    "%{minus}{letter} in the format '{format}' is no part of a moment"
                );
            }
        }
    }
    push(&mut all, rest);
    Ok(all)
}

/// Whether a text of a format says which instant it is.
///
/// # Errors
/// As `signs`.
pub(crate) fn is_zoned(format: &str) -> Result<bool> {
    let zone = |sign: &Sign| matches!(sign, Sign::Part('z' | 'Z', _));
    Ok(signs(format)?.iter().any(zone))
}

fn push(all: &mut Vec<Sign>, text: &str) {
    match all.last_mut() {
        _ if text.is_empty() => {}
        Some(Sign::Text(last)) => last.push_str(text),
        _ => all.push(Sign::Text(text.to_owned())),
    }
}
