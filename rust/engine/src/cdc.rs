//! Operations of change data capture (CDC), and their actions on rows.
//!
//! Invariant: an unknown operation is refused with its row, never taken for another.
//! Cost: O(rows); each distinct operation is parsed once a chunk.

use arrow_array::RecordBatch;
use ringview_core::{Batch, Dictionary, Encoder, Error, Field, Result, Schema, Type};
use ringview_relation::Action;

/// By action: its names in SQL, Debezium, Flink changelogs and the change data feed of Delta. The new half of a
/// pair, and a row that may be delivered again, replace the row of their key.
const OPERATIONS: [(Action, &[&str]); 4] = [
    (Action::Insert, &["insert", "i", "+i", "create", "c"]),
    (
        Action::Upsert,
        &["upsert", "read", "r", "+u", "update_postimage"],
    ),
    (Action::Update, &["update", "u"]),
    (
        Action::Delete,
        &["delete", "d", "-d", "-u", "update_preimage"],
    ),
];

/// The action of each row, from the only column of `operations`; the first is row `first`.
pub(crate) fn actions(table: &str, operations: &RecordBatch, first: usize) -> Result<Vec<Action>> {
    let name = operations.schema_ref().field(0).name().clone();
    let schema = Schema::new(vec![Field::new(&name, Type::Utf8, true)])?;
    let (mut texts, mut batch) = (Dictionary::new(), Batch::new());
    Encoder::new(table, &schema).encode(
        operations,
        first,
        &[true],
        &mut texts,
        None,
        &mut batch,
    )?;
    let known: Vec<Option<Action>> = (0..texts.len() as u32)
        .map(|id| action(texts.text(id)))
        .collect();
    let column = batch.column(0);
    let wrong = |row: usize, found: String| Error::Value {
        place: format!("row {}, column {name:?} of table {table:?}", first + row),
        problem: format!(
            "{found} is no change; write insert, update, upsert or delete (or I, U, D; +I, -U, +U, \
             -D; c, u, d, r)"
        ),
    };
    let of_row = |row: usize| {
        if column.is_null(row) {
            return Err(wrong(row, "NULL".to_owned()));
        }
        let id = column.words[row] as u32;
        known[id as usize].ok_or_else(|| wrong(row, format!("{:?}", texts.text(id))))
    };
    (0..batch.rows).map(of_row).collect()
}

fn action(operation: &str) -> Option<Action> {
    let has = |(_, operations): &&(Action, &[&str])| {
        operations.iter().any(|w| w.eq_ignore_ascii_case(operation))
    };
    OPERATIONS.iter().find(has).map(|(action, _)| *action)
}
