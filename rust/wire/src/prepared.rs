//! Prepared statements and portals of one connection.
//!
//! Invariant: a name means one thing until it is closed or prepared again; a portal is done once, and its rows are
//! handed out in the order that they have, whatever number is requested at a time. Cost: a portal keeps its rows until
//! it is closed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pgwire::messages::extendedquery::Bind;

use crate::backend::{Failure, Prepared, Rows, Value};
use crate::parameter;

/// A prepared statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// The types that the client gave its parameters; 0 where it left that open.
    pub(crate) oids: Vec<u32>,
    pub(crate) is: Prepared,
    /// The columns that were described to the client.
    pub(crate) described: Option<SchemaRef>,
}

impl Statement {
    /// The types of all parameters: where that is open, `text`.
    pub(crate) fn parameter_types(&self) -> Vec<u32> {
        let given = |at| self.oids.get(at).copied().unwrap_or(0);
        let count = self.is.parameters.max(self.oids.len());
        let all = (0..count).map(given);
        all.map(|oid| if oid == 0 { 25 } else { oid }).collect()
    }
}

/// A statement with the values of its parameters.
#[derive(Debug)]
pub(crate) struct Portal {
    pub(crate) statement: Arc<Statement>,
    pub(crate) values: Vec<Value>,
    /// The columns that are sent in the binary format.
    pub(crate) binary: Vec<bool>,
    /// The rows, once it was done.
    pub(crate) rows: Option<Cursor>,
}

/// Rows that are handed out bit by bit.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) rows: Rows,
    batch: usize,
    row: usize,
}

impl Cursor {
    pub(crate) fn new(rows: Rows) -> Cursor {
        Cursor {
            rows,
            batch: 0,
            row: 0,
        }
    }

    /// The next rows of one batch, at most so many.
    pub(crate) fn take(&mut self, most: usize) -> Option<(&RecordBatch, std::ops::Range<usize>)> {
        while self.rows.batches.get(self.batch)?.num_rows() == self.row {
            (self.batch, self.row) = (self.batch + 1, 0);
        }
        let batch = self.rows.batches.get(self.batch)?;
        let start = self.row;
        self.row = start.saturating_add(most).min(batch.num_rows());
        Some((batch, start..self.row))
    }

    /// Whether all were handed out.
    pub(crate) fn is_done(&self) -> bool {
        let later = self.rows.batches.iter().skip(self.batch);
        later.map(RecordBatch::num_rows).sum::<usize>() == self.row
    }
}

/// Statements and portals of a connection, by name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) statements: HashMap<String, Arc<Statement>>,
    pub(crate) portals: HashMap<String, Portal>,
}

impl Names {
    pub(crate) fn statement(&self, name: &str) -> Result<&Arc<Statement>, Failure> {
        self.statements.get(name).ok_or_else(|| {
            Failure::new(
                "26000",
                format!("prepared statement \"{name}\" does not exist"),
            )
        })
    }

    pub(crate) fn portal(&mut self, name: &str) -> Result<&mut Portal, Failure> {
        self.portals
            .get_mut(name)
            .ok_or_else(|| Failure::new("34000", format!("portal \"{name}\" does not exist")))
    }

    /// Gives a statement its parameters.
    pub(crate) fn bind(&mut self, message: &Bind) -> Result<(), Failure> {
        let name = message.statement_name.as_deref().unwrap_or_default();
        let statement = Arc::clone(self.statement(name)?);
        let wanted = statement.is.parameters.max(statement.oids.len());
        if message.parameters.len() != wanted {
            let given = message.parameters.len();
            let what = format!("{given} parameters were given, and the statement has {wanted}");
            return Err(Failure::new("08P01", what));
        }
        let codes = |codes: &[i16]| codes.iter().map(|code| *code == 1).collect::<Vec<_>>();
        let formats = codes(&message.parameter_format_codes);
        let values = message.parameters.iter().enumerate().map(|(at, bytes)| {
            let oid = statement.oids.get(at).copied().unwrap_or(0);
            let binary = crate::encode::rows::is_binary(&formats, at);
            parameter::read(bytes.as_deref(), oid, binary)
        });
        let portal = Portal {
            values: values.collect::<Result<_, _>>()?,
            binary: codes(&message.result_column_format_codes),
            statement,
            rows: None,
        };
        let name = message.portal_name.clone().unwrap_or_default();
        self.portals.insert(name, portal);
        Ok(())
    }
}
