//! The birth of a view: planned, filled from the rows that are there, and only then known.
//!
//! Cost: that of applying all rows of its tables, in chunks; static tables first, so that what only
//! they need can be freed.

use ringview_core::{Error, Meter, Result};
use ringview_query::{Query, bind};
use ringview_view::RowDelta;
use ringview_viewtree::plan::{Plan, Planning};

use crate::database::Database;
use crate::view::NamedView;
use crate::{CHUNK, Poll};

impl Database {
    /// Declares a view and fills it from the rows that are there.
    ///
    /// # Errors
    /// `Exists`; what `bind` refuses in the query; `Overflow`, `NotANumber` and `NullFeature` for
    /// rows that are there; `Unsupported` if a table has rows that were not kept; what `poll` returns.
    pub fn create_view(&mut self, name: &str, query: &Query, poll: Poll<'_>) -> Result<()> {
        self.create_view_with(name, query, Planning::default(), poll)
    }

    /// As [`create_view`](Self::create_view), with a say in how it is planned.
    ///
    /// # Errors
    /// The same.
    pub fn create_view_with(
        &mut self,
        name: &str,
        query: &Query,
        planning: Planning,
        poll: Poll<'_>,
    ) -> Result<()> {
        self.check_new(name)?;
        no_blocks(query)?;
        let plan = Plan::new(bind(query, self)?, planning)?;
        for atom in &plan.atoms {
            let table = &self.tables[self.table_index(&atom.table)?];
            if table.rows.is_none() && !table.is_empty() {
                return Err(rows_are_gone(name, &table.name));
            }
        }
        let mut view = NamedView::new(name, query, plan)?;
        let meter = self.meter(poll);
        self.load(&mut view, true, &meter)?;
        view.tree.seal();
        self.load(&mut view, false, &meter)?;
        view.tree.settle(&self.dictionary, &meter)?;
        view.tree.commit(&self.dictionary);
        view.id = self.birth();
        self.views.push(view);
        self.wire();
        self.count();
        Ok(())
    }

    /// As [`create_view`](Self::create_view), in the place of the view of this name, if there is one; it
    /// stays if that fails.
    ///
    /// # Errors
    /// The same, but for a view of this name.
    pub fn replace_view(&mut self, name: &str, query: &Query, poll: Poll<'_>) -> Result<()> {
        let Some(at) = self.views.iter().position(|view| view.name == name) else {
            return self.create_view(name, query, poll);
        };
        let old = self.views.remove(at);
        let done = self.create_view(name, query, poll);
        match done {
            // Nobody was told that it was gone, so its readers find it at its place.
            Err(_) => self.views.insert(at, old),
            Ok(()) => {
                self.words_left(old.tree.string_words());
                self.collect_strings();
                self.recount();
            }
        }
        done
    }

    /// Applies the rows of the tables that are static, or of those that are not.
    fn load(&self, view: &mut NamedView, is_static: bool, meter: &Meter<'_>) -> Result<()> {
        let NamedView { atoms, tree, .. } = view;
        for (index, atom) in atoms.iter().enumerate() {
            let table = &self.tables[self.table_index(&atom.table)?];
            let Some(rows) = table.rows.as_ref().filter(|_| table.is_static == is_static) else {
                continue;
            };
            let mut needed = vec![false; table.schema.len()];
            for &column in &atom.columns {
                needed[column] = true;
            }
            let mut first = 0;
            rows.scan(CHUNK, &needed, |batch| {
                let rows = RowDelta {
                    atom: index,
                    batch,
                    sign: 1,
                    dictionary: &self.dictionary,
                };
                tree.apply(rows, meter)
                    .map_err(|error| error.counted_from(first))?;
                first += batch.rows as u64;
                meter.done(batch.rows as u64)?;
                self.check_room(self.held() + tree.bytes() as u64, meter)
            })?;
        }
        Ok(())
    }
}

/// Blocks are accepted in a query, and kept by nobody yet.
pub(crate) fn no_blocks(query: &Query) -> Result<()> {
    match query.blocks.first() {
        None => Ok(()),
        Some(block) => Err(Error::Unsupported {
            what: format!("the block {:?} of a query", block.name),
            why: "views read tables only".to_owned(),
            instead: "write the query without WITH and subqueries in FROM".to_owned(),
        }),
    }
}

fn rows_are_gone(view: &str, table: &str) -> Error {
    Error::Unsupported {
        what: format!("creating view {view:?} over table {table:?}, which has rows already"),
        why: "with trust_deletes rows are not kept, so there is nothing to fill it from".to_owned(),
        instead: "create the view while the table is empty, or the database without trust_deletes"
            .to_owned(),
    }
}
