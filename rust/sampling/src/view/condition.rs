//! Conditions across tables: the results of the join that count (paper, section 3).
//!
//! Invariant: a result counts where the condition is TRUE. Predicates of one table alone are evaluated when its row is
//! inserted, and are words of it. Cost: O(condition) a result that is looked at; the reservoir looks at about
//! k log(results / k) that count, and as many more as do not count among them.

use ringview_core::{Result, Type};
use ringview_query::nested::{Cell, Column, Condition, Quantity, Scope, evaluate, holds};

use crate::{Index, Predicate};

/// Filter of results.
#[derive(Clone, Debug)]
pub(super) enum ResultFilter {
    All,
    Matching(Box<Filter>),
}

/// A condition with the words of the columns that it reads.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) condition: Condition,
    pub(super) columns: Vec<(Column, Words)>,
}

/// A word of a result: a relation of the acyclic join, and a word of its row.
pub(super) type Word = (usize, usize);

/// The words of a column.
#[derive(Clone, Debug)]
pub(super) struct Words {
    pub(super) ty: Type,
    pub(super) word: Word,
    pub(super) high: Option<Word>,
    pub(super) null: Option<Word>,
}

impl Predicate for ResultFilter {
    fn holds(&self, index: &Index, result: &[u32]) -> Result<bool> {
        let ResultFilter::Matching(of) = self else {
            return Ok(true);
        };
        let row = Row { of, index, result };
        holds(&of.condition, &mut |value| {
            // The plan refuses subqueries.
            evaluate(value, &row, &mut |_| Ok(Cell(None)))
        })
    }
}

/// A result, and the condition that is evaluated.
struct Row<'a> {
    of: &'a Filter,
    index: &'a Index,
    result: &'a [u32],
}

impl Row<'_> {
    fn word(&self, (atom, word): Word) -> u64 {
        self.index.row(atom, self.result[atom])[word]
    }
}

impl Scope for Row<'_> {
    fn cell(&self, column: Column) -> Cell {
        let columns = &self.of.columns;
        let Ok(at) = columns.binary_search_by_key(&column, |(of, _)| *of) else {
            return Cell(None);
        };
        let words = &columns[at].1;
        if words.null.is_some_and(|null| self.word(null) == 1) {
            return Cell(None);
        }
        let high = words.high.map_or(0, |high| self.word(high));
        Cell(Some(Quantity::of_words(
            &words.ty,
            self.word(words.word),
            high,
        )))
    }
}
