//! The rows of one group in their order: which of them pass.
//!
//! Invariant: where no sum of a block is negative, those that pass a comparison lie between two
//! bounds that `select` finds; else the index is walked. Cost: O(log n), O(n) if it is walked.

use ringview_core::Result;
use ringview_ring::CommutativeMonoid;

use crate::machine::indexed::index::Index;
use crate::machine::indexed::shape::Shape;
use crate::machine::indexed::threshold::Reached;
use crate::machine::indexed::threshold::Threshold;
use crate::machine::query::{Cell, Comparison, END, KeyBound, Range, START, key_bound, mirror};
use crate::payload::{Payload, Sums};
use crate::tree::overflow;

/// The rows of one group.
#[derive(Clone, Debug)]
pub(crate) struct Rows<const N: usize> {
    pub(crate) index: Index<N>,
    /// Entries with a negative sum of a block.
    pub(crate) negative: usize,
}

impl<const N: usize> Rows<N> {
    pub(crate) fn new() -> Self {
        Self {
            index: Index::new(),
            negative: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.index.clear();
        self.negative = 0;
    }

    pub(crate) fn add(&mut self, shape: &Shape, key: i128, delta: Sums<N>) -> Result<()> {
        let (old, new) = self.index.add(key, delta)?;
        let is_negative = |sums: &Sums<N>| usize::from(shape.is_negative(sums));
        self.negative = self.negative + is_negative(&new) - is_negative(&old);
        Ok(())
    }

    /// The bound from which on a comparison holds, with the sums before it.
    fn from(&self, reached: &Reached<'_, N>, admits: bool) -> (KeyBound, Sums<N>) {
        let none = Sums::<N>::ZERO;
        if !admits && reached.is_met(&none) {
            return (START, none);
        }
        let found = match reached {
            Reached::Exact(threshold) => self.index.select(threshold),
            Reached::Real(..) => self.index.select_by(&|sums| reached.is_met(sums)),
        };
        match found {
            Some((key, before, _)) if admits => ((key, false), before),
            Some((key, _, with)) => ((key, true), with),
            None => (END, self.index.total()),
        }
    }

    /// The range of rows that pass the comparisons, with the sums before each end.
    fn range(&self, shape: &Shape, closed: &[Cell]) -> Result<Option<[(KeyBound, Sums<N>); 2]>> {
        let total = self.index.total();
        let (mut low, mut high) = ((START, Sums::<N>::ZERO), (END, total));
        for (at, (correlation, closed)) in shape.correlations.iter().zip(closed).enumerate() {
            let Some(closed) = closed.0 else {
                return Ok(None);
            };
            let (lane, real) = (shape.blocks[at].count, shape.real(at));
            let threshold = Threshold {
                at: lane,
                low: (low.1.0[lane], low.1.0[lane + 1]),
                high: (high.1.0[lane], high.1.0[lane + 1]),
                counts: correlation.counts,
                bound: 0,
            };
            let mut reached = match real {
                None => Reached::Exact(threshold),
                Some(real) => Reached::Real(threshold, real, [low.1, high.1]),
            };
            let most = reached.units(&total);
            let mut from = |bound: i128| {
                reached.threshold().bound = bound;
                self.from(&reached, correlation.admits)
            };
            let least = |strictly: bool| correlation.least(closed, strictly, most);
            // A range that ends before it begins is empty.
            (low, high) = match correlation.how {
                Comparison::Lt => (from(least(true)?), (END, total)),
                Comparison::Le => (from(least(false)?), (END, total)),
                Comparison::Gt => (from(i128::MIN), from(least(false)?)),
                Comparison::Ge => (from(i128::MIN), from(least(true)?)),
                Comparison::Eq | Comparison::Ne => (from(least(false)?), from(least(true)?)),
            };
        }
        Ok(Some([low, high]))
    }

    /// The sums over the rows that pass.
    pub(crate) fn passing(&self, shape: &Shape, closed: &[Cell]) -> Result<Sums<N>> {
        if closed.is_empty() {
            return Ok(self.index.total());
        }
        let (correlations, bounds) = closed.split_at(shape.correlations.len());
        let Some((cut, out)) = shape.cuts(bounds)? else {
            return Ok(Sums::<N>::ZERO);
        };
        if self.negative > 0 {
            return self.walk(shape, correlations, (cut, &out));
        }
        let Some([mut low, mut high]) = self.range(shape, correlations)? else {
            return Ok(Sums::<N>::ZERO);
        };
        let before = |place: KeyBound| self.index.below(place.0, place.1);
        if cut.0 > low.0 {
            low = (cut.0, before(cut.0));
        }
        if cut.1 < high.0 {
            high = (cut.1, before(cut.1));
        }
        if low.0 >= high.0 {
            return Ok(Sums::<N>::ZERO);
        }
        let mut passed = high.1.without(low.1);
        for key in out {
            if low.0 <= (key, false) && (key, true) <= high.0 {
                let own = before((key, true)).without(before((key, false)));
                passed = passed.without(own);
            }
        }
        Ok(passed)
    }

    /// The same by walking, whatever the signs.
    fn walk(
        &self,
        shape: &Shape,
        closed: &[Cell],
        (cut, out): (Range, &[i128]),
    ) -> Result<Sums<N>> {
        let too_much = || overflow("a sum");
        let mut passed = Sums::<N>::ZERO;
        let roles = shape.roles(N);
        self.index.each(&mut |key, own| {
            let before = passed;
            let outer = shape.correlations.len();
            for role in 0..=outer {
                if let Some(correlation) = role.checked_sub(1).map(|at| &shape.correlations[at]) {
                    let sums = if correlation.admits { passed } else { before };
                    let at = shape.blocks[role - 1].count;
                    let units = match shape.real(role - 1) {
                        Some(real) => real.key(|lane| sums.0[lane]),
                        None => sums.0[at + usize::from(!correlation.counts)],
                    };
                    let is_null = !correlation.counts && sums.0[at] == 0;
                    if is_null || !correlation.passes(closed[role - 1], units)? {
                        continue;
                    }
                }
                if role == outer {
                    let within = cut.0 <= (key, false) && (key, true) <= cut.1;
                    if !within || out.contains(&key) {
                        continue;
                    }
                }
                for at in (0..N).filter(|&at| roles[at] == role) {
                    let sum = passed.0[at].checked_add(own.0[at]);
                    passed.0[at] = sum.ok_or_else(too_much)?;
                }
            }
            Ok(())
        })?;
        Ok(passed)
    }
}

impl Shape {
    /// The range of keys that bounds leave, and the keys that they leave out; `None` where one is
    /// NULL.
    fn cuts(&self, bounds: &[Cell]) -> Result<Option<(Range, Vec<i128>)>> {
        let (mut cut, mut out) = ((START, END), Vec::new());
        for (how, closed) in self.bounds.iter().zip(bounds) {
            let Some(closed) = closed.0 else {
                return Ok(None);
            };
            let upto = |inclusive| key_bound(closed, self.kinds.key, inclusive);
            // The closed side is the left one.
            let (mut low, mut high) = match how {
                Comparison::Lt => (upto(true)?, END),
                Comparison::Le => (upto(false)?, END),
                Comparison::Gt => (START, upto(false)?),
                Comparison::Ge => (START, upto(true)?),
                Comparison::Eq | Comparison::Ne => (upto(false)?, upto(true)?),
            };
            if self.mirrored {
                (low, high) = (mirror(high), mirror(low));
            }
            if *how == Comparison::Ne {
                if low < high && !out.contains(&low.0) {
                    out.push(low.0);
                }
                continue;
            }
            cut = (cut.0.max(low), cut.1.min(high));
        }
        Ok(Some((cut, out)))
    }
}
