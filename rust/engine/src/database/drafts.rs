//! Nodes to create for a set of views, and what they share.
//!
//! A query whose result is read from groups of sums becomes a facet of the node of a union: one tree for all queries
//! over one join with the same groups, whose payloads have the terms of all. Queries with other groups join it as
//! further groupings where the engine would keep inner views of theirs once. A planned query becomes the first of these
//! that is possible: an existing or drafted node of an equal query; a facet of a drafted union; of an existing union
//! that has its terms; of a new union in the place of an existing one; of a union of its own.
//!
//! Invariant: a union is never changed once rows are in it. A new one in its place has the terms of all existing and
//! new facets, is filled from the existing rows, and takes the facets over when nothing can fail any more: so their
//! results do not change. Sums of doubles that a view reads could change in their last digit, as rows are added in
//! another order. So a union with such sums and with groups is left as it is, and a second one is created. Terms are
//! dropped with the last view that reads them, see [`View::retain_terms`](ringview_view::View::retain_terms). Cost:
//! creating a view fills what it would alone, with at most [`MOST`] terms in place of its own; the end of a view costs
//! O(keys) of the union that it leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringview_query::{Bound, Kind};
use ringview_view::Engine;

use crate::catalogue::choose::engine_of;
use crate::graph::Graph;
use crate::graph::groupings::{Groupings, Union};
use crate::graph::node::Node;
use crate::plan::{Planned, Signature, Source, sources};

/// Terms of a union that others join: what bounds the cost of a birth.
const MOST: usize = 64;

/// The nodes of a birth, each behind those that it reads.
pub(super) struct Drafts<'q> {
    pub(super) nodes: Vec<Draft<'q>>,
    /// The number of the last node.
    last: u64,
    sharing: Sharing,
    engines: &'q [Arc<dyn Engine>],
}

/// Sharing of new nodes with others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Everything that can be shared; a union may take the place of another.
    All,
    /// The same, but for inner views below other groups.
    Sums,
    /// Nothing.
    Nothing,
    /// Existing nodes as they are.
    Read,
}

/// A node that is to be made.
pub(super) struct Draft<'q> {
    pub(super) id: u64,
    /// The name of its view.
    pub(super) name: String,
    signature: Option<Signature>,
    pub(super) what: What<'q>,
}

