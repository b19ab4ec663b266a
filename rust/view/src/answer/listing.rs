//! Rows of a join kept as a listing: one key a distinct row, its count the row's multiplicity.
//!
//! A relation as a payload (paper, section 7.3) lies flat here: the part of a view is keyed by the
//! view's key and by the payload's columns together, and the count is the payload's multiplicity. So
//! the product of two listing payloads is a join of parts, their sum an addition of counts.

use ringview_core::{Error, Result, available};

use super::rows::ResultRows;

/// Multiplicity of a row, by its payload.
fn multiplicity(payload: &[u64]) -> i64 {
    payload[0] as i64
}

/// Number of rows, each counted by its multiplicity.
///
/// # Errors
/// `Value` if trusted deletes took what was not there.
pub fn len(payloads: impl Iterator<Item = i64>) -> Result<u64> {
    let mut rows = 0i64;
    for count in payloads {
        let sum = rows.checked_add(count).filter(|_| count > 0);
        rows = sum.ok_or_else(|| Error::Value {
            place: "the rows of a join".to_owned(),
            problem: "there are more than 2^63, or rows were deleted that were not there"
                .to_owned(),
        })?;
    }
    Ok(rows as u64)
}

/// Each row as often as it is there.
///
/// # Errors
/// As `len`; `Memory` for more than there is room for.
pub fn repeated(rows: &ResultRows) -> Result<ResultRows> {
    let counts = || rows.payloads().map(multiplicity);
    check_size(len(counts())?, rows.columns.len())?;
    let mut all = ResultRows::new(rows.columns.len(), 0);
    for (column, words) in all.columns.iter_mut().zip(&rows.columns) {
        for (&word, count) in words.iter().zip(counts()) {
            column.extend(std::iter::repeat_n(word, count as usize));
        }
    }
    all.rows = counts().map(|count| count as usize).sum();
    Ok(all)
}

/// Refuses what would not fit into memory as one table: of 2^32 rows, or larger than the machine.
///
/// # Errors
/// `Memory`.
pub fn check_size(rows: u64, columns: usize) -> Result<()> {
    let needed = rows.saturating_mul(8 * columns.max(1) as u64);
    let limit = match rows {
        ..MANY => return Ok(()),
        MANY..MOST => available().unwrap_or(u64::MAX),
        MOST.. => 8 * MOST,
    };
    if rows < MOST && needed <= limit {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!("a table of {rows} rows"),
        needed,
        limit,
        instead: "read the rows as a stream, or some of them",
    })
}

/// Number of rows from which on the machine's memory is checked.
const MANY: u64 = 1 << 24;
const MOST: u64 = 1 << 32;
