//! The class `RpaiTree`.
//!
//! Invariant: one class, whatever its numbers: four instances of the generic tree behind a table of
//! functions. A call is short, so Python's lock is kept but where a tree is built.

use pyo3::prelude::*;
use ringview_core::Result;
use ringview_engine::{Cut, Expansion, Key, Payload, Real, RpaiTree as Tree};

use super::{Figure, Of};
use crate::busy::Busy;
use crate::ending::detach;
use crate::errors::OrRaise;

/// A key, what keeps it apart from its equals, and its payload or a sum.
type Entry = (Figure, i64, Figure);
/// A key, a tie or all of the key's, and whether those are below the cut.
type TreeBound = (Figure, Option<i64>, bool);

/// Methods of a tree that `RpaiTree` calls, whatever its numbers.
trait AnyTree: Send + std::fmt::Debug {
    fn get(&self, key: Figure, tie: i64) -> Result<Option<Figure>>;
    fn add(&mut self, key: Figure, tie: i64, payload: Figure) -> Result<()>;
    fn put(&mut self, key: Figure, tie: i64, payload: Figure) -> Result<Option<Figure>>;
    fn remove(&mut self, key: Figure, tie: i64) -> Result<Option<Figure>>;
    fn sum(&self, above: Option<TreeBound>, below: Option<TreeBound>) -> Result<Figure>;
    fn shift_keys(&mut self, cut: TreeBound, by: Figure) -> Result<()>;
    fn select(&self, sum: Figure, inclusive: bool) -> Result<Option<Entry>>;
    fn neighbour(&self, cut: Option<TreeBound>, up: bool) -> Result<Option<Entry>>;
    fn has(&self, key: Figure) -> Result<bool>;
    fn entries(&self) -> Vec<Entry>;
    fn len(&self) -> usize;
    fn begin(&mut self);
    fn commit(&mut self);
    fn rollback(&mut self);
    fn memory_usage(&self) -> usize;
    fn steps(&self) -> u64;
}

fn entry<K: Of, P: Of>((key, tie, payload): (K, i64, P)) -> Entry {
    (key.number(), tie, payload.number())
}

fn cut<K: Key + Of>((key, tie, inclusive): TreeBound) -> Result<Cut<K, i64>> {
    let key = K::of(key)?;
    Ok(match (tie, inclusive) {
        (None, false) => Cut::before(key),
        (None, true) => Cut::after(key),
        (Some(tie), false) => Cut::before_entry(key, tie),
        (Some(tie), true) => Cut::after_entry(key, tie),
    })
}

impl<K: Key + Of, P: Payload + Of + Ordered> AnyTree for Tree<K, P, i64> {
    fn get(&self, key: Figure, tie: i64) -> Result<Option<Figure>> {
        Ok(Tree::get(self, K::of(key)?, tie).map(P::number))
    }

    fn add(&mut self, key: Figure, tie: i64, payload: Figure) -> Result<()> {
        Tree::add(self, K::of(key)?, tie, P::of(payload)?)
    }

    fn put(&mut self, key: Figure, tie: i64, payload: Figure) -> Result<Option<Figure>> {
        Ok(Tree::put(self, K::of(key)?, tie, P::of(payload)?)?.map(P::number))
    }

    fn remove(&mut self, key: Figure, tie: i64) -> Result<Option<Figure>> {
        Ok(Tree::remove(self, K::of(key)?, tie).map(P::number))
    }

    fn sum(&self, above: Option<TreeBound>, below: Option<TreeBound>) -> Result<Figure> {
        let (above, below) = (above.map(cut).transpose()?, below.map(cut).transpose()?);
        let sum = match (above, below) {
            (None, None) => self.total(),
            (None, Some(below)) => self.prefix_sum(&below),
            (Some(above), None) => self.total().without(self.prefix_sum(&above)),
            (Some(above), Some(below)) => self.sum_between(&above, &below),
        };
        Ok(sum.number())
    }

    fn shift_keys(&mut self, bound: TreeBound, by: Figure) -> Result<()> {
        Tree::shift_keys(self, &cut(bound)?, K::of(by)?)
    }

    fn select(&self, sum: Figure, inclusive: bool) -> Result<Option<Entry>> {
        let bound = P::of(sum)?;
        Ok(Tree::select(self, |running| running.passes(bound, inclusive)).map(entry))
    }

    fn neighbour(&self, bound: Option<TreeBound>, up: bool) -> Result<Option<Entry>> {
        let found = match (bound, up) {
            (None, true) => self.first(),
            (None, false) => self.last(),
            (Some(bound), true) => self.successor(&cut(bound)?),
            (Some(bound), false) => self.predecessor(&cut(bound)?),
        };
        Ok(found.map(entry))
    }

    fn has(&self, key: Figure) -> Result<bool> {
        let key = K::of(key)?;
        let found = self.successor(&Cut::before(key));
        Ok(found.is_some_and(|entry| entry.0 == key))
    }

    fn entries(&self) -> Vec<Entry> {
        self.iter().map(entry).collect()
    }

    fn len(&self) -> usize {
        Tree::len(self)
    }

    fn begin(&mut self) {
        Tree::begin(self);
    }

    fn commit(&mut self) {
        Tree::commit(self);
    }

    fn rollback(&mut self) {
        Tree::rollback(self);
    }

    fn memory_usage(&self) -> usize {
        Tree::memory_usage(self)
    }

