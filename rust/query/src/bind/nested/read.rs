//! Which columns a condition reads, of its own query, of those around and of those within.
//!
//! Invariant: whatever is read of an atom's rows is told, each atom by its number. Cost: linear in the condition,
//! times its depth.

use std::ops::Range;

use super::{Aggregate, Column, Nested, Where};

/// Calls `see` with the number of an atom and the position of a column, for all that the condition of a query over
/// the atoms of these numbers reads.
pub(crate) fn each_read(condition: &Where, atoms: Range<usize>, see: &mut dyn FnMut(usize, usize)) {
    walk(condition, &[], &mut vec![atoms], see);
}

fn walk(
    condition: &Where,
    aggregates: &[Aggregate],
    around: &mut Vec<Range<usize>>,
    see: &mut dyn FnMut(usize, usize),
) {
    let mut mark = |column: Column| {
        let query = around.len().checked_sub(1 + column.depth);
        if let Some(query) = query {
            see(around[query].start + column.atom, column.column);
        }
    };
    condition.each_column(&mut mark);
    for value in aggregates.iter().filter_map(Aggregate::argument) {
        value.each_column(&mut mark);
    }
    let mut within: Vec<&Nested> = Vec::new();
    condition.each_query(&mut |query| within.push(query));
    for query in within {
        around.push(query.atoms.clone());
        walk(&query.condition, &query.aggregates, around, see);
        around.pop();
    }
}
