//! In which order a change meets the other relations of a cycle.
//!
//! Invariant: a way binds each variable of the bag once, and asks each relation of all its variables where the last of
//! these is bound. Variables are bound one after the other, by those that have them together with what is bound: the smallest
//! list is walked, the others are asked, so the bag's changes cost what its cover bounds (Ngo, Porat, Re,
//! Rudra: generic join); a relation that has more variables to come takes part by a projection. What only one variable
//! of a relation could say alone is not asked: it cuts no more than a constant number of relations
//! would. Cost: O(parts^2 variables), once.

use super::part::Part;

/// The rows of a part by some of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Projection {
    /// Of which part.
    pub(super) of: usize,
    /// Its columns, by the variables of the bag.
    pub(super) variables: Vec<usize>,
}

/// What is done next.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A part must have what is bound.
    Check(Meet),
    /// A variable is bound to the ids that all have.
    Bind(usize, Vec<Meet>),
}

/// How a part is met: by bound variables, for the ids of one more.
#[derive(Clone, Debug)]
pub(super) struct Meet {
    /// A part, or a projection behind these.
    pub(super) part: usize,
    pub(super) path: usize,
    pub(super) by: Vec<usize>,
    /// None for a part of no variables.
    pub(super) open: Option<usize>,
}

/// The parts of a bag while its steps are made.
pub(super) struct Compiler {
    /// The variables of each part, projections behind the others.
    pub(super) variables: Vec<Vec<usize>>,
    pub(super) projections: Vec<Projection>,
    pub(super) parts: Vec<Part>,
    /// How many parts are no projections.
    pub(super) own: usize,
}

impl Compiler {
    /// The steps of a change of a part.
    pub(super) fn way(&mut self, from: usize, all: usize) -> Vec<Step> {
        let mut bound = self.variables[from].clone();
        let mut steps = Vec::new();
        // What the change binds as a whole says whether there is anything.
        let inside = |part: &usize| self.variables[*part].iter().all(|v| bound.contains(v));
        let checks = (0..self.own).filter(|part| *part != from).filter(inside);
        for part in checks.collect::<Vec<usize>>() {
            let open = self.variables[part].last().copied();
            steps.push(Step::Check(self.meet(part, open)));
        }
        while bound.len() < all {
            let open = (0..all).filter(|v| !bound.contains(v));
            // The one that most of what is bound says something of.
            let told = |v: &usize| {
                let with = (0..self.own).filter(|p| self.variables[*p].contains(v));
                with.filter(|p| self.variables[*p].iter().any(|v| bound.contains(v)))
                    .count()
            };
            let Some(next) = open.rev().max_by_key(told) else {
                break;
            };
            steps.push(Step::Bind(next, self.meets(next, from, &bound)));
            bound.push(next);
        }
        steps
    }

    /// Who says something of a variable, given those that are bound.
    fn meets(&mut self, next: usize, from: usize, bound: &[usize]) -> Vec<Meet> {
        let has = |part: &usize| *part != from && self.variables[*part].contains(&next);
        let with: Vec<usize> = (0..self.own).filter(has).collect();
        let narrow = |part: usize| -> Vec<usize> {
            let known = self.variables[part].iter().copied();
            known.filter(|v| *v == next || bound.contains(v)).collect()
        };
        let whole = |part: usize| narrow(part).len() == self.variables[part].len();
        let tells = |part: &usize| whole(*part) || narrow(*part).len() > 1;
        let mut chosen: Vec<usize> = with.iter().copied().filter(tells).collect();
        if chosen.is_empty() {
            chosen.extend(with.first());
        }
        let wanted = |part: usize| (part, (!whole(part)).then(|| narrow(part)));
        let wanted: Vec<(usize, Option<Vec<usize>>)> = chosen.into_iter().map(wanted).collect();
        let parts = wanted.into_iter().map(|(part, narrow)| {
            let part = match narrow {
                None => part,
                Some(variables) => self.projection(part, variables),
            };
            self.meet(part, Some(next))
        });
        parts.collect()
    }

    fn projection(&mut self, of: usize, variables: Vec<usize>) -> usize {
        let wanted = Projection { of, variables };
        let known = self.projections.iter().position(|other| *other == wanted);
        let at = known.unwrap_or_else(|| {
            self.variables.push(wanted.variables.clone());
            self.parts.push(Part::new(wanted.variables.len()));
            self.projections.push(wanted);
            self.projections.len() - 1
        });
        self.own + at
    }

    /// All variables of a part but one are bound.
    fn meet(&mut self, part: usize, open: Option<usize>) -> Meet {
        let key = &self.variables[part];
        let column = open.and_then(|open| key.iter().position(|&v| v == open));
        let columns: Vec<usize> = (0..key.len()).filter(|&at| Some(at) != column).collect();
        Meet {
            part,
            by: columns.iter().map(|&column| key[column]).collect(),
            path: self.parts[part].path(columns, column),
            open,
        }
    }
}
