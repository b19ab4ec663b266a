//! A definition or a change as bytes, and back.
//!
//! Invariant: what is read is what was written, whatever the caller's memory became since: a change is written
//! first, and what was written is what is applied. Cost: O(bytes of the rows), copied once as Arrow IPC.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use ringview_core::{Error, Result, Schema};
use ringview_engine::{
    Alteration, ByKey, Change, Direction, KeepFor, Keyed, Op, Product, ProductFactor,
};
use serde::{Deserialize, Serialize};

use crate::applied::{Applied, BatchId};
use crate::definition::Stored;
use crate::unread::damaged;

/// Rows of a part: few enough to be copied in one piece.
pub(crate) const PART: usize = 1 << 16;

/// Bytes of a part of a sample's state.
const SAMPLE_PART: usize = 1 << 24;

/// Kind of a record, with its data but for rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Entry {
    Table(TableDefinition),
    DropTable(String),
    /// The columns of a table change; a part has the value of an added column.
    Alter {
        table: String,
        change: Alteration,
    },
    /// In the place of the view of its name, if there is one.
    View(Box<Stored>),
    DropView(String),
    Changes {
        net: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<BatchId>,
        steps: Vec<Step>,
    },
    Applied(Applied),
    /// The state of a sample over the rows that are there by then.
    Sample(String),
}

/// Definition of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDefinition {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub schema: Schema,
    /// The columns of which no two rows agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique: Option<Vec<String>>,
    /// Whether it stays as it is once a view reads it.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// Time for which rows stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_for: Option<KeepFor>,
}

/// One change of a transaction, but for rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) table: String,
    pub(crate) how: How,
    /// The rows; the factors of a product.
    pub(crate) rows: Vec<Rows>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    Insert,
    Delete,
    InsertProduct,
    DeleteProduct,
    Upsert,
    Update,
    DeleteByKey,
    #[serde(rename = "words")]
    Cdc(String),
    /// The clock advances to a moment; of no table.
    Advance(i64),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rows {
    /// Of how many of the record's parts.
    parts: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) multiplicity: Option<String>,
}

/// An entry with its rows, each part an Arrow stream of one batch.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) entry: Entry,
    pub(crate) parts: Vec<Buffer>,
}

impl From<Entry> for Record {
    fn from(entry: Entry) -> Self {
        Self {
            entry,
            parts: Vec::new(),
        }
    }
}

impl Record {
    /// A transaction.
    pub(crate) fn changes(changes: &[Change<'_>], net: bool, id: Option<BatchId>) -> Result<Self> {
        let mut parts = Vec::new();
        let steps = changes
            .iter()
            .map(|change| Step::write(change, &mut parts))
            .collect::<Result<_>>()?;
        Ok(Self {
            entry: Entry::Changes { net, id, steps },
            parts,
        })
    }

    /// Whether it is a transaction without changes.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.entry, Entry::Changes { steps, .. } if steps.is_empty())
    }

    /// The identity of a transaction, if it has one, and whether its net effect counts.
    pub(crate) fn identity(&self) -> (Option<&BatchId>, bool) {
        match &self.entry {
            Entry::Changes { net, id, .. } => (id.as_ref(), *net),
            _ => (None, false),
        }
    }

    /// Whether what it may do hangs on rows that have left with time by then: time passes in it, or it takes rows from a
    /// table whose rows leave.
    pub(crate) fn depends_on_time(&self, leaves: impl Fn(&str) -> bool) -> bool {
        let Entry::Changes { steps, .. } = &self.entry else {
            return false;
        };
        steps.iter().any(|step| match step.how {
            How::Advance(_) => true,
            // A multiplicity may be negative.
            How::Insert if step.rows.iter().all(|rows| rows.multiplicity.is_none()) => false,
            _ => leaves(&step.table),
        })
    }

    /// A change of the columns of a table.
    pub(crate) fn alter(
        table: &str,
        change: &Alteration,
        value: Option<&RecordBatch>,
    ) -> Result<Self> {
        let mut parts = Vec::new();
        if let Some(value) = value {
            write_rows(table, std::slice::from_ref(value), &mut parts)?;
        }
        Ok(Self {
            entry: Entry::Alter {
                table: table.to_owned(),
                change: change.clone(),
            },
            parts,
        })
    }

    /// The rows of its first part, if it has any.
    pub(crate) fn first_rows(&self) -> Result<Option<RecordBatch>> {
        self.parts.first().map(read_part).transpose()
    }

    /// State of a sample: its rows and random numbers.
    pub(crate) fn sample(name: &str, state: Vec<u8>) -> Self {
        let parts = state.chunks(SAMPLE_PART).map(Buffer::from).collect();
        Self {
            entry: Entry::Sample(name.to_owned()),
            parts,
        }
    }

    /// The moment that a database is at.
    pub(crate) fn clock(now: i64) -> Result<Self> {
        Self::changes(&[Change::Advance(now)], false, None)
    }

    /// Rows inserted in a table, with multiplicities in one of their columns.
    pub(crate) fn insert(table: &str, rows: &RecordBatch, multiplicity: &str) -> Result<Self> {
        let insert = Change::Rows(Op {
            table,
            direction: Direction::Insert,
            rows: std::slice::from_ref(rows),
            multiplicity: Some(multiplicity),
        });
        Self::changes(&[insert], false, None)
    }
}

