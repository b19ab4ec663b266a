//! Nodes that are filled from the rows that are there.
//!
//! Invariant: rows are read of tables, of nodes that are known, and of those of the same birth that are filled already.
//! Cost: that of loading all rows of what a node reads, in chunks; what is static first, so that what only it needs can be
//! freed, then the smallest, so that the many rows of a fact table go up through the dimensions that they meet.

use ringview_core::{Batch, Budget, Error, Result};
use ringview_rows::RowMap;
use ringview_view::RowDelta;

use super::Database;
use crate::CHUNK;
use crate::graph::Graph;
use crate::graph::facets::NodeAnswer;
use crate::graph::node::Node;
use crate::plan::Source;
use crate::storage::table::Table;
use crate::transaction::prepare::of_a_view;

/// The nodes that rows may be read from while a node is filled.
#[derive(Clone, Copy)]
struct Readable<'n> {
    /// Of the same birth, which are not known yet.
    family: &'n [Node],
    graph: &'n Graph,
}

impl<'n> Readable<'n> {
    fn find(&self, id: u64) -> Option<&'n Node> {
        let mut family = self.family.iter();
        let own = family.find(|node| node.id == id);
        own.or_else(|| self.graph.node(id))
    }

    /// The node of a view or block.
    fn view(&self, id: u64) -> Option<&'n Node> {
        self.find(self.graph.node_id(id))
    }

    fn answer(&self, node: &'n Node) -> NodeAnswer<'n> {
        node.answer_among(|id| self.find(id))
    }
}

impl Database {
    /// Gives a node without rows those of what it reads.
    pub(super) fn fill(
        &mut self,
        name: &str,
        view: &mut Node,
        family: &[Node],
        budget: &Budget<'_>,
    ) -> Result<()> {
        for source in &view.sources {
            let tables = &self.state.storage.tables;
            let table = tables.iter().find(|t| Source::Table(t.id) == *source);
            let gone = table.filter(|table| table.rows.is_none() && !table.is_empty());
            if let Some(table) = gone {
                return Err(rows_are_gone(name, &table.name));
            }
        }
        if view.row_map().is_some() || view.answered_from().is_some() {
            // It keeps no rows: they go through it when its readers are filled.
            return Ok(());
        }
        if let Some(timed) = view.timed() {
            let Some(now) = self.state.now else {
                return Err(no_clock(name));
            };
            timed.advance(now, budget)?;
        }
        let graph = std::mem::take(&mut self.state.graph);
        let from = Readable {
            family,
            graph: &graph,
        };
        let loaded = self.load(view, true, from, budget).and_then(|()| {
            view.view_mut().into_iter().for_each(|view| view.freeze());
            self.load(view, false, from, budget)
        });
        self.state.graph = graph;
        loaded?;
        view.prepare(None, &self.state.storage.dictionary, budget)?;
        let dictionary = &self.state.storage.dictionary;
        view.view_mut()
            .into_iter()
            .for_each(|view| view.commit(dictionary));
        Ok(())
    }

    /// Applies the rows of what is static, or of what is not.
    fn load(
        &mut self,
        view: &mut Node,
        is_static: bool,
        from: Readable<'_>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let strings = |database: &Self| database.state.storage.dictionary.memory_usage();
        let known = from.family.iter().chain(&from.graph.nodes);
        let known: usize = known.map(|node| node.bytes(true)).sum();
        let held = self.state.held() + known as u64;
        let strings_before = strings(self);
        let atoms = (0..view.atoms.len()).filter(|&atom| view.atoms[atom].is_static == is_static);
        let mut atoms: Vec<usize> = atoms.collect();
        atoms.sort_by_cached_key(|&atom| self.rows_of(view.sources[atom], from));
        if let Some(view) = view.view_mut() {
            view.before_load(&atoms);
        }
        for index in atoms {
            let (source, needed) = (view.sources[index], needed(view, index));
            let mut first = 0;
            self.each_chunk((source, &needed), from, budget, &mut |database, batch| {
                let rows = RowDelta {
                    atom: index,
                    batch,
                    sign: 1,
                    dictionary: &database.state.storage.dictionary,
                };
                let done = view.load(rows, budget);
                done.map_err(|error| match source {
                    Source::Table(_) => error.counted_from(first),
                    Source::View(_) => of_a_view(error),
                })?;
                first += batch.rows as u64;
                budget.done(batch.rows as u64)?;
                let grown = strings(database).saturating_sub(strings_before);
                let grown = (grown + view.bytes(true)) as u64;
                database.state.check_room(held + grown, budget)
            })?;
            view.end_load(&self.state.storage.dictionary, budget)?;
        }
        Ok(())
    }

