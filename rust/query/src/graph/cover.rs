//! Fractional edge covers: how large the join of some atoms can be on some variables.
//!
//! `rho*(X)` is the least total weight of atoms such that each variable of X lies in atoms of
//! weight 1 together; the join of relations of size N has at most N^rho* tuples on X (the AGM
//! bound). Cost: one linear program, kept by its input, of at most `LARGE` cells: beyond, whole
//! atoms are chosen greedily, which bounds the number from above.

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
            fractional(variables, &edges)
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

    #[test]
    fn whole_atoms_when_nothing_better_is_known() {
        assert_eq!(integral(set(&[0, 1, 2]), &[set(&[0, 1]), set(&[2])]), 2.0);
        assert_eq!(integral(set(&[0, 3]), &[set(&[0, 1])]), f64::INFINITY);
    }
}
