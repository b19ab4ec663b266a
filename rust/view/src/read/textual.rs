//! Conditions on one string column, decided once for each distinct string.
//!
//! Invariant: `known[id]` is the verdict on the string with that id, or `UNSEEN`. A verdict holds as long
//! as the string has the id: ids that go are told (`forget`), before they mean other strings. Cost: O(1)
//! a row, O(length) a new string.

use ringview_core::{Batch, Dictionary, Gone, Result, Schema, Type};
use ringview_query::{Comparison, Predicate, TextOperand};

use super::like::Pattern;
use super::verdict::{FALSE, TRUE, UNKNOWN, compared, constant, opposite};

const UNSEEN: u8 = u8::MAX;

/// A condition on one string column.
#[derive(Clone, Debug)]
pub(crate) struct TextCheck {
    column: usize,
    test: Test,
    of_null: u8,
    known: Vec<u8>,
}

impl TextCheck {
    /// Compiles a condition that reads one string column and nothing else; `None` for any other.
    pub(crate) fn compile(predicate: &Predicate, schema: &Schema) -> Result<Option<TextCheck>> {
        let mut column = None;
        let test = Test::compile(predicate, &mut column)?;
        // IS NULL alone may be about a column of another type.
        let is_text = |&column: &usize| schema.fields()[column].ty == Type::Utf8;
        Ok(test
            .zip(column.filter(is_text))
            .map(|(test, column)| TextCheck {
                column,
                of_null: test.verdict(None),
                test,
                known: Vec::new(),
            }))
    }

    /// The verdict on every row.
    pub(crate) fn evaluate(&mut self, batch: &Batch, dictionary: &Dictionary, into: &mut Vec<u8>) {
        let column = batch.column(self.column);
        if self.known.len() < dictionary.limit() {
            self.known.resize(dictionary.limit(), UNSEEN);
        }
        into.clear();
        for &id in &column.words {
            let known = self.known.get(id as usize).copied();
            into.push(match known {
                Some(known) if known != UNSEEN => known,
                // A NULL has id 0, of which there need be no string.
                _ => match dictionary.get(id) {
                    None => self.of_null,
                    text => {
                        let verdict = self.test.verdict(text);
                        self.known[id as usize] = verdict;
                        verdict
                    }
                },
            });
        }
        if let Some(valid) = &column.valid {
            for (verdict, _) in into.iter_mut().zip(valid).filter(|(_, valid)| !**valid) {
                *verdict = self.of_null;
            }
        }
    }

    /// Forgets the verdicts on strings that have gone.
    pub(crate) fn forget(&mut self, gone: &Gone) {
        for &id in &gone.ids {
            if let Some(known) = self.known.get_mut(id as usize) {
                *known = UNSEEN;
            }
        }
        self.known.truncate(gone.limit);
        if self.known.capacity() / 4 > self.known.len() {
            self.known.shrink_to(self.known.len() * 2);
        }
    }

    /// Bytes held on the heap.
    pub(crate) fn memory_usage(&self) -> usize {
        self.known.capacity()
    }
}

/// A condition on one string.
#[derive(Clone, Debug)]
enum Test {
    Constant(u8),
    /// `text <comparison> value`
    Compare(Comparison, String),
    /// Sorted; whether the list has a NULL.
    In(Vec<String>, bool),
    Like(Pattern),
    IsNull,
    And(Vec<Test>),
    Or(Vec<Test>),
    Not(Box<Test>),
}

impl Test {
    /// `None` if the condition reads a number, or a second column; `column` becomes the one it reads.
    fn compile(predicate: &Predicate, column: &mut Option<usize>) -> Result<Option<Test>> {
        let mut only = |read: usize| *column.get_or_insert(read) == read;
        Ok(match predicate {
            Predicate::Constant { value } => Some(Test::Constant(constant(*value))),
            Predicate::CompareText {
                comparison,
                left,
                right,
            } => match (left, right) {
                (TextOperand::Column { column }, TextOperand::Literal { value }) => {
                    only(*column).then(|| Test::Compare(*comparison, value.clone()))
                }
                (TextOperand::Literal { value }, TextOperand::Column { column }) => {
                    only(*column).then(|| Test::Compare(comparison.reversed(), value.clone()))
                }
                (TextOperand::Literal { value: left }, TextOperand::Literal { value: right }) => {
                    Some(Test::Constant(compared(*comparison, left, right)))
                }
                (TextOperand::Column { .. }, TextOperand::Column { .. }) => None,
            },
            Predicate::InText { column, list, null } => only(*column).then(|| {
                let mut list = list.clone();
                list.sort_unstable();
                Test::In(list, *null)
            }),
            Predicate::Like {
                column,
                pattern,
                escape,
                insensitive,
            } => {
                let pattern = Pattern::new(pattern, *escape, *insensitive)?;
                only(*column).then_some(Test::Like(pattern))
            }
            Predicate::IsNull { columns } => match columns[..] {
                [column] if only(column) => Some(Test::IsNull),
                _ => None,
            },
            Predicate::And { operands } => Self::all(operands, column)?.map(Test::And),
            Predicate::Or { operands } => Self::all(operands, column)?.map(Test::Or),
            Predicate::Not { operand } => {
                Self::compile(operand, column)?.map(|test| Test::Not(Box::new(test)))
            }
            Predicate::Compare { .. } | Predicate::In { .. } => None,
        })
    }

    fn all(operands: &[Predicate], column: &mut Option<usize>) -> Result<Option<Vec<Test>>> {
        operands
            .iter()
            .map(|operand| Self::compile(operand, column))
            .collect()
    }

    fn verdict(&self, text: Option<&str>) -> u8 {
        match (self, text) {
            (Test::Constant(verdict), _) => *verdict,
            (Test::IsNull, None) => TRUE,
            (Test::IsNull, Some(_)) => FALSE,
            (Test::And(tests), _) => tests.iter().fold(TRUE, |all, t| all.min(t.verdict(text))),
            (Test::Or(tests), _) => tests.iter().fold(FALSE, |any, t| any.max(t.verdict(text))),
            (Test::Not(test), _) => opposite(test.verdict(text)),
            (Test::Compare(..) | Test::In(..) | Test::Like(_), None) => UNKNOWN,
            (Test::Compare(comparison, value), Some(text)) => {
                compared(*comparison, text, value.as_str())
            }
            (Test::In(list, null), Some(text)) => {
                let found = list.binary_search_by(|item| item.as_str().cmp(text));
                match (found, null) {
                    (Ok(_), _) => TRUE,
                    (Err(_), true) => UNKNOWN,
                    (Err(_), false) => FALSE,
                }
            }
            (Test::Like(pattern), Some(text)) => constant(Some(pattern.matches(text))),
        }
    }
}
