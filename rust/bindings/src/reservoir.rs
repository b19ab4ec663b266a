//! The class `ReservoirState`: choice of the items of a stream that a reservoir looks at, and their places; and merging
//! of samples of parts. The items are Python's.
//!
//! Cost: well under a microsecond a call; the interpreter stays in its hands.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ringview_engine::{ReservoirState as State, SampledPart};

use crate::ending::detach;
use crate::errors::OrRaise;

/// The state of a reservoir without its items.
///
/// >>> from ringview._native import ReservoirState
/// >>> state = ReservoirState(2, 7)
/// >>> state.to_pass(), state.stop(True), state.stop(False), state.stop(True)
/// (0, 0, None, 1)
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct ReservoirState {
    state: Mutex<State>,
}

impl ReservoirState {
    fn state(&self) -> MutexGuard<'_, State> {
        // A call that panicked changed nothing that another one relies on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ReservoirState {
    /// For k items, with a seed of the random numbers.
    #[new]
    fn new(py: Python<'_>, k: u64, seed: u64) -> PyResult<ReservoirState> {
        let state = Mutex::new(State::new(k, seed).or_raise(py)?);
        Ok(ReservoirState { state })
    }

    /// The same state, apart.
    fn copy(&self) -> ReservoirState {
        let state = Mutex::new(self.state().clone());
        ReservoirState { state }
    }

    /// Number of items that need not be looked at.
    fn to_pass(&self) -> u128 {
        self.state().to_pass()
    }

    /// Notes that so many of them, or all, were passed over.
    #[pyo3(name = "pass_")]
    fn pass(&self, items: u128) {
        let mut state = self.state();
        let most = state.to_pass();
        state.pass(items.min(most));
    }

    /// Of so many items, how many are passed over before one that is looked at; None if it is none.
    fn advance(&self, items: u128) -> Option<u128> {
        self.state().advance(items)
    }

    /// The place that the item takes which is looked at; None if it is not real.
    fn stop(&self, real: bool) -> Option<u64> {
        let mut state = self.state();
        while state.to_pass() > 0 {
            let passed = state.to_pass();
            state.pass(passed);
        }
        state.stop(real)
    }

    /// Of a number of items, all real, those that are admitted, with their places, in order.
    fn offer(&self, items: u64) -> Vec<(u64, u64)> {
        let mut state = self.state();
        let mut came = Vec::new();
        let mut next = 0;
        while let Some(passed) = state.advance(u128::from(items - next)) {
            let item = next + passed as u64;
            came.extend(state.stop(true).map(|place| (item, place)));
            next = item + 1;
        }
        came
    }

    /// The largest key held: 1 until the reservoir is full.
    fn w(&self) -> f64 {
        self.state().w()
    }
}

/// Chooses k rows of the whole from those drawn from each part of a join, by their places among those: `parts` has of
/// each the number of its rows, and of those drawn, k or all.
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
    detach(py, || ringview_engine::merge_samples(&parts, k, seed)).or_raise(py)
}
