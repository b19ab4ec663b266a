//! Plans of ALTER TABLE, and the defaults of a table.
//!
//! Invariant: names are found without case; a name that is taken is refused with its place. Cost: O(columns).

use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Field, Result, Schema, SqlProblem};
use ringview_engine::{Alteration, Defaults};
use ringview_sql::{Alter, AlterColumns, CreateTable, Name, Select};

use crate::planned::{Reader, empty_database, names_of};

impl Reader<'_> {
    /// Plan of an ALTER TABLE: the table, the change, and the values of an added column in its rows; None if there is
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
                let what = format!(
                    "table \"{table}\" has a column \"{taken}\" already; take another name"
                );
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
                    value = Some(self.default(&table, field, select)?);
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
                            "there is a table or view \"{taken}\" already; take another name"
                        );
                        return Err(to.refused(SqlProblem::Query, &what));
                    }
                    _ => Alteration::RenameTable(to.as_str().to_owned()),
                }
            }
            AlterColumns::Default {
                column,
                value: given,
            } => {
                let column = named(column)?;
                if let Some(select) = given {
                    let field = &schema.fields()[schema.index_of(&column)?];
                    value = Some(self.default(&table, field, select)?);
                }
                Alteration::SetDefault(column)
            }
            AlterColumns::Widen { column, to } => Alteration::Widen {
                column: named(column)?,
                to: to.clone(),
            },
        };
        Ok(Some((table, change, value)))
    }

    /// The defaults of a table that is created.
    pub(crate) fn defaults(&mut self, of: &CreateTable) -> Result<Defaults> {
        let mut defaults = Defaults::new();
        let table = of.name.as_str();
        for (name, select) in &of.defaults {
            if let Some(schema) = &of.schema {
                let field = &schema.fields()[schema.index_of(name.as_str())?];
                let value = self.default(table, field, select)?;
                defaults.insert(name.as_str().to_owned(), Arc::clone(value.column(0)));
            }
        }
        Ok(defaults)
    }

    /// A default, as a row of its column alone.
    fn default(&mut self, table: &str, field: &Field, select: &Select) -> Result<RecordBatch> {
        let found = Reader {
            database: empty_database()?.readers(),
            functions: self.functions.clone(),
            pending: (&[], false),
            poll: &mut *self.poll,
        }
        .select(select)?;
        let of = Schema::new(vec![field.clone()])?;
        self.rows(table, &of, found.columns().to_vec(), found.num_rows())
    }
}
