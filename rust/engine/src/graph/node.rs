//! A maintained query over tables and views: its atoms, and the state of its engine.
//!
//! Invariant: between two transactions its result is that of the query. A node has a state of its own, or is a facet:
//! it is answered from the groups of another node, which has the terms of several queries over one join. That node
//! reads tables and views for all its facets, and is no view itself. Cost: that of the engine.

use std::any::Any;
use std::borrow::Cow;

use ringview_core::{Budget, Dictionary, Error, Result};
use ringview_query::{Bound, Query, TableInfo};
use ringview_rows::{Recursive, RowMap, Timed};
use ringview_view::result_table::{Facet, ResultTable};
use ringview_view::{Candidate, Context, Delta, ProductDelta, RowDelta, View, is_readable};

use super::groupings::{Groupings, Union};
use super::logs::Logs;
use crate::plan::{ChoiceDescription, Input, Planned, Signature, Source, sources};
use crate::storage::table::Reader;

#[derive(Debug)]
pub(crate) struct Node {
    /// That of the oldest view that it is, or of its oldest facet; of a block, the name in its query.
    pub(crate) name: String,
    /// The oldest view that it is, or is a block of: errors name it.
    pub(crate) serves: String,
    /// Identifies it among all views and nodes that ever existed; given by the database.
    pub(crate) id: u64,
    pub(crate) query: Query,
    /// Identifies what other queries may share; none for a state of its own, as a sample's.
    pub(crate) signature: Option<Signature>,
    /// Groupings of a node whose groups other nodes read as facets.
    pub(crate) union: Option<Groupings>,
    /// Its facets.
    pub(crate) facets: Vec<usize>,
    /// The numbers of the views that it is, oldest first.
    pub(crate) views: Vec<u64>,
    /// The query as the user wrote it, where another one is kept.
    pub(crate) asked: Option<Query>,
    /// The same with names and types, as partials are of it.
    pub(crate) bound: Bound,
    /// Whether it is a sum of partials, which does not receive rows of its tables.
    pub(crate) merged: bool,
    /// Whether the values of the transaction at hand made it fail.
    pub(crate) failed: bool,
    /// Its logs, once somebody followed it.
    pub(crate) logs: Logs,
    /// By output, whether views that read this one need its column.
    pub(crate) needed: Option<Vec<bool>>,
    /// By output, whether its column is wanted in the delta of a transaction.
    wanted: Option<Vec<bool>>,
    /// Its inputs, by the atoms of its plan.
    pub(crate) inputs: Vec<Input>,
    /// Its properties as a source of other queries; its rows are not counted here.
    pub(crate) info: TableInfo,
    /// Its readers.
    pub(crate) readers: Vec<Reader>,
    /// The names of its columns.
    pub(crate) columns: Vec<String>,
    /// The description of the choice of its engine.
    pub(crate) description: ChoiceDescription,
    pub(crate) state: NodeState,
}

/// The state that answers a node.
#[derive(Debug)]
pub(crate) enum NodeState {
    /// A state of its own.
    View(Box<dyn View>),
    /// The groups of another node, by its number.
    Facet(u64, Box<Facet>),
}

impl Node {
    /// That of a view of this name, or of a block of its query, with a state of its own; empty.
    pub(crate) fn new(name: &str, mut planned: Planned<'_>) -> Result<Self> {
        let state = planned.choice.take_candidate().make()?;
        Ok(Self::of(name, planned, NodeState::View(state)))
    }

    /// The same as a facet of the node of a union.
    pub(crate) fn facet(name: &str, planned: Planned<'_>, union: Option<&Self>) -> Result<Self> {
        let found =
            union.and_then(|union| Some((union.id, union.union.as_ref()?.find(&planned.bound)?)));
        let (union, found) = found.ok_or_else(|| strange(name))?;
        let facet = Facet::new(&planned.bound, found);
        Ok(Self::of(
            name,
            planned,
            NodeState::Facet(union, Box::new(facet)),
        ))
    }

    /// Refuses a facet of what is there that cannot be shown.
    pub(crate) fn check_shown(&self, union: Option<&Self>, dictionary: &Dictionary) -> Result<()> {
        match &self.state {
            NodeState::Facet(_, facet) => match union.and_then(|union| union.groups_of(facet)) {
                Some(groups) => facet.check(groups, dictionary),
                None => Ok(()),
            },
            NodeState::View(_) => Ok(()),
        }
    }

