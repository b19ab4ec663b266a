//! Rows of tables come to a sample and leave it.
//!
//! Invariant: what a filter of one table leaves out comes to nothing; a row comes as often as it is there, each copy as a row of
//! its own, for each may be held, and die, by itself. Cost: O(columns) a row, and that of the sample; as many copies
//! as there is no room for are refused before any of them comes.

use ringview_core::{Budget, Error, Result};
use ringview_view::RowDelta;
use ringview_view::read::{AtomProgram, Selection, key_column};

use super::SampleView;

/// What a row takes about, beside its words.
const BYTES: u64 = 16;
/// From so many copies of rows at once it is asked whether there is room.
const MANY: u64 = 1 << 20;
/// So many rows come together, between two looks at the budget.
const TOGETHER: usize = 4096;

impl SampleView {
    /// Rows of a table come and go.
    pub(super) fn take(&mut self, rows: &RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let relation = &mut self.shape.readings[rows.atom];
        relation
            .program
            .select(rows.batch, rows.dictionary, &mut self.selection)?;
        self.columns
            .resize_with(self.columns.len().max(relation.width()), Vec::new);
        for (&(column, part), words) in relation.words.iter().zip(&mut self.columns) {
            words.clear();
            key_column(part, rows.batch.column(column), &self.selection, words);
        }
        let width = relation.width();
        let behind = &mut self.columns[relation.words.len()..];
        for (verdict, words) in relation.verdicts.iter_mut().zip(behind) {
            judge(verdict, rows, &self.selection, words)?;
        }
        // What comes goes first: a row may come and leave in one batch.
        self.come(rows, width, budget)?;
        for at in 0..self.selection.len() {
            for _ in 0..self.times(rows, at, -1) {
                budget.work(1)?;
                self.leave(rows.atom, width, at, budget)?;
            }
        }
        Ok(())
    }

    /// How often a selected row comes, or leaves.
    fn times(&self, rows: &RowDelta<'_>, at: usize, direction: i64) -> i64 {
        let row = self.selection.rows().map_or(at, |rows| rows[at] as usize);
        rows.sign.saturating_mul(rows.batch.multiplicity(row)) * direction
    }

    /// Whether there is room for the copies that come: each is a row of its own, which may be held by itself.
    fn has_capacity(&self, rows: &RowDelta<'_>, width: usize) -> Result<()> {
        let copies = (0..self.selection.len()).map(|at| self.times(rows, at, 1).max(0) as u64);
        let coming = copies.fold(0, u64::saturating_add);
        let needed = coming.saturating_mul(BYTES + 8 * width as u64);
        if coming < MANY || ringview_core::available().is_none_or(|free| needed <= free) {
            return Ok(());
        }
        Err(Error::Memory {
            what: format!("{coming} copies of rows of a sampled join, each a row of its own,"),
            needed,
            limit: ringview_core::available().unwrap_or(u64::MAX),
            instead: "insert each row once, with a column that tells how often it is there, and draw with weight=",
        })
    }

    /// The rows that come, so many together that an interrupt is heard.
    fn come(&mut self, rows: &RowDelta<'_>, width: usize, budget: &Budget<'_>) -> Result<()> {
        // Who died is replaced before anybody comes; here it hears an interrupt.
        self.sample.prepare(budget)?;
        self.has_capacity(rows, width)?;
        let mut words = std::mem::take(&mut self.rows);
        words.clear();
        let mut count = 0;
        let mut done = Ok(());
        'rows: for at in 0..self.selection.len() {
            for _ in 0..self.times(rows, at, 1) {
                words.extend(self.columns[..width].iter().map(|column| column[at]));
                count += 1;
                if count == TOGETHER {
                    done = self.bring(rows.atom, &words, count, budget);
                    words.clear();
                    count = 0;
                }
                if done.is_err() {
                    break 'rows;
                }
            }
        }
        let done = done.and_then(|()| self.bring(rows.atom, &words, count, budget));
        self.rows = words;
        done
    }

    fn bring(
        &mut self,
        atom: usize,
        words: &[u64],
        count: usize,
        budget: &Budget<'_>,
    ) -> Result<()> {
        budget.work(count as u64)?;
        self.sample.insert_all(atom, words, count, budget)
    }

    fn leave(&mut self, atom: usize, width: usize, at: usize, budget: &Budget<'_>) -> Result<()> {
        let words: Vec<u64> = self.columns[..width].iter().map(|c| c[at]).collect();
        if self.sample.delete(atom, &words, budget)? {
            return Ok(());
        }
        let relation = &self.shape.readings[atom];
        Err(Error::Value {
            place: format!(
                "a delete from table {:?} that a sample reads",
                relation.table
            ),
            problem: format!(
                "there is no such row as {}; delete what was inserted",
                relation.alias
            ),
        })
    }
}

/// Whether each of the selected rows passes, as words.
fn judge(
    verdict: &mut AtomProgram,
    rows: &RowDelta<'_>,
    selected: &Selection,
    words: &mut Vec<u64>,
) -> Result<()> {
    let mut passing = Selection::default();
    verdict.select(rows.batch, rows.dictionary, &mut passing)?;
    let mut passes = vec![passing.rows().is_none(); rows.batch.rows];
    for &row in passing.rows().unwrap_or_default() {
        passes[row as usize] = true;
    }
    let row = |at: usize| selected.rows().map_or(at, |rows| rows[at] as usize);
    words.clear();
    words.extend((0..selected.len()).map(|at| u64::from(passes[row(at)])));
    Ok(())
}
