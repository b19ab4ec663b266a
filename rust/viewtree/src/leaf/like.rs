//! SQL's LIKE patterns.
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
pub(crate) struct Pattern {
    tokens: Vec<Token>,
    insensitive: bool,
}

impl Pattern {
    /// Compiles a pattern; `Error::Value` if it ends with its escape character.
    pub(crate) fn new(pattern: &str, escape: Option<char>, insensitive: bool) -> Result<Pattern> {
        let folded = if insensitive {
            pattern.to_lowercase()
        } else {
            pattern.to_owned()
        };
        let mut tokens = Vec::new();
        let mut characters = folded.chars();
        while let Some(character) = characters.next() {
            let token = if Some(character) == escape {
                Token::Exactly(characters.next().ok_or_else(|| Error::Value {
                    place: format!("the pattern {pattern:?}"),
                    problem:
                        "it ends with its escape character; write that twice to mean it".to_owned(),
                })?)
            } else {
                match character {
                    '%' => Token::Any,
                    '_' => Token::One,
                    other => Token::Exactly(other),
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
    pub(crate) fn matches(&self, text: &str) -> bool {
        if self.insensitive {
            self.matches_folded(&text.to_lowercase())
        } else {
            self.matches_folded(text)
        }
    }

    fn matches_folded(&self, text: &str) -> bool {
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
                (Some(Token::Exactly(wanted)), Some(character)) if *wanted == character => {
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
        assert!(Pattern::new("ab!", Some('!'), false).is_err());
        Ok(())
    }
}
