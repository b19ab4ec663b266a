//! Fractional edge covers: how large the join of some atoms can be on some variables.
//!
//! `rho*(X)` is the least total weight of atoms such that each variable of X lies in atoms of
//! weight 1 together; the join of relations of size N has at most N^rho* tuples on X (the AGM
//! bound). Edges and variables that change nothing are dropped first (`reduce`), which leaves nothing
//! of an acyclic hypergraph. Cost: one linear program for the rest, kept by its input, of at most
//! `LARGE` cells: beyond, whole atoms are chosen greedily, which bounds the number from above.

use std::collections::HashMap;

use microlp::{ComparisonOp, OptimizationDirection, Problem};

use crate::graph::set::Set;

/// Variables times atoms up to which a cover is solved exactly.
const LARGE: usize = 400;

/// Edge covers over the atoms of one query.
pub struct Covers {
    edges: Vec<Set>,
    known: HashMap<(Set, Set), f64>,
    /// Cells of the linear programs solved, and of the greedy choices: the work done.
    pub(crate) steps: u64,
}

impl Covers {
    /// Of these edges, by atom.
    #[must_use]
    pub fn new(edges: &[Set]) -> Covers {
        Covers {
            edges: edges.to_vec(),
            known: HashMap::new(),
            steps: 0,
        }
    }

    /// The fractional edge cover number of the variables by the atoms.
    pub fn number(&mut self, variables: Set, atoms: Set) -> f64 {
        if variables.is_empty() {
            return 0.0;
        }
        if atoms.iter().any(|a| variables.is_subset(self.edges[a])) {
            return 1.0;
        }
        if let Some(number) = self.known.get(&(variables, atoms)) {
            return *number;
        }
        let mut edges: Vec<Set> = atoms.iter().map(|a| self.edges[a] & variables).collect();
        edges.sort_unstable();
        edges.dedup();
        let cells = variables.len() * edges.len();
        let exact = if cells <= LARGE {
            self.steps += (cells * edges.len()) as u64;
            exact(variables, &edges)
        } else {
            self.steps += cells as u64;
            None
        };
        // Should the solver fail on numbers, whole atoms still bound the join.
        let number = exact.unwrap_or_else(|| integral(variables, &edges));
        self.known.insert((variables, atoms), number);
        number
    }
}

/// The number by reductions, and by a linear program for what they leave.
fn exact(variables: Set, edges: &[Set]) -> Option<f64> {
    let mut left = edges.to_vec();
    let (whole, open) = reduce(variables, &mut left);
    if open.is_empty() {
        return Some(whole);
    }
    Some(whole + fractional(open, &left)?)
}

/// Drops from a cover problem what does not change its number, until nothing is left to drop:
/// an edge within another one, for that one covers as much; a variable that is in each edge in
/// which another one is, for whatever covers that one covers it; and an edge that alone has some
/// variable, for its weight is 1. Returns the weight of those edges, and the variables that are left
/// to cover.
fn reduce(variables: Set, edges: &mut Vec<Set>) -> (f64, Set) {
    let (mut open, mut whole) = (variables, 0.0);
    loop {
        let before = (open, edges.len());
        for edge in edges.iter_mut() {
            *edge = *edge & open;
        }
        edges.sort_unstable();
        edges.dedup();
        let all = edges.clone();
        edges.retain(|edge| {
            !all.iter()
                .any(|other| other != edge && edge.is_subset(*other))
        });
        for variable in open.iter() {
            let with = edges.iter().filter(|edge| edge.contains(variable));
            if let Some(shared) = with.copied().reduce(|shared, edge| shared & edge)
                && open.contains(variable)
            {
                open = open - (shared - Set::one(variable));
            }
        }
        let of = |variable| move |edge: &&Set| edge.contains(variable);
        let all = edges.clone();
        edges.retain(|edge| {
            let mut own = (*edge & open).iter();
            let is_needed = own.any(|variable| all.iter().filter(of(variable)).count() == 1);
            if is_needed {
                whole += 1.0;
                open = open - *edge;
            }
            !is_needed
        });
        if (open, edges.len()) == before {
            return (whole, open);
        }
    }
}