/// Kind of a node to create.
pub(super) enum What<'q> {
    /// One with a state of its own.
    Own(Planned<'q>),
    /// A facet of the node of this number.
    Facet(Planned<'q>, u64),
    /// That of a union. If it takes the place of one that is there, it has the number of that, and another for the case
    /// that it cannot.
    Union(Union, Option<u64>),
}

impl<'q> Drafts<'q> {
    /// None; the nodes will have numbers behind this one.
    pub(super) fn new(last: u64, sharing: Sharing, engines: &'q [Arc<dyn Engine>]) -> Self {
        Self {
            engines,
            nodes: Vec::new(),
            last,
            sharing,
        }
    }

    /// Whether all nodes are answered from what is there.
    pub(super) fn is_there(&self) -> bool {
        let mut drafts = self.nodes.iter();
        drafts.all(|draft| matches!(draft.what, What::Facet(..)))
    }

    /// The number behind those of all nodes.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Drafts the nodes of a view, its blocks first; the number of its own.
    pub(super) fn add(&mut self, name: &str, plans: Vec<Planned<'q>>, graph: &Graph) -> u64 {
        let mut nodes = BTreeMap::new();
        let mut last = 0;
        for mut planned in plans {
            planned.read_nodes(&nodes);
            let as_planned = planned.id;
            last = self.draft(name, planned, graph);
            nodes.insert(as_planned, last);
        }
        last
    }

    fn draft(&mut self, name: &str, planned: Planned<'q>, graph: &Graph) -> u64 {
        let signature = planned.signature();
        let shared = signature
            .as_ref()
            .filter(|_| self.sharing != Sharing::Nothing);
        let sources = planned.sources();
        let shared = shared.map(|signature| (&sources[..], signature));
        let alike = shared.and_then(|one| graph.alike(one).or_else(|| self.alike(one)));
        if let Some(alike) = alike {
            return alike;
        }
        let what = match planned.is_facet() {
            true => {
                let union = self.union(name, &planned, graph);
                What::Facet(planned, union)
            }
            false => What::Own(planned),
        };
        self.push(name, signature, what)
    }

    fn push(&mut self, name: &str, signature: Option<Signature>, mut what: What<'q>) -> u64 {
        self.last += 1;
        let id = match &mut what {
            What::Union(union, Some(beside)) => {
                *beside = self.last;
                union.id
            }
            What::Own(_) | What::Facet(..) | What::Union(_, None) => self.last,
        };
        match &mut what {
            What::Own(planned) | What::Facet(planned, _) => planned.id = id,
            What::Union(union, _) => union.id = id,
        }
        self.nodes.push(Draft {
            id,
            name: name.to_owned(),
            signature,
            what,
        });
        id
    }

    /// A draft of an equal query over the same sources, by the same engine.
    fn alike(&self, (sources, signature): (&[Source], &Signature)) -> Option<u64> {
        let same = |draft: &&Draft<'_>| {
            draft.signature.as_ref() == Some(signature) && draft.what.sources() == *sources
        };
        self.nodes.iter().find(same).map(|draft| draft.id)
    }

    /// The number of the node of a union that has, or will have, the terms of what is planned.
    fn union(&mut self, name: &str, planned: &Planned<'q>, graph: &Graph) -> u64 {
        if self.sharing == Sharing::Nothing {
            return self.push(name, None, What::Union(planned.union(), None));
        }
        if let Some(id) = self.join_drafted(planned, None) {
            return id;
        }
        let known = |node: &&Node| {
            let groupings = node.union.as_ref();
            let is_like = |groupings: &Groupings| {
                groupings.engine == planned.choice.engine
                    && (groupings.bounds.iter()).any(|bound| {
                        bound.joins_as(&planned.bound) || bound.joins_like(&planned.bound)
                    })
            };
            node.sources().eq(sources(&planned.inputs)) && groupings.is_some_and(is_like)
        };
        // One that is about to be replaced keeps none of its terms but those that are read.
        let replaced: BTreeSet<u64> = self.nodes.iter().map(|draft| draft.id).collect();
        let known = graph.nodes.iter().filter(known);
        let known = known.filter(|node| !replaced.contains(&node.id));
        let mut known: Vec<&Node> = known.collect();
        let has = |node: &&&Node| {
            let groupings = node.union.as_ref();
            groupings.is_some_and(|groupings| groupings.find(&planned.bound).is_some())
        };
        if let Some(has) = known.iter().find(has) {
            return has.id;
        }
        let together = self.together(planned);
        if let Some(id) = together.and_then(|engine| self.join_drafted(planned, Some(engine))) {
            return id;
        }
        // Those with the same groups first.
        known.sort_by_key(|node| {
            let bounds = node.union.iter().flat_map(|groupings| &groupings.bounds);
            !bounds
                .into_iter()
                .any(|bound| bound.joins_as(&planned.bound))
        });
        let joined = match self.sharing {
            Sharing::All | Sharing::Sums => {
                let mut known = known.iter();
                known.find_map(|base| graph.joined(base, planned, together))
            }
            Sharing::Nothing | Sharing::Read => None,
        };
        let what = match joined {
            Some(union) => What::Union(union, Some(0)),
            None => What::Union(planned.union(), None),
        };
        self.push(name, None, what)
    }

    /// The number of a union that is drafted and takes in what is planned, as a grouping of its own where an engine is given.
    fn join_drafted(&mut self, planned: &Planned<'q>, engine: Option<&dyn Engine>) -> Option<u64> {
        self.nodes
            .iter_mut()
            .find_map(|draft| match &mut draft.what {
                What::Union(union, _)
                    if union.engine == planned.choice.engine
                        && union.sources == planned.sources() =>
                {
                    union.bounds = joined(&union.bounds, &planned.bound, engine)?;
                    Some(draft.id)
                }
                _ => None,
            })
    }

    /// The engine that keeps groups of what is planned beside other groups, where it may.
    fn together(&self, planned: &Planned<'q>) -> Option<&'q dyn Engine> {
        let engine = || engine_of(self.engines, &planned.choice.engine);
        (self.sharing == Sharing::All).then(engine)?
    }

    /// By draft: of a union in the place of another, the same without the facets that are there already.
    pub(super) fn alone(&self) -> Vec<Option<Union>> {
        let alone = |draft: &Draft<'q>| match &draft.what {
            What::Union(union, Some(beside)) => {
                let facets = self.nodes.iter().filter_map(|other| match &other.what {
                    What::Facet(planned, of) if *of == draft.id => Some(&planned.bound),
                    _ => None,
                });
                let bounds = by_groups(facets);
                let engine = engine_of(self.engines, &union.engine);
                let fits = bounds.len() == 1
                    || engine.is_some_and(|engine| engine.plan_together(&bounds).is_some());
                fits.then(|| Union {
                    id: *beside,
                    bounds,
                    ..union.clone()
                })
            }
            _ => None,
        };
        self.nodes.iter().map(alone).collect()
    }
}

