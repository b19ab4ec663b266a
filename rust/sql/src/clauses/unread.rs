//! A clause that nothing reads, by its name and its place.
//!
//! Invariant: the place is that of the clause's own words where the text spells them so, else of the node that has it.
//! Cost: none without a refusal; then that of the tokens.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::tokenizer::{Location, Span, TokenWithSpan};

/// A clause that nothing reads.
pub(super) struct Unread {
    pub(super) clause: String,
    /// Advice: a way to the same result.
    pub(super) instead: &'static str,
    /// Start of the node that has it.
    near: Location,
}

/// Advice for a clause without which the result is the same, or is not to be had here.
pub(super) const LEAVE_OUT: &str = "leave it out";

pub(super) type Checked = ControlFlow<Unread>;

pub(super) const READ: Checked = ControlFlow::Continue(());

impl Unread {
    /// The place of the clause's words behind the start of its node; that start where the text spells them otherwise.
    pub(super) fn place(&self, tokens: &[TokenWithSpan]) -> Location {
        let words: Vec<&str> = self.clause.split(' ').collect();
        let begin = tokens.partition_point(|token| token.span.start < self.near);
        let spells = |at: usize| {
            let here = tokens[at..].iter().take(words.len());
            here.zip(&words)
                .all(|(token, word)| token.token.to_string().eq_ignore_ascii_case(word))
        };
        let found =
            (begin..tokens.len()).find(|&at| at + words.len() <= tokens.len() && spells(at));
        let whole = found.or_else(|| {
            let first = |at: &usize| tokens[*at].token.to_string().eq_ignore_ascii_case(words[0]);
            (begin..tokens.len()).find(first)
        });
        match (whole, tokens.first()) {
            (Some(at), _) => tokens[at].span.start,
            (None, Some(first)) => self.near.max(first.span.start),
            (None, None) => self.near,
        }
    }
}

/// Refuses a clause of the node that starts at a place.
pub(super) fn unread(clause: impl Into<String>, instead: &'static str, near: Span) -> Checked {
    let clause = clause.into();
    ControlFlow::Break(Unread {
        clause,
        instead,
        near: near.start,
    })
}

/// Refuses the first of some clauses that a node has; the place of the node is computed for a refusal alone.
pub(super) fn none_of(
    clauses: &[(bool, &str, &'static str)],
    near: impl FnOnce() -> Span,
) -> Checked {
    match clauses.iter().find(|(is_there, _, _)| *is_there) {
        Some((_, clause, instead)) => unread(*clause, instead, near()),
        None => READ,
    }
}