fn fractional(variables: Set, edges: &[Set]) -> Option<f64> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let weights: Vec<_> = edges
        .iter()
        .map(|_| problem.add_var(1.0, (0.0, 1.0)))
        .collect();
    for variable in variables.iter() {
        let row: Vec<_> = edges
            .iter()
            .zip(&weights)
            .filter(|(edge, _)| edge.contains(variable))
            .map(|(_, weight)| (*weight, 1.0))
            .collect();
        problem.add_constraint(&row, ComparisonOp::Ge, 1.0);
    }
    let solution = problem.solve().ok()?.into_solution().ok()?;
    // Covers are ratios of small integers; a grid makes equal ones compare equal.
    Some((solution.objective() * 1e6).round() / 1e6)
}

fn integral(variables: Set, edges: &[Set]) -> f64 {
    let mut open = variables;
    let mut count = 0.0;
    while let Some(edge) = edges.iter().max_by_key(|edge| (**edge & open).len()) {
        if !edge.meets(open) {
            return f64::INFINITY;
        }
        open = open - *edge;
        count += 1.0;
        if open.is_empty() {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(members: &[usize]) -> Set {
        members.iter().copied().collect()
    }

    #[test]
    fn triangle_is_three_halves() {
        let mut covers = Covers::new(&[set(&[0, 1]), set(&[1, 2]), set(&[2, 0])]);
        assert_eq!(covers.number(set(&[0, 1, 2]), set(&[0, 1, 2])), 1.5);
        assert_eq!(covers.number(set(&[0, 1, 2]), set(&[0, 1])), 2.0);
        assert_eq!(covers.number(set(&[0, 1]), set(&[0, 1, 2])), 1.0);
        assert_eq!(covers.number(set(&[]), set(&[])), 0.0);
    }

    #[test]
    fn loomis_whitney_is_four_thirds() {
        let edges = [
            set(&[0, 1, 2]),
            set(&[1, 2, 3]),
            set(&[2, 3, 0]),
            set(&[3, 0, 1]),
        ];
        let mut covers = Covers::new(&edges);
        let number = covers.number(set(&[0, 1, 2, 3]), set(&[0, 1, 2, 3]));
        assert!((number - 4.0 / 3.0).abs() < 1e-5);
    }

    /// Hypergraphs of five edges over five variables.
    #[test]
    fn reductions_change_no_number() {
        let mut random = 1_u64;
        let mut solved = 0;
        for _ in 0..4_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let bits = random >> 33;
            let edge = |at: u64| (0..5).filter(move |v| bits >> (5 * at + v) & 1 == 1);
            let edges: Vec<Set> = (0..5)
                .map(|at| edge(at).map(|v| v as usize).collect())
                .collect();
            let all = edges.iter().fold(Set::default(), |all, edge| all | *edge);
            let (_, open) = reduce(all, &mut edges.clone());
            solved += u32::from(!open.is_empty());
            if !all.is_empty() {
                let (found, plain) = (exact(all, &edges), fractional(all, &edges));
                assert!((found.unwrap() - plain.unwrap()).abs() < 1e-5, "{edges:?}");
            }
        }
        assert!(0 < solved && solved < 2_000, "{solved} have a cyclic core");
    }

    #[test]
    fn nothing_is_left_of_a_tree() {
        let mut edges = vec![set(&[0, 1]), set(&[1, 2]), set(&[2, 3]), set(&[2, 4, 5])];
        assert_eq!(
            reduce(set(&[0, 1, 2, 3, 4, 5]), &mut edges),
            (3.0, set(&[]))
        );
    }

    #[test]
    fn whole_atoms_when_nothing_better_is_known() {
        assert_eq!(integral(set(&[0, 1, 2]), &[set(&[0, 1]), set(&[2])]), 2.0);
        assert_eq!(integral(set(&[0, 3]), &[set(&[0, 1])]), f64::INFINITY);
    }
}
