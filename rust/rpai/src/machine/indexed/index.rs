//! Sums by key, for a relation of a query: few entries side by side, many in an RPAI tree.
//!
//! Invariant: entries are in order of their keys, none is zero. Keys and sums are 64 bits wide
//! while all of them fit, magnitudes added up, else 128 bits: results do not depend on it. Cost:
//! O(log n) but for the change to another form, O(n), of which an index has two.

use ringview_core::Result;
use ringview_ring::CommutativeMonoid;

use crate::cut::Cut;
use crate::machine::indexed::threshold::Threshold;
use crate::payload::{Payload, Sums};
use crate::steps::Steps;
use crate::tree::{RpaiTree, overflow};

/// Largest number of entries in a plain list.
const FEW: usize = 40;

/// An entry that `select` found: its key, the sums before it, and those with it.
pub(crate) type Found<const N: usize> = (i128, Sums<N>, Sums<N>);

#[derive(Clone, Debug)]
enum Layout<const N: usize> {
    /// With the sum of magnitudes.
    Few(Vec<(i64, Sums<N, i64>)>, Sums<N, i64>),
    Narrow(Box<RpaiTree<i64, Sums<N, i64>>>),
    Wide(Box<RpaiTree<i128, Sums<N>>>),
}

/// The sums of some keys.
#[derive(Clone, Debug)]
pub(crate) struct Index<const N: usize> {
    layout: Layout<N>,
    total: Sums<N>,
    steps: Steps,
}

#[inline(always)]
fn widened<const N: usize>(sums: Sums<N, i64>) -> Sums<N> {
    Sums(sums.0.map(i128::from))
}

#[inline(always)]
fn narrowed<const N: usize>(sums: Sums<N>) -> Option<Sums<N, i64>> {
    let mut narrow = Sums([0; N]);
    for (to, from) in narrow.0.iter_mut().zip(sums.0) {
        *to = i64::try_from(from).ok()?;
    }
    Some(narrow)
}

impl<const N: usize> Index<N> {
    pub(crate) fn new() -> Self {
        Self {
            layout: Layout::Few(Vec::new(), Sums::<N, i64>::ZERO),
            total: Sums::<N>::ZERO,
            steps: Steps::default(),
        }
    }

    /// Without entries, of which there may be few again.
    pub(crate) fn clear(&mut self) {
        match &mut self.layout {
            Layout::Few(few, weight) => {
                few.clear();
                *weight = Sums::<N, i64>::ZERO;
            }
            _ => self.layout = Layout::Few(Vec::new(), Sums::<N, i64>::ZERO),
        }
        self.total = Sums::<N>::ZERO;
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.layout {
            Layout::Few(few, _) => few.is_empty(),
            Layout::Narrow(tree) => tree.is_empty(),
            Layout::Wide(tree) => tree.is_empty(),
        }
    }

    #[inline]
    pub(crate) fn total(&self) -> Sums<N> {
        self.total
    }

    /// Adds to the sums of a key, and returns those before and those now.
    ///
    /// # Errors
    /// `Overflow` if sums of magnitudes do not fit; nothing is changed then.
    #[inline]
    pub(crate) fn add(&mut self, key: i128, delta: Sums<N>) -> Result<(Sums<N>, Sums<N>)> {
        let narrow = i64::try_from(key).ok().zip(narrowed(delta));
        let changed = match (&mut self.layout, narrow) {
            (Layout::Narrow(tree), Some((key, delta))) => tree.add_returning(key, (), delta).ok(),
            (Layout::Few(few, weight), Some((key, delta))) => {
                self.steps.count(1);
                add_to_few(few, weight, key, delta)
            }
            _ => None,
        };
        let (old, new) = match changed {
            Some((old, new)) => (widened(old), widened(new)),
            None => self.wide()?.add_returning(key, (), delta)?,
        };
        self.total = self.total.with(delta);
        if matches!(&self.layout, Layout::Few(few, _) if few.len() > FEW) {
            self.grow()?;
        }
        Ok((old, new))
    }

    /// Few entries become a tree.
    #[cold]
    fn grow(&mut self) -> Result<()> {
        if let Layout::Few(few, _) = &self.layout {
            let entries = few.iter().map(|&(key, sums)| (key, (), sums));
            self.layout = Layout::Narrow(Box::new(RpaiTree::from_sorted(entries)?));
        }
        Ok(())
    }

    /// A tree of wide keys and sums.
    #[cold]
    fn widen(&mut self) -> Result<()> {
        let wide = |(key, sums): (i64, Sums<N, i64>)| (i128::from(key), (), widened(sums));
        let tree = match &self.layout {
            Layout::Few(few, _) => RpaiTree::from_sorted(few.iter().copied().map(wide))?,
            Layout::Narrow(tree) => {
                let entries = tree.iter().map(|(key, (), sums)| wide((key, sums)));
                RpaiTree::from_sorted(entries)?
            }
            Layout::Wide(_) => return Ok(()),
        };
        self.layout = Layout::Wide(Box::new(tree));
        Ok(())
    }

    fn wide(&mut self) -> Result<&mut RpaiTree<i128, Sums<N>>> {
        self.widen()?;
        match &mut self.layout {
            Layout::Wide(tree) => Ok(tree),
            _ => Err(overflow("a sum")),
        }
    }

