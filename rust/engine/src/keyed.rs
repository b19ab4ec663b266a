//! Changes by the unique key of a table: upserts, updates, deletes, and rows that say what they do.
//!
//! Invariant: rows act in their order, each on what those before it left; a key is never NULL.
//! Cost: one look-up a row for the base rows, which tell what went and what came; the views take both
//! as one delta. A row that is replaced by its equal moves nothing.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Budget, Dictionary, Encoder, Error, Field, Result, Schema};
use ringview_relation::{Action, Actions, KeyedDelta};
use ringview_view::RowDelta;

use crate::database::Database;
use crate::factors::columns_of;
use crate::op::{Direction, Op};
use crate::table::Table;
use crate::transaction::chunks;
use crate::undo::Undo;
use crate::words;

/// A change of rows by the unique key of their table.
#[derive(Clone, Copy, Debug)]
pub struct Keyed<'a> {
    /// The table.
    pub table: &'a str,
    /// What the rows do.
    pub by: ByKey<'a>,
    /// The rows; columns are matched by name.
    pub rows: &'a [RecordBatch],
}

/// What rows do by their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByKey<'a> {
    /// Whole rows come, each in the place of the one that has its key if there is one.
    Upsert,
    /// Each takes the place of the one that has its key; columns that are not given stay.
    Update,
    /// The columns of the key alone: the rows that have it go.
    Delete,
    /// Whole rows, and a further column of words that say what each does; those that delete need no
    /// more than their key.
    Words(&'a str),
}

impl ByKey<'_> {
    fn name(self) -> &'static str {
        match self {
            ByKey::Upsert => "an upsert",
            ByKey::Update => "an update",
            ByKey::Delete => "a delete by key",
            ByKey::Words(_) => "a change by words",
        }
    }
}

/// How rows of one Arrow schema are read; kept from batch to batch, as they mostly have the same.
#[derive(Debug)]
pub(crate) struct KeyReader {
    arrow: SchemaRef,
    /// The column of words.
    words: Option<String>,
    /// Which columns of the table are given.
    columns: Vec<usize>,
    /// Those of them, any of which may be NULL as far as the encoder is concerned.
    encoder: Encoder,
    /// Beside the words: where the columns stand in the data, and their schema.
    kept: Option<(Vec<usize>, SchemaRef)>,
}

impl KeyReader {
    fn new(table: &Table, by: ByKey<'_>, arrow: &SchemaRef) -> Result<KeyReader> {
        let words = match by {
            ByKey::Words(name) => Some(name),
            _ => None,
        };
        let columns = columns_of(table, arrow, words)?;
        let field = |&column: &usize| Field {
            nullable: true,
            ..table.schema.fields()[column].clone()
        };
        let own = Schema::new(columns.iter().map(field).collect())?;
        let kept = match words {
            None => None,
            Some(name) => Some(beside(table, arrow, name)?),
        };
        Ok(KeyReader {
            arrow: arrow.clone(),
            words: words.map(str::to_owned),
            columns,
            encoder: Encoder::new(&table.name, &own),
            kept,
        })
    }

    fn serves(&self, by: ByKey<'_>, arrow: &SchemaRef) -> bool {
        let words = match by {
            ByKey::Words(name) => Some(name),
            _ => None,
        };
        SchemaRef::ptr_eq(&self.arrow, arrow) && self.words.as_deref() == words
    }

