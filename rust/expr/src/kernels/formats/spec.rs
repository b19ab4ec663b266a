//! Format of one value: digits, sign, width.
//!
//! Invariant: a double is rounded as it is, and not as it is written. Cost: O(what is written).

use datafusion_common::{Result, exec_err};

/// Alignment of a value in its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

impl Align {
    pub(super) fn of(mark: char) -> Option<Self> {
        match mark {
            '<' => Some(Self::Left),
            '^' => Some(Self::Middle),
            '>' => Some(Self::Right),
            _ => None,
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) fill: char,
    pub(super) align: Option<Align>,
    /// Character in front of a number that is not below zero.
    pub(super) sign: Option<char>,
    /// Whether the base has a prefix: `0x`.
    pub(super) is_marked: bool,
    /// Whether zeros fill a number.
    pub(super) has_zeros: bool,
    /// Whether a text is aligned on the right by default.
    pub(super) text_on_right: bool,
    pub(super) width: usize,
    /// Whether thousands are separated.
    pub(super) is_grouped: bool,
    /// Whether an integer in another base is one of 64 bits, without a sign.
    pub(super) has_no_sign: bool,
    pub(super) precision: Option<usize>,
    pub(super) kind: Option<char>,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            fill: ' ',
            align: None,
            sign: None,
            is_marked: false,
            has_zeros: false,
            text_on_right: false,
            width: 0,
            is_grouped: false,
            has_no_sign: false,
            precision: None,
            kind: None,
        }
    }
}

/// A value that is shown.
pub(super) enum Shown<'v> {
    Integer(i128),
    Double(f64),
    Text(&'v str),
}

impl Spec {
    pub(super) fn write(&self, value: &Shown<'_>, into: &mut String) -> Result<()> {
        let (sign, prefix, digits) = match value {
            Shown::Text(text) => {
                if !matches!(self.kind, None | Some('s')) {
                    return self.unsupported("a text");
                }
                let shown: String = text
                    .chars()
                    .take(self.precision.unwrap_or(usize::MAX))
                    .collect();
                let side = if self.text_on_right {
                    Align::Right
                } else {
                    Align::Left
                };
                self.padded(&shown, side, into);
                return Ok(());
            }
            Shown::Integer(value) => {
                let in_base = self.has_no_sign && self.kind != Some('d');
                let value = if in_base {
                    i128::from(*value as u64)
                } else {
                    *value
                };
                let digits = value.unsigned_abs();
                let (prefix, digits) = match self.kind {
                    None | Some('d') => ("", digits.to_string()),
                    Some('x') => ("0x", format!("{digits:x}")),
                    Some('X') => ("0X", format!("{digits:X}")),
                    Some('o') => ("0", format!("{digits:o}")),
                    Some('b') => ("0b", format!("{digits:b}")),
                    _ => return self.unsupported("an integer"),
                };
                (value < 0, prefix, digits)
            }
            Shown::Double(value) => {
                let Some(digits) = self.of_double(value.abs()) else {
                    return self.unsupported("a double");
                };
                (value.is_sign_negative() && !value.is_nan(), "", digits)
            }
        };
        let sign = if sign {
            "-".to_owned()
        } else {
            self.sign.map(String::from).unwrap_or_default()
        };
        let prefix = if self.is_marked { prefix } else { "" };
        let digits = if self.is_grouped {
            grouped(&digits)
        } else {
            digits
        };
        let is_filled = self.has_zeros
            && self.align.is_none()
            && digits.starts_with(|one: char| one.is_ascii_digit());
        let zeros = match is_filled {
            true => self
                .width
                .saturating_sub(sign.len() + prefix.len() + digits.len()),
            false => 0,
        };
        let shown = format!("{sign}{prefix}{}{digits}", "0".repeat(zeros));
        self.padded(&shown, Align::Right, into);
        Ok(())
    }

    fn padded(&self, shown: &str, side: Align, into: &mut String) {
        let room = self.width.saturating_sub(shown.chars().count());
        let before = match self.align.unwrap_or(side) {
            Align::Left => 0,
            Align::Middle => room / 2,
            Align::Right => room,
        };
        into.extend(std::iter::repeat_n(self.fill, before));
        into.push_str(shown);
        into.extend(std::iter::repeat_n(self.fill, room - before));
    }

    /// The digits of a double that is not below zero; none for a kind that is not of doubles.
    fn of_double(&self, value: f64) -> Option<String> {
        let many = self.precision.unwrap_or(6);
        let shown = match self.kind {
            None if !value.is_finite() => format!("{value}").to_lowercase(),
            None => match self.precision {
                None | Some(0) => shortest(value),
                Some(many) => {
                    let shown = general(value, many, false);
                    let is_whole = shown.chars().all(|one| one.is_ascii_digit());
                    if is_whole { shown + ".0" } else { shown }
                }
            },
            Some('f' | 'F') => format!("{value:.many$}"),
            Some('e' | 'E') => exponential(&format!("{value:.many$e}")),
            Some('g' | 'G') => general(value, many, true),
            Some(_) => return None,
        };
        Some(match self.kind {
            Some('E' | 'F' | 'G') => shown.to_uppercase(),
            _ => shown.to_lowercase(),
        })
    }

    fn unsupported(&self, what: &str) -> Result<()> {
        exec_err!("{what} is not shown as '{}'", self.kind.unwrap_or('s'))
    }
}

/// The exponent of at least two digits and a sign.
fn exponential(shown: &str) -> String {
    let Some((digits, exponent)) = shown.split_once('e') else {
        return shown.to_owned();
    };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The fewest digits that are this double alone.
fn shortest(value: f64) -> String {
    let shown = format!("{value:e}");
    let exponent = shown
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match exponent.unwrap_or(0) {
        -4..16 => {
            let shown = value.to_string();
            if shown.contains('.') {
                shown
            } else {
                shown + ".0"
            }
        }
        _ => exponential(&shown),
    }
}

/// Formats a number with `many` significant digits; with `cuts`, zeros at the end are removed.
fn general(value: f64, many: usize, cuts: bool) -> String {
    let many = many.max(1);
    let shown = format!("{value:.*e}", many - 1);
    let Some((digits, exponent)) = shown.split_once('e') else {
        return shown;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let cut = |of: &str| match cuts && of.contains('.') {
        true => of.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => of.to_owned(),
    };
    if (-4..many as i32).contains(&exponent) {
        let places = (many as i32 - 1 - exponent).max(0) as usize;
        return cut(&format!("{value:.places$}"));
    }
    exponential(&format!("{}e{exponent}", cut(digits)))
}

/// A comma between thousands.
fn grouped(digits: &str) -> String {
    let whole = digits
        .find(|one: char| !one.is_ascii_digit())
        .unwrap_or(digits.len());
    let mut shown = String::new();
    for (at, digit) in digits[..whole].chars().enumerate() {
        if at > 0 && (whole - at) % 3 == 0 {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown + &digits[whole..]
}
