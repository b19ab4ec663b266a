//! Rows for the values of lists.
//!
//! Invariant: a row has as many rows as its longest list has values, none where all are empty or NULL. Cost: O(rows that
//! are made).

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::take::take;
use ringview_core::Result;

use crate::codec::refused;

/// Unnests the lists among some columns: each value makes a row, and the other columns repeat. Returns the multiplicity
/// of each new row.
pub(crate) fn unnested(
    columns: &mut [ArrayRef],
    lists: &[usize],
    multiplicity: Vec<i64>,
) -> Result<Vec<i64>> {
    if lists.is_empty() {
        return Ok(multiplicity);
    }
    let length = |at: usize, row: usize| {
        let list = columns[at].as_list::<i32>();
        let is_there = list.is_valid(row);
        if is_there {
            list.value_length(row) as usize
        } else {
            0
        }
    };
    let lengths: Vec<Vec<usize>> = lists
        .iter()
        .map(|&at| (0..multiplicity.len()).map(|row| length(at, row)).collect())
        .collect();
    let longest = |row: usize| lengths.iter().map(|of| of[row]).max().unwrap_or(0);
    let mut rows: Vec<(u32, usize)> = Vec::new();
    for row in 0..multiplicity.len() {
        rows.extend((0..longest(row)).map(|place| (row as u32, place)));
    }
    let repeated = UInt32Array::from_iter_values(rows.iter().map(|(row, _)| *row));
    for (at, column) in columns.iter_mut().enumerate() {
        *column = match lists.iter().position(|&list| list == at) {
            None => take(column, &repeated, None).map_err(refused)?,
            Some(number) => {
                let list = column.as_list::<i32>();
                let starts = list.value_offsets();
                let value = |&(row, place): &(u32, usize)| {
                    let row = row as usize;
                    (place < lengths[number][row]).then(|| starts[row] as u32 + place as u32)
                };
                let places: UInt32Array = rows.iter().map(value).collect();
                take(list.values(), &places, None).map_err(refused)?
            }
        };
    }
    Ok(rows
        .iter()
        .map(|(row, _)| multiplicity[*row as usize])
        .collect())
}
