//! In which order a change meets the other relations of its bag.
//!
//! Invariant: a path binds each variable of the bag once and meets each part, by all its variables, where the last of
//! these is bound. In a bag of a cycle variables are bound one after the other, by those that have them
//! together with what is bound: the smallest group is walked, the others are looked up in, so the bag's
//! changes cost what its cover bounds (Ngo, Porat, Re, Rudra: generic join); a relation that has more variables to come takes
//! part by a projection. What only one variable of a relation could say alone is not asked: it cuts
//! no more than a constant number of relations would. In a bag of foreign keys each relation is met
//! as a whole. Cost: O(parts^2 variables), once.

use super::part::Part;

/// What a part holds for the steps: the number of a part, or a projection of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Projection {
    /// Of which part.
    pub(super) of: usize,
    /// Its columns, by the variables of the bag.
    pub(super) variables: Vec<usize>,
}

/// Parts that are met together: they agree on what they bind.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) meets: Vec<Meet>,
}

/// How a step meets a part.
#[derive(Clone, Debug)]
pub(super) struct Meet {
    pub(super) part: usize,
    /// None where all its variables are bound, and it has no further words: then it is looked up in.
    pub(super) path: Option<usize>,
    /// The bound variables of the path.
    pub(super) by: Vec<usize>,
    /// All variables of the part, in the order of its columns.
    pub(super) key: Vec<usize>,
    /// The columns that are bound here.
    pub(super) fetch: Vec<(usize, usize)>,
}

/// The parts of a bag while its steps are made.
pub(super) struct Compiler {
    /// The variables of each part, projections behind the others.
    pub(super) variables: Vec<Vec<usize>>,
    pub(super) projections: Vec<Projection>,
    pub(super) parts: Vec<Part>,
    /// How many parts are none.
    pub(super) own: usize,
}

impl Compiler {
    /// The steps of a change of a part, each relation met as a whole.
    pub(super) fn whole(&mut self, from: usize) -> Vec<Step> {
        let mut bound = self.variables[from].clone();
        let mut open: Vec<usize> = (0..self.own).filter(|&part| part != from).collect();
        let mut steps = Vec::new();
        while !open.is_empty() {
            let known = |part: usize| {
                let variables = self.variables[part].iter();
                variables.filter(|v| bound.contains(v)).count()
            };
            let lacks = |part: usize| self.variables[part].len() - known(part);
            let rank = |at: &usize| (known(open[*at]) == 0, lacks(open[*at]));
            let next = open.remove((0..open.len()).min_by_key(rank).unwrap_or(0));
            let meets = vec![self.meet(next, &bound)];
            bound.extend(self.variables[next].iter());
            steps.push(Step { meets });
        }
        steps
    }

    /// The steps of a change of a part, a variable after the other.
    pub(super) fn generic(&mut self, from: usize, all: usize) -> Vec<Step> {
        let mut bound = self.variables[from].clone();
        let mut steps = Vec::new();
        // What the change binds as a whole says whether there is anything.
        let inside = |part: &usize| self.variables[*part].iter().all(|v| bound.contains(v));
        let checks = (0..self.own).filter(|part| *part != from).filter(inside);
        for part in checks.collect::<Vec<usize>>() {
            let meets = vec![self.meet(part, &bound)];
            steps.push(Step { meets });
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
            let meets = self.meets(next, from, &bound);
            bound.push(next);
            steps.push(Step { meets });
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
        let parts = wanted.into_iter().map(|(part, narrow)| match narrow {
            None => self.meet(part, bound),
            Some(variables) => {
                let projected = self.projection(part, variables);
                self.meet(projected, bound)
            }
        });
        parts.collect()
    }

    fn projection(&mut self, of: usize, variables: Vec<usize>) -> usize {
        let wanted = Projection { of, variables };
        let known = self.projections.iter().position(|other| *other == wanted);
        let at = known.unwrap_or_else(|| {
            self.variables.push(wanted.variables.clone());
            self.parts.push(Part::new(wanted.variables.len(), 0));
            self.projections.push(wanted);
            self.projections.len() - 1
        });
        self.own + at
    }

    fn meet(&mut self, part: usize, bound: &[usize]) -> Meet {
        let key = self.variables[part].clone();
        let (known, open): (Vec<usize>, Vec<usize>) =
            (0..key.len()).partition(|&column| bound.contains(&key[column]));
        let of = &mut self.parts[part];
        let looked_up = open.is_empty() && !of.has_words();
        Meet {
            part,
            path: (!looked_up).then(|| of.path(&known)),
            by: known.iter().map(|&column| key[column]).collect(),
            fetch: open.iter().map(|&column| (key[column], column)).collect(),
            key,
        }
    }
}
