//! Tables: declared, dropped, and what is known of them.
//!
//! Invariant: a table that a view reads is not dropped. Cost: a table is found in O(tables).

use std::sync::Arc;

use ringview_core::{Error, HoldsStrings, Result, Schema, check_name};

use super::{Database, same};
use crate::reversal::Reversal;
use crate::storage::retention::KeepFor;
use crate::storage::table::{Table, TableStatus};

impl Database {
    /// Declares a table. No two of its rows may agree in the columns `unique`; if `is_static`, it
    /// cannot change once a view reads it, which lets views store less.
    ///
    /// # Errors
    /// `Exists`; `UnknownColumn` for `unique`.
    pub fn create_table(
        &mut self,
        name: &str,
        schema: Schema,
        unique: Option<&[String]>,
        is_static: bool,
    ) -> Result<()> {
        self.create_table_with(name, schema, unique, is_static, None)
    }

    /// The same; with `keep_for`, rows stay for a time, and are deleted as the clock advances.
    ///
    /// # Errors
    /// The same; `Type` for a column that is no date and no timestamp; `Value` for an interval that is not positive;
    /// `Unsupported` for a table that is static, or whose rows are not kept.
    pub fn create_table_with(
        &mut self,
        name: &str,
        schema: Schema,
        unique: Option<&[String]>,
        is_static: bool,
        keep_for: Option<&KeepFor>,
    ) -> Result<()> {
        self.catalogue().check_new(name)?;
        if schema.is_empty() {
            return Err(Error::Value {
                place: format!("the columns of table {name:?}"),
                problem: "there are none, so it could hold nothing; give it one at least"
                    .to_owned(),
            });
        }
        for field in schema
            .fields()
            .iter()
            .filter(|field| !field.name.is_empty())
        {
            check_name("a column", &field.name)?;
        }
        let keep_rows = is_static || !self.options.trust_deletes;
        let mut table = Table::new(name, schema, unique, is_static, keep_rows)?;
        if let Some(keep_for) = keep_for {
            table.keep_for(keep_for.clone())?;
        }
        table.id = self.birth();
        let id = table.id;
        self.state.storage.tables.push(table);
        self.record(|| Reversal::DropTable(id));
        Ok(())
    }

    /// Forgets a table.
    ///
    /// # Errors
    /// `UnknownTable`; `InUse` if a view reads it.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let index = self.can_drop_table(name)?;
        let table = self.state.storage.tables.remove(index);
        let words = table.rows.as_ref().map_or(0, HoldsStrings::string_words);
        self.state.storage.words_left(words);
        self.record(|| Reversal::RestoreTable(index, table));
        self.state.collect_strings();
        self.state.recount();
        Ok(())
    }

    /// The position of a table, if it can be dropped.
    ///
    /// # Errors
    /// As [`drop_table`](Self::drop_table).
    pub fn can_drop_table(&self, name: &str) -> Result<usize> {
        let index = self.state.storage.index(name)?;
        let views = self.state.graph.readers_of(name);
        match views.is_empty() {
            true => Ok(index),
            false => Err(Error::InUse {
                kind: "table",
                name: name.to_owned(),
                views,
            }),
        }
    }

    /// The names of the tables, in the order of their creation.
    pub fn tables(&self) -> Vec<String> {
        self.state.storage.names()
    }

    /// The names and numbers of the tables, oldest first.
    pub fn table_ids(&self) -> Vec<(String, u64)> {
        let tables = self.state.storage.tables.iter();
        tables.map(|table| (table.name.clone(), table.id)).collect()
    }

    /// Status of a table.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub fn table(&self, name: &str) -> Result<TableStatus> {
        Ok(self.state.storage.tables[self.state.storage.index(name)?].status())
    }

    /// The number and the columns of a table. O(1), where [`Database::table`] counts the bytes of all rows.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub fn table_schema(&self, name: &str) -> Result<(u64, Arc<Schema>)> {
        let table = &self.state.storage.tables[self.state.storage.index(name)?];
        Ok((table.id, Arc::clone(&table.schema)))
    }

    /// Whether the table of a name is still the one with this number.
    ///
    /// # Errors
    /// `UnknownTable`; `Stale` if it is another.
    pub fn is_table(&self, name: &str, id: u64) -> Result<()> {
        same(
            "table",
            name,
            id,
            self.state.storage.tables[self.state.storage.index(name)?].id,
        )
    }
}
