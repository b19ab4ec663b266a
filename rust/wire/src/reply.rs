//! Messages of a connection, from the answers of the database.
//!
//! Invariant: one message for each part of an answer. Cost: linear in it.

use arrow_schema::{ArrowError, SchemaRef};
use pgwire::error::PgWireError;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::copy::{CopyInResponse, CopyOutResponse};
use pgwire::messages::data::{FieldDescription, RowDescription};
use pgwire::messages::response::{
    CommandComplete, ErrorResponse, NoticeResponse, ReadyForQuery, TransactionStatus,
};

use crate::backend::{Failure, Status};
use crate::encode::kind::Kind;
use crate::encode::rows::is_binary;

/// Why a message was not dealt with.
pub(crate) enum Problem {
    /// The client receives it, and the connection continues.
    Failed(Failure),
    /// Nobody is there any more, or is to be.
    Gone,
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        Problem::Failed(failure)
    }
}

impl From<std::io::Error> for Problem {
    fn from(_: std::io::Error) -> Problem {
        Problem::Gone
    }
}

impl From<ArrowError> for Problem {
    fn from(error: ArrowError) -> Problem {
        let what = format!("a value cannot be sent: {error}; cast it in the query");
        Problem::Failed(Failure::new("22000", what))
    }
}

/// Failure for a client of a violation of the protocol.
pub(crate) fn protocol(error: &PgWireError) -> Failure {
    match error {
        PgWireError::UserError(said) => Failure::new(&said.code, said.message.clone()),
        _ => Failure::new(error.code(), error.to_string()),
    }
}

pub(crate) fn error(failure: Failure, severity: &str) -> Message {
    Message::ErrorResponse(ErrorResponse::new(fields(failure, severity)))
}

pub(crate) fn notice(warning: Failure) -> Message {
    Message::NoticeResponse(NoticeResponse::new(fields(warning, "WARNING")))
}

fn fields(of: Failure, severity: &str) -> Vec<(u8, String)> {
    let mut fields = vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', of.code),
        (b'M', of.message),
    ];
    fields.extend(of.hint.map(|hint| (b'H', hint)));
    fields.extend(of.position.map(|at| (b'P', at.to_string())));
    fields
}

pub(crate) fn done(tag: String) -> Message {
    Message::CommandComplete(CommandComplete::new(tag))
}

pub(crate) fn ready(status: Status) -> Message {
    Message::ReadyForQuery(ReadyForQuery::new(match status {
        Status::Idle => TransactionStatus::Idle,
        Status::Open => TransactionStatus::Transaction,
        Status::Failed => TransactionStatus::Error,
    }))
}

/// The columns of the rows that follow.
pub(crate) fn columns(schema: &SchemaRef, binary: &[bool]) -> Message {
    let of = schema.fields().iter().enumerate().map(|(at, field)| {
        let kind = Kind::of(field.data_type());
        FieldDescription::new(
            field.name().clone(),
            0,
            0,
            kind.oid(),
            kind.size(),
            kind.modifier(),
            i16::from(is_binary(binary, at)),
        )
    });
    Message::RowDescription(RowDescription::new(of.collect()))
}

/// That rows are copied out.
pub(crate) fn copied(columns: usize, binary: bool) -> Message {
    let format = i8::from(binary);
    let formats = vec![i16::from(binary); columns];
    Message::CopyOutResponse(CopyOutResponse::new(format, columns as i16, formats))
}

/// That rows are to be sent.
pub(crate) fn awaited(columns: usize, binary: bool) -> Message {
    let format = i8::from(binary);
    let formats = vec![i16::from(binary); columns];
    Message::CopyInResponse(CopyInResponse::new(format, columns as i16, formats))
}
