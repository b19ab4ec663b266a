//! A view by its name: the query as it came, the atoms that it reads, and what maintains it.

use std::borrow::Cow;

use ringview_core::{Budget, Dictionary, Result};
use ringview_explain::Explanation;
use ringview_query::{Bound, PlanAtom, Query, TableInfo};
use ringview_view::{Answer, Follower, ProductDelta, RowDelta, View};

use crate::choose::Told;
use crate::names::{Planned, Source};
use crate::table::Reader;

#[derive(Debug)]
pub(crate) struct NamedView {
    /// Of a block, what its query calls it.
    pub(crate) name: String,
    /// Of a block, the number of the view whose query has it: it comes and goes with that.
    pub(crate) owner: Option<u64>,
    /// Tells it from all other views that there were; given by the database.
    pub(crate) id: u64,
    /// As what it was written.
    pub(crate) text: Option<String>,
    pub(crate) query: Query,
    /// What was asked for, where that is kept as another.
    pub(crate) asked: Option<Query>,
    /// The same with names and types, as partials are of it.
    pub(crate) bound: Bound,
    /// Whether it is a sum of partials, which rows of its tables do not come to.
    pub(crate) merged: bool,
    /// Whether somebody was given a place in its changes.
    pub(crate) followed: bool,
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
    pub(crate) told: Told,
    pub(crate) kept: Box<dyn View>,
    /// The place in the changes of whoever asks the view itself, once somebody did.
    pub(crate) own: Option<Follower>,
}

impl NamedView {
    /// An empty view, or a block of the view of this name and number.
    pub(crate) fn new((name, owner): (&str, u64), planned: Planned<'_>) -> Result<Self> {
        Ok(Self {
            owner: planned.block.as_ref().map(|_| owner),
            name: (planned.block).map_or_else(|| name.to_owned(), Cow::into_owned),
            id: planned.id,
            own: None,
            text: None,
            query: planned.query.into_owned(),
            asked: planned.asked.cloned(),
            bound: planned.bound,
            merged: false,
            followed: false,
            sources: planned.sources,
            info: planned.info,
            readers: Vec::new(),
            atoms: planned.atoms,
            columns: planned.columns,
            told: planned.chosen.told,
            kept: planned.chosen.candidate.make()?,
        })
    }

    /// Its query, as it was asked for.
    pub(crate) fn asked(&self) -> &Query {
        self.asked.as_ref().unwrap_or(&self.query)
    }

    /// Applies rows of one of its atoms; an error names the view.
    pub(crate) fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let done = self.kept.apply(rows, budget);
        done.map_err(|error| error.in_view(&self.name))
    }

    /// Applies a product of factors to one of its atoms; an error names the view.
    pub(crate) fn apply_product(
        &mut self,
        product: ProductDelta<'_>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let done = self.kept.apply_product(product, budget);
        done.map_err(|error| error.in_view(&self.name))
    }

    /// Ends what a transaction changes in it, before the commit; an error names the view.
    pub(crate) fn settle(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        let done = self.kept.settle(dictionary, budget);
        done.map_err(|error| error.in_view(&self.name))
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
            ..self.told.with(self.kept.explanation())
        }
    }
}
