//! What the words of a feed of changes mean.
//!
//! Invariant: a word that is not known is refused with its row, never taken for another.
//! Cost: O(rows); a word is looked at once a chunk.

use arrow_array::RecordBatch;
use ringview_core::{Batch, Dictionary, Encoder, Error, Field, Result, Schema, Type};
use ringview_relation::Action;

/// By action: the words of SQL, of Debezium, of Flink's changelogs and of Delta's change feed. What
/// comes as the new half of a pair, or may come again, takes the place of what is there.
const WORDS: [(Action, &[&str]); 4] = [
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

/// What each row does, by the texts in the only column of `words`; the first is row `first`.
pub(crate) fn actions(table: &str, words: &RecordBatch, first: usize) -> Result<Vec<Action>> {
    let name = words.schema_ref().field(0).name().clone();
    let schema = Schema::new(vec![Field::new(&name, Type::Utf8, true)])?;
    let (mut texts, mut batch) = (Dictionary::new(), Batch::new());
    Encoder::new(table, &schema).encode(words, first, &[true], &mut texts, None, &mut batch)?;
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
        let word = column.words[row];
        known[word as usize].ok_or_else(|| wrong(row, format!("{:?}", texts.text(word as u32))))
    };
    (0..batch.rows).map(of_row).collect()
}

fn action(word: &str) -> Option<Action> {
    let has = |(_, words): &&(Action, &[&str])| words.iter().any(|w| w.eq_ignore_ascii_case(word));
    WORDS.iter().find(has).map(|(action, _)| *action)
}
