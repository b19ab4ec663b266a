//! Changes of a transaction, rewritten for the tables behind the definitions that follow them.
//!
//! Invariant: tables that are defined anew and then changed by the rewritten changes are those that were changed first and
//! then defined anew. Cost: O(rows of the changes) for each definition of their table that changes values.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use ringview_core::{Error, Result};
use ringview_engine::Alteration;

use crate::journal::Operation;
use crate::record::{How, Record, Rows, Steps};

/// The operations of a transaction with its changes behind all definitions, as far as they can be.
///
/// `is_static` are tables that were there before and cannot be changed once a view reads them. One that the transaction
/// created is filled before its first view.
///
/// # Errors
/// `Unsupported` for a view that reads such a table, where the transaction changed it before.
pub(crate) fn changes_last(
    operations: &[Operation],
    mut is_static: BTreeSet<String>,
) -> Result<(Vec<Operation>, Record)> {
    let (mut done, mut changes) = (Vec::new(), Steps::default());
    let mut is_new = BTreeSet::new();
    for operation in operations {
        match operation {
            Operation::Changes(record) => {
                changes.add(record)?;
                continue;
            }
            Operation::Table(table, _) if table.is_static => {
                is_new.insert(table.name.clone());
            }
            Operation::DropTable(name) => {
                drop(changes.of_table(name));
                is_static.remove(name);
                is_new.remove(name);
            }
            Operation::Alter {
                table,
                change,
                value,
            } => {
                changes.carry(table, change, value.as_ref())?;
                if let Alteration::RenameTable(to) = change {
                    for names in [&mut is_static, &mut is_new] {
                        if names.remove(table) {
                            names.insert(to.clone());
                        }
                    }
                }
            }
            Operation::View(view) => {
                for read in view.query.reads() {
                    if is_static.contains(read) && changes.has(read) {
                        return Err(Error::Unsupported {
                            what: format!("creating view {:?} in this transaction", view.name),
                            why: format!(
                                "the transaction changed table {read:?}, which is static and has to be \
                                 whole before a view reads it"
                            ),
                            instead: "commit the changes of the table first".to_owned(),
                        });
                    }
                    if is_new.contains(read) && changes.has(read) {
                        let own = changes.of_table(read);
                        done.push(Operation::Changes(own.record()?));
                    }
                }
            }
            Operation::Table(..) | Operation::DropView(_) => {}
        }
        done.push(operation.clone());
    }
    Ok((done, changes.record()?))
}

impl Steps {
    fn has(&self, table: &str) -> bool {
        self.steps.iter().any(|step| step.table == table)
    }

    /// Removes those of a table.
    fn of_table(&mut self, table: &str) -> Self {
        let (mut own, mut others) = (Self::default(), Self::default());
        let steps = std::mem::take(&mut self.steps).into_iter();
        for (step, rows) in steps.zip(std::mem::take(&mut self.rows)) {
            let to = match step.table == table {
                true => &mut own,
                false => &mut others,
            };
            to.steps.push(step);
            to.rows.push(rows);
        }
        *self = others;
        own
    }

    /// Rewrites those of a table as it is altered.
    fn carry(
        &mut self,
        table: &str,
        change: &Alteration,
        value: Option<&RecordBatch>,
    ) -> Result<()> {
        let own = self.steps.iter_mut().zip(&mut self.rows);
        for (step, rows) in own.filter(|(step, _)| step.table == table) {
            let is_by_key = matches!(step.how, How::Update | How::DeleteByKey);
            for (factor, (said, batches)) in step.rows.iter_mut().zip(rows).enumerate() {
                if said.multiplicity.is_some() && said.multiplicity.as_deref() == comes(change) {
                    said.rename_multiplicity(batches)?;
                }
                for batch in batches {
                    *batch = change.carried(table, batch, value, is_by_key || factor > 0)?;
                }
            }
            if let Alteration::RenameTable(to) = change {
                step.table.clone_from(to);
            }
        }
        Ok(())
    }

    fn record(&self) -> Result<Record> {
        self.with(|changes| Record::changes(changes, false, None))
    }
}

impl Rows {
    /// Gives the column of the multiplicities a name that no other has.
    fn rename_multiplicity(&mut self, batches: &mut [RecordBatch]) -> Result<()> {
        let Some(before) = self.multiplicity.take() else {
            return Ok(());
        };
        let mut name = before.clone() + "_";
        while batches.iter().any(|of| of.schema().index_of(&name).is_ok()) {
            name.push('_');
        }
        let rename = Alteration::RenameColumn {
            column: before,
            to: name.clone(),
        };
        for batch in batches {
            *batch = rename.carried("", batch, None, false)?;
        }
        self.multiplicity = Some(name);
        Ok(())
    }
}

/// The name of a column that a change adds.
fn comes(change: &Alteration) -> Option<&str> {
    match change {
        Alteration::AddColumn(field) => Some(&field.name),
        Alteration::RenameColumn { to, .. } => Some(to),
        _ => None,
    }
}
