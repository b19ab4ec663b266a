//! The tables that the texts of these tests may name.

use std::sync::Arc;

use ringview_core::{Error, Field, Result, Schema, TimeUnit, Type};
use ringview_query::{Catalog, Query, TableInfo};
use ringview_sql::{Definition, Options};

/// The names of the tables.
const TABLES: [&str; 4] = ["r", "s", "t", "Mixed"];

struct Tables;

impl Catalog for Tables {
    fn table(&self, name: &str) -> Result<TableInfo> {
        let at = Type::Timestamp {
            unit: TimeUnit::Microsecond,
            timezone: None,
        };
        let columns: &[(&str, Type)] = match name {
            "r" => &[
                ("a", Type::Int64),
                ("b", Type::Int64),
                ("x", Type::Float64),
                ("d", Type::Date32),
            ],
            "s" => &[("b", Type::Int64), ("c", Type::Utf8), ("ok", Type::Bool)],
            "t" => &[("a", Type::Int64), ("c", Type::Utf8), ("at", at)],
            "Mixed" => &[("Zone", Type::Int64), ("Name", Type::Utf8)],
            _ => {
                return Err(Error::UnknownTable {
                    name: name.to_owned(),
                    known: TABLES.map(str::to_owned).to_vec(),
                });
            }
        };
        let fields = columns
            .iter()
            .map(|(name, ty)| Field::new(*name, ty.clone(), true));
        Ok(TableInfo {
            schema: Arc::new(Schema::new(fields.collect())?),
            is_static: false,
            cancels: false,
            rows: None,
            unique: None,
            cofactors: Vec::new(),
        })
    }
}

/// A text over them.
pub(crate) fn definition(text: &str, options: Options) -> Result<Definition> {
    Definition::new(text, options, &TABLES.map(str::to_owned), &Tables)
}

/// The query of a text over them.
pub(crate) fn query(text: &str) -> Result<Query> {
    definition(text, Options::default())?.bind()
}
