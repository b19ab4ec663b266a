//! Texts of numbers, as DuckDB reads them where they are cast: with exponents, fractions, blanks around and `_` between
//! digits.
//!
//! Invariant: what is no number stays as it is, so that the cast says what it could not read. Cost: one pass.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// More digits than any number has.
const MOST: usize = 80;

/// The kind of number that a text becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NumeralKind {
    /// An integer, rounded.
    Whole,
    /// The same, of which no fraction below zero is one.
    Natural,
    /// A number without an exponent.
    Plain,
}

/// `whole_number`, `natural_number` and `plain_number`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Numeral {
    kind: NumeralKind,
    signature: Signature,
}

impl Numeral {
    pub(crate) fn new(kind: NumeralKind) -> Self {
        Self {
            kind,
            signature: Signature::exact(vec![DataType::Utf8], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Numeral {
    fn name(&self) -> &str {
        match self.kind {
            NumeralKind::Whole => "whole_number",
            NumeralKind::Natural => "natural_number",
            NumeralKind::Plain => "plain_number",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let read = |text: &str| match (Decimal::read(text), self.kind) {
            (Some(number), NumeralKind::Plain) => number.plain(),
            (Some(number), NumeralKind::Natural) if number.is_below_zero(text) => text.to_owned(),
            (Some(number), _) => number.rounded(),
            (None, _) => text.to_owned(),
        };
        if let ColumnarValue::Scalar(ScalarValue::Utf8(text)) = &args.args[0] {
            let text = text.as_deref().map(read);
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8(text)));
        }
        let texts = args.args[0].to_array(args.number_rows)?;
        let found = texts.as_string::<i32>().iter().map(|text| text.map(read));
        Ok(ColumnarValue::Array(Arc::new(
            found.collect::<StringArray>(),
        )))
    }
}

/// Digits, and the number of them before the point: below zero if zeros are between.
struct Decimal {
    sign: &'static str,
    digits: String,
    before: i64,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim_matches(|of: char| of.is_ascii_whitespace());
        let (sign, text) = match text.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            let is_number = hex.bytes().all(|of| of.is_ascii_hexdigit());
            let value = u128::from_str_radix(hex, 16).ok().filter(|_| is_number)?;
            let digits = value.to_string();
            let before = digits.len() as i64;
            return Some(Self {
                sign,
                digits,
                before,
            });
        }
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (whole, fraction) = (digits(whole)?, digits(fraction)?);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let before = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
        let is_short = before.unsigned_abs() as usize + whole.len() + fraction.len() <= MOST;
        is_short.then(|| Self {
            sign,
            digits: whole + &fraction,
            before,
        })
    }

    /// Whether no cast to natural numbers takes its text: it has a sign, and more than digits.
    fn is_below_zero(&self, text: &str) -> bool {
        !self.sign.is_empty() && text.contains(['.', 'e', 'E'])
    }

    /// Without an exponent.
    fn plain(&self) -> String {
        let length = self.digits.len() as i64;
        let (sign, digits) = (self.sign, &self.digits);
        if self.before <= 0 {
            let zeros = "0".repeat(self.before.unsigned_abs() as usize);
            return format!("{sign}0.{zeros}{digits}");
        }
        if self.before >= length {
            let zeros = "0".repeat((self.before - length) as usize);
            return format!("{sign}{digits}{zeros}");
        }
        let (whole, fraction) = digits.split_at(self.before as usize);
        format!("{sign}{whole}.{fraction}")
    }

    /// The nearest integer, the one further from zero where two are as near.
    fn rounded(&self) -> String {
        let plain = self.plain();
        let Some((whole, fraction)) = plain.split_once('.') else {
            return plain;
        };
        if fraction
            .as_bytes()
            .first()
            .is_none_or(|&digit| digit < b'5')
        {
            return whole.to_owned();
        }
        let mut digits: Vec<u8> = whole.trim_start_matches('-').bytes().collect();
        for digit in digits.iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                let digits = String::from_utf8_lossy(&digits);
                return format!("{}{digits}", self.sign);
            }
            *digit = b'0';
        }
        format!("{}1{}", self.sign, String::from_utf8_lossy(&digits))
    }
}

fn exponent(text: &str) -> Option<i64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let is_number = text.strip_prefix('-').unwrap_or(text);
    let is_number = is_number.bytes().all(|of| of.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Digits without the underscores between them; nothing if there is another character.
fn digits(text: &str) -> Option<String> {
    let is_number = text.bytes().all(|of| of.is_ascii_digit() || of == b'_');
    let is_between = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    (is_number && is_between).then(|| text.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn numbers_are_rounded_away_from_zero() {
        let cases = [
            ("1e0", "1"),
            (" 7 ", "7"),
            ("2.5", "3"),
            ("-2.5", "-3"),
            ("-0.49", "-0"),
            (".5", "1"),
            ("99.5", "100"),
            ("12355e-1", "1236"),
            ("1_000.4", "1000"),
            ("0x1F", "31"),
            ("1e-40", "0"),
        ];
        for (text, whole) in cases {
            let found = Decimal::read(text).map(|number| number.rounded());
            assert_eq!(found.as_deref(), Some(whole), "{text}");
        }
    }

    #[test]
    fn exponents_are_spelt_out() {
        for (text, plain) in [("1e2", "100"), ("155e-2", "1.55"), ("+1.5e-3", "0.0015")] {
            let found = Decimal::read(text).map(|number| number.plain());
            assert_eq!(found.as_deref(), Some(plain), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_stays() {
        for text in [
            "", ".", "e5", "1e", "1e400", "5 5", "- 5", "1__0", "0xZ", "1e++2",
        ] {
            assert!(Decimal::read(text).is_none(), "{text}");
        }
    }
}