    fn steps(&self) -> u64 {
        Tree::steps(self)
    }
}

/// Sums that are compared with a bound.
trait Ordered: Copy {
    /// Whether it is more than the bound, or, inclusive, as much.
    fn passes(self, bound: Self, inclusive: bool) -> bool;
}

impl Ordered for i128 {
    fn passes(self, bound: Self, inclusive: bool) -> bool {
        if inclusive {
            self >= bound
        } else {
            self > bound
        }
    }
}

impl Ordered for Expansion {
    fn passes(self, bound: Self, inclusive: bool) -> bool {
        let over = Real::from(self).cmp(&Real::from(bound));
        if inclusive {
            over.is_ge()
        } else {
            over.is_gt()
        }
    }
}

fn tree<K: Key + Of, P: Payload + Of + Ordered>(entries: Vec<Entry>) -> Result<Box<dyn AnyTree>> {
    let read = |(key, tie, payload)| Ok((K::of(key)?, tie, P::of(payload)?));
    let mut all = entries.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    all.sort_by_key(|&(key, tie, _)| (key, tie));
    Ok(Box::new(Tree::<K, P, i64>::from_sorted(all)?))
}

/// An ordered map from keys to payloads in which ranges of keys shift; see `ringview.RpaiTree`.
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct RpaiTree {
    index: Busy<Box<dyn AnyTree>>,
}

impl RpaiTree {
    fn with<T>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&mut dyn AnyTree) -> Result<T>,
    ) -> PyResult<T> {
        run(&mut **self.index.hold(py)?.value).or_raise(py)
    }
}

#[pymethods]
impl RpaiTree {
    /// Entries in any order, and whether keys and payloads are doubles.
    #[new]
    fn new(
        py: Python<'_>,
        entries: Vec<Entry>,
        real_keys: bool,
        real_payloads: bool,
    ) -> PyResult<RpaiTree> {
        let made = detach(py, || match (real_keys, real_payloads) {
            (false, false) => tree::<i128, i128>(entries),
            (false, true) => tree::<i128, Expansion>(entries),
            (true, false) => tree::<Real, i128>(entries),
            (true, true) => tree::<Real, Expansion>(entries),
        });
        let index = Busy::new(made.or_raise(py)?, "the tree");
        Ok(RpaiTree { index })
    }

    /// The payload of an entry.
    fn get(&self, py: Python<'_>, key: Figure, tie: i64) -> PyResult<Option<Figure>> {
        self.with(py, |tree| tree.get(key, tie))
    }

    /// Adds to the payload of an entry.
    fn add(&self, py: Python<'_>, key: Figure, payload: Figure, tie: i64) -> PyResult<()> {
        self.with(py, |tree| tree.add(key, tie, payload))
    }

    /// Gives an entry a payload; the one before.
    fn put(
        &self,
        py: Python<'_>,
        key: Figure,
        payload: Figure,
        tie: i64,
    ) -> PyResult<Option<Figure>> {
        self.with(py, |tree| tree.put(key, tie, payload))
    }

    /// Takes an entry away; its payload.
    fn remove(&self, py: Python<'_>, key: Figure, tie: i64) -> PyResult<Option<Figure>> {
        self.with(py, |tree| tree.remove(key, tie))
    }

    /// The sum above one cut and below another: each a key, a tie or None, and whether what is named is below.
    #[pyo3(signature = (above, below))]
    fn sum(
        &self,
        py: Python<'_>,
        above: Option<TreeBound>,
        below: Option<TreeBound>,
    ) -> PyResult<Figure> {
        self.with(py, |tree| tree.sum(above, below))
    }

    /// Moves all keys above a cut.
    fn shift_keys(&self, py: Python<'_>, cut: TreeBound, by: Figure) -> PyResult<()> {
        self.with(py, |tree| tree.shift_keys(cut, by))
    }

    /// The first entry at which the running sum passes a bound, and the sum before it.
    fn select(&self, py: Python<'_>, sum: Figure, inclusive: bool) -> PyResult<Option<Entry>> {
        self.with(py, |tree| tree.select(sum, inclusive))
    }

    /// The first entry above a cut or of all, or the last below it or of all.
    #[pyo3(signature = (cut, up))]
    fn neighbour(
        &self,
        py: Python<'_>,
        cut: Option<TreeBound>,
        up: bool,
    ) -> PyResult<Option<Entry>> {
        self.with(py, |tree| tree.neighbour(cut, up))
    }

    /// Whether an entry has a key, whatever its tie.
    fn has(&self, py: Python<'_>, key: Figure) -> PyResult<bool> {
        self.with(py, |tree| tree.has(key))
    }

    /// All entries in order.
    fn entries(&self, py: Python<'_>) -> PyResult<Vec<Entry>> {
        self.with(py, |tree| Ok(tree.entries()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |tree| Ok(tree.len()))
    }

    /// Notes changes from now on.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |tree| {
            tree.begin();
            Ok(())
        })
    }

    /// The changes stay.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |tree| {
            tree.commit();
            Ok(())
        })
    }

    /// The changes since `begin` are undone.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |tree| {
            tree.rollback();
            Ok(())
        })
    }

    /// Bytes held.
    fn memory_usage(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |tree| Ok(tree.memory_usage()))
    }

    /// Nodes visited so far.
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |tree| Ok(tree.steps()))
    }
}
