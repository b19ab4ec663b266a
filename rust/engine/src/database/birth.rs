//! The birth of a view: planned, filled from the rows that are there, and only then known.
//!
//! Invariant: a view comes with all its blocks or not at all. Cost: that of applying all rows of what it
//! reads, in chunks; what is static first, so that what only it needs can be freed.

use ringview_core::{Batch, Budget, Error, Result};
use ringview_query::Query;
use ringview_rows::RowMap;
use ringview_view::RowDelta;

use super::Database;
use crate::catalogue::choose::By;
use crate::graph::view::NamedView;
use crate::plan::{Planned, Source};
use crate::transaction::prepare::of_a_view;
use crate::{CHUNK, Poll};

impl Database {
    /// Declares a view and fills it from the rows that are there.
    ///
    /// # Errors
    /// `Exists`; what `bind` refuses in the query or in one of its blocks; `Overflow`, `NotANumber`
    /// and `NullFeature` for rows that are there; `Unsupported` if a table has rows that were not kept;
    /// what `poll` returns.
    pub fn create_view(&mut self, name: &str, query: &Query, poll: Poll<'_>) -> Result<()> {
        self.create_view_with(name, query, None, poll)
    }

    /// As [`create_view`](Self::create_view), kept by the engine of a name; its blocks by the cheapest, as
    /// the view where no name is given.
    ///
    /// # Errors
    /// The same; `Value` for a name that no engine has; the reason of an engine that refuses.
    pub fn create_view_with(
        &mut self,
        name: &str,
        query: &Query,
        engine: Option<&str>,
        poll: Poll<'_>,
    ) -> Result<()> {
        self.catalogue().check_new(name)?;
        let budget = self.state.budget(poll);
        let family = self.bear(name, query, By::Choice(engine), &budget)?;
        self.state.graph.views.extend(family);
        self.state.wire();
        self.state.count();
        Ok(())
    }

    /// A view behind its blocks, filled, and not yet known.
    pub(crate) fn bear(
        &mut self,
        name: &str,
        query: &Query,
        by: By<'_>,
        budget: &Budget<'_>,
    ) -> Result<Vec<NamedView>> {
        let plans = self.catalogue().plans(query, by)?;
        let born = plans.len() as u64;
        let owner = self.births + born;
        let mut family: Vec<NamedView> = Vec::with_capacity(plans.len());
        for planned in plans {
            match self.fill((name, owner), planned, &family, budget) {
                Ok(view) => family.push(view),
                Err(problem) => {
                    // The strings that blocks computed; whoever saw them goes, too.
                    self.state.storage.dictionary.rollback();
                    return Err(problem);
                }
            }
        }
        self.state.storage.dictionary.commit();
        self.births += born;
        Ok(family)
    }

    /// A view or block with the rows of what it reads.
    fn fill(
        &mut self,
        (name, owner): (&str, u64),
        planned: Planned<'_>,
        family: &[NamedView],
        budget: &Budget<'_>,
    ) -> Result<NamedView> {
        for source in &planned.sources {
            let tables = &self.state.storage.tables;
            let table = tables.iter().find(|t| Source::Table(t.id) == *source);
            let gone = table.filter(|table| table.rows.is_none() && !table.is_empty());
            if let Some(table) = gone {
                return Err(rows_are_gone(name, &table.name));
            }
        }
        let mut view = NamedView::new((name, owner), planned)?;
        if view.row_map().is_some() {
            // It keeps no rows: they go through it when its readers are filled.
            return Ok(view);
        }
        if let Some(timed) = view.timed() {
            let Some(now) = self.state.now else {
                return Err(no_clock(name));
            };
            timed.advance(now, budget)?;
        }
        self.load(&mut view, true, family, budget)?;
        view.kept.freeze();
        self.load(&mut view, false, family, budget)?;
        view.prepare(&self.state.storage.dictionary, budget)?;
        view.kept.commit(&self.state.storage.dictionary);
        Ok(view)
    }

    /// Applies the rows of what is static, or of what is not.
    fn load(
        &mut self,
        view: &mut NamedView,
        is_static: bool,
        family: &[NamedView],
        budget: &Budget<'_>,
    ) -> Result<()> {
        let strings = |database: &Self| database.state.storage.dictionary.memory_usage();
        let born: usize = family.iter().map(|view| view.bytes(true)).sum();
        let held = self.state.held() + born as u64;
        let strings_before = strings(self);
        for index in 0..view.atoms.len() {
            if view.atoms[index].is_static != is_static {
                continue;
            }
            let (source, needed) = (view.sources[index], needed(view, index));
            let mut first = 0;
            self.each_chunk((source, &needed), family, budget, &mut |database, batch| {
                let rows = RowDelta {
                    atom: index,
                    batch,
                    sign: 1,
                    dictionary: &database.state.storage.dictionary,
                };
                view.apply(rows, budget).map_err(|error| match source {
                    Source::Table(_) => error.counted_from(first),
                    Source::View(_) => of_a_view(error),
                })?;
                first += batch.rows as u64;
                budget.done(batch.rows as u64)?;
                let grown = strings(database).saturating_sub(strings_before);
                let grown = (grown + view.bytes(true)) as u64;
                database.state.check_room(held + grown, budget)
            })?;
        }
        Ok(())
    }

