//! Least fractional edge covers, each proved: a cover of a weight, and a packing of vertices of the
//! same.
//!
//! Invariant: a number marked as least is least: the weights cover each variable once or more, the
//! packing has no edge that holds more than 1, both in exact fractions, and their sums are equal,
//! which is weak duality's own proof. The fractions are read from the solver's doubles, which serve
//! for nothing else. If the proof fails the cover is one of whole edges, which bounds the number
//! from above. Cost: two linear programs.

use microlp::{ComparisonOp, OptimizationDirection, Problem};
use num_traits::CheckedAdd;

use super::ratio::{Ratio, near};
use crate::graph::set::Set;

/// A fractional edge cover.
#[derive(Clone, Debug)]
pub struct Certified {
    /// By edge.
    pub weights: Vec<Ratio>,
    /// Their sum.
    pub number: Ratio,
    /// Whether no cover has less.
    pub least: bool,
}

/// Covers variables by edges.
///
/// # Panics
/// If a variable lies in no edge.
#[must_use]
pub fn certified(variables: Set, edges: &[Set]) -> Certified {
    let whole = whole_edges(variables, edges);
    // A variable must be covered once.
    if whole.number <= Ratio::ONE {
        return whole;
    }
    least(variables, edges).unwrap_or(whole)
}

fn least(variables: Set, edges: &[Set]) -> Option<Certified> {
    let within: Vec<Set> = edges.iter().map(|edge| *edge & variables).collect();
    let weights = solve(
        OptimizationDirection::Minimize,
        within.len(),
        variables.iter().map(|v| {
            let has = (0..within.len())
                .filter(|&e| within[e].contains(v))
                .collect();
            (has, ComparisonOp::Ge)
        }),
    )?;
    let members: Vec<usize> = variables.iter().collect();
    let packing = solve(
        OptimizationDirection::Maximize,
        members.len(),
        within.iter().map(|edge| {
            let has = (0..members.len())
                .filter(|&v| edge.contains(members[v]))
                .collect();
            (has, ComparisonOp::Le)
        }),
    )?;
    for variable in variables.iter() {
        let on = within
            .iter()
            .zip(&weights)
            .filter(|(e, _)| e.contains(variable));
        if sum(on.map(|(_, weight)| *weight))? < Ratio::ONE {
            return None;
        }
    }
    for edge in &within {
        let on = members
            .iter()
            .zip(&packing)
            .filter(|(v, _)| edge.contains(**v));
        if sum(on.map(|(_, weight)| *weight))? > Ratio::ONE {
            return None;
        }
    }
    let number = sum(weights.iter().copied())?;
    let proof = sum(packing.iter().copied())?;
    let positive = weights.iter().chain(&packing).all(|w| *w >= Ratio::ZERO);
    (positive && number == proof).then_some(Certified {
        weights,
        number,
        least: true,
    })
}

fn sum(mut all: impl Iterator<Item = Ratio>) -> Option<Ratio> {
    all.try_fold(Ratio::ZERO, |sum, next| sum.checked_add(&next))
}

/// The sum of numbers of 0 to 1 made least or greatest, where sums of some are at least or at most
/// 1.
fn solve(
    direction: OptimizationDirection,
    numbers: usize,
    constraints: impl Iterator<Item = (Vec<usize>, ComparisonOp)>,
) -> Option<Vec<Ratio>> {
    let mut problem = Problem::new(direction);
    let all: Vec<_> = (0..numbers)
        .map(|_| problem.add_var(1.0, (0.0, 1.0)))
        .collect();
    for (some, comparison) in constraints {
        let row: Vec<_> = some.into_iter().map(|at| (all[at], 1.0)).collect();
        problem.add_constraint(&row, comparison, 1.0);
    }
    let solution = problem.solve().ok()?.into_solution().ok()?;
    all.iter().map(|number| near(solution[*number])).collect()
}

/// Edges, the one that covers most first.
fn whole_edges(variables: Set, edges: &[Set]) -> Certified {
    let mut open = variables;
    let mut weights = vec![Ratio::ZERO; edges.len()];
    let mut number = 0;
    while !open.is_empty() {
        let covers = |&edge: &usize| (edges[edge] & open).len();
        let best = (0..edges.len()).rev().max_by_key(covers);
        let best = best.filter(|edge| covers(edge) > 0);
        let Some(best) = best else {
            panic!("a variable lies in no edge");
        };
        open = open - edges[best];
        weights[best] = Ratio::ONE;
        number += 1;
    }
    Certified {
        weights,
        number: Ratio::new(number, 1),
        least: number <= 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(members: &[usize]) -> Set {
        members.iter().copied().collect()
    }

    #[test]
    fn known_covers_are_proved() {
        let triangle = [set(&[0, 1]), set(&[1, 2]), set(&[2, 0])];
        let cover = certified(set(&[0, 1, 2]), &triangle);
        assert_eq!((cover.number, cover.least), (Ratio::new(3, 2), true));
        assert_eq!(cover.weights, [Ratio::new(1, 2); 3]);
        let two = certified(set(&[0, 1, 2]), &triangle[..2]);
        assert_eq!((two.number, two.least), (Ratio::new(2, 1), true));
        assert_eq!(certified(set(&[]), &triangle).number, Ratio::ZERO);
        assert_eq!(certified(set(&[1, 2]), &triangle).number, Ratio::ONE);
    }

    #[test]
    fn a_greedy_cover_bounds_the_least() {
        let edges = [set(&[0, 1]), set(&[1, 2]), set(&[2, 0])];
        let whole = whole_edges(set(&[0, 1, 2]), &edges);
        assert_eq!((whole.number, whole.least), (Ratio::new(2, 1), false));
    }
}