    /// That of a union, of which the first of its views has this name; empty.
    pub(crate) fn union(name: &str, union: Union, candidate: Box<dyn Candidate>) -> Result<Self> {
        let state = candidate.make_groups()?;
        let groupings = Groupings {
            engine: union.engine,
            bounds: union.bounds,
        };
        if (0..groupings.bounds.len()).any(|at| state.groups(at).is_none()) {
            return Err(strange(name));
        }
        let inputs = union.sources.into_iter().zip(groupings.atoms());
        Ok(Self {
            name: name.to_owned(),
            serves: name.to_owned(),
            id: union.id,
            query: union.query,
            signature: None,
            facets: Vec::new(),
            views: Vec::new(),
            asked: None,
            merged: false,
            failed: false,
            logs: Logs::default(),
            needed: None,
            wanted: None,
            inputs: inputs
                .map(|(source, atom)| Input { source, atom })
                .collect(),
            info: union.info,
            bound: groupings.bounds[0].clone(),
            union: Some(groupings),
            readers: Vec::new(),
            columns: Vec::new(),
            description: ChoiceDescription::default(),
            state: NodeState::View(state),
        })
    }

    fn of(name: &str, planned: Planned<'_>, state: NodeState) -> Self {
        Self {
            signature: planned.signature(),
            union: None,
            facets: Vec::new(),
            views: Vec::new(),
            serves: name.to_owned(),
            name: (planned.block).map_or_else(|| name.to_owned(), Cow::into_owned),
            id: planned.id,
            query: planned.query.into_owned(),
            asked: planned.asked.cloned(),
            bound: planned.bound,
            merged: false,
            failed: false,
            logs: Logs::default(),
            needed: None,
            wanted: None,
            inputs: planned.inputs,
            info: planned.info,
            readers: Vec::new(),
            columns: planned.columns,
            description: planned.choice.description,
            state,
        }
    }

    /// Lets a facet be answered from the groups of another node, which has its terms.
    pub(crate) fn refer_to(&mut self, union: u64, groupings: &Groupings) {
        match groupings.find(&self.bound) {
            Some(found) => {
                self.state = NodeState::Facet(union, Box::new(Facet::new(&self.bound, found)))
            }
            None => unreachable!("a union has the terms of its facets"),
        }
    }