impl Step {
    fn write(change: &Change<'_>, parts: &mut Vec<Buffer>) -> Result<Self> {
        let mut write = |table: &str, rows, multiplicity: Option<&str>| {
            Ok(Rows {
                parts: write_rows(table, rows, parts)?,
                multiplicity: multiplicity.map(str::to_owned),
            })
        };
        let (table, how, rows) = match change {
            Change::Rows(op) => {
                let how = match op.direction {
                    Direction::Insert => How::Insert,
                    Direction::Delete => How::Delete,
                };
                (
                    op.table,
                    how,
                    vec![write(op.table, op.rows, op.multiplicity)?],
                )
            }
            Change::Product(product) => {
                let how = match product.direction {
                    Direction::Insert => How::InsertProduct,
                    Direction::Delete => How::DeleteProduct,
                };
                let factors = product.factors.iter();
                let factors =
                    factors.map(|factor| write(product.table, factor.rows, factor.multiplicity));
                (product.table, how, factors.collect::<Result<_>>()?)
            }
            Change::Advance(to) => ("", How::Advance(*to), Vec::new()),
            Change::Keyed(keyed) => {
                let how = match keyed.by {
                    ByKey::Upsert => How::Upsert,
                    ByKey::Update => How::Update,
                    ByKey::Delete => How::DeleteByKey,
                    ByKey::Cdc(column) => How::Cdc(column.to_owned()),
                };
                (
                    keyed.table,
                    how,
                    vec![write(keyed.table, keyed.rows, None)?],
                )
            }
        };
        Ok(Self {
            table: table.to_owned(),
            how,
            rows,
        })
    }
}

/// The steps of transactions with their rows.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) steps: Vec<Step>,
    /// By step, by rows: the batches.
    pub(crate) rows: Vec<Vec<Vec<RecordBatch>>>,
}

impl Steps {
    /// Those of records, one after the other; of one that is no transaction, none.
    pub(crate) fn read<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self> {
        let mut all = Self::default();
        for record in records {
            all.add(record)?;
        }
        Ok(all)
    }

    /// Adds those of a record.
    pub(crate) fn add(&mut self, record: &Record) -> Result<()> {
        let Entry::Changes { steps, .. } = &record.entry else {
            return Ok(());
        };
        let mut parts = record.parts.iter();
        let mut batches = |rows: &Rows| {
            let parts = parts.by_ref().take(rows.parts);
            let batches: Vec<_> = parts.map(read_part).collect::<Result<_>>()?;
            match batches.len() == rows.parts {
                true => Ok(batches),
                false => Err(damaged("rows of a change are missing")),
            }
        };
        for step in steps {
            let rows = step.rows.iter().map(&mut batches).collect::<Result<_>>()?;
            self.steps.push(step.clone());
            self.rows.push(rows);
        }
        Ok(())
    }

    /// Hands them to what takes changes.
    pub(crate) fn with<T>(&self, use_them: impl FnOnce(&[Change<'_>]) -> T) -> T {
        let factors: Vec<Vec<ProductFactor<'_>>> = self
            .steps
            .iter()
            .zip(&self.rows)
            .map(|(step, batches)| {
                let factors = step.rows.iter().zip(batches);
                factors
                    .map(|(rows, batches)| ProductFactor {
                        rows: batches,
                        multiplicity: rows.multiplicity.as_deref(),
                    })
                    .collect()
            })
            .collect();
        let changes: Vec<Change<'_>> = self
            .steps
            .iter()
            .zip(&factors)
            .filter_map(|(step, factors)| step.change(factors))
            .collect();
        use_them(&changes)
    }
}

impl Step {
    /// None for what has no rows at all, which no writer makes.
    fn change<'a>(&'a self, factors: &'a [ProductFactor<'a>]) -> Option<Change<'a>> {
        let table = &self.table;
        let direction = match self.how {
            How::Insert | How::InsertProduct => Direction::Insert,
            _ => Direction::Delete,
        };
        let by = match &self.how {
            How::InsertProduct | How::DeleteProduct => {
                return Some(Change::Product(Product {
                    table,
                    direction,
                    factors,
                }));
            }
            How::Advance(to) => return Some(Change::Advance(*to)),
            How::Insert | How::Delete => None,
            How::Upsert => Some(ByKey::Upsert),
            How::Update => Some(ByKey::Update),
            How::DeleteByKey => Some(ByKey::Delete),
            How::Cdc(column) => Some(ByKey::Cdc(column)),
        };
        let &ProductFactor { rows, multiplicity } = factors.first()?;
        Some(match by {
            Some(by) => Change::Keyed(Keyed { table, by, rows }),
            None => Change::Rows(Op {
                table,
                direction,
                rows,
                multiplicity,
            }),
        })
    }
}

/// Writes batches in parts, and returns their number.
fn write_rows(table: &str, rows: &[RecordBatch], parts: &mut Vec<Buffer>) -> Result<usize> {
    let before = parts.len();
    for batch in rows {
        // A batch without rows is a part, too: its names and types are checked.
        for part in 0..batch.num_rows().div_ceil(PART).max(1) {
            let start = part * PART;
            let rows = batch.slice(start, PART.min(batch.num_rows() - start));
            parts.push(write_part(&rows).map_err(|problem| Error::Value {
                place: format!("the rows of table {table:?}"),
                problem: problem.to_string(),
            })?);
        }
    }
    Ok(parts.len() - before)
}

pub(crate) fn write_part(rows: &RecordBatch) -> std::result::Result<Buffer, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
    writer.write(rows)?;
    Ok(Buffer::from(writer.into_inner()?))
}

pub(crate) fn read_part(part: &Buffer) -> Result<RecordBatch> {
    let unreadable = |problem: ArrowError| damaged(&format!("rows of a change: {problem}"));
    let mut rest = part.clone();
    let read = StreamDecoder::new().decode(&mut rest).map_err(unreadable)?;
    read.ok_or_else(|| damaged("rows of a change end too soon"))
}
