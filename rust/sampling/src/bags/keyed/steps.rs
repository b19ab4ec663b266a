//! In which order a change meets the other relations that keys combine.
//!
//! Invariant: a way meets each other relation once, as a whole, by what is bound by then. Cost: O(parts^2 variables), once.

use super::part::Part;

/// How a part is met.
#[derive(Clone, Debug)]
pub(super) struct Meet {
    pub(super) part: usize,
    pub(super) path: usize,
    /// The bound variables of the path.
    pub(super) by: Vec<usize>,
    /// The variables that are bound here, and their columns.
    pub(super) fetch: Vec<(usize, usize)>,
}

/// The parts of a bag while its steps are made.
pub(super) struct Compiler {
    /// The variables of each part.
    pub(super) variables: Vec<Vec<usize>>,
    pub(super) parts: Vec<Part>,
}

impl Compiler {
    /// The steps of a change of a part.
    pub(super) fn way(&mut self, from: usize) -> Vec<Meet> {
        let mut bound = self.variables[from].clone();
        let mut open: Vec<usize> = (0..self.parts.len()).filter(|&part| part != from).collect();
        let mut meets = Vec::new();
        while !open.is_empty() {
            let known = |part: usize| {
                let variables = self.variables[part].iter();
                variables.filter(|v| bound.contains(v)).count()
            };
            let lacks = |part: usize| self.variables[part].len() - known(part);
            let rank = |at: &usize| (known(open[*at]) == 0, lacks(open[*at]));
            let next = open.remove((0..open.len()).min_by_key(rank).unwrap_or(0));
            meets.push(self.meet(next, &bound));
            bound.extend(self.variables[next].iter());
        }
        meets
    }

    fn meet(&mut self, part: usize, bound: &[usize]) -> Meet {
        let key = &self.variables[part];
        let (known, open): (Vec<usize>, Vec<usize>) =
            (0..key.len()).partition(|&column| bound.contains(&key[column]));
        Meet {
            part,
            path: self.parts[part].path(&known),
            by: known.iter().map(|&column| key[column]).collect(),
            fetch: open.iter().map(|&column| (key[column], column)).collect(),
        }
    }
}
