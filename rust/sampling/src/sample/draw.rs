//! Draws from the whole join, independent of the sample.
//!
//! Invariant: a draw looks at positions of all results in random order, and passes over dummies, so that all results have
//! equal chances whatever the dummies. Cost: O(log N) a position, of which a constant share are results.

use ringview_core::{Budget, Error, Result};

use super::walk::Walk;
use super::{JoinSample, Predicate};
use crate::index::Search;
use crate::{Index, Random};

impl<P: Predicate> JoinSample<P> {
    /// Draws `m` results of the whole join, one after the other; `take` is called with each. With
    /// replacement every draw has all results; without, those not drawn yet, and it ends when there are no more.
    ///
    /// # Errors
    /// `Value` if there is no result to draw with replacement; the errors of the predicate and the budget.
    pub fn draw(
        &mut self,
        m: u64,
        replacement: bool,
        seed: u64,
        budget: &Budget<'_>,
        take: impl FnMut(&Index, &[u32]),
    ) -> Result<()> {
        self.count_all()?;
        self.drawn(m, replacement, seed, budget, take)
    }

    /// The same, once `count_all` was called; before that there is nothing to draw from.
    ///
    /// # Errors
    /// As `draw`.
    pub fn drawn(
        &self,
        m: u64,
        replacement: bool,
        seed: u64,
        budget: &Budget<'_>,
        mut take: impl FnMut(&Index, &[u32]),
    ) -> Result<()> {
        if self.is_empty() && replacement && m > 0 {
            return Err(Error::Value {
                place: "a draw from a join".to_owned(),
                problem: "it has no results; draw when there are".to_owned(),
            });
        }
        let mut random = Random::new(seed);
        let mut search = Search::default();
        let mut walk = Walk::new(self.positions().unwrap_or_default());
        let mut drawn = 0;
        while drawn < m && walk.left > 0 {
            budget.work(16)?;
            let chosen = random.below(walk.left);
            let position = if replacement {
                chosen
            } else {
                walk.take(chosen)
            };
            self.index.search_all(&mut search, &[position]);
            if let Some(result) = search.result(0)
                && self.predicate.holds(&self.index, result)?
            {
                take(&self.index, result);
                drawn += 1;
            }
        }
        Ok(())
    }
}
