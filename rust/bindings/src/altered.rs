//! What an ALTER TABLE changes.
//!
//! Invariant: names are found without case; a name that is taken is refused with its place. Cost: O(columns).

use arrow_array::RecordBatch;
use ringview_core::{Result, Schema, SqlProblem};
use ringview_engine::Alteration;
use ringview_sql::{Alter, AlterColumns, Name};

use crate::planned::{Reader, names_of};

impl Reader<'_> {
    /// What an ALTER TABLE does: to which table, what, and what its rows have in a column that comes; none where there is
    /// nothing to do.
    pub(crate) fn alter(
        &mut self,
        of: &Alter,
    ) -> Result<Option<(String, Alteration, Option<RecordBatch>)>> {
        let tables = self.database.tables();
        let is_there = of.table.among(tables.iter().map(String::as_str)).is_some();
        if of.if_exists && !is_there {
            return Ok(None);
        }
        let (table, schema) = self.table(&of.table)?;
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        let named = |column: &Name| column.column(&table, &names).map(|at| names[at].to_owned());
        let free = |name: &Name, but: Option<&str>| match name.among(names.iter().copied()) {
            Some(taken) if Some(taken) != but => {
                let what =
                    format!("table '{table}' has a column '{taken}' already; take another name");
                Err(name.refused(SqlProblem::Query, &what))
            }
            _ => Ok(name.as_str().to_owned()),
        };
        let mut value = None;
        let change = match &of.change {
            AlterColumns::Add {
                name,
                if_not_exists: true,
                ..
            } if name.among(names.iter().copied()).is_some() => {
                return Ok(None);
            }
            AlterColumns::Add {
                name,
                field,
                value: filled,
                ..
            } => {
                free(name, None)?;
                if let Some(select) = filled {
                    let found = self.select(select)?;
                    let of = Schema::new(vec![field.clone()])?;
                    value =
                        Some(self.rows(&table, &of, found.columns().to_vec(), found.num_rows())?);
                }
                Alteration::AddColumn(field.clone())
            }
            AlterColumns::Drop {
                column,
                if_exists: true,
            } if column.among(names.iter().copied()).is_none() => {
                return Ok(None);
            }
            AlterColumns::Drop { column, .. } => Alteration::DropColumn(named(column)?),
            AlterColumns::Rename { column, to } => {
                let column = named(column)?;
                let to = free(to, Some(&column))?;
                Alteration::RenameColumn { column, to }
            }
            AlterColumns::RenameTable(to) => {
                let all = names_of(self.database);
                match to.among(all.iter().map(String::as_str)) {
                    Some(taken) if taken != table => {
                        let what = format!(
                            "there is a table or view '{taken}' already; take another name"
                        );
                        return Err(to.refused(SqlProblem::Query, &what));
                    }
                    _ => Alteration::RenameTable(to.as_str().to_owned()),
                }
            }
            AlterColumns::Widen { column, to } => Alteration::Widen {
                column: named(column)?,
                to: to.clone(),
            },
        };
        Ok(Some((table, change, value)))
    }
}