    /// Hands out all rows of a table, a view or a block of a family, in the columns that are needed, a chunk at a time.
    fn each_chunk(
        &mut self,
        (source, needed): (Source, &[bool]),
        family: &[NamedView],
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
        let below = family.iter().find(|below| Source::View(below.id) == source);
        if let Some(below) = below {
            return match below.row_map() {
                Some(map) => self.each_mapped((below, map), needed, family, budget, to),
                None => self.each_shown(below, needed, budget, to),
            };
        }
        match source {
            Source::Table(id) => {
                let tables = &mut self.state.storage.tables;
                let Some(at) = tables.iter().position(|table| table.id == id) else {
                    return Ok(());
                };
                let Some(rows) = tables[at].rows.take() else {
                    return Ok(());
                };
                let done = rows.scan(CHUNK, needed, |batch| to(self, batch));
                self.state.storage.tables[at].rows = Some(rows);
                done
            }
            Source::View(id) => {
                let views = std::mem::take(&mut self.state.graph.views);
                let below = views.iter().find(|below| below.id == id);
                let done = below.map(|below| self.each_shown(below, needed, budget, to));
                self.state.graph.views = views;
                done.unwrap_or(Ok(()))
            }
        }
    }

    /// The rows that a block computes of those that it reads.
    fn each_mapped(
        &mut self,
        (below, map): (&NamedView, &RowMap),
        wanted: &[bool],
        family: &[NamedView],
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
        let wanted = below.by_output(wanted);
        for (atom, &source) in below.sources.iter().enumerate() {
            let read = needed(below, atom);
            self.each_chunk((source, &read), family, budget, &mut |database, batch| {
                let dictionary = &mut database.state.storage.dictionary;
                let rows = RowDelta {
                    atom,
                    batch,
                    sign: 1,
                    dictionary,
                };
                let delta = map
                    .delta(rows, &wanted)
                    .map_err(|error| error.in_view(&below.name))?;
                let batch = delta.encode(&below.bound.outputs, &wanted, dictionary)?;
                to(database, &batch)
            })?;
        }
        Ok(())
    }

    /// The rows of a view or block that keeps them.
    fn each_shown(
        &mut self,
        below: &NamedView,
        needed: &[bool],
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
        let needed = below.by_output(needed);
        let mut next = Some(0);
        while let Some(place) = next {
            let dictionary = &mut self.state.storage.dictionary;
            let scanned = below.answer().scan(place, &needed, (dictionary, budget))?;
            next = scanned.1;
            let delta = scanned.0;
            let batch = delta.encode(&below.bound.outputs, &needed, dictionary)?;
            to(self, &batch)?;
        }
        Ok(())
    }

    /// Applies all rows of one view at an atom of another, or takes them back.
    pub(crate) fn pass_on(
        &mut self,
        below: &NamedView,
        (atom, sign): (usize, i64),
        view: &mut NamedView,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let needed = needed(view, atom);
        self.each_shown(below, &needed, budget, &mut |database, batch| {
            let rows = RowDelta {
                atom,
                batch,
                sign,
                dictionary: &database.state.storage.dictionary,
            };
            view.apply(rows, budget).map_err(of_a_view)?;
            budget.done(batch.rows as u64)
        })
    }
}

/// Takes rows, a chunk at a time.
type Taker<'t> = &'t mut dyn FnMut(&mut Database, &Batch) -> Result<()>;

/// Which columns of what an atom reads are needed: by any atom that reads the same, for a view may take its rows at
/// one of them for all.
fn needed(view: &NamedView, atom: usize) -> Vec<bool> {
    let mut needed = vec![false; view.atoms[atom].schema.len()];
    for (source, alike) in view.sources.iter().zip(&view.atoms) {
        if *source == view.sources[atom] {
            alike
                .columns
                .iter()
                .for_each(|&column| needed[column] = true);
        }
    }
    needed
}

fn no_clock(view: &str) -> Error {
    Error::Unsupported {
        what: format!("view {view:?}, whose rows depend on now()"),
        why: "the clock of the database is not set; it is the user's, and no other is read"
            .to_owned(),
        instead: "set the clock first: db.advance(..)".to_owned(),
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
