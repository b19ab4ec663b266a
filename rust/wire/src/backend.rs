//! Interface of a database to a server: sessions, and the results of statements.
//!
//! Invariant: every call blocks its thread but `begin` and `cancel`, which a server calls from its event loop. A call
//! that fails has changed nothing but what its `Failure` names. Cost: that of the database.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::copy::format::{Format, Limits};

/// An error in the form of PostgreSQL's clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its SQLSTATE: five characters.
    pub code: String,
    /// The problem.
    pub message: String,
    /// A hint at a remedy.
    pub hint: Option<String>,
    /// The character of the text that it is about, from 1.
    pub position: Option<usize>,
}

impl Failure {
    /// A failure of a code.
    pub fn new(code: &str, message: impl Into<String>) -> Failure {
        Failure {
            code: code.to_owned(),
            message: message.into(),
            hint: None,
            position: None,
        }
    }
}

/// Whether a session is in a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It is not.
    #[default]
    Idle,
    /// It is.
    Open,
    /// It is, and a statement of it failed.
    Failed,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// A decimal, as digits with a point.
    Decimal(String),
    /// A text, or a value of whatever type a text is taken for.
    Text(String),
    /// A day, as `2024-02-29`.
    Date(String),
    /// A moment, as `2024-02-29 10:00:00`, in UTC.
    Timestamp(String),
}

/// Result of a statement.
pub enum Outcome {
    /// Nothing: there was no statement.
    Empty,
    /// That it was done, in the words of its command tag.
    Done(String),
    /// Rows.
    Rows(Rows),
    /// Rows that are copied out in a format, as they are produced.
    Copy(SchemaRef, Arc<Format>, Arc<dyn Source>),
    /// Rows that the client is to send.
    CopyIn(CopyIn),
}

/// Rows that a client is to send.
pub struct CopyIn {
    /// Their columns; one that holds no NULL is not nullable.
    pub schema: SchemaRef,
    /// Their format.
    pub format: Arc<Format>,
    /// Limits of their number and bytes.
    pub limits: Limits,
    /// Their receiver.
    pub sink: Arc<dyn Sink>,
}

/// Receiver of rows that a client sent.
pub trait Sink: Send + Sync {
    /// Takes all of them, when the last one was sent, or none.
    fn take(&self, rows: Vec<RecordBatch>) -> Answer;
}

/// Rows of a statement.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Their columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// The word of the command tag before their number.
    pub tag: String,
}

/// Rows that are produced bit by bit.
pub trait Source: Send + Sync {
    /// The next rows, waited for; `None` at the end.
    ///
    /// # Errors
    /// Whatever ends them before their end.
    fn next(&self) -> Result<Option<Vec<RecordBatch>>, Failure>;

    /// Says that nobody reads on.
    fn close(&self);
}

/// Result of a text of SQL.
#[derive(Default)]
pub struct Answer {
    /// Results of its statements, in their order, up to the one that failed.
    pub outcomes: Vec<Outcome>,
    /// The failure of a statement, if one failed.
    pub failure: Option<Failure>,
    /// Warnings for the user.
    pub warnings: Vec<Failure>,
    /// Settings that changed, which are reported to clients.
    pub settings: Vec<(String, String)>,
    /// Status of the session now.
    pub status: Status,
}

/// Properties of a prepared statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Whether it gives rows.
    pub is_query: bool,
    /// Whether it changes some, and is not done to be described.
    pub changes: bool,
    /// Number of its parameters.
    pub parameters: usize,
}

/// The session of one connection.
pub trait Session: Send + Sync {
    /// Reads a statement.
    ///
    /// # Errors
    /// A text that is none.
    fn prepare(&self, sql: &str) -> Result<Prepared, Failure>;

    /// The columns of a statement that gives rows, whose parameters have these types, 0 where that
    /// is open.
    ///
    /// # Errors
    /// A query that cannot be evaluated.
    fn describe(&self, sql: &str, oids: &[u32]) -> Result<SchemaRef, Failure>;

    /// The columns of a cursor that a statement declared.
    ///
    /// # Errors
    /// There is none of this name.
    fn cursor(&self, name: &str) -> Result<SchemaRef, Failure>;

    /// Does one statement with parameters, or, without, a script of several.
    fn run(&self, sql: &str, parameters: Option<&[Value]>) -> Answer;

    /// Says that the connection failed otherwise, so that a transaction that is open did.
    fn fail(&self);

    /// Announces a call, which `cancel` refers to from here on.
    fn begin(&self);

    /// Ends the call that is running, soon, from any thread.
    fn cancel(&self);

    /// Ends the session: what its transaction would have changed is forgotten.
    fn close(&self);
}

/// A client that connects.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// The name of the user.
    pub user: String,
    /// The database that the client connects to.
    pub database: String,
    /// The client's name for itself.
    pub application: String,
}

/// A database that can be connected to.
pub trait Backend: Send + Sync + 'static {
    /// A session for a client.
    ///
    /// # Errors
    /// A client that is not let in.
    fn open(&self, client: &Client) -> Result<Arc<dyn Session>, Failure>;

    /// Reports what fails beside all sessions.
    fn warn(&self, what: &str);
}
