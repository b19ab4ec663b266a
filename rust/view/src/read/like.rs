//! SQL's LIKE patterns.
//!
//! Invariant: ILIKE compares characters by Unicode's simple case folding, one for one, so that `_` is one
//! character of the text as it is.
//!
//! Cost: O(length of the text) for patterns with one `%`, O(text * pattern) at worst.

use ringview_core::{Error, Result};

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
#[derive(Clone, Debug)]
pub struct Pattern {
    tokens: Vec<Token>,
    insensitive: bool,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `Value` if it ends with its escape character.
    pub fn new(pattern: &str, escape: Option<char>, insensitive: bool) -> Result<Pattern> {
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
                exactly(characters.next().ok_or_else(|| Error::Value {
                    place: format!("the pattern {pattern:?}"),
                    problem:
                        "it ends with its escape character; write that twice to mean it".to_owned(),
                })?)
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
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
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
            // A final sigma is a sigma; folding does not look at what stands around.
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
