//! The reservoir skips through what tuples bring.
//!
//! Invariant: where it might stop is sought with the w of then, in the order of the stream; what stands there is found at
//! once, and told of in that order, so that the law is that of one stop after the other (see `law`).
//! Cost: O(log N) a stop; what stops read and write is on its way before it is needed.

use ringview_core::Result;

use super::{JoinSample, Predicate};
use crate::law::Scout;

/// How many tuples ahead what they meet is asked for.
const AHEAD: usize = 8;

impl<P: Predicate> JoinSample<P> {
    /// The reservoir skips through what tuples bring.
    pub(super) fn offer(&mut self, atom: usize, tuples: &[u32]) -> Result<()> {
        let mut scout = self.law.scout();
        for (nth, &tuple) in tuples.iter().enumerate() {
            if let Some(&ahead) = tuples.get(nth + AHEAD) {
                self.index.prefetch_delta(atom, ahead);
            }
            let length = self.index.delta_len(atom, tuple)?;
            let mut left = length;
            while let Some(passed) = self.law.seek(left) {
                left -= passed + 1;
                self.sought.push((tuple, length - left - 1));
                if self.sought.len() as u64 == scout.most() {
                    self.meet_sought(atom, scout)?;
                    scout = self.law.scout();
                }
            }
        }
        self.meet_sought(atom, scout)
    }

    /// What stands where the reservoir might stop: it stops, or the law has changed meanwhile.
    fn meet_sought(&mut self, atom: usize, scout: Scout) -> Result<()> {
        let Self {
            index,
            search,
            sought,
            ..
        } = self;
        index.search_deltas(search, atom, sought);
        let count = sought.len();
        sought.clear();
        // First who comes in and where, then all are written: what they write over is on its way by then.
        let mut coming = std::mem::take(&mut self.coming);
        let mut done = Ok(());
        for nth in 0..count {
            if !self.law.stops(scout) {
                continue;
            }
            let real = match self.search.result(nth) {
                Some(result) => self.predicate.holds(&self.index, result),
                None => Ok(false),
            };
            match real {
                Ok(true) => {
                    let place = self.law.take_in() as usize;
                    self.places.prefetch(place);
                    coming.push((place, nth));
                }
                Ok(false) => self.met.dummies += 1,
                Err(error) => {
                    done = Err(error);
                    break;
                }
            }
        }
        self.met.came += coming.len() as u64;
        for (place, nth) in coming.drain(..) {
            if let Some(result) = self.search.result(nth) {
                self.places.put(place, result);
            }
        }
        self.coming = coming;
        done?;
        self.law.end_scout(scout);
        Ok(())
    }
}
