//! The class `PaiMap`.
//!
//! Invariant: one class, whatever its numbers: four instances of the generic map behind a table of
//! functions. A call is short, so Python's lock is kept but where a tree is built.

use pyo3::prelude::*;
use ringview_core::Result;
use ringview_engine::{Cut, Expansion, Key, PaiMap as Map, Payload, Real};

use super::{Figure, Of};
use crate::busy::Busy;
use crate::errors::OrRaise;

/// Methods of a map that `PaiMap` calls, whatever its numbers.
trait AnyMap: Send + std::fmt::Debug {
    fn get(&self, key: Figure) -> Result<Option<Figure>>;
    fn add(&mut self, key: Figure, payload: Figure) -> Result<()>;
    fn put(&mut self, key: Figure, payload: Figure) -> Result<Option<Figure>>;
    fn remove(&mut self, key: Figure) -> Result<Option<Figure>>;
    fn shift(&mut self, key: Figure, by: Figure, part: Figure) -> Result<()>;
    fn shift_keys(&mut self, cut: (Figure, bool), by: Figure) -> Result<()>;
    fn sum(&self, below: Option<(Figure, bool)>) -> Result<Figure>;
    fn entries(&self) -> Vec<(Figure, Figure)>;
    fn len(&self) -> usize;
    fn begin(&mut self);
    fn commit(&mut self);
    fn rollback(&mut self);
    fn memory_usage(&self) -> usize;
}

fn map_cut<K: Key + Of>((key, inclusive): (Figure, bool)) -> Result<Cut<K>> {
    let key = K::of(key)?;
    Ok(if inclusive {
        Cut::after(key)
    } else {
        Cut::before(key)
    })
}

impl<K: Key + Of, P: Payload + Of> AnyMap for Map<K, P> {
    fn get(&self, key: Figure) -> Result<Option<Figure>> {
        Ok(Map::get(self, K::of(key)?).map(P::number))
    }

    fn add(&mut self, key: Figure, payload: Figure) -> Result<()> {
        Map::add(self, K::of(key)?, P::of(payload)?)
    }

    fn put(&mut self, key: Figure, payload: Figure) -> Result<Option<Figure>> {
        Ok(Map::put(self, K::of(key)?, P::of(payload)?)?.map(P::number))
    }

    fn remove(&mut self, key: Figure) -> Result<Option<Figure>> {
        Ok(Map::remove(self, K::of(key)?).map(P::number))
    }

    fn shift(&mut self, key: Figure, by: Figure, part: Figure) -> Result<()> {
        Map::shift(self, K::of(key)?, K::of(by)?, P::of(part)?)
    }

    fn shift_keys(&mut self, cut: (Figure, bool), by: Figure) -> Result<()> {
        Map::shift_keys(self, &map_cut(cut)?, K::of(by)?)
    }

    fn sum(&self, below: Option<(Figure, bool)>) -> Result<Figure> {
        let sum = match below {
            None => self.total(),
            Some(cut) => self.prefix_sum(&map_cut(cut)?),
        };
        Ok(sum.number())
    }

    fn entries(&self) -> Vec<(Figure, Figure)> {
        let entries = self.iter().into_iter();
        entries
            .map(|(key, payload)| (key.number(), payload.number()))
            .collect()
    }

    fn len(&self) -> usize {
        Map::len(self)
    }

    fn begin(&mut self) {
        Map::begin(self);
    }

    fn commit(&mut self) {
        Map::commit(self);
    }

    fn rollback(&mut self) {
        Map::rollback(self);
    }

    fn memory_usage(&self) -> usize {
        Map::memory_usage(self)
    }
}

/// A hashed map from keys to payloads; see `ringview.PaiMap`.
#[pyclass(frozen, module = "ringview._native")]
#[derive(Debug)]
pub(crate) struct PaiMap {
    index: Busy<Box<dyn AnyMap>>,
}

impl PaiMap {
    fn with<T>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&mut dyn AnyMap) -> Result<T>,
    ) -> PyResult<T> {
        run(&mut **self.index.hold(py)?.value).or_raise(py)
    }
}

#[pymethods]
impl PaiMap {
    /// Whether keys and payloads are doubles.
    #[new]
    fn new(real_keys: bool, real_payloads: bool) -> PaiMap {
        let map: Box<dyn AnyMap> = match (real_keys, real_payloads) {
            (false, false) => Box::new(Map::<i128, i128>::new()),
            (false, true) => Box::new(Map::<i128, Expansion>::new()),
            (true, false) => Box::new(Map::<Real, i128>::new()),
            (true, true) => Box::new(Map::<Real, Expansion>::new()),
        };
        let index = Busy::new(map, "the map");
        PaiMap { index }
    }

    /// The payload of a key.
    fn get(&self, py: Python<'_>, key: Figure) -> PyResult<Option<Figure>> {
        self.with(py, |map| map.get(key))
    }

    /// Adds to the payload of a key.
    fn add(&self, py: Python<'_>, key: Figure, payload: Figure) -> PyResult<()> {
        self.with(py, |map| map.add(key, payload))
    }

    /// Gives a key a payload; the one before.
    fn put(&self, py: Python<'_>, key: Figure, payload: Figure) -> PyResult<Option<Figure>> {
        self.with(py, |map| map.put(key, payload))
    }

    /// Takes a key away; its payload.
    fn remove(&self, py: Python<'_>, key: Figure) -> PyResult<Option<Figure>> {
        self.with(py, |map| map.remove(key))
    }

    /// Moves part of the payload of a key.
    fn shift(&self, py: Python<'_>, key: Figure, by: Figure, part: Figure) -> PyResult<()> {
        self.with(py, |map| map.shift(key, by, part))
    }

    /// Moves all keys above a cut: a key, and whether it is below itself.
    fn shift_keys(&self, py: Python<'_>, cut: (Figure, bool), by: Figure) -> PyResult<()> {
        self.with(py, |map| map.shift_keys(cut, by))
    }

    /// The sum of the payloads below a cut, or of all.
    #[pyo3(signature = (below))]
    fn sum(&self, py: Python<'_>, below: Option<(Figure, bool)>) -> PyResult<Figure> {
        self.with(py, |map| map.sum(below))
    }

    /// The entries in order of their keys.
    fn entries(&self, py: Python<'_>) -> PyResult<Vec<(Figure, Figure)>> {
        self.with(py, |map| Ok(map.entries()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |map| Ok(map.len()))
    }

    /// Notes changes from now on.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |map| {
            map.begin();
            Ok(())
        })
    }

    /// The changes stay.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |map| {
            map.commit();
            Ok(())
        })
    }

    /// The changes since `begin` are undone.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |map| {
            map.rollback();
            Ok(())
        })
    }

    /// Bytes held.
    fn memory_usage(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |map| Ok(map.memory_usage()))
    }
}
