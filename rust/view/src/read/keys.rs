//! Rows as keys: what the columns of a batch are to the fields of a key.
//!
//! Invariant: a word a selected row, in the order of the rows. Cost: O(rows) a field.

use ringview_core::Column;

use super::Selection;
use crate::fields::Aspect;

/// Appends what a field holds of the selected rows of a column.
pub fn key_column(aspect: Aspect, column: &Column, selection: &Selection, out: &mut Vec<u64>) {
    let rows = selection.rows();
    match aspect {
        Aspect::Word => pick(rows, &column.words, |&word| word, out),
        Aspect::High => pick(rows, &column.high, |&word| word, out),
        Aspect::Null => match &column.valid {
            Some(valid) => pick(rows, valid, |&valid| u64::from(!valid), out),
            None => out.resize(selection.len(), 0),
        },
    }
}

/// Appends the values of the rows named, or of all.
fn pick<T>(rows: Option<&[u32]>, from: &[T], word: impl Fn(&T) -> u64, out: &mut Vec<u64>) {
    match rows {
        None => out.extend(from.iter().map(word)),
        Some(rows) => out.extend(rows.iter().map(|&row| word(&from[row as usize]))),
    }
}
