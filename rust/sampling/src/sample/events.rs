//! Which tuples a transaction brought and took, in order.
//!
//! Invariant: tuples of one relation that come, or leave, one after the other are one run, so that a rollback
//! works through runs as the transaction did. Cost: four bytes a tuple.

/// Tuples that came or left.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    runs: Vec<Run>,
    tuples: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    atom: usize,
    came: bool,
    /// Where its tuples begin.
    begin: usize,
}

impl Events {
    /// Notes tuples of a relation that come or leave.
    pub(super) fn note(&mut self, atom: usize, came: bool, tuples: &[u32]) {
        let begin = self.tuples.len();
        let last = self.runs.last();
        if last.is_none_or(|run| run.atom != atom || run.came != came) {
            self.runs.push(Run { atom, came, begin });
        }
        self.tuples.extend_from_slice(tuples);
    }

    /// Runs from the last to the first: relation, whether its tuples came, and these.
    pub(super) fn back(&self) -> impl Iterator<Item = (usize, bool, &[u32])> {
        let ends = self.runs.iter().skip(1).map(|run| run.begin);
        let mut ends: Vec<usize> = ends.collect();
        ends.push(self.tuples.len());
        let runs = self.runs.iter().zip(ends).rev();
        runs.map(|(run, end)| (run.atom, run.came, &self.tuples[run.begin..end]))
    }

    /// Calls `see` with each tuple that left, and its relation.
    pub(super) fn each_left(&self, mut see: impl FnMut(usize, u32)) {
        for (at, run) in self.runs.iter().enumerate().filter(|(_, run)| !run.came) {
            let end = self
                .runs
                .get(at + 1)
                .map_or(self.tuples.len(), |next| next.begin);
            let tuples = self.tuples[run.begin..end].iter();
            tuples.for_each(|&tuple| see(run.atom, tuple));
        }
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        ringview_core::empty(&mut self.tuples);
    }
}
