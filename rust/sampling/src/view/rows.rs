//! Inserts and deletes of rows of tables.
//!
//! Invariant: rows that fail the filter of their table are skipped; each copy of a row is a row of its own, because each may
//! be held, and deleted, by itself. Cost: O(columns) a row, and that of the sample; more copies than there is memory for are
//! refused before any of them is inserted.

use ringview_core::{Budget, Error, Result};
use ringview_view::RowDelta;
use ringview_view::read::{AtomProgram, Selection, key_column};

use super::SampleView;

/// The bytes of a row, nearly, without its words.
const BYTES: u64 = 16;
/// From so many copies of rows at once the memory is checked.
const MANY: u64 = 1 << 20;
/// So many rows are inserted together, between two checks of the budget.
const BATCH: usize = 4096;

impl SampleView {
    /// Inserts and deletes rows of a table.
    pub(super) fn take(&mut self, rows: &RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let relation = &mut self.shape.readings[rows.atom];
        relation
            .program
            .select(rows.batch, rows.dictionary, &mut self.selection)?;
        self.columns
            .resize_with(self.columns.len().max(relation.width()), Vec::new);
        for (&(column, aspect), words) in relation.words.iter().zip(&mut self.columns) {
            words.clear();
            key_column(aspect, rows.batch.column(column), &self.selection, words);
        }
        let width = relation.width();
        let behind = &mut self.columns[relation.words.len()..];
        for (verdict, words) in relation.verdicts.iter_mut().zip(behind) {
            judge(verdict, rows, &self.selection, words)?;
        }
        // Inserts first: one batch may insert a row and delete it.
        self.insert(rows, width, budget)?;
        for at in 0..self.selection.len() {
            for _ in 0..self.times(rows, at, -1) {
                budget.work(1)?;
                self.delete(rows.atom, width, at, budget)?;
            }
        }
        Ok(())
    }

    /// Number of inserts, or deletes, of a selected row.
    fn times(&self, rows: &RowDelta<'_>, at: usize, direction: i64) -> i64 {
        let row = self.selection.rows().map_or(at, |rows| rows[at] as usize);
        rows.sign.saturating_mul(rows.batch.multiplicity(row)) * direction
    }

    /// Checks that there is memory for the copies: each is a row of its own.
    fn check_memory(&self, rows: &RowDelta<'_>, width: usize) -> Result<()> {
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
            instead: "insert each row once, with a column that counts its copies, and draw with weight=",
        })
    }

    /// Inserts rows, in batches between which an interrupt is heard.
    fn insert(&mut self, rows: &RowDelta<'_>, width: usize, budget: &Budget<'_>) -> Result<()> {
        // Deleted results are replaced before inserts; here an interrupt is heard.
        self.sample.prepare(budget)?;
        self.check_memory(rows, width)?;
        let mut words = std::mem::take(&mut self.rows);
        words.clear();
        let mut count = 0;
        let mut done = Ok(());
        'rows: for at in 0..self.selection.len() {
            for _ in 0..self.times(rows, at, 1) {
                words.extend(self.columns[..width].iter().map(|column| column[at]));
                count += 1;
                if count == BATCH {
                    done = self.flush(rows.atom, &words, count, budget);
                    words.clear();
                    count = 0;
                }
                if done.is_err() {
                    break 'rows;
                }
            }
        }
        let done = done.and_then(|()| self.flush(rows.atom, &words, count, budget));
        self.rows = words;
        done
    }

    fn flush(
        &mut self,
        atom: usize,
        words: &[u64],
        count: usize,
        budget: &Budget<'_>,
    ) -> Result<()> {
        budget.work(count as u64)?;
        self.sample.insert_all(atom, words, count, budget)
    }

    fn delete(&mut self, atom: usize, width: usize, at: usize, budget: &Budget<'_>) -> Result<()> {
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

/// Evaluates a predicate for each of the selected rows, as words.
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
