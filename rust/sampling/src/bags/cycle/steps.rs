//! The order in which a change joins the other relations of a cycle.
//!
//! Invariant: an order binds each variable of the bag once, and looks up each relation with all its variables where the last of
//! these is bound. Each next variable is bound by the relations that have it together with bound ones: the smallest list is
//! walked, the others are looked up, so the changes of the bag cost what its cover bounds (Ngo, Porat, Re, Rudra: generic
//! join). A relation with further unbound variables takes part by a projection. Single-variable projections are skipped: they
//! prune by at most a constant factor. Cost: O(inputs^2 variables), once.

use super::input::Input;

/// The rows of an input by some of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Projection {
    /// Of which input.
    pub(super) of: usize,
    /// Its columns, by the variables of the bag.
    pub(super) variables: Vec<usize>,
}

/// A step of an order.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// An input must have the bound ids.
    Check(Lookup),
    /// A variable is bound to the ids that all inputs have.
    Bind(usize, Vec<Lookup>),
}

/// A look-up of an input: by bound variables, for the ids of one more.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    /// An input, or a projection behind these.
    pub(super) input: usize,
    pub(super) path: usize,
    pub(super) by: Vec<usize>,
    /// None for an input of no variables.
    pub(super) open: Option<usize>,
}

/// The inputs of a bag while its steps are made.
pub(super) struct Compiler {
    /// The variables of each input, projections behind the others.
    pub(super) variables: Vec<Vec<usize>>,
    pub(super) projections: Vec<Projection>,
    pub(super) inputs: Vec<Input>,
    /// Number of inputs that are no projections.
    pub(super) own: usize,
}

impl Compiler {
    /// The steps of a change of an input.
    pub(super) fn order(&mut self, from: usize, all: usize) -> Vec<Step> {
        let mut bound = self.variables[from].clone();
        let mut steps = Vec::new();
        // Inputs that the change binds as a whole are checked first.
        let inside = |input: &usize| self.variables[*input].iter().all(|v| bound.contains(v));
        let checks = (0..self.own).filter(|input| *input != from).filter(inside);
        for input in checks.collect::<Vec<usize>>() {
            let open = self.variables[input].last().copied();
            steps.push(Step::Check(self.lookup(input, open)));
        }
        while bound.len() < all {
            let open = (0..all).filter(|v| !bound.contains(v));
            // The one that most relations with bound variables restrict.
            let restricting = |v: &usize| {
                let with = (0..self.own).filter(|p| self.variables[*p].contains(v));
                with.filter(|p| self.variables[*p].iter().any(|v| bound.contains(v)))
                    .count()
            };
            let Some(next) = open.rev().max_by_key(restricting) else {
                break;
            };
            steps.push(Step::Bind(next, self.lookups(next, from, &bound)));
            bound.push(next);
        }
        steps
    }

    /// The look-ups that bind a variable, given those that are bound.
    fn lookups(&mut self, next: usize, from: usize, bound: &[usize]) -> Vec<Lookup> {
        let has = |input: &usize| *input != from && self.variables[*input].contains(&next);
        let with: Vec<usize> = (0..self.own).filter(has).collect();
        let narrow = |input: usize| -> Vec<usize> {
            let variables = self.variables[input].iter().copied();
            variables
                .filter(|v| *v == next || bound.contains(v))
                .collect()
        };
        let whole = |input: usize| narrow(input).len() == self.variables[input].len();
        let prunes = |input: &usize| whole(*input) || narrow(*input).len() > 1;
        let mut useful: Vec<usize> = with.iter().copied().filter(prunes).collect();
        if useful.is_empty() {
            useful.extend(with.first());
        }
        let wanted = |input: usize| (input, (!whole(input)).then(|| narrow(input)));
        let wanted: Vec<(usize, Option<Vec<usize>>)> = useful.into_iter().map(wanted).collect();
        let inputs = wanted.into_iter().map(|(input, narrow)| {
            let input = match narrow {
                None => input,
                Some(variables) => self.projection(input, variables),
            };
            self.lookup(input, Some(next))
        });
        inputs.collect()
    }

    fn projection(&mut self, of: usize, variables: Vec<usize>) -> usize {
        let wanted = Projection { of, variables };
        let existing = self.projections.iter().position(|other| *other == wanted);
        let at = existing.unwrap_or_else(|| {
            self.variables.push(wanted.variables.clone());
            self.inputs.push(Input::new(wanted.variables.len()));
            self.projections.push(wanted);
            self.projections.len() - 1
        });
        self.own + at
    }

    /// All variables of an input but one are bound.
    fn lookup(&mut self, input: usize, open: Option<usize>) -> Lookup {
        let key = &self.variables[input];
        let column = open.and_then(|open| key.iter().position(|&v| v == open));
        let columns: Vec<usize> = (0..key.len()).filter(|&at| Some(at) != column).collect();
        Lookup {
            input,
            by: columns.iter().map(|&column| key[column]).collect(),
            path: self.inputs[input].path(columns, column),
            open,
        }
    }
}