    /// Refills `into` with rows and tells what each of them does, if they say it themselves.
    fn read(
        &mut self,
        table: &str,
        rows: &RecordBatch,
        first: usize,
        dict: &mut Dictionary,
        into: &mut Batch,
    ) -> Result<Option<Vec<Action>>> {
        let needed = vec![true; self.columns.len()];
        let (Some(name), Some((kept, schema))) = (&self.words, &self.kept) else {
            self.encoder
                .encode(rows, first, &needed, dict, None, into)?;
            return Ok(None);
        };
        let arrow = |problem: arrow_schema::ArrowError| Error::Value {
            place: format!("the rows of table {table:?}"),
            problem: problem.to_string(),
        };
        let at = rows.schema_ref().index_of(name).map_err(arrow)?;
        let actions = words::actions(table, &rows.project(&[at]).map_err(arrow)?, first)?;
        let arrays = kept.iter().map(|&at| rows.column(at).clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let rows = RecordBatch::try_new_with_options(schema.clone(), arrays, &options);
        let rows = rows.map_err(arrow)?;
        self.encoder
            .encode(&rows, first, &needed, dict, None, into)?;
        Ok(Some(actions))
    }
}

/// Where the columns stand that are not the words, and their schema.
fn beside(table: &Table, arrow: &SchemaRef, name: &str) -> Result<(Vec<usize>, SchemaRef)> {
    let wrong = |problem: &str| Error::Value {
        place: format!("column {name:?} of table {:?}", table.name),
        problem: problem.to_owned(),
    };
    if table.schema.index_of(name).is_ok() {
        let problem = "belongs to the rows; give the words that say what they do another";
        return Err(wrong(problem));
    }
    let fields = arrow.fields().iter();
    let kept: Vec<usize> = (0..fields.len())
        .filter(|&at| arrow.field(at).name() != name)
        .collect();
    if kept.len() == fields.len() {
        return Err(wrong(
            "is missing from the data; it was to say what each row does",
        ));
    }
    let schema = arrow.project(&kept).map_err(|error| Error::Value {
        place: format!("the rows of table {:?}", table.name),
        problem: error.to_string(),
    })?;
    Ok((kept, SchemaRef::new(schema)))
}

/// The columns that a change needs are given, and no others.
fn check_columns(table: &Table, by: ByKey<'_>, columns: &[usize]) -> Result<()> {
    let key = table.unique.as_deref().unwrap_or_default();
    let lacks = |column: &usize| !columns.contains(column);
    let missing = |column: usize, problem: &str| Error::Value {
        place: table.place_of(column),
        problem: format!("is missing from the data; {problem}"),
    };
    if let Some(column) = key.iter().copied().find(lacks) {
        let problem = "it is of the unique key, by which rows are found";
        return Err(missing(column, problem));
    }
    let other = (0..table.schema.len()).find(lacks);
    match (by, other) {
        (ByKey::Upsert, Some(column)) => Err(missing(
            column,
            "an upsert gives whole rows; an update changes some columns of rows that are there",
        )),
        (ByKey::Words(_), Some(column)) => Err(missing(
            column,
            "a feed gives whole rows, NULLs where a delete has nothing but the key",
        )),
        (ByKey::Delete, _) if columns.len() > key.len() => Err(Error::Value {
            place: format!("rows to delete from table {:?}", table.name),
            problem: format!(
                "they have the unique key and some other columns; give the key ({}) alone, and \
                 whatever row has it goes, or every column, and that very row goes",
                table.names(key)
            ),
        }),
        _ => Ok(()),
    }
}

/// Whether a delete gives the columns of the key alone.
pub(crate) fn names_keys(table: &Table, op: &Op<'_>) -> Result<bool> {
    let Some(rows) = op.rows.first() else {
        return Ok(false);
    };
    let others = usize::from(op.multiplicity.is_some());
    let given = rows.num_columns().saturating_sub(others);
    if op.direction == Direction::Insert || given >= table.schema.len() {
        return Ok(false);
    }
    let columns = columns_of(table, rows.schema_ref(), op.multiplicity)?;
    let Some(missing) = (0..table.schema.len()).find(|column| !columns.contains(column)) else {
        return Ok(false);
    };
    if table.unique.is_none() {
        return Err(Error::Value {
            place: table.place_of(missing),
            problem: "is missing from the data; a delete gives rows as they are there, with every \
                      column; declare the table with `unique` to delete by the key alone"
                .to_owned(),
        });
    }
    match op.multiplicity {
        None => Ok(true),
        Some(name) => Err(Error::Value {
            place: format!("column {name:?} of table {:?}", table.name),
            problem: "a row with a unique key is there once; multiplicities go with whole rows"
                .to_owned(),
        }),
    }
}

impl Database {
    /// Applies rows by their key.
    pub(crate) fn run_keyed(
        &mut self,
        (index, by, rows): (usize, ByKey<'_>, &[RecordBatch]),
        undo: &mut Undo,
        batch: &mut Batch,
        budget: &Budget<'_>,
    ) -> Result<()> {
        self.tables[index].check_findable(by.name())?;
        let (mut moved, mut delta) = (KeyedDelta::default(), Batch::new());
        for (first, chunk) in chunks(rows) {
            let actions = self.read_by_key(index, by, &chunk, first, batch)?;
            let actions = match (&actions, by) {
                (Some(actions), _) => Actions::Each(actions),
                (None, ByKey::Delete) => Actions::All(Action::Delete),
                (None, ByKey::Update) => Actions::All(Action::Update),
                (None, _) => Actions::All(Action::Upsert),
            };
            let table = &mut self.tables[index];
            let Some(store) = &mut table.rows else {
                return Ok(());
            };
            store.change_by_key(batch, actions, &self.dictionary, &mut moved)?;
            // What a row that deletes says beside its key, nobody holds.
            undo.words_left += table.texts * (batch.rows + moved.len());
            if !moved.is_empty() && !table.readers.is_empty() {
                let sign = store.read_moved(&moved, &table.read, &mut delta);
                for reader in &table.readers {
                    undo.touched[reader.view] = true;
                    let rows = RowDelta {
                        atom: reader.atom,
                        batch: &delta,
                        sign,
                        dictionary: &self.dictionary,
                    };
                    let view = &mut self.views[reader.view];
                    let place = |row| first as u64 + u64::from(moved.origin(row as usize));
                    view.apply(rows, budget)
                        .map_err(|error| error.counted_by(place))?;
                }
            }
            self.done(chunk.num_rows(), budget)?;
        }
        Ok(())
    }

    /// Encodes rows, and what each of them does if they say it themselves.
    fn read_by_key(
        &mut self,
        index: usize,
        by: ByKey<'_>,
        rows: &RecordBatch,
        first: usize,
        into: &mut Batch,
    ) -> Result<Option<Vec<Action>>> {
        let table = &mut self.tables[index];
        let mut reader = match table.by_key.take() {
            Some(reader) if reader.serves(by, rows.schema_ref()) => reader,
            _ => KeyReader::new(table, by, rows.schema_ref())?,
        };
        check_columns(table, by, &reader.columns)?;
        let actions = reader.read(&table.name, rows, first, &mut self.dictionary, into)?;
        if reader.columns.len() < table.schema.len() {
            let mut placed = vec![None; table.schema.len()];
            for (&column, values) in reader.columns.iter().zip(into.columns.drain(..)) {
                placed[column] = values;
            }
            into.columns = placed;
        }
        table.by_key = Some(reader);
        table.check_nulls(into, actions.as_deref(), first as u64)?;
        Ok(actions)
    }
}

impl Table {
    /// Rows can be found by their key.
    fn check_findable(&self, what: &str) -> Result<()> {
        let refused = |why: &str, instead: &str| Error::Unsupported {
            what: format!("{what} of table {:?}", self.name),
            why: why.to_owned(),
            instead: instead.to_owned(),
        };
        if self.unique.is_none() {
            return Err(refused(
                "it has no unique key by which a row could be found",
                "declare it with `unique`, or delete the old rows and insert the new ones",
            ));
        }
        if self.rows.is_none() {
            return Err(refused(
                "with trust_deletes rows are not kept, so none can be found by its key",
                "create the database without trust_deletes, or delete and insert whole rows",
            ));
        }
        Ok(())
    }

