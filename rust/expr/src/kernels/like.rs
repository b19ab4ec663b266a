//! `text_like(text, pattern, escape, insensitive)`: SQL's LIKE and ILIKE, with an escape character or without one.
//!
//! Invariant: NULL where the text is; ILIKE compares characters by Unicode's simple case folding, one for one, so that `_` is one
//! character of the text as it is.
//!
//! Cost: O(length of the text) for patterns with one `%`, O(text * pattern) at worst.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, exec_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// See the module. Its escape is a text of one character, or an empty one.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TextLike {
    signature: Signature,
}

impl Default for TextLike {
    fn default() -> Self {
        let text = DataType::Utf8;
        let types = vec![text.clone(), text.clone(), text, DataType::Boolean];
        Self {
            signature: Signature::exact(types, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for TextLike {
    fn name(&self) -> &str {
        "text_like"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [texts, patterns, escape, insensitive] = &args.args[..] else {
            return exec_err!(
                "text_like takes a text, a pattern, an escape and whether case is ignored"
            );
        };
        let escape = match escape {
            ColumnarValue::Scalar(ScalarValue::Utf8(escape)) => {
                escape.as_deref().and_then(|escape| escape.chars().next())
            }
            _ => return exec_err!("the escape of LIKE is a constant"),
        };
        let insensitive = matches!(
            insensitive,
            ColumnarValue::Scalar(ScalarValue::Boolean(Some(true)))
        );
        let texts = texts.to_array(args.number_rows)?;
        let texts = texts.as_string::<i32>().iter();
        let found: BooleanArray = match patterns {
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(pattern))) => {
                let pattern = Pattern::new(pattern, escape, insensitive)?;
                texts.map(|text| Some(pattern.matches(text?))).collect()
            }
            patterns => {
                let patterns = patterns.to_array(args.number_rows)?;
                let pairs = texts.zip(patterns.as_string::<i32>());
                let matches = pairs.map(|(text, pattern)| {
                    let (Some(text), Some(pattern)) = (text, pattern) else {
                        return Ok(None);
                    };
                    let pattern = Pattern::new(pattern, escape, insensitive)?;
                    Ok(Some(pattern.matches(text)))
                });
                matches.collect::<Result<_>>()?
            }
        };
        Ok(ColumnarValue::Array(Arc::new(found)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    /// `%`: any characters, or none.
    Any,
    /// `_`: one character.
    One,
    /// This character.
    Exactly(char),
}

/// A compiled pattern.
#[derive(Debug)]
struct Pattern {
    tokens: Vec<Token>,
    insensitive: bool,
}

impl Pattern {
    /// Compiles a pattern; one that ends with its escape character is refused.
    fn new(pattern: &str, escape: Option<char>, insensitive: bool) -> Result<Pattern> {
        let exactly = |character| {
            Token::Exactly(if insensitive {
                fold(character)
            } else {
                character
            })
        };
        let mut tokens = Vec::new();
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            let token = if Some(character) == escape {
                let Some(next) = characters.next() else {
                    return exec_err!(
                        "the pattern {pattern:?} ends with its escape character; write that twice to mean it"
                    );
                };
                exactly(next)
            } else {
                match character {
                    '%' => Token::Any,
                    '_' => Token::One,
                    other => exactly(other),
                }
            };
            if token != Token::Any || tokens.last() != Some(&Token::Any) {
                tokens.push(token);
            }
        }
        Ok(Pattern {
            tokens,
            insensitive,
        })
    }

    /// Whether the whole text matches.
    fn matches(&self, text: &str) -> bool {
        // Greedy: only the last `%` ever has to take more characters.
        let (mut rest, mut token) = (text, 0);
        let mut retry: Option<(&str, usize)> = None;
        loop {
            let next = rest.chars().next();
            match (self.tokens.get(token), next) {
                (Some(Token::Any), _) => {
                    token += 1;
                    retry = Some((rest, token));
                    continue;
                }
                (Some(Token::One), Some(character)) => {
                    (rest, token) = (&rest[character.len_utf8()..], token + 1);
                    continue;
                }
                (Some(Token::Exactly(wanted)), Some(character))
                    if *wanted == character || (self.insensitive && *wanted == fold(character)) =>
                {
                    (rest, token) = (&rest[character.len_utf8()..], token + 1);
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            let Some((from, after)) = retry else {
                return false;
            };
            let Some(skipped) = from.chars().next() else {
                return false;
            };
            let from = &from[skipped.len_utf8()..];
            retry = Some((from, after));
            (rest, token) = (from, after);
        }
    }
}

/// A character by Unicode's simple case folding: what only differs in case is one character. Those that
/// have no other case as a single character stay, as `ß` of `SS` does, and the Turkish dotless i.
fn fold(character: char) -> char {
    fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
        let first = mapped.next()?;
        mapped.next().is_none().then_some(first)
    }
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    if character == 'ı' {
        return character;
    }
    let upper = single(character.to_uppercase()).unwrap_or(character);
    single(upper.to_lowercase()).unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        Pattern::new(pattern, Some('\\'), false).is_ok_and(|p| p.matches(text))
    }

    #[test]
    fn wildcards_match_as_in_sql() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "_b_", true),
            ("abc", "_b", false),
            ("aXbXb", "a%b", true),
            ("ababac", "%abac", true),
            ("50%", "50\\%", true),
            ("500", "50\\%", false),
            ("äöü", "_ö_", true),
            ("äöü", "%ü", true),
            ("mississippi", "m%iss%ip%i", true),
            ("mississippi", "m%iss%ip%x", false),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", "%a%a%a%a%b", false),
        ] {
            assert_eq!(like(text, pattern), expected, "{text:?} LIKE {pattern:?}");
        }
    }

    #[test]
    fn case_is_ignored_on_demand_and_a_dangling_escape_is_refused() -> Result<()> {
        assert!(Pattern::new("%ÄB_", None, true)?.matches("xxäbC"));
        for (text, pattern, expected) in [
            // A final sigma is a sigma; folding does not look at the neighbouring characters.
            ("ΟΔΟΣ", "οδος", true),
            ("οδος", "ΟΔΟσ", true),
            ("ΟΔΟΣ", "%Σ", true),
            // One character stays one, though its lower case is two.
            ("İx", "_X", true),
            ("ıx", "_X", true),
            ("ı", "i", false),
            ("\u{212A}", "k", true),
            ("ẞ", "ß", true),
            ("STRASSE", "straße", false),
            ("ǅ", "ǆ", true),
            ("A%B", "a!%b", true),
            ("AxB", "a!%b", false),
        ] {
            let found = Pattern::new(pattern, Some('!'), true)?.matches(text);
            assert_eq!(found, expected, "{text:?} ILIKE {pattern:?}");
        }
        assert!(Pattern::new("ab!", Some('!'), false).is_err());
        Ok(())
    }
}
