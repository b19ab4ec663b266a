//! What is maintained: a query over tables and views, the atoms that it reads, and the state of its engine.
//!
//! Invariant: between two transactions its result is that of the query. Cost: that of the engine.

use std::any::Any;
use std::borrow::Cow;

use ringview_core::{Budget, Dictionary, Result};
use ringview_explain::Explanation;
use ringview_query::{Bound, PlanAtom, Query, TableInfo};
use ringview_rows::{RowMap, Timed};
use ringview_view::{Answer, Context, Delta, ProductDelta, RowDelta, View, is_readable};

use super::log::Log;
use crate::plan::{ChoiceDescription, Planned, Signature, Source};
use crate::storage::table::Reader;

#[derive(Debug)]
pub(crate) struct Node {
    /// That of the oldest view that it maintains; of a block, the name in its query.
    pub(crate) name: String,
    /// Tells it from all other views and nodes that there were; given by the database.
    pub(crate) id: u64,
    pub(crate) query: Query,
    /// Identifies what other queries may share; none for a state of its own, as a sample's.
    pub(crate) signature: Option<Signature>,
    /// What was asked for, where that is kept as another.
    pub(crate) asked: Option<Query>,
    /// The same with names and types, as partials are of it.
    pub(crate) bound: Bound,
    /// Whether it is a sum of partials, which rows of its tables do not come to.
    pub(crate) merged: bool,
    /// Its changes, once somebody followed it.
    pub(crate) log: Option<Log>,
    /// By output, whether views that read this one need its column.
    pub(crate) needed: Option<Vec<bool>>,
    /// By output, whether its column is wanted in the delta of a transaction.
    wanted: Option<Vec<bool>>,
    /// What it reads, by the atoms of its query.
    pub(crate) atoms: Vec<PlanAtom>,
    /// The same, by number.
    pub(crate) sources: Vec<Source>,
    /// What it is to those that read it; its rows are not counted here.
    pub(crate) info: TableInfo,
    /// Who reads it.
    pub(crate) readers: Vec<Reader>,
    /// The names of its columns.
    pub(crate) columns: Vec<String>,
    /// What is told of the choice of its engine.
    pub(crate) description: ChoiceDescription,
    pub(crate) kept: Box<dyn View>,
}

impl Node {
    /// That of a view of this name, or of a block of its query; empty.
    pub(crate) fn new(name: &str, planned: Planned<'_>) -> Result<Self> {
        Ok(Self {
            signature: planned.is_shareable.then(|| planned.signature()),
            name: (planned.block).map_or_else(|| name.to_owned(), Cow::into_owned),
            id: planned.id,
            query: planned.query.into_owned(),
            asked: planned.asked.cloned(),
            bound: planned.bound,
            merged: false,
            log: None,
            needed: None,
            wanted: None,
            sources: planned.sources,
            info: planned.info,
            readers: Vec::new(),
            atoms: planned.atoms,
            columns: planned.columns,
            description: planned.chosen.description,
            kept: planned.chosen.candidate.make()?,
        })
    }

    /// Its query, as it was asked for.
    pub(crate) fn asked(&self) -> &Query {
        self.asked.as_ref().unwrap_or(&self.query)
    }

    /// Applies rows of one of its atoms; an error names the view.
    pub(crate) fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let cx = Context {
            dictionary: rows.dictionary,
            budget,
            wanted: self.wanted.as_deref(),
        };
        let done = self.kept.apply(rows, &cx);
        done.map_err(|error| error.in_view(&self.name))
    }

    /// Applies a product of factors to one of its atoms; an error names the view.
    pub(crate) fn apply_product(
        &mut self,
        product: ProductDelta<'_>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let dictionary = product.dictionary;
        let cx = Context {
            dictionary,
            budget,
            wanted: self.wanted.as_deref(),
        };
        let done = self.kept.apply_product(product, &cx);
        done.map_err(|error| error.in_view(&self.name))
    }

    /// Ends the changes of a transaction, before the commit; an error names the view.
    pub(crate) fn prepare(
        &mut self,
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<Delta> {
        let cx = Context {
            dictionary,
            budget,
            wanted: self.wanted.as_deref(),
        };
        let done = self.kept.prepare(&cx);
        done.map_err(|error| error.in_view(&self.name))
    }

    /// Whether somebody logs its changes.
    pub(crate) fn is_logged(&self) -> bool {
        self.log.as_ref().is_some_and(Log::is_open)
    }

    /// Works out which columns its delta has: all that are logged, or those that other views need.
    pub(crate) fn choose_wanted(&mut self) {
        self.wanted = if self.is_logged() {
            Some(vec![true; self.columns.len()])
        } else {
            self.needed.clone()
        };
    }

    /// A mark for each column that a view above could read, as marks by output.
    pub(crate) fn by_output(&self, readable: &[bool]) -> Vec<bool> {
        let mut marks = readable.iter();
        let mark = |output| is_readable(output) && marks.next() == Some(&true);
        self.bound.outputs.iter().map(mark).collect()
    }

    /// Bytes that it takes, its log included; by what is quickly counted if `quick`.
    pub(crate) fn bytes(&self, quick: bool) -> usize {
        let kept = if quick {
            self.kept.bytes()
        } else {
            self.kept.memory_usage()
        };
        kept + self.log.as_ref().map_or(0, Log::memory_usage)
    }

    /// The map that it is, where it keeps no rows.
    pub(crate) fn row_map(&self) -> Option<&RowMap> {
        (&*self.kept as &dyn Any).downcast_ref()
    }

    /// What it is where time moves its rows.
    pub(crate) fn timed(&mut self) -> Option<&mut Timed> {
        (&mut *self.kept as &mut dyn Any).downcast_mut()
    }

    /// What can be read of it.
    pub(crate) fn answer(&self) -> &dyn Answer {
        self.kept.answer()
    }

    /// How it is maintained, and what each node holds now.
    pub(crate) fn explanation(&self) -> Explanation {
        Explanation {
            view: Some(self.name.clone()),
            query: serde_json::to_value(self.asked()).ok(),
            ..self.description.with(self.kept.explanation())
        }
    }
}
