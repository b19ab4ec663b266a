//! The class `ReservoirLaw`: which items of a stream a reservoir looks at, and where each goes; and how samples
//! of parts become one. The items are Python's.
//!
//! Cost: well under a microsecond a call; the interpreter stays in its hands.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ringview_engine::{ReservoirState, SampledPart};

use crate::errors::OrRaise;

/// The state of a reservoir without its items.
///
/// >>> from ringview._native import ReservoirLaw
/// >>> law = ReservoirLaw(2, 7)
/// >>> law.to_pass(), law.stop(True), law.stop(False), law.stop(True)
/// (0, 0, None, 1)
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct ReservoirLaw {
    law: Mutex<ReservoirState>,
}

impl ReservoirLaw {
    fn law(&self) -> MutexGuard<'_, ReservoirState> {
        // A call that panicked changed nothing that another one relies on.
        self.law.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ReservoirLaw {
    /// For k items, with a seed of the random numbers.
    #[new]
    fn new(py: Python<'_>, k: u64, seed: u64) -> PyResult<ReservoirLaw> {
        let law = Mutex::new(ReservoirState::new(k, seed).or_raise(py)?);
        Ok(ReservoirLaw { law })
    }

    /// The same state, apart.
    fn copy(&self) -> ReservoirLaw {
        let law = Mutex::new(self.law().clone());
        ReservoirLaw { law }
    }

    /// How many items need not be looked at.
    fn to_pass(&self) -> u128 {
        self.law().to_pass()
    }

    /// Notes that so many of them, or all, were passed over.
    #[pyo3(name = "pass_")]
    fn pass(&self, items: u128) {
        let mut law = self.law();
        let most = law.to_pass();
        law.pass(items.min(most));
    }

    /// Of so many items, how many are passed over before one that is looked at; None if it is none.
    fn advance(&self, items: u128) -> Option<u128> {
        self.law().advance(items)
    }

    /// The place that the item takes which is looked at; None if it is not real.
    fn stop(&self, real: bool) -> Option<u64> {
        let mut law = self.law();
        while law.to_pass() > 0 {
            let passed = law.to_pass();
            law.pass(passed);
        }
        law.stop(real)
    }

    /// Of so many items, all real, those that come in, each with its place, in order.
    fn offer(&self, items: u64) -> Vec<(u64, u64)> {
        let mut law = self.law();
        let mut came = Vec::new();
        let mut next = 0;
        while let Some(passed) = law.advance(u128::from(items - next)) {
            let item = next + passed as u64;
            came.extend(law.stop(true).map(|place| (item, place)));
            next = item + 1;
        }
        came
    }

    /// The largest key held: 1 until the reservoir is full.
    fn w(&self) -> f64 {
        self.law().w()
    }
}

/// Which of the rows that were drawn from each part of a join are k of the whole, by their places among those:
/// `parts` says of each how many rows it has, and how many of them were drawn, k or all.
///
/// >>> from ringview._native import merge_samples
/// >>> [len(places) for places in merge_samples([(2, 2), (10**30, 5)], 5, 7)]
/// [0, 5]
#[pyfunction]
pub(crate) fn merge_samples(
    py: Python<'_>,
    parts: Vec<(u128, u64)>,
    k: u64,
    seed: u64,
) -> PyResult<Vec<Vec<u64>>> {
    let part = |(results, drawn)| SampledPart { results, drawn };
    let parts: Vec<SampledPart> = parts.into_iter().map(part).collect();
    py.detach(|| ringview_engine::merge_samples(&parts, k, seed))
        .or_raise(py)
}
