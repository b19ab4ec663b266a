//! The birth of views: planned, filled from the rows that are there, and only then known.
//!
//! Invariant: views created together are created all, with all their blocks, or none of them; a query that a node
//! maintains already gets no second node. Cost: that of filling the nodes that are new.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Budget, Error, Result, guarded};
use ringview_query::Query;

use super::Database;
use super::births::Births;
use super::drafts::{Drafts, Sharing, What};
use crate::Poll;
use crate::catalogue::choose::{By, choose, engine_of};
use crate::graph::declared::{Declared, Newborn};
use crate::graph::groupings::Union;
use crate::graph::node::{Node, strange};
use crate::plan::Planned;
use crate::state::State;

/// A view that is to be created with others.
#[derive(Clone, Copy, Debug)]
pub struct NewView<'q> {
    /// Its name.
    pub name: &'q str,
    /// Its query.
    pub query: &'q Query,
    /// The name of the engine that is to keep it; the cheapest where absent.
    pub engine: Option<&'q str>,
}

/// A view that is to be born.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'q> {
    pub(crate) name: &'q str,
    pub(crate) query: &'q Query,
    pub(crate) by: By<'q>,
}

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
        let by = By::Choice(engine);
        let newborn = self.bear(&[Wanted { name, query, by }], &budget)?;
        self.adopt_recorded(newborn);
        Ok(())
    }

    /// Declares several views, all or none, and fills them together from the rows that are there: what they share is
    /// made once. None of them reads another of them.
    ///
    /// # Errors
    /// As [`create_view_with`](Self::create_view_with), of each.
    pub fn create_views(&mut self, views: &[NewView<'_>], poll: Poll<'_>) -> Result<()> {
        let mut names = BTreeSet::new();
        for view in views {
            self.catalogue().check_new(view.name)?;
            if !names.insert(view.name) {
                return Err(Error::Exists {
                    kind: "view",
                    name: view.name.to_owned(),
                });
            }
        }
        let budget = self.state.budget(poll);
        let wanted = views.iter().map(|view| Wanted {
            name: view.name,
            query: view.query,
            by: By::Choice(view.engine),
        });
        let wanted: Vec<Wanted<'_>> = wanted.collect();
        let newborn = self.bear(&wanted, &budget)?;
        self.adopt_recorded(newborn);
        Ok(())
    }

    /// Views become known, all or none of them.
    pub(crate) fn adopt(&mut self, newborn: Newborn) {
        let State { graph, storage, .. } = &mut self.state;
        let (first, view) = (graph.nodes.len(), graph.declared.len());
        let mut gone = Vec::new();
        for node in newborn.nodes {
            match graph.position(node.id) {
                Some(_) => gone.extend(graph.replace_union(node, storage)),
                None => graph.nodes.push(node),
            }
        }
        newborn
            .declared
            .into_iter()
            .for_each(|view| graph.declare(view));
        graph.wire_from((first, view), storage);
        self.release_nodes(gone);
        self.state.count();
    }

    /// Views with the nodes of their blocks and their own, filled, and not yet known.
    pub(crate) fn bear(&mut self, views: &[Wanted<'_>], budget: &Budget<'_>) -> Result<Newborn> {
        let several = self
            .options
            .threads
            .is_some_and(|threads| threads.get() > 1);
        let sharing = match self.options.unshared {
            true => Sharing::Nothing,
            // One tree is the work of one thread.
            false if several => Sharing::Sums,
            false => Sharing::All,
        };
        let engines = self.engines.clone();
        let mut drafts = Drafts::new(self.births, sharing, &engines);
        let mut declared = Vec::with_capacity(views.len());
        for view in views {
            let plans = guarded(|| self.catalogue().plans(view.query, view.by))?;
            let node = drafts.add(view.name, plans, &self.state.graph);
            declared.push(Declared {
                name: view.name.to_owned(),
                id: 0,
                text: None,
                query: view.query.clone(),
                own: None,
                suspends: false,
                suspension: None,
                node,
            });
        }
        // A view has a number beside that of its node.
        let mut last = drafts.last();
        for view in &mut declared {
            last += 1;
            view.id = last;
        }
        let made = self.make(drafts, budget);
        if made.is_err() {
            // Removes the strings that blocks computed; the nodes that hold them are dropped, too.
            self.state.storage.dictionary.rollback();
        }
        let nodes = made?;
        self.state.storage.dictionary.commit();
        self.births = last;
        Ok(Newborn { declared, nodes })
    }

    /// The nodes of drafts, filled.
    pub(super) fn make(&mut self, drafts: Drafts<'_>, budget: &Budget<'_>) -> Result<Vec<Node>> {
        let mut births = Births::over(std::mem::take(&mut self.state.graph));
        // Existing nodes are only read, so they stay intact even after a panic.
        let made = guarded(|| self.make_nodes(drafts, &mut births, budget));
        self.state.graph = births.graph;
        made.map(|()| births.family)
    }

    fn make_nodes(
        &mut self,
        drafts: Drafts<'_>,
        births: &mut Births,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut beside = BTreeMap::new();
        let alone: Vec<Option<Union>> = drafts.alone();
        for (draft, alone) in drafts.nodes.into_iter().zip(alone) {
            let name = &draft.name;
            let node = match draft.what {
                What::Own(planned) => {
                    let mut node = self.own(name, planned)?;
                    self.fill(name, &mut node, &[], births, budget)?;
                    node
                }
                What::Facet(planned, of) => {
                    let union = births.find(beside.get(&of).copied().unwrap_or(of));
                    let node = Node::facet(name, planned, union)?;
                    let checked = node.check_shown(union, &self.state.storage.dictionary);
                    checked.map_err(|error| error.in_view(name))?;
                    node
                }
                What::Union(union, _) => {
                    match (self.make_union(name, union, births, budget), alone) {
                        (Ok(node), _) => node,
                        // There may be room for what the new views need alone.
                        (Err(Error::Memory { .. } | Error::Overflow { .. }), Some(alone)) => {
                            beside.insert(draft.id, alone.id);
                            self.make_union(name, alone, births, budget)?
                        }
                        (Err(problem), _) => return Err(problem),
                    }
                }
            };
            births.family.push(node);
        }
        Ok(())
    }

    fn make_union(
        &mut self,
        name: &str,
        union: Union,
        births: &mut Births,
        budget: &Budget<'_>,
    ) -> Result<Node> {
        let mut node = self.union(name, union)?;
        self.fill(name, &mut node, &[], births, budget)?;
        Ok(node)
    }

    /// A node with a state of its own, without rows.
    pub(super) fn own(&self, name: &str, planned: Planned<'_>) -> Result<Node> {
        let mut node = Node::new(name, planned)?;
        let begun = self.begin_step(&mut node);
        begun.map_err(|error| error.in_view(name))?;
        Ok(node)
    }

    /// The node of a union, without rows.
    pub(super) fn union(&self, name: &str, union: Union) -> Result<Node> {
        let candidate = match &union.bounds[..] {
            [bound] => choose(&self.engines, bound, Some(&union.engine))?.take_candidate(),
            bounds => {
                let engine = engine_of(&self.engines, &union.engine);
                let together = engine.and_then(|engine| engine.plan_together(bounds));
                together.ok_or_else(|| strange(name))?
            }
        };
        Node::union(name, union, candidate)
    }
}
