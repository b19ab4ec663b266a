//! Tables by name, as bags of rows, and their changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_query::{Catalog, TableInfo};

use crate::value::Row;

/// A table: its columns, and its rows with how often each is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names and types; all may be NULL.
    pub columns: Vec<(String, Type)>,
    /// Whether it never changes once it is read.
    pub is_static: bool,
    /// Columns of which no two rows agree.
    pub unique: Option<Vec<usize>>,
    /// The rows; none with multiplicity 0.
    pub rows: BTreeMap<Row, i64>,
}

/// Tables by name: their columns, and their rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    tables: BTreeMap<String, Table>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(columns: &[(&str, Type)]) -> Self {
        let column = |(name, ty): &(&str, Type)| ((*name).to_owned(), ty.clone());
        Self {
            columns: columns.iter().map(column).collect(),
            ..Self::default()
        }
    }

    /// The position of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|(column, _)| column == name);
        found.unwrap_or_else(|| panic!("no column {name:?}"))
    }

    /// Adds rows, each so many times; false, and nothing changed, if one would be there less than
    /// never.
    pub fn add(&mut self, rows: &[(Row, i64)]) -> bool {
        let before = self.rows.clone();
        for (row, times) in rows {
            let count = self.rows.entry(row.clone()).or_default();
            *count += times;
            if *count < 0 {
                self.rows = before;
                return false;
            }
        }
        self.rows.retain(|_, count| *count != 0);
        true
    }
}

impl Tables {
    /// With one table more, or another in its place.
    #[must_use]
    pub fn with(mut self, name: &str, table: Table) -> Self {
        self.tables.insert(name.to_owned(), table);
        self
    }

    /// A table.
    #[must_use]
    pub fn get(&self, name: &str) -> &Table {
        let found = self.tables.get(name);
        found.unwrap_or_else(|| panic!("no table {name:?}"))
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, name: &str) -> &mut Table {
        let found = self.tables.get_mut(name);
        found.unwrap_or_else(|| panic!("no table {name:?}"))
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }
}

impl Catalog for Tables {
    fn table(&self, name: &str) -> Result<TableInfo> {
        let Some(table) = self.tables.get(name) else {
            return Err(Error::UnknownTable {
                name: name.to_owned(),
                known: self.tables.keys().cloned().collect(),
            });
        };
        let field = |(name, ty): &(String, Type)| Field::new(name.clone(), ty.clone(), true);
        Ok(TableInfo {
            schema: Arc::new(Schema::new(table.columns.iter().map(field).collect())?),
            is_static: table.is_static,
            cancels: false,
            rows: None,
            unique: table.unique.clone(),
            cofactors: Vec::new(),
        })
    }
}