    /// The sums of the keys less than one, or up to it.
    pub(crate) fn below(&self, key: i128, inclusive: bool) -> Sums<N> {
        let narrow = || match i64::try_from(key) {
            Ok(key) => Ok((key, inclusive)),
            Err(_) => Err(key > 0),
        };
        match &self.layout {
            Layout::Wide(tree) => tree.prefix_sum(&match inclusive {
                true => Cut::after(key),
                false => Cut::before(key),
            }),
            Layout::Few(few, _) => {
                self.steps.count(1);
                let counts = |at: i64| match narrow() {
                    Ok((key, inclusive)) => at < key || (inclusive && at == key),
                    Err(all) => all,
                };
                let below = few.iter().take_while(|(at, _)| counts(*at));
                widened(below.fold(Sums::<N, i64>::ZERO, |sum, (_, sums)| sum.with(*sums)))
            }
            Layout::Narrow(tree) => match narrow() {
                Ok((key, true)) => widened(tree.prefix_sum(&Cut::after(key))),
                Ok((key, false)) => widened(tree.prefix_sum(&Cut::before(key))),
                Err(true) => self.total,
                Err(false) => Sums::<N>::ZERO,
            },
        }
    }

    /// The first entry with which the running sums reach a threshold.
    #[inline]
    pub(crate) fn select(&self, threshold: &Threshold<i128>) -> Option<Found<N>> {
        match &self.layout {
            Layout::Wide(tree) => {
                let found = tree.select_entry(|sums| threshold.is_met(&sums));
                found.map(|(key, (), before, own)| (key, before, before.with(own)))
            }
            Layout::Narrow(tree) => {
                let threshold = threshold.narrow()?;
                let found = tree.select_entry(|sums| threshold.is_met(&sums));
                found.map(|(key, (), before, own)| {
                    (i128::from(key), widened(before), widened(before.with(own)))
                })
            }
            Layout::Few(few, _) => {
                self.steps.count(1);
                let threshold = threshold.narrow()?;
                let mut sum = Sums::<N, i64>::ZERO;
                for &(key, own) in few {
                    let next = sum.with(own);
                    if threshold.is_met(&next) {
                        return Some((i128::from(key), widened(sum), widened(next)));
                    }
                    sum = next;
                }
                None
            }
        }
    }

    /// The first entry with which the running sums satisfy `reached`, which stays true once it is.
    pub(crate) fn select_by(&self, reached: &dyn Fn(&Sums<N>) -> bool) -> Option<Found<N>> {
        match &self.layout {
            Layout::Wide(tree) => {
                let found = tree.select_entry(|sums| reached(&sums));
                found.map(|(key, (), before, own)| (key, before, before.with(own)))
            }
            Layout::Narrow(tree) => {
                let found = tree.select_entry(|sums| reached(&widened(sums)));
                found.map(|(key, (), before, own)| {
                    (i128::from(key), widened(before), widened(before.with(own)))
                })
            }
            Layout::Few(few, _) => {
                self.steps.count(1);
                let mut sum = Sums::<N>::ZERO;
                for &(key, own) in few {
                    let next = sum.with(widened(own));
                    if reached(&next) {
                        return Some((i128::from(key), sum, next));
                    }
                    sum = next;
                }
                None
            }
        }
    }

    /// Calls `see` with all entries in order. O(n) steps.
    ///
    /// # Errors
    /// Those of `see`.
    pub(crate) fn each(&self, see: &mut dyn FnMut(i128, Sums<N>) -> Result<()>) -> Result<()> {
        match &self.layout {
            Layout::Wide(tree) => tree.iter().try_for_each(|(key, (), sums)| see(key, sums)),
            Layout::Narrow(tree) => {
                (tree.iter()).try_for_each(|(key, (), sums)| see(i128::from(key), widened(sums)))
            }
            Layout::Few(few, _) => {
                self.steps.count(few.len());
                few.iter()
                    .try_for_each(|&(key, sums)| see(i128::from(key), widened(sums)))
            }
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        match &self.layout {
            Layout::Few(few, _) => few.capacity() * size_of::<(i64, Sums<N, i64>)>(),
            Layout::Narrow(tree) => tree.memory_usage(),
            Layout::Wide(tree) => tree.memory_usage(),
        }
    }

    pub(crate) fn steps(&self) -> u64 {
        let trees = match &self.layout {
            Layout::Few(..) => 0,
            Layout::Narrow(tree) => tree.steps(),
            Layout::Wide(tree) => tree.steps(),
        };
        self.steps.total() + trees
    }
}

/// Adds to the sums of a key; `None` if the sum of magnitudes does not fit.
#[inline]
fn add_to_few<const N: usize>(
    few: &mut Vec<(i64, Sums<N, i64>)>,
    weight: &mut Sums<N, i64>,
    key: i64,
    delta: Sums<N, i64>,
) -> Option<(Sums<N, i64>, Sums<N, i64>)> {
    let at = few.partition_point(|(other, _)| *other < key);
    let held = few.get(at).filter(|(other, _)| *other == key);
    let old = held.map_or(Sums::<N, i64>::ZERO, |(_, sums)| *sums);
    let new = old.plus(delta)?;
    *weight = weight.without(old.magnitude()?).plus(new.magnitude()?)?;
    match (held.is_some(), new.is_zero()) {
        (true, true) => {
            few.remove(at);
        }
        (true, false) => few[at].1 = new,
        (false, true) => {}
        (false, false) => {
            if few.len() == few.capacity() {
                // Most groups are small, and there may be many.
                few.reserve_exact((few.len() / 2).max(2));
            }
            few.insert(at, (key, new));
        }
    }
    Some((old, new))
}
