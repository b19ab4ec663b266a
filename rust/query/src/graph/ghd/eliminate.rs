//! The order in which variables leave: each makes a bag of itself and its neighbours, who are
//! neighbours from then on.
//!
//! Invariant: the bags of an order are a tree decomposition, and some order has one of least width,
//! for cover numbers grow with their sets. A variable whose neighbours are neighbours of each other
//! may always leave first: they must share a bag anyhow. Variables of the same edges leave as one.
//! Cost: the rest after that is searched by the sets of eliminated variables, each once, for up to
//! [`EXACT`] edges and [`MOST`] sets; else the variable of the least bag leaves next.

use std::collections::HashMap;

use super::{Ratio, certified, to_f64};
use crate::graph::set::Set;

/// Up to so many edges the search is exact.
pub const EXACT: usize = 8;
/// Sets of variables that the search may look at.
const MOST: usize = 4096;
/// Unit in which widths are added up, to compare orders of one width.
const PARTS: f64 = 840.0;

/// The bags of an order, each with its parent, and whether their width is the least.
pub(super) fn eliminate(edges: &[Set]) -> (Vec<(Set, Option<usize>)>, bool) {
    let all = edges.iter().fold(Set::default(), |all, edge| all | *edge);
    let twins = twins(all, edges);
    let mut search = Search {
        edges,
        widths: HashMap::new(),
        best: HashMap::new(),
    };
    let all: Set = all.iter().filter(|v| twins[*v] == *v).collect();
    let graph = Graph::new(all, edges, &twins);
    let exact = edges.len() <= EXACT && search.best(&graph).is_some();
    let (order, forced) = search.order(graph, exact);
    let mut bags: Vec<(Set, Option<usize>)> = Vec::with_capacity(order.len());
    for (at, (_, bag)) in order.iter().enumerate() {
        // The neighbour that leaves next has all others.
        let next = (at + 1..order.len()).find(|&next| bag.contains(order[next].0));
        let variables = (0..twins.len()).filter(|&v| bag.contains(twins[v]));
        bags.push((variables.collect(), next));
    }
    (bags, exact || forced)
}

/// By variable: the first one that has the same edges; a number that is no member for what is none.
fn twins(all: Set, edges: &[Set]) -> Vec<usize> {
    let of = |variable: usize| -> Set {
        (0..edges.len())
            .filter(|&e| edges[e].contains(variable))
            .collect()
    };
    let last = all.iter().last().map_or(0, |last| last + 1);
    let first = |variable: usize| match all.contains(variable) {
        true => all.iter().find(|&other| of(other) == of(variable)),
        false => None,
    };
    (0..last)
        .map(|v| first(v).unwrap_or(Set::CAPACITY - 1))
        .collect()
}

/// Neighbours of each variable, among those that are not eliminated.
#[derive(Clone, Debug)]
struct Graph {
    left: Set,
    neighbours: Vec<Set>,
}

impl Graph {
    fn new(all: Set, edges: &[Set], twins: &[usize]) -> Graph {
        let mut neighbours = vec![Set::default(); twins.len()];
        for edge in edges {
            let members = *edge & all;
            members
                .iter()
                .for_each(|v| neighbours[v] |= members - Set::one(v));
        }
        Graph {
            left: all,
            neighbours,
        }
    }

    fn bag(&self, variable: usize) -> Set {
        self.neighbours[variable] | Set::one(variable)
    }

    fn leave(&mut self, variable: usize) {
        let around = self.neighbours[variable];
        self.left = self.left - Set::one(variable);
        for v in around.iter() {
            self.neighbours[v] = (self.neighbours[v] | around) - Set::one(v) - Set::one(variable);
        }
    }

    /// A variable whose neighbours are all neighbours of each other.
    fn simplicial(&self) -> Option<usize> {
        let is = |v: &usize| {
            let bag = self.bag(*v);
            bag.iter().all(|other| bag.is_subset(self.bag(other)))
        };
        self.left.iter().find(is)
    }
}

/// Cost of an order: its width, then the total size of its bags.
type Cost = (Ratio, u64);

struct Search<'a> {
    edges: &'a [Set],
    widths: HashMap<Set, Cost>,
    /// By who is left: the least cost of an order of these, and who leaves first.
    best: HashMap<Set, (Cost, usize)>,
}

impl Search<'_> {
    /// The cost of a bag.
    fn width(&mut self, bag: Set) -> Cost {
        let edges = self.edges;
        *self.widths.entry(bag).or_insert_with(|| {
            let number = certified(bag, edges).number;
            let parts = (to_f64(number) * PARTS).round() as u64;
            (number, parts.pow(3))
        })
    }

    /// The least cost of what is left; none if that is too much to look at.
    fn best(&mut self, graph: &Graph) -> Option<Cost> {
        if graph.left.is_empty() {
            return Some((Ratio::ZERO, 0));
        }
        if let Some((cost, _)) = self.best.get(&graph.left) {
            return Some(*cost);
        }
        if self.best.len() >= MOST {
            return None;
        }
        let forced = graph.simplicial();
        let choices = forced.map_or(graph.left, Set::one);
        let mut least: Option<(Cost, usize)> = None;
        for variable in choices.iter() {
            let (width, size) = self.width(graph.bag(variable));
            if least.is_some_and(|((best, _), _)| best < width) {
                continue;
            }
            let mut next = graph.clone();
            next.leave(variable);
            let (rest, sizes) = self.best(&next)?;
            let cost = (width.max(rest), size.saturating_add(sizes));
            if least.is_none_or(|(best, _)| cost < best) {
                least = Some((cost, variable));
            }
        }
        let least = least?;
        self.best.insert(graph.left, least);
        Some(least.0)
    }

    /// Order of elimination, each variable with its bag: by the search, or by the least bag; and
    /// whether there was never a choice.
    fn order(&mut self, mut graph: Graph, exact: bool) -> (Vec<(usize, Set)>, bool) {
        let mut order = Vec::with_capacity(graph.left.len());
        let mut forced = true;
        while !graph.left.is_empty() {
            let found = self
                .best
                .get(&graph.left)
                .filter(|_| exact)
                .map(|found| found.1);
            let next = found.or_else(|| graph.simplicial());
            forced &= graph.simplicial().is_some();
            let next = next.or_else(|| graph.left.iter().min_by_key(|&v| self.width(graph.bag(v))));
            let Some(next) = next else { break };
            order.push((next, graph.bag(next)));
            graph.leave(next);
        }
        (order, forced)
    }
}
