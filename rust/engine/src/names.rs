//! What names in a query mean: its blocks, tables and views; and what is to be made for it.
//!
//! Invariant: an atom means the last block of its name that stands before it, else the table or the view
//! of the database; a view that is to be replaced is not there. So what a query reads was there before
//! it, and no view reads itself. Cost: a look-up is O(tables and views).

use std::borrow::Cow;

use ringview_core::{Error, LONGEST_NAME, Result, check_name};
use ringview_query::{Bound, Catalog, PlanAtom, Query, TableInfo, bind};

use crate::choose::{By, Chosen};
use crate::database::Database;
use crate::view::NamedView;

/// What an atom reads, by the number that tells it from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Table(u64),
    View(u64),
}

/// A view or a block that is to be made.
pub(crate) struct Planned<'q> {
    /// The name of a block; none for the view itself.
    pub(crate) block: Option<Cow<'q, str>>,
    /// The number that it will have.
    pub(crate) id: u64,
    pub(crate) query: Cow<'q, Query>,
    /// What was asked for, where that is kept as another.
    pub(crate) asked: Option<&'q Query>,
    pub(crate) chosen: Chosen,
    /// Its names and types.
    pub(crate) bound: Bound,
    /// Those of queries within too, by their numbers.
    pub(crate) atoms: Vec<PlanAtom>,
    /// The names of its columns.
    pub(crate) columns: Vec<String>,
    /// By atom.
    pub(crate) sources: Vec<Source>,
    /// What it is to those that read it.
    pub(crate) info: TableInfo,
}

/// The names that one of the blocks of a query knows, or the query itself behind all blocks.
struct Names<'a> {
    database: &'a Database,
    /// The blocks before it.
    before: &'a [Planned<'a>],
}

impl Names<'_> {
    fn find(&self, name: &str) -> Result<(Source, TableInfo)> {
        let mut before = self.before.iter().rev();
        match before.find(|planned| planned.block.as_deref() == Some(name)) {
            Some(planned) => Ok((Source::View(planned.id), planned.info.clone())),
            None => self.database.seen(name),
        }
    }
}

impl Catalog for Names<'_> {
    fn table(&self, name: &str) -> Result<TableInfo> {
        self.find(name).map(|(_, info)| info)
    }
}

impl Database {
    /// What is to be made for a query: its blocks in their order, then what it is itself, by the engine
    /// of this name; the cheapest where none is given, as for blocks.
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
            database: self,
            before,
        };
        let bound = bind(&query, &names)?;
        for output in bound.outputs.iter().filter(|_| block.is_none()) {
            if output.name.len() > LONGEST_NAME {
                check_name("a column of a view (AS gives it one)", &output.name)?;
            }
        }
        let info = bound.as_table(None)?;
        let sources = query.all_atoms().into_iter();
        let sources = sources.map(|atom| names.find(&atom.table).map(|(source, _)| source));
        let sources = sources.collect::<Result<_>>()?;
        let columns = bound.outputs.iter().map(|output| output.name.clone());
        Ok(Planned {
            block,
            id: self.births + 1 + before.len() as u64,
            asked: None,
            chosen: by.choose(&self.engines, &bound)?,
            atoms: bound.all_atoms().cloned().collect(),
            columns: columns.collect(),
            bound,
            sources,
            info,
            query,
        })
    }

    /// What a table or a view is to those that read it.
    pub(crate) fn seen(&self, name: &str) -> Result<(Source, TableInfo)> {
        if let Ok(index) = self.table_index(name) {
            let table = &self.tables[index];
            let info = TableInfo {
                schema: table.schema.clone(),
                is_static: table.is_static,
                // An empty table says nothing about what will come.
                rows: (!table.is_empty()).then(|| table.len()),
                unique: table.unique.clone(),
                cofactors: Vec::new(),
            };
            return Ok((Source::Table(table.id), info));
        }
        let Ok(index) = self.view_index(name) else {
            let known = self.tables().into_iter().chain(self.views());
            return Err(Error::UnknownTable {
                name: name.to_owned(),
                known: known.collect(),
            });
        };
        let view = &self.views[index];
        let rows = view.answer().len(&self.dictionary).ok();
        let info = TableInfo {
            rows: rows.filter(|&rows| rows > 0),
            ..view.info.clone()
        };
        Ok((Source::View(view.id), info))
    }

    /// A view, those that it reads, and those that these read, by their names.
    ///
    /// # Errors
    /// `UnknownView`.
    pub fn rests_on(&self, view: &str) -> Result<Vec<String>> {
        let mut found = vec![self.view(view)?.id];
        let mut at = 0;
        while let Some(&id) = found.get(at) {
            at += 1;
            let own = |view: &&NamedView| view.id == id || view.owner == Some(id);
            for source in self.views.iter().filter(own).flat_map(|view| &view.sources) {
                if let Source::View(read) = *source
                    && !found.contains(&read)
                {
                    found.push(read);
                }
            }
        }
        let views = self.views.iter().filter(|view| view.owner.is_none());
        let views = views.filter(|view| found.contains(&view.id));
        Ok(views.map(|view| view.name.clone()).collect())
    }

    /// The views that read something, by their names; a block is its view's.
    pub(crate) fn readers_of(&self, source: Source) -> Vec<String> {
        let family = match source {
            Source::View(id) => Some(id),
            Source::Table(_) => None,
        };
        let mut names: Vec<String> = Vec::new();
        for view in self
            .views
            .iter()
            .filter(|view| view.sources.contains(&source))
        {
            let owner = view.owner.unwrap_or(view.id);
            let owner = self.views.iter().find(|other| other.id == owner);
            let other = owner.filter(|owner| Some(owner.id) != family);
            names.extend(other.map(|owner| owner.name.clone()));
        }
        let mut known = std::collections::BTreeSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    }
}

impl Catalog for Database {
    fn table(&self, name: &str) -> Result<TableInfo> {
        self.seen(name).map(|(_, info)| info)
    }
}