    /// How many rows a source has; of a block that keeps none, at the most.
    fn rows_of(&self, source: Source, from: Readable<'_>) -> u64 {
        match source {
            Source::Table(id) => {
                let mut tables = self.state.storage.tables.iter();
                let table = tables.find(|table| table.id == id);
                table.map_or(0, Table::len)
            }
            Source::View(id) => {
                let Some(node) = from.view(id) else {
                    return 0;
                };
                let below = node
                    .sources
                    .iter()
                    .map(|&source| self.rows_of(source, from));
                match node.row_map() {
                    Some(_) => below.sum(),
                    None => (from.answer(node).len(&self.state.storage.dictionary)).unwrap_or(0),
                }
            }
        }
    }

    /// Hands out all rows of a table, a view or a block of a family, in the columns that are needed, a chunk at a time.
    fn each_chunk(
        &mut self,
        (source, needed): (Source, &[bool]),
        from: Readable<'_>,
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
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
            Source::View(id) => from.view(id).map_or(Ok(()), |below| match below.row_map() {
                Some(map) => self.each_mapped((below, map), needed, from, budget, to),
                None => self.each_shown((below, &from.answer(below)), needed, budget, to),
            }),
        }
    }

    /// The rows that a block computes of those that it reads.
    fn each_mapped(
        &mut self,
        (below, map): (&Node, &RowMap),
        wanted: &[bool],
        from: Readable<'_>,
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
        let wanted = below.by_output(wanted);
        for (atom, &source) in below.sources.iter().enumerate() {
            let read = needed(below, atom);
            self.each_chunk((source, &read), from, budget, &mut |database, batch| {
                let dictionary = &mut database.state.storage.dictionary;
                let rows = RowDelta {
                    atom,
                    batch,
                    sign: 1,
                    dictionary,
                };
                let delta = map
                    .delta(rows, &wanted)
                    .map_err(|error| error.in_view(&below.serves))?;
                let batch = delta.encode(&below.bound.outputs, &wanted, dictionary)?;
                to(database, &batch)
            })?;
        }
        Ok(())
    }

    /// The rows of a view or block that keeps them.
    fn each_shown(
        &mut self,
        (below, answer): (&Node, &NodeAnswer<'_>),
        needed: &[bool],
        budget: &Budget<'_>,
        to: Taker<'_>,
    ) -> Result<()> {
        let needed = below.by_output(needed);
        let mut next = Some(0);
        while let Some(place) = next {
            let dictionary = &mut self.state.storage.dictionary;
            let scanned = answer.scan(place, &needed, (dictionary, budget))?;
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
        below: (&Node, &NodeAnswer<'_>),
        (atom, sign): (usize, i64),
        view: &mut Node,
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
            let done = view.apply(rows, budget);
            done.map_err(of_a_view)?;
            budget.done(batch.rows as u64)
        })
    }
}

/// Takes rows, a chunk at a time.
type Taker<'t> = &'t mut dyn FnMut(&mut Database, &Batch) -> Result<()>;

/// Which columns of what an atom reads are needed: by any atom that reads the same, for a view may take its rows at
/// one of them for all.
fn needed(view: &Node, atom: usize) -> Vec<bool> {
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
