//! Where the entries of groups start, for reading rows out of order.
//!
//! Invariant: for each group that was asked for, the number of rows before each of its entries. Made
//! when a group is first asked for, O(entries); a look-up is a binary search. Forgotten when the view
//! changes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ringview_core::Result;
use ringview_relation::Part;

use super::reader::count;

/// Groups with fewer entries are walked.
const FEW: usize = 16;

/// The entry of a group that row `row` belongs to (or one before it), and the rows before it.
pub(crate) fn seek(
    starts: &mut Option<Starts>,
    at: (usize, u32),
    part: &Part,
    slots: &[u32],
    row: u64,
) -> Result<(usize, u64)> {
    match starts {
        Some(starts) if row > 0 => starts.seek(at, part, slots, row),
        _ => Ok((0, 0)),
    }
}

/// By union and group: the rows before each entry.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    of: HashMap<(usize, u32), Vec<u64>>,
}

impl Starts {
    /// The entry of a group that has a row, and the rows before that entry.
    fn seek(
        &mut self,
        group: (usize, u32),
        part: &Part,
        slots: &[u32],
        row: u64,
    ) -> Result<(usize, u64)> {
        if slots.len() < FEW {
            return Ok((0, 0));
        }
        let starts = match self.of.entry(group) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let mut starts = Vec::with_capacity(slots.len());
                let mut before = 0u64;
                for &slot in slots {
                    starts.push(before);
                    before = before.saturating_add(count(part, slot)?);
                }
                place.insert(starts)
            }
        };
        let entry = starts.partition_point(|&start| start <= row).max(1) - 1;
        Ok((entry, starts.get(entry).copied().unwrap_or(0)))
    }

    pub(crate) fn clear(&mut self) {
        self.of = HashMap::new();
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let entry = size_of::<((usize, u32), Vec<u64>)>() + 1;
        let bytes = |starts: &Vec<u64>| starts.capacity() * size_of::<u64>();
        self.of.capacity() * entry + self.of.values().map(bytes).sum::<usize>()
    }
}
