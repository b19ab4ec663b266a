//! The keys and payloads of a root while a transaction runs.
//!
//! Invariant: they are those before the transaction or the current ones, as the caller chooses. Cost: O(keys), and the
//! changes for those before it.

use std::collections::HashMap;

use ringview_relation::{ABSENT, KeyScratch, KeyedTable, Keys, SlotChange};
use ringview_view::answer::values::When;

/// The keys of a root that the running transaction touched, column by column, and how many.
pub(crate) fn keys_of(table: &KeyedTable) -> (Vec<Vec<u64>>, usize) {
    let slots = table.changes().map(|change| match change {
        SlotChange::New(slot) | SlotChange::Was(slot, _) => slot,
    });
    let slots: Vec<u32> = slots.collect();
    let column = |field| slots.iter().map(|&slot| table.field(slot, field)).collect();
    (
        (0..table.layout().fields()).map(column).collect(),
        slots.len(),
    )
}

/// The payloads of some keys of a root: as they were before the running transaction, or as they are.
pub(crate) fn payloads_of<'a>(
    root: &'a KeyedTable,
    keys: &[Vec<u64>],
    rows: usize,
    when: When<'_>,
) -> Vec<Option<&'a [u64]>> {
    let mut before = HashMap::new();
    let changes = matches!(when, When::Before).then(|| root.changes());
    for change in changes.into_iter().flatten() {
        // The first change of a slot has its payload before the transaction.
        match change {
            SlotChange::New(slot) => before.entry(slot).or_insert(None),
            SlotChange::Was(slot, payload) => before.entry(slot).or_insert(Some(payload)),
        };
    }
    let fields: Vec<usize> = (0..keys.len()).collect();
    let keys = Keys {
        columns: keys,
        fields: &fields,
        rows,
    };
    let mut slots = Vec::new();
    root.find(keys, &mut KeyScratch::default(), &mut slots);
    let payload = |slot: &u32| match before.get(slot) {
        Some(was) => *was,
        None => (*slot != ABSENT).then(|| root.payload(*slot)),
    };
    slots.iter().map(payload).collect()
}
