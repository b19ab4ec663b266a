//! A format as the pieces that it is made of, in either of two styles.
//!
//! `{[number][:[[fill]align][sign][#][0][width][,][.precision][kind]]}`, and `%[flags][width][.precision]kind`.
//! Invariant: what is read is read wholly; a doubled `{`, `}` or `%` is itself. Cost: linear in the text.

use std::iter::Peekable;
use std::str::Chars;

use datafusion_common::{Result, exec_err};

use super::spec::{Align, Spec};

/// The greatest width, which is what numbers are written in.
const WIDEST: usize = u16::MAX as usize;

/// Syntax of placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Style {
    /// As `{}`.
    Braces,
    /// As `%d`.
    Percent,
}

/// Piece of a format.
pub(super) enum Piece {
    Text(String),
    /// The value of a number, from 0 on.
    Value(usize, Spec),
}

type Rest<'t> = Peekable<Chars<'t>>;

impl Style {
    pub(super) fn pieces(self, format: &str) -> Result<Vec<Piece>> {
        let (mut pieces, mut text, mut next) = (Vec::new(), String::new(), 0);
        let mut rest = format.chars().peekable();
        let broken = |what: &str| exec_err!("{format:?}: {what}");
        while let Some(one) = rest.next() {
            let is_doubled = rest.peek() == Some(&one);
            match (self, one) {
                (Style::Braces, '{' | '}') | (Style::Percent, '%') if is_doubled => {
                    rest.next();
                    text.push(one);
                    continue;
                }
                (Style::Braces, '}') => return broken("a '}' without '{'; write '}}' for itself"),
                (Style::Braces, '{') | (Style::Percent, '%') => {}
                _ => {
                    text.push(one);
                    continue;
                }
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            let given = match self {
                Style::Braces => number(&mut rest)?,
                Style::Percent => None,
            };
            let spec = match self {
                Style::Percent => percent(&mut rest)?,
                Style::Braces => {
                    let spec = match rest.next_if_eq(&':') {
                        Some(_) => braces(&mut rest)?,
                        None => Spec::default(),
                    };
                    if rest.next() != Some('}') {
                        return broken("a value ends with '}'");
                    }
                    spec
                }
            };
            if self == Style::Percent && spec.kind.is_none() {
                return broken("a '%' is followed by a kind, as in '%d'; write '%%' for itself");
            }
            pieces.push(Piece::Value(given.unwrap_or(next), spec));
            next += usize::from(given.is_none());
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(pieces)
    }
}

fn braces(rest: &mut Rest<'_>) -> Result<Spec> {
    let mut spec = Spec::default();
    let mut ahead = rest.clone();
    let fill = ahead.next();
    match (fill, ahead.next().and_then(Align::of)) {
        (Some(fill), Some(align)) => {
            (spec.fill, spec.align) = (fill, Some(align));
            *rest = ahead;
        }
        (Some(first), None) => {
            spec.align = Align::of(first);
            if spec.align.is_some() {
                rest.next();
            }
        }
        _ => {}
    }
    spec.sign = rest
        .next_if(|one| matches!(one, '+' | '-' | ' '))
        .filter(|one| *one != '-');
    spec.is_marked = rest.next_if_eq(&'#').is_some();
    spec.has_zeros = rest.next_if_eq(&'0').is_some();
    spec.width = number(rest)?.unwrap_or(0);
    spec.is_grouped = rest.next_if_eq(&',').is_some();
    spec.precision = precision(rest)?;
    spec.kind = rest.next_if(|one| one.is_ascii_alphabetic());
    Ok(spec)
}

fn percent(rest: &mut Rest<'_>) -> Result<Spec> {
    let mut spec = Spec {
        has_no_sign: true,
        ..Spec::default()
    };
    while let Some(flag) = rest.next_if(|one| "-+ #0,".contains(*one)) {
        match flag {
            '-' => spec.align = Some(Align::Left),
            '#' => spec.is_marked = true,
            '0' => spec.has_zeros = true,
            ',' => spec.is_grouped = true,
            sign => spec.sign = Some(sign),
        }
    }
    if spec.align.is_none() {
        // All of it is on the right, texts too.
        spec.text_on_right = true;
    }
    spec.width = number(rest)?.unwrap_or(0);
    spec.precision = precision(rest)?;
    spec.kind = rest.next_if(|one| one.is_ascii_alphabetic());
    spec.kind = spec
        .kind
        .map(|kind| if matches!(kind, 'i' | 'u') { 'd' } else { kind });
    Ok(spec)
}

fn precision(rest: &mut Rest<'_>) -> Result<Option<usize>> {
    match rest.next_if_eq(&'.') {
        Some(_) => Ok(Some(number(rest)?.unwrap_or(0))),
        None => Ok(None),
    }
}

/// A number of at most `WIDEST`: a text of a few characters must not use all memory in each row.
fn number(rest: &mut Rest<'_>) -> Result<Option<usize>> {
    let mut found = None;
    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
        let digit = digit as usize - '0' as usize;
        let number = found.unwrap_or(0) * 10 + digit;
        if number > WIDEST {
            return exec_err!("a width or precision of a format is at most {WIDEST}");
        }
        found = Some(number);
    }
    Ok(found)
}
