//! Resolution of the names in a query to blocks, tables and views; and the nodes planned for it.
//!
//! Invariant: an atom means the last earlier block of its name, else the table or the view of the database; a view that
//! is to be replaced is not visible. So a query reads only what existed before it, and no view reads itself. Cost: a
//! look-up is O(tables and views).

pub(crate) mod choose;
mod unnested;

use std::borrow::Cow;
use std::sync::Arc;

use ringview_core::{Error, LONGEST_NAME, Result, check_name};
use ringview_query::{Catalog, Query, TableInfo, bind};
use ringview_view::Engine;

use crate::plan::{Input, Planned, Source};
use crate::state::State;

use choose::By;

/// Tables and views by their names, and the engines to choose from.
#[derive(Clone, Copy)]
pub(crate) struct Catalogue<'d> {
    pub(crate) state: &'d State,
    /// Engines that may keep views, the first among equals first.
    pub(crate) engines: &'d [Arc<dyn Engine>],
    /// Number of tables and views created so far.
    pub(crate) births: u64,
    /// Whether tables and views are planned as if nothing changed them.
    pub(crate) is_static: bool,
}

/// Names visible to one of the blocks of a query, or to the query itself behind all blocks.
struct Names<'a> {
    catalogue: &'a Catalogue<'a>,
    /// The blocks before it.
    before: &'a [Planned<'a>],
}

impl Names<'_> {
    fn find(&self, name: &str) -> Result<(Source, TableInfo)> {
        let mut before = self.before.iter().rev();
        match before.find(|planned| planned.block.as_deref() == Some(name)) {
            Some(planned) => Ok((Source::View(planned.id), planned.info.clone())),
            None => self.catalogue.seen(name),
        }
    }
}

impl Catalog for Names<'_> {
    fn table(&self, name: &str) -> Result<TableInfo> {
        self.find(name).map(|(_, info)| info)
    }
}

impl<'d> Catalogue<'d> {
    /// Refuses a name that is taken, and one that cannot be written.
    pub(crate) fn check_new(&self, name: &str) -> Result<()> {
        check_name("a table or view", name)?;
        let kind = if self
            .state
            .storage
            .tables
            .iter()
            .any(|table| table.name == name)
        {
            "table"
        } else if self.state.graph.declared(name).is_ok() {
            "view"
        } else {
            return Ok(());
        };
        Err(Error::Exists {
            kind,
            name: name.to_owned(),
        })
    }

    /// Plans of a query: its blocks in their order, then the query itself, by the engine of this name; the cheapest
    /// where none is given, as for blocks.
    pub(crate) fn plans<'q>(&self, query: &'q Query, by: By<'_>) -> Result<Vec<Planned<'q>>> {
        query.check_blocks()?;
        let mut plans: Vec<Planned<'q>> = Vec::with_capacity(query.blocks.len() + 1);
        let blocks = query.blocks.iter();
        let blocks = blocks.map(|block| (Some(&*block.name), &block.query, By::Choice(None)));
        for (block, own, by) in blocks.chain([(None, query, by)]) {
            if own.condition.is_some() {
                self.plan_either((block, own), by, &mut plans)?;
                continue;
            }
            let planned = self.planned(block.map(Cow::Borrowed), Cow::Borrowed(own), by, &plans)?;
            plans.push(planned);
        }
        Ok(plans)
    }

    /// A query, or a block of this name, behind others.
    pub(crate) fn planned<'q>(
        &self,
        block: Option<Cow<'q, str>>,
        query: Cow<'q, Query>,
        by: By<'_>,
        before: &[Planned<'_>],
    ) -> Result<Planned<'q>> {
        let names = Names {
            catalogue: self,
            before,
        };
        let bound = bind(&query, &names)?;
        for output in bound.outputs.iter().filter(|_| block.is_none()) {
            if output.name.len() > LONGEST_NAME {
                check_name("a column of a view (AS gives it one)", &output.name)?;
            }
        }
        let info = bound.as_table(None)?;
        let inputs = bound.all_atoms().map(|atom| {
            let (source, _) = names.find(&atom.table)?;
            Ok(Input {
                source,
                atom: atom.clone(),
            })
        });
        let inputs = inputs.collect::<Result<_>>()?;
        let columns = bound.outputs.iter().map(|output| output.name.clone());
        Ok(Planned {
            block,
            id: self.births + 1 + before.len() as u64,
            asked: None,
            is_shareable: matches!(by, By::Choice(_)),
            choice: by.choose(self.engines, &bound)?,
            columns: columns.collect(),
            bound,
            inputs,
            info,
            query,
        })
    }

    /// Source of a table or a view, and what its readers need of it: columns, keys, size.
    pub(crate) fn seen(&self, name: &str) -> Result<(Source, TableInfo)> {
        if let Ok(index) = self.state.storage.index(name) {
            let table = &self.state.storage.tables[index];
            let info = TableInfo {
                schema: table.schema.clone(),
                is_static: table.is_static || self.is_static,
                cancels: false,
                // An empty table gives no estimate of its later size.
                rows: (!table.is_empty()).then(|| table.len()),
                unique: table.unique.clone(),
                cofactors: Vec::new(),
            };
            return Ok((Source::Table(table.id), info));
        }
        let index = self.state.graph.index(name).map_err(|error| match error {
            Error::UnknownView { known: views, .. } => Error::UnknownTable {
                name: name.to_owned(),
                known: [self.state.storage.names(), views].concat(),
            },
            error => error,
        })?;
        let view = &self.state.graph.nodes[index];
        let answer = self.state.graph.answer(view);
        let rows = answer.len(&self.state.storage.dictionary).ok();
        let info = TableInfo {
            rows: rows.filter(|&rows| rows > 0),
            is_static: view.info.is_static || self.is_static,
            ..view.info.clone()
        };
        Ok((Source::View(self.state.graph.declared(name)?.id), info))
    }
}

impl Catalog for Catalogue<'_> {
    fn table(&self, name: &str) -> Result<TableInfo> {
        self.seen(name).map(|(_, info)| info)
    }
}
