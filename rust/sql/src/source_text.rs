//! The text of a query, and messages that name a place in it.
//!
//! Invariant: a message with a place names line and column, shows that line, and marks the place below it. Cost:
//! O(length of the text) for a message, nothing before one.

use std::fmt::Write as _;

use datafusion_common::Location as BinderLocation;
use datafusion_sql::sqlparser::tokenizer::Location;
use ringview_core::{Error, Position, SqlProblem};

/// Characters of a line that a message shows.
const WIDTH: usize = 160;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Text<'t>(pub(crate) &'t str);

impl Text<'_> {
    /// An error of the text, at a place where one is known.
    pub(crate) fn refused(
        self,
        problem: SqlProblem,
        position: Option<Position>,
        what: &str,
    ) -> Error {
        let position = position.filter(|&at| self.line(at).is_some());
        let message = match position {
            Some(at) => self.message(at, what),
            None => what.to_owned(),
        };
        Error::Sql {
            problem,
            message,
            position,
        }
    }

    fn line(self, at: Position) -> Option<String> {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        let line = self.0.split('\n').nth(line)?;
        (column <= line.chars().count()).then(|| line.trim_end().to_owned())
    }

    /// `line 1, column 8: what`, the line, and a mark under the place.
    fn message(self, at: Position, what: &str) -> String {
        let mut message = format!("line {}, column {}: {what}", at.line, at.column);
        let line: Vec<char> = self.line(at).unwrap_or_default().chars().collect();
        let before = usize::try_from(at.column).unwrap_or(1).saturating_sub(1);
        // A part of a long line.
        let from = if line.len() > WIDTH {
            before.saturating_sub(WIDTH / 2)
        } else {
            0
        };
        let to = line.len().min(from + WIDTH);
        let mut excerpt: String = line[from.min(to)..to].iter().collect();
        let shown = line.get(from..before.min(line.len())).unwrap_or_default();
        let mut indent: String = shown
            .iter()
            .map(|&letter| if letter == '\t' { '\t' } else { ' ' })
            .collect();
        if from > 0 {
            excerpt.insert_str(0, ".. ");
            indent.insert_str(0, "   ");
        }
        if to < line.len() {
            excerpt.push_str(" ..");
        }
        let _ = write!(message, "\n    {excerpt}\n    {indent}^");
        message
    }
}

/// A position of the parser; it has none where line and column are 0.
pub(crate) fn position(at: Location) -> Option<Position> {
    (at.line > 0).then_some(Position {
        line: at.line,
        column: at.column,
    })
}

/// A position of the binder.
pub(crate) fn bound_position(at: BinderLocation) -> Option<Position> {
    (at.line > 0).then_some(Position {
        line: at.line,
        column: at.column,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, line: u64, column: u64) -> String {
        let at = Position { line, column };
        Text(text)
            .refused(SqlProblem::Query, Some(at), "no")
            .to_string()
    }

    #[test]
    fn a_message_marks_its_place() {
        assert_eq!(
            message("SELECT x FROM r", 1, 8),
            "line 1, column 8: no\n    SELECT x FROM r\n           ^"
        );
        assert_eq!(
            message("SELECT\n\t\tx  \r\nFROM r", 2, 3),
            "line 2, column 3: no\n    \t\tx\n    \t\t^"
        );
        // Characters, not bytes.
        assert_eq!(
            message("SELECT 'é', x", 1, 13),
            "line 1, column 13: no\n    SELECT 'é', x\n                ^"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_its_place() {
        let text = format!("SELECT {}x{}", "1, ".repeat(1000), ", 1".repeat(1000));
        let message = message(&text, 1, 3008);
        let lines: Vec<&str> = message.lines().collect();
        assert!(lines.iter().all(|line| line.len() < 200), "{message}");
        let mark = lines[2].find('^');
        assert_eq!(mark, lines[1].find('x'));
    }

    #[test]
    fn what_has_no_place_names_none() {
        assert_eq!(message("SELECT 1", 7, 1), "no");
        assert_eq!(message("SELECT 1", 1, 99), "no");
    }
}