    /// Of a node that others are facets of: the groups of one of them.
    pub(crate) fn groups_of(&self, facet: &Facet) -> Option<ResultTable<'_>> {
        self.view()?.groups(facet.grouping())
    }

    /// Drops terms that are not marked and groupings without marks, of a node that others are facets of; returns
    /// whether there were such, and its engine could drop them.
    pub(crate) fn retain_terms(&mut self, marks: &[Option<Vec<bool>>]) -> bool {
        let all = |marks: &Option<Vec<bool>>| {
            let marks = marks.as_ref();
            marks.is_some_and(|marks| marks.iter().all(|mark| *mark))
        };
        if marks.iter().all(all) || !self.view_mut().is_some_and(|view| view.retain_terms(marks)) {
            return false;
        }
        if let Some(groupings) = &mut self.union {
            groupings.retain_terms(marks);
            for (input, atom) in self.inputs.iter_mut().zip(groupings.atoms()) {
                input.atom = atom;
            }
            self.bound = groupings.bounds[0].clone();
        }
        true
    }

    /// Its state, where it has one of its own.
    pub(crate) fn view(&self) -> Option<&dyn View> {
        match &self.state {
            NodeState::View(view) => Some(&**view),
            NodeState::Facet(..) => None,
        }
    }

    /// The same, to change it.
    pub(crate) fn view_mut(&mut self) -> Option<&mut Box<dyn View>> {
        match &mut self.state {
            NodeState::View(view) => Some(view),
            NodeState::Facet(..) => None,
        }
    }

    /// The number of the node whose groups it is answered from, where it is a facet.
    pub(crate) fn answered_from(&self) -> Option<u64> {
        match self.state {
            NodeState::View(_) => None,
            NodeState::Facet(of, _) => Some(of),
        }
    }

    /// The sources that it reads, by atom.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Source> {
        sources(&self.inputs)
    }

    /// The numbers of the views and nodes that its result follows from: the node of its groups where it is a facet, else
    /// those that its atoms read. Levels, readers and sweeps follow these edges and no others.
    pub(crate) fn reads(&self) -> impl Iterator<Item = u64> {
        let union = self.answered_from();
        let views = self.sources().filter_map(|source| match source {
            Source::View(id) => Some(id),
            Source::Table(_) => None,
        });
        let views = views.filter(move |_| union.is_none());
        union.into_iter().chain(views)
    }

    /// Its query, as the user wrote it.
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
        let NodeState::View(view) = &mut self.state else {
            return Ok(());
        };
        let done = view.apply(rows, &cx);
        done.map_err(|error| self.failing(error))
    }

    /// The same while it is filled: rows may wait until `end_load`.
    pub(crate) fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let (dictionary, NodeState::View(view)) = (rows.dictionary, &mut self.state) else {
            return Ok(());
        };
        let cx = Context {
            dictionary,
            budget,
            wanted: None,
        };
        view.load(rows, &cx)
            .map_err(|error| error.in_view(&self.serves))
    }

    /// All rows of an atom have been loaded.
    pub(crate) fn end_load(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        let NodeState::View(view) = &mut self.state else {
            return Ok(());
        };
        let cx = Context {
            dictionary,
            budget,
            wanted: None,
        };
        view.end_load(&cx)
            .map_err(|error| error.in_view(&self.serves))
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
        let NodeState::View(view) = &mut self.state else {
            return Ok(());
        };
        let done = view.apply_product(product, &cx);
        done.map_err(|error| self.failing(error))
    }

    /// Ends the changes of a transaction, before the commit; an error names the view. A facet is given the node of its
    /// groups, which has ended them.
    pub(crate) fn prepare(
        &mut self,
        union: Option<&Self>,
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<Delta> {
        let cx = Context {
            dictionary,
            budget,
            wanted: self.wanted.as_deref(),
        };
        let done = match &mut self.state {
            NodeState::View(view) => view.prepare(&cx),
            NodeState::Facet(_, facet) => match union.and_then(|union| union.groups_of(facet)) {
                Some(groups) => facet.prepare(groups, &cx),
                None => Ok(Delta::default()),
            },
        };
        done.map_err(|error| self.failing(error))
    }

    /// Marks it where values made it fail; the error names the view.
    pub(crate) fn failing(&mut self, error: Error) -> Error {
        self.failed |= error.is_of_values();
        error.in_view(&self.serves)
    }

    /// As if nothing read it, and it were no view.
    pub(crate) fn forget_readers(&mut self) {
        self.readers.clear();
        self.facets.clear();
        self.views.clear();
        self.serves.clear();
        self.needed = None;
        self.choose_wanted();
    }

    /// Notes that a view or block reads it, unless that is known, and which columns.
    pub(crate) fn add_reader(&mut self, reader: Option<Reader>, columns: &[usize]) {
        self.readers.extend(reader);
        // A static view moves no more.
        if self.info.is_static {
            return;
        }
        let mut read = vec![false; self.info.schema.len()];
        columns.iter().for_each(|&column| read[column] = true);
        let marks = self.by_output(&read);
        let needed = self.needed.get_or_insert_with(|| vec![false; marks.len()]);
        for (needed, read) in needed.iter_mut().zip(marks) {
            *needed |= read;
        }
        self.choose_wanted();
    }

    /// Works out which columns its delta has: all that are logged, or those that other views need.
    pub(crate) fn choose_wanted(&mut self) {
        self.wanted = if self.logs.logs_rows() {
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

    /// The outputs that are columns of what it is to its readers, in their order.
    pub(crate) fn readable_outputs(&self) -> Vec<usize> {
        let outputs = self.bound.outputs.iter().enumerate();
        let readable = outputs.filter(|(_, output)| is_readable(output));
        readable.map(|(at, _)| at).collect()
    }

    /// Bytes that it takes, its log included, the groups that it is answered from left out; by what is quickly counted
    /// if `quick`.
    pub(crate) fn bytes(&self, quick: bool) -> usize {
        let bytes = self.view().map_or(0, |view| match quick {
            true => view.bytes(),
            false => view.memory_usage(),
        });
        bytes + self.logs.memory_usage()
    }

    /// The map that it is, where it keeps no rows.
    pub(crate) fn row_map(&self) -> Option<&RowMap> {
        (self.view()? as &dyn Any).downcast_ref()
    }

    /// The recursion that it is, if it is one.
    pub(crate) fn recursive(&mut self) -> Option<&mut Recursive> {
        (&mut **self.view_mut()? as &mut dyn Any).downcast_mut()
    }

    /// The temporal filter that it is, if it is one.
    pub(crate) fn timed(&mut self) -> Option<&mut Timed> {
        (&mut **self.view_mut()? as &mut dyn Any).downcast_mut()
    }
}

/// That a view does not find its groups.
pub(crate) fn strange(view: &str) -> Error {
    Error::Value {
        place: format!("the groups of view {view:?}"),
        problem: "are not among those that it was to be answered from; this is a fault of ringview, so please \
                  report it"
            .to_owned(),
    }
}
