//! The tuples that a transaction inserted and deleted, in order.
//!
//! Invariant: consecutive inserts, or deletes, of tuples of one relation are one run, so that a rollback works through runs as
//! the transaction did. Cost: four bytes a tuple.

/// Tuples inserted or deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    runs: Vec<Run>,
    tuples: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    atom: usize,
    inserted: bool,
    /// Begin of its tuples.
    begin: usize,
}

impl Events {
    /// Logs tuples of a relation.
    pub(super) fn log(&mut self, atom: usize, inserted: bool, tuples: &[u32]) {
        let begin = self.tuples.len();
        let last = self.runs.last();
        if last.is_none_or(|run| run.atom != atom || run.inserted != inserted) {
            self.runs.push(Run {
                atom,
                inserted,
                begin,
            });
        }
        self.tuples.extend_from_slice(tuples);
    }

    /// Runs from the last to the first: relation, whether its tuples were inserted, and these.
    pub(super) fn back(&self) -> impl Iterator<Item = (usize, bool, &[u32])> {
        let ends = self.runs.iter().skip(1).map(|run| run.begin);
        let mut ends: Vec<usize> = ends.collect();
        ends.push(self.tuples.len());
        let runs = self.runs.iter().zip(ends).rev();
        runs.map(|(run, end)| (run.atom, run.inserted, &self.tuples[run.begin..end]))
    }

    /// Calls `see` with each deleted tuple, and its relation.
    pub(super) fn each_deleted(&self, mut see: impl FnMut(usize, u32)) {
        for (at, run) in self
            .runs
            .iter()
            .enumerate()
            .filter(|(_, run)| !run.inserted)
        {
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
