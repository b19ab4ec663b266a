//! The blocks of a text so far.
//!
//! Invariant: a block has been bound before another reads it. Cost: that of binding each block once.

use std::collections::BTreeMap;

use ringview_core::{Result, Type};
use ringview_query::{Atom, Bag, Block, Catalog, Output, Query, Rows, TableInfo, bind};

/// The blocks of one text.
pub(crate) struct Lowering<'c> {
    pub(super) catalog: &'c dyn Catalog,
    pub(super) known: &'c [String],
    pub(super) blocks: Vec<Block>,
    pub(super) infos: BTreeMap<String, TableInfo>,
    /// How many columns were computed so far.
    pub(super) computed: usize,
    /// The rows around the subquery that is lowered, and their columns; the innermost last.
    pub(super) scopes: Vec<(super::pending::Pending, datafusion_common::DFSchema)>,
}

/// Tables, views, and the blocks so far.
impl Catalog for Lowering<'_> {
    fn table(&self, name: &str) -> Result<TableInfo> {
        match self.infos.get(name) {
            Some(info) => Ok(info.clone()),
            None => self.catalog.table(name),
        }
    }
}

impl<'c> Lowering<'c> {
    pub(crate) fn new(catalog: &'c dyn Catalog, known: &'c [String]) -> Self {
        Self {
            catalog,
            known,
            blocks: Vec::new(),
            infos: BTreeMap::new(),
            computed: 0,
            scopes: Vec::new(),
        }
    }

    /// Adds a block, called so or alike.
    pub(crate) fn emit(&mut self, name: &str, query: Query) -> Result<String> {
        let is_taken = |name: &str| {
            self.infos.contains_key(name)
                || self
                    .known
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(name))
        };
        let name = free(name, &is_taken);
        let info = bind(&query, self)?.as_table(None)?;
        self.infos.insert(name.clone(), info);
        self.blocks.push(Block {
            name: name.clone(),
            query,
        });
        Ok(name)
    }

    /// The type of a column of a table or block.
    pub(crate) fn column(&self, table: &str, name: &str) -> Result<(Type, bool)> {
        let schema = self.table(table)?.schema;
        let field = &schema.fields()[schema.index_of(name)?];
        Ok((field.ty.clone(), field.nullable))
    }
}

/// A name that is not taken: this one, or one like it.
pub(crate) fn free(name: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let names = (1..).map(|number| {
        if number == 1 {
            name.to_owned()
        } else {
            format!("{name}_{number}")
        }
    });
    names
        .into_iter()
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

/// A query over atoms, still without outputs.
pub(crate) fn over(tables: &[String]) -> Query {
    let atom = |(number, table): (usize, &String)| Atom {
        table: table.clone(),
        alias: if number == 0 {
            table.clone()
        } else {
            format!("{table} {number}")
        },
        filter: None,
    };
    Query {
        blocks: Vec::new(),
        atoms: tables.iter().enumerate().map(atom).collect(),
        joins: Vec::new(),
        condition: None,
        group_by: Vec::new(),
        outputs: Vec::<Output>::new(),
        is_chosen: false,
        rows: None,
        bag: None,
        having: None,
        order: None,
        epsilon: None,
    }
}

/// A query that computes rows.
pub(crate) fn computing(tables: &[String], rows: Rows) -> Query {
    Query {
        rows: Some(rows),
        ..over(tables)
    }
}

/// Rows, each as often as it is there.
pub(crate) const BAG: Bag = Bag {
    representation: None,
    distinct: false,
};
