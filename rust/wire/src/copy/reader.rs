//! Rows from what a client sends, bit by bit.
//!
//! Invariant: a row is read whole or refused, with its line and its column, and the limits hold before anything is kept. Cost:
//! linear in the bytes; memory for the rows, in the types of their table.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::format::{Format, Header, Limits};
use super::lines::{Lines, Wrong, fields};
use super::store::{Store, utf8};
use super::tuples::Tuples;
use super::value::Bad;
use crate::backend::Failure;

/// Rows of a batch, and bytes that were read for one.
const ROWS: usize = 1 << 16;
const BYTES: usize = 1 << 24;

/// Reads rows of some columns.
#[derive(Debug)]
pub struct Reader {
    schema: SchemaRef,
    stores: Vec<Store>,
    format: Arc<Format>,
    input: Input,
    limits: Limits,
    /// Whether the line of names is yet to be read.
    header: Header,
    /// All bytes and rows, and those of the batch that is gathered.
    bytes: usize,
    rows: usize,
    own_bytes: usize,
    own_rows: usize,
    batches: Vec<RecordBatch>,
    scratch: Vec<u8>,
}

#[derive(Debug)]
enum Input {
    Lines(Lines),
    Tuples(Tuples),
}

/// The problem of a row: the column if it is one's, the SQLSTATE, the message.
struct Refusal(Option<usize>, &'static str, String);

impl From<Wrong> for Refusal {
    fn from(wrong: Wrong) -> Refusal {
        Refusal(None, "22P04", wrong.to_owned())
    }
}

impl Reader {
    /// A reader of rows with the columns of a schema.
    ///
    /// # Errors
    /// A column of a type that is not read.
    pub fn new(schema: SchemaRef, format: Arc<Format>, limits: Limits) -> Result<Reader, Failure> {
        let store = |field: &arrow_schema::FieldRef| {
            Store::of(field.data_type()).ok_or_else(|| {
                let what = format!(
                    "COPY reads no {} for column {:?}; INSERT the rows, or name the other columns",
                    field.data_type(),
                    field.name()
                );
                Failure::new("0A000", what)
            })
        };
        Ok(Reader {
            stores: schema
                .fields()
                .iter()
                .map(store)
                .collect::<Result<_, _>>()?,
            input: match format.is_binary() {
                true => Input::Tuples(Tuples::default()),
                false => Input::Lines(Lines::of(&format)),
            },
            header: format.header,
            schema,
            format,
            limits,
            bytes: 0,
            rows: 0,
            own_bytes: 0,
            own_rows: 0,
            batches: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Reads the next bytes.
    ///
    /// # Errors
    /// A row that is none of the table's, or one too many.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes += bytes.len();
        self.own_bytes += bytes.len();
        if self.bytes > self.limits.bytes {
            let most = self.limits.bytes;
            return Err(limited(format!(
                "more than {most} bytes were sent (max_body)"
            )));
        }
        match &mut self.input {
            Input::Lines(lines) => lines.push(bytes),
            Input::Tuples(tuples) => tuples.push(bytes),
        }
        self.read(false)
    }

    /// The rows, when all were sent.
    ///
    /// # Errors
    /// As `feed`; a last row that is not whole.
    pub fn finish(mut self) -> Result<Vec<RecordBatch>, Failure> {
        self.read(true)?;
        self.gather()?;
        Ok(self.batches)
    }

    fn read(&mut self, all: bool) -> Result<(), Failure> {
        while self.one(all)? {
            self.rows += 1;
            self.own_rows += 1;
            if self.rows > self.limits.rows {
                let most = self.limits.rows;
                return Err(limited(format!(
                    "more than {most} rows were sent (max_rows)"
                )));
            }
            if self.own_rows == ROWS {
                self.gather()?;
            }
        }
        match self.own_bytes >= BYTES {
            true => self.gather(),
            false => Ok(()),
        }
    }

    /// Reads one row; `false` where no whole one is there.
    fn one(&mut self, all: bool) -> Result<bool, Failure> {
        let columns = self.stores.len();
        match &mut self.input {
            Input::Lines(lines) => loop {
                let place = |number| format!("line {number}");
                let number = lines.number();
                let next = lines.next(all).map_err(Refusal::from);
                let next = next.map_err(|why| refused(&self.schema, &place(number), why))?;
                let Some((number, line)) = next else {
                    return Ok(false);
                };
                let header = std::mem::take(&mut self.header);
                let read = match header {
                    Header::Absent => row(
                        &mut self.stores,
                        &self.schema,
                        &line,
                        &self.format,
                        &mut self.scratch,
                    ),
                    Header::Line => continue,
                    Header::Match => names(&self.schema, &line, &self.format, &mut self.scratch),
                };
                read.map_err(|why| refused(&self.schema, &place(number), why))?;
                if header == Header::Absent {
                    return Ok(true);
                }
            },
            Input::Tuples(tuples) => {
                let next = tuples.next(columns, all);
                let place = match tuples.number() {
                    0 => "the head".to_owned(),
                    number => format!("tuple {number}"),
                };
                let refuse = |why| refused(&self.schema, &place, why);
                let next = next.map_err(|why| refuse(Refusal(None, "22P04", why)))?;
                let Some(tuple) = next else {
                    return Ok(false);
                };
                for (at, field) in tuple.iter().enumerate() {
                    let taken = match field {
                        Some(bytes) => self.stores[at].binary(bytes).map_err(|bad| of(at, bad)),
                        None => null(&mut self.stores[at], &self.schema, at),
                    };
                    taken.map_err(refuse)?;
                }
                Ok(true)
            }
        }
    }

    /// Makes a batch of the rows that were read since the last one.
    fn gather(&mut self) -> Result<(), Failure> {
        self.own_bytes = 0;
        if std::mem::take(&mut self.own_rows) == 0 {
            return Ok(());
        }
        let arrays = self.stores.iter_mut().map(Store::finish);
        let batch = arrays
            .collect::<Result<Vec<_>, _>>()
            .and_then(|arrays| RecordBatch::try_new(SchemaRef::clone(&self.schema), arrays));
        let broken = |problem: ArrowError| Failure::new("XX000", problem.to_string());
        self.batches.push(batch.map_err(broken)?);
        Ok(())
    }
}

/// Reads the fields of a line.
fn row(
    stores: &mut [Store],
    schema: &SchemaRef,
    line: &[u8],
    format: &Format,
    scratch: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let mut count = 0;
    fields(line, format, scratch, |at, field| {
        count = at + 1;
        let Some(store) = stores.get_mut(at) else {
            let what = format!(
                "it has more fields than the {} that are copied",
                schema.fields().len()
            );
            return Err(Refusal(None, "22P04", what));
        };
        match field {
            Some(bytes) => utf8(bytes)
                .and_then(|text| store.text(text))
                .map_err(|bad| of(at, bad)),
            None => null(store, schema, at),
        }
    })?;
    match stores.len() > count {
        true => Err(Refusal(
            Some(count),
            "22P04",
            "there is no field for it".to_owned(),
        )),
        false => Ok(()),
    }
}

/// Checks a line of names.
fn names(
    schema: &SchemaRef,
    line: &[u8],
    format: &Format,
    scratch: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let mut found = Vec::new();
    fields(line, format, scratch, |_, field| {
        // A column may be called as NULL is written.
        let name = field.unwrap_or(format.null.as_bytes());
        found.push(String::from_utf8_lossy(name).into_owned());
        Ok::<_, Refusal>(())
    })?;
    let wanted: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    match found.iter().eq(wanted.iter().copied()) {
        true => Ok(()),
        false => {
            let what = format!("it has the names {found:?}, and the columns are {wanted:?}");
            Err(Refusal(None, "22P04", what))
        }
    }
}

fn null(store: &mut Store, schema: &SchemaRef, at: usize) -> Result<(), Refusal> {
    match schema.field(at).is_nullable() {
        true => {
            store.null();
            Ok(())
        }
        false => Err(Refusal(
            Some(at),
            "23502",
            "is NULL, and must not be".to_owned(),
        )),
    }
}

fn of(column: usize, bad: Bad) -> Refusal {
    Refusal(Some(column), bad.code, bad.problem)
}

fn refused(schema: &SchemaRef, place: &str, Refusal(column, code, what): Refusal) -> Failure {
    let message = match column {
        Some(at) => format!("{place}, column {:?}: {what}", schema.field(at).name()),
        None => format!("{place}: {what}"),
    };
    untaken(Failure::new(code, message))
}

fn limited(what: String) -> Failure {
    let what = format!("{what}; send them by several COPYs, in one transaction if you like");
    untaken(Failure::new("54000", what))
}

fn untaken(failure: Failure) -> Failure {
    Failure {
        hint: Some("no row of this COPY was taken".to_owned()),
        ..failure
    }
}
