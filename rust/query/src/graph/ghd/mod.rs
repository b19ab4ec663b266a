//! Generalised hypertree decompositions of least fractional width: a cyclic query as a tree of
//! bags.
//!
//! Invariant: every edge lies within a bag, and the bags that have a variable are connected, so a
//! join of the bags by the tree is the query; the width is the largest fractional cover number of a
//! bag by the edges, so no bag's relation has more than N^width tuples (Dai, Hu, Yi, section 5;
//! Gottlob, Greco, Scarcello). A width marked as least is the fractional hypertree width. Cost:
//! exponential in the variables of the cycles for up to [`EXACT`] edges, each bag a linear program
//! solved once; beyond, and where the search would need too many, polynomial and greedy.
//!
//! | file | holds |
//! |---|---|
//! | `ratio` | exact fractions |
//! | `certified` | least fractional covers, proved by their duals |
//! | `eliminate` | the order in which variables leave, which makes the bags |

mod certified;
mod eliminate;
mod ratio;

pub use certified::{Certified, certified};
pub use eliminate::EXACT;
pub use ratio::{Ratio, to_f64};

use num_traits::CheckedAdd;

use crate::graph::set::Set;
use eliminate::eliminate;

/// A decomposition: a forest of bags.
#[derive(Clone, Debug)]
pub struct Ghd {
    /// The bags, none within another.
    pub bags: Vec<Bag>,
    /// The largest width of a bag; 0 where there is none.
    pub width: Ratio,
    /// Whether no decomposition has less.
    pub least: bool,
}

/// A bag of a decomposition.
#[derive(Clone, Debug)]
pub struct Bag {
    /// Its variables.
    pub variables: Set,
    /// The edges that lie within it and belong to it; each edge that is not empty belongs to one
    /// bag.
    pub edges: Set,
    /// By edge: the weight by which it covers the bag.
    pub cover: Vec<Ratio>,
    /// The sum of these.
    pub width: Ratio,
    /// The bag next to it on the way to its tree's root.
    pub parent: Option<usize>,
}

impl Ghd {
    /// Decomposes a hypergraph.
    #[must_use]
    pub fn new(edges: &[Set]) -> Ghd {
        let (mut bags, least) = eliminate(edges);
        contract(&mut bags);
        let mut proved = true;
        let mut found: Vec<Bag> = Vec::with_capacity(bags.len());
        for (variables, parent) in bags {
            let cover = certified(variables, edges);
            proved &= cover.least;
            found.push(Bag {
                variables,
                edges: Set::default(),
                width: cover.number,
                cover: cover.weights,
                parent,
            });
        }
        for (edge, set) in edges.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
            // Added to the widest of the bags that hold it, which it makes smaller.
            let of = (0..found.len())
                .rev()
                .filter(|&bag| set.is_subset(found[bag].variables));
            if let Some(bag) = of.max_by_key(|&bag| found[bag].width) {
                found[bag].edges.insert(edge);
            }
        }
        let width = found.iter().map(|bag| bag.width).max();
        Ghd {
            bags: found,
            width: width.unwrap_or(Ratio::ZERO),
            least: least && proved,
        }
    }

    /// Checks what a decomposition promises. For tests.
    ///
    /// # Panics
    /// If it does not hold.
    pub fn check(&self, edges: &[Set]) {
        let mut belongs = vec![0; edges.len()];
        for bag in &self.bags {
            for edge in bag.edges.iter() {
                assert!(
                    edges[edge].is_subset(bag.variables),
                    "an edge sticks out of its bag"
                );
                belongs[edge] += 1;
            }
            for variable in bag.variables.iter() {
                let covers = bag
                    .cover
                    .iter()
                    .zip(edges)
                    .filter(|(_, e)| e.contains(variable));
                let sum = covers.fold(Ratio::ZERO, |sum, (w, _)| {
                    sum.checked_add(w).unwrap_or(Ratio::ZERO)
                });
                assert!(sum >= Ratio::ONE, "variable {variable} is not covered");
            }
        }
        for (edge, count) in belongs.into_iter().enumerate() {
            assert_eq!(count, usize::from(!edges[edge].is_empty()), "edge {edge}");
        }
        let all = edges.iter().fold(Set::default(), |all, edge| all | *edge);
        for variable in all.iter() {
            let has = |bag: &&Bag| bag.variables.contains(variable);
            let with = self.bags.iter().filter(has).count();
            let linked = self.bags.iter().filter(has).filter(|bag| {
                let parent = bag.parent.map(|parent| &self.bags[parent]);
                parent.is_some_and(|parent| parent.variables.contains(variable))
            });
            assert_eq!(
                with,
                linked.count() + 1,
                "bags of variable {variable} are apart"
            );
        }
    }
}

/// Takes out each bag that lies within its parent or has it within.
fn contract(bags: &mut Vec<(Set, Option<usize>)>) {
    loop {
        let within = |at: &usize| {
            let (set, parent) = bags[*at];
            parent.is_some_and(|p| set.is_subset(bags[p].0) || bags[p].0.is_subset(set))
        };
        let Some(gone) = (0..bags.len()).find(within) else {
            return;
        };
        let (set, parent) = bags.remove(gone);
        let moved = |at: usize| at - usize::from(at > gone);
        let heir = parent.map(moved);
        for (_, parent) in bags.iter_mut() {
            *parent = parent.and_then(|at| if at == gone { heir } else { Some(moved(at)) });
        }
        if let Some(heir) = heir {
            bags[heir].0 |= set;
        }
    }
}
