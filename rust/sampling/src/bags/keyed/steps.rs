//! The order in which a change joins the other relations of a bag that is merged along keys.
//!
//! Invariant: an order joins each other relation once, as a whole, by the variables bound before. Cost: O(inputs^2 variables),
//! once.

use super::input::Input;

/// A look-up of an input.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    pub(super) input: usize,
    pub(super) path: usize,
    /// The bound variables of the path.
    pub(super) by: Vec<usize>,
    /// The variables that are bound here, and their columns.
    pub(super) fetch: Vec<(usize, usize)>,
}

/// The inputs of a bag while its steps are made.
pub(super) struct Compiler {
    /// The variables of each input.
    pub(super) variables: Vec<Vec<usize>>,
    pub(super) inputs: Vec<Input>,
}

impl Compiler {
    /// The steps of a change of an input.
    pub(super) fn order(&mut self, from: usize) -> Vec<Lookup> {
        let mut bound = self.variables[from].clone();
        let mut open: Vec<usize> = (0..self.inputs.len())
            .filter(|&input| input != from)
            .collect();
        let mut lookups = Vec::new();
        while !open.is_empty() {
            let count_bound = |input: usize| {
                let variables = self.variables[input].iter();
                variables.filter(|v| bound.contains(v)).count()
            };
            let lacks = |input: usize| self.variables[input].len() - count_bound(input);
            let rank = |at: &usize| (count_bound(open[*at]) == 0, lacks(open[*at]));
            let next = open.remove((0..open.len()).min_by_key(rank).unwrap_or(0));
            lookups.push(self.lookup(next, &bound));
            bound.extend(self.variables[next].iter());
        }
        lookups
    }

    fn lookup(&mut self, input: usize, bound: &[usize]) -> Lookup {
        let key = &self.variables[input];
        let (keys, open): (Vec<usize>, Vec<usize>) =
            (0..key.len()).partition(|&column| bound.contains(&key[column]));
        Lookup {
            input,
            path: self.inputs[input].path(&keys),
            by: keys.iter().map(|&column| key[column]).collect(),
            fetch: open.iter().map(|&column| (key[column], column)).collect(),
        }
    }
}
