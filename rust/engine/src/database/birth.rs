//! The birth of a view: planned, filled from the rows that are there, and only then known.
//!
//! Invariant: a view comes with all its blocks or not at all. Cost: that of applying all rows of what it
//! reads, in chunks; what is static first, so that what only it needs can be freed.

use ringview_core::{Error, Meter, Result};
use ringview_query::Query;
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
        let meter = self.state.meter(poll);
        let family = self.bear(name, query, By::Choice(engine), &meter)?;
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
        meter: &Meter<'_>,
    ) -> Result<Vec<NamedView>> {
        let plans = self.catalogue().plans(query, by)?;
        let born = plans.len() as u64;
        let owner = self.births + born;
        let mut family: Vec<NamedView> = Vec::with_capacity(plans.len());
        for planned in plans {
            match self.fill((name, owner), planned, &family, meter) {
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
        meter: &Meter<'_>,
    ) -> Result<NamedView> {
        for source in &planned.sources {
            let table = self
                .state
                .storage
                .tables
                .iter()
                .find(|t| Source::Table(t.id) == *source);
            let gone = table.filter(|table| table.rows.is_none() && !table.is_empty());
            if let Some(table) = gone {
                return Err(rows_are_gone(name, &table.name));
            }
        }
        let mut view = NamedView::new((name, owner), planned)?;
        self.load(&mut view, true, family, meter)?;
        view.kept.freeze();
        self.load(&mut view, false, family, meter)?;
        view.prepare(&self.state.storage.dictionary, meter)?;
        view.kept.commit(&self.state.storage.dictionary);
        Ok(view)
    }

    /// Applies the rows of what is static, or of what is not.
    fn load(
        &mut self,
        view: &mut NamedView,
        is_static: bool,
        family: &[NamedView],
        meter: &Meter<'_>,
    ) -> Result<()> {
        let born: usize = family.iter().map(|view| view.bytes(true)).sum();
        for index in 0..view.atoms.len() {
            if view.atoms[index].is_static != is_static {
                continue;
            }
            match view.sources[index] {
                Source::Table(id) => self.load_table(view, (index, id), born, meter)?,
                Source::View(id) => match family.iter().find(|below| below.id == id) {
                    Some(below) => self.load_block(view, index, (below, born), meter)?,
                    None => self.load_view(view, (index, id), born, meter)?,
                },
            }
        }
        Ok(())
    }

    fn load_table(
        &self,
        view: &mut NamedView,
        (index, id): (usize, u64),
        born: usize,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let needed = needed(view, index);
        let table = self
            .state
            .storage
            .tables
            .iter()
            .find(|table| table.id == id);
        let Some(rows) = table.and_then(|table| table.rows.as_ref()) else {
            return Ok(());
        };
        let mut first = 0;
        rows.scan(CHUNK, &needed, |batch| {
            let rows = RowDelta {
                atom: index,
                batch,
                sign: 1,
                dictionary: &self.state.storage.dictionary,
            };
            view.apply(rows, meter)
                .map_err(|error| error.counted_from(first))?;
            first += batch.rows as u64;
            meter.done(batch.rows as u64)?;
            self.state
                .check_room(self.state.held() + (born + view.bytes(true)) as u64, meter)
        })
    }

    /// The rows of a view that is known.
    fn load_view(
        &mut self,
        view: &mut NamedView,
        (index, id): (usize, u64),
        born: usize,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let views = std::mem::take(&mut self.state.graph.views);
        let held: usize = views.iter().map(|view| view.bytes(true)).sum();
        let below = views.iter().find(|below| below.id == id);
        let done = below.map(|below| self.load_block(view, index, (below, born + held), meter));
        self.state.graph.views = views;
        done.unwrap_or(Ok(()))
    }

    /// The rows of a view or block; `besides` are bytes that are held and not known to the database.
    fn load_block(
        &mut self,
        view: &mut NamedView,
        index: usize,
        (below, besides): (&NamedView, usize),
        meter: &Meter<'_>,
    ) -> Result<()> {
        self.pass_on(below, (index, 1), view, meter, |database, view| {
            let held = database.state.held() + (besides + view.bytes(true)) as u64;
            database.state.check_room(held, meter)
        })
    }

    /// Applies all rows of one view at an atom of another, or takes them back; asks after each chunk.
    pub(crate) fn pass_on(
        &mut self,
        below: &NamedView,
        (atom, sign): (usize, i64),
        view: &mut NamedView,
        meter: &Meter<'_>,
        asked: impl Fn(&Database, &NamedView) -> Result<()>,
    ) -> Result<()> {
        let needed = below.by_output(&needed(view, atom));
        let mut next = Some(0);
        while let Some(place) = next {
            let dictionary = &mut self.state.storage.dictionary;
            let scanned = below.answer().scan(place, &needed, (dictionary, meter))?;
            next = scanned.1;
            let batch = scanned
                .0
                .encode(&below.bound.outputs, &needed, dictionary)?;
            let rows = RowDelta {
                atom,
                batch: &batch,
                sign,
                dictionary,
            };
            view.apply(rows, meter).map_err(of_a_view)?;
            meter.done(batch.rows as u64)?;
            asked(self, view)?;
        }
        Ok(())
    }
}

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

fn rows_are_gone(view: &str, table: &str) -> Error {
    Error::Unsupported {
        what: format!("creating view {view:?} over table {table:?}, which has rows already"),
        why: "with trust_deletes rows are not kept, so there is nothing to fill it from".to_owned(),
        instead: "create the view while the table is empty, or the database without trust_deletes"
            .to_owned(),
    }
}
