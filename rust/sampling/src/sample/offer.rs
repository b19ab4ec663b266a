//! The reservoir skips through the results of inserted tuples.
//!
//! Invariant: possible stops are looked up with the w of that moment, in the order of the stream, and examined in that
//! order, so that the law is that of one stop after the other (see `state`). Cost: O(log N) a stop; reads and writes are
//! prefetched.

use ringview_core::Result;

use super::{JoinSample, Predicate};
use crate::state::Lookahead;

/// The distance of prefetches, in tuples.
const AHEAD: usize = 8;

impl<P: Predicate> JoinSample<P> {
    /// Skips through the results of inserted tuples.
    pub(super) fn offer(&mut self, atom: usize, tuples: &[u32]) -> Result<()> {
        let mut lookahead = self.state.lookahead();
        for (nth, &tuple) in tuples.iter().enumerate() {
            if let Some(&ahead) = tuples.get(nth + AHEAD) {
                self.index.prefetch_delta(atom, ahead);
            }
            let length = self.index.delta_len(atom, tuple)?;
            let mut left = length;
            while let Some(passed) = self.state.skip(left) {
                left -= passed + 1;
                self.stops.push((tuple, length - left - 1));
                if self.stops.len() as u64 == lookahead.limit() {
                    self.examine_stops(atom, lookahead)?;
                    lookahead = self.state.lookahead();
                }
            }
        }
        self.examine_stops(atom, lookahead)
    }

    /// Examines possible stops: the reservoir stops, or w has changed since.
    fn examine_stops(&mut self, atom: usize, lookahead: Lookahead) -> Result<()> {
        let Self {
            index,
            search,
            stops,
            ..
        } = self;
        index.search_deltas(search, atom, stops);
        let count = stops.len();
        stops.clear();
        // Places are chosen first, and written later, when they are prefetched.
        let mut admitted = std::mem::take(&mut self.admitted);
        let mut done = Ok(());
        for nth in 0..count {
            if !self.state.accepts(lookahead) {
                continue;
            }
            let real = match self.search.result(nth) {
                Some(result) => self.predicate.holds(&self.index, result),
                None => Ok(false),
            };
            match real {
                Ok(true) => {
                    let place = self.state.admit() as usize;
                    self.results.prefetch(place);
                    admitted.push((place, nth));
                }
                Ok(false) => self.counters.dummies += 1,
                Err(error) => {
                    done = Err(error);
                    break;
                }
            }
        }
        self.counters.admitted += admitted.len() as u64;
        for (place, nth) in admitted.drain(..) {
            if let Some(result) = self.search.result(nth) {
                self.results.put(place, result);
            }
        }
        self.admitted = admitted;
        done?;
        self.state.end_lookahead(lookahead);
        Ok(())
    }
}