impl What<'_> {
    fn sources(&self) -> Vec<Source> {
        match self {
            Self::Own(planned) | Self::Facet(planned, _) => planned.sources(),
            Self::Union(union, _) => union.sources.clone(),
        }
    }
}

impl Planned<'_> {
    /// Its terms as those of a union.
    fn union(&self) -> Union {
        Union {
            id: 0,
            query: self.query.clone().into_owned(),
            info: self.info.clone(),
            bounds: by_groups([&self.bound]),
            sources: self.sources(),
            engine: self.choice.engine.clone(),
        }
    }
}

impl Graph {
    /// The terms of the facets of a node with those of what is planned; `None` where that may not take its place.
    fn joined(
        &self,
        base: &Node,
        planned: &Planned<'_>,
        together: Option<&dyn Engine>,
    ) -> Option<Union> {
        let living: Vec<&Bound> = self.facets_of(base.id).map(|node| &node.bound).collect();
        let mut terms = living.iter().flat_map(|bound| &bound.terms);
        let has_doubles = terms.any(|term| term.kind == Kind::Real);
        let groupings = 0..base.union.as_ref()?.bounds.len();
        let mut groups = groupings.filter_map(|at| base.view()?.groups(at));
        let has_groups = groups.any(|groups| !groups.table.is_empty());
        let bounds = joined(&by_groups(living), &planned.bound, together)?;
        let fits = !(has_doubles && has_groups);
        fits.then(|| Union {
            id: base.id,
            bounds,
            ..planned.union()
        })
    }
}

/// The unions of some queries over one join: one for all that have the same groups.
fn by_groups<'b>(queries: impl IntoIterator<Item = &'b Bound>) -> Vec<Bound> {
    let mut all: Vec<Bound> = Vec::new();
    for query in queries {
        match all.iter_mut().find(|bound| bound.joins_as(query)) {
            Some(bound) => bound.take_in(query),
            None => {
                let mut bound = query.clone();
                bound.output_groups();
                all.push(bound);
            }
        }
    }
    all
}

/// The same with one more query; `None` where it has other groups, and the engine, if there is one, would keep nothing of
/// them together with the others, and where all terms are too many.
fn joined(bounds: &[Bound], query: &Bound, engine: Option<&dyn Engine>) -> Option<Vec<Bound>> {
    let is_alike = |bound: &Bound| bound.joins_as(query);
    if !bounds.iter().any(is_alike) {
        let engine = engine.filter(|_| bounds.iter().all(|bound| bound.joins_like(query)))?;
        let all: Vec<Bound> = bounds.iter().chain([query]).cloned().collect();
        engine.plan_together(&all)?;
    }
    let all = by_groups(bounds.iter().chain([query]));
    let terms: usize = all.iter().map(|bound| bound.terms.len()).sum();
    (terms <= MOST).then_some(all)
}
