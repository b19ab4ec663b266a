//! Destination of written operations: a file, or the list of a draft.
//!
//! Invariant: operations are stored in the order in which they were applied. Cost: that of a commit of the file;
//! without a file, none.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Error, Result};
use ringview_engine::{Alteration, Defaults};

use crate::definition::ViewDefinition;
use crate::file::File;
use crate::record::{Entry, Record, TableDefinition};

/// Guarantee about the disk when a call returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// All that it did.
    #[default]
    Transaction,
    /// The state of the last snapshot.
    Snapshot,
}

/// A definition, or a transaction of changes.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Table(TableDefinition, Defaults),
    DropTable(String),
    Alter {
        table: String,
        change: Alteration,
        value: Option<RecordBatch>,
    },
    /// In the place of the view of its name, if there is one.
    View(Box<ViewDefinition>),
    DropView(String),
    Changes(Record),
}

/// The state of a draft beside its database.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Operations of its statements so far.
    pub(crate) operations: Vec<Operation>,
    /// The tables of the database whose rows it has, by their names there.
    pub(crate) copied: BTreeSet<String>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) file: Option<File>,
    pub(crate) durability: Durability,
    pub(crate) draft: Option<Draft>,
}

impl Operation {
    /// The same as records of a file.
    pub(crate) fn records(&self) -> Result<Vec<Record>> {
        let entry = match self {
            Self::Table(table, defaults) => {
                let mut records = vec![Record::from(Entry::Table(table.clone()))];
                for (change, value) in &of_defaults(defaults)? {
                    records.push(Record::alter(&table.name, change, Some(value))?);
                }
                return Ok(records);
            }
            Self::Alter {
                table,
                change,
                value,
            } => return Ok(vec![Record::alter(table, change, value.as_ref())?]),
            Self::Changes(record) => return Ok(vec![record.clone()]),
            Self::DropTable(name) => Entry::DropTable(name.clone()),
            Self::View(view) => Entry::View(Box::new((&**view).into())),
            Self::DropView(name) => Entry::DropView(name.clone()),
        };
        Ok(vec![entry.into()])
    }
}

impl Journal {
    /// Whether operations are written one by one.
    pub(crate) fn is_written(&self) -> bool {
        self.file.is_some() && self.durability == Durability::Transaction || self.draft.is_some()
    }

    /// Writes operations with one commit, if they are to be written.
    ///
    /// # Errors
    /// `Storage` if the file cannot be written.
    pub(crate) fn write(&mut self, make: impl FnOnce() -> Result<Vec<Operation>>) -> Result<()> {
        if !self.is_written() {
            return Ok(());
        }
        let operations = make()?;
        if let Some(file) = &mut self.file {
            let mut records = Vec::new();
            for operation in &operations {
                records.extend(operation.records()?);
            }
            return file.append(&records);
        }
        if let Some(draft) = &mut self.draft {
            draft.operations.extend(operations);
        }
        Ok(())
    }

    /// The same for changes that are records already.
    pub(crate) fn write_changes<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Result<()> {
        match (&mut self.file, &mut self.draft) {
            (Some(file), _) => file.append(records),
            (None, Some(draft)) => {
                let changes = records.into_iter().cloned().map(Operation::Changes);
                draft.operations.extend(changes);
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }
}

/// Defaults as what gives them.
pub(crate) fn of_defaults(defaults: &Defaults) -> Result<Vec<(Alteration, RecordBatch)>> {
    let given = defaults.iter().map(|(column, value)| {
        let value = [(column.as_str(), Arc::clone(value), true)];
        let value = RecordBatch::try_from_iter_with_nullable(value);
        let value = value.map_err(|problem| Error::Value {
            place: format!("the default of column {column:?}"),
            problem: problem.to_string(),
        })?;
        Ok((Alteration::SetDefault(column.clone()), value))
    });
    given.collect()
}