    /// No key is NULL, and no value that must not be, in rows that do not go.
    fn check_nulls(&self, batch: &Batch, actions: Option<&[Action]>, first: u64) -> Result<()> {
        let key = self.unique.as_deref().unwrap_or_default();
        for (column, field) in self.schema.fields().iter().enumerate() {
            let values = batch.columns[column].as_ref();
            let Some(valid) = values.and_then(|values| values.valid.as_ref()) else {
                continue;
            };
            let of_key = key.contains(&column);
            let stays = |row: usize| actions.is_none_or(|all| all[row] != Action::Delete);
            let wrong = |row: &usize| !valid[*row] && (of_key || (!field.nullable && stays(*row)));
            let Some(row) = (0..batch.rows).find(wrong) else {
                continue;
            };
            let (table, column) = (self.name.clone(), field.name.clone());
            let row = first + row as u64;
            return Err(if of_key {
                Error::NullKey { table, column, row }
            } else {
                Error::Null { table, column, row }
            });
        }
        Ok(())
    }

    fn place_of(&self, column: usize) -> String {
        let name = &self.schema.fields()[column].name;
        format!("column {name:?} of table {:?}", self.name)
    }

    fn names(&self, columns: &[usize]) -> String {
        let name = |&column: &usize| self.schema.fields()[column].name.as_str();
        columns.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}
