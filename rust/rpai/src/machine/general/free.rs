//! Free maps (paper, section 4.2): the aggregates of a block for each requested binding of its free columns.
//!
//! Invariant: one that streams is maintained by deltas: an inserted row is added where the binding's
//! condition holds for it (figure 6 of the paper). Cost: O(bindings with the row's own values) a
//! row.

use std::collections::BTreeMap;

use ringview_core::Result;

use crate::machine::general::accumulator::{Accumulator, take};
use crate::machine::query::{
    Binding, Block, Cell, Column, Comparison, Condition, Frame, Row, Value, holds_for,
};

/// The aggregates of a block by binding.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeMap {
    /// As in the outer block; those that own columns must equal first.
    pub(crate) columns: Vec<Column>,
    /// The columns that must equal the first of those.
    pub(crate) equal: Vec<usize>,
    pub(crate) tables: Vec<usize>,
    /// Whether it is maintained by deltas.
    pub(crate) streams: bool,
    pub(crate) entries: BTreeMap<Row, Vec<Accumulator>>,
    /// Results of the block's selector, until one of its tables changes.
    pub(crate) memo: BTreeMap<Row, Cell>,
}

/// The least double that several integers may equal.
const EXACT: f64 = (1u64 << 53) as f64;

/// Updates the free map of a block by a row; returns how many bindings it reached.
pub(crate) fn maintain(
    block: &Block,
    map: &mut FreeMap,
    change: (usize, &Row, i64),
) -> Result<usize> {
    let (table, row, times) = change;
    if !map.streams || !map.tables.contains(&table) {
        return Ok(0);
    }
    let (columns, mut touched) = (&map.columns, 0);
    let first: Row = map.equal.iter().map(|&column| row[column]).collect();
    // Beyond 2^53 several exact numbers equal a double, and equal bindings need not be adjacent.
    let is_great = |cell: &Cell| cell.0.is_some_and(|number| number.real().abs() >= EXACT);
    let apart = first.len() > 1 && first.iter().any(is_great);
    let from = if apart { Row::new() } else { first.clone() };
    let alike = map.entries.range_mut(from..);
    for (cells, all) in alike.take_while(|(cells, _)| apart || cells.starts_with(&first)) {
        if !cells.starts_with(&first) {
            continue;
        }
        touched += 1;
        let binding = Binding { columns, cells };
        let frame = Frame {
            rows: vec![Some(row)],
            outer: Some(&binding),
        };
        // It has no block, so nothing has to be evaluated.
        if holds_for(&block.condition, &frame)? {
            take(block, all, &frame, i128::from(times))?;
        }
    }
    Ok(touched)
}

/// A column of the one relation that must equal one of the outer block.
pub(crate) fn equality(one: &Condition) -> Option<(usize, Column)> {
    let Condition::Compare(Value::Column(a), Comparison::Eq, Value::Column(b)) = one else {
        return None;
    };
    let (own, free) = match (a.depth, b.depth) {
        (0, 1..) => (a, b),
        (1.., 0) => (b, a),
        _ => return None,
    };
    let depth = free.depth - 1;
    (own.relation == 0).then_some((own.column, Column { depth, ..*free }))
}
