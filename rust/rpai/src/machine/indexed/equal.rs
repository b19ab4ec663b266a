//! One relation filtered by equalities alone: its sums by the columns that must be equal.
//!
//! Invariant: the sums of a key are those of the rows with it. Cost: O(1) expected a change and a
//! result; a word or two a number and key.

use std::sync::Arc;

use ringview_core::Result;
use ringview_ring::CommutativeMonoid;

use crate::machine::indexed::reader::RowReaders;
use crate::machine::indexed::relation::{FilteredRelation, with_lanes};
use crate::machine::indexed::shape::Shape;
use crate::machine::query::{Cell, RowAt, Value, ranges, sole};
use crate::machine::store::sums::KeyedSums;
use crate::payload::Sums;
use crate::steps::Steps;
use crate::tree::overflow;

#[derive(Clone, Debug)]
pub(crate) struct Equal<const N: usize> {
    shape: Arc<Shape>,
    sums: KeyedSums<N>,
    steps: Steps,
}

impl<const N: usize> Equal<N> {
    pub(crate) fn new(shape: Arc<Shape>) -> Self {
        Self {
            sums: KeyedSums::new(shape.kinds.equal.len()),
            shape,
            steps: Steps::default(),
        }
    }

    fn wider<const M: usize>(&self) -> Box<dyn FilteredRelation> {
        Box::new(Equal::<M> {
            shape: Arc::clone(&self.shape),
            sums: self.sums.widened(),
            steps: self.steps.clone(),
        })
    }
}

impl<const N: usize> FilteredRelation for Equal<N> {
    fn readers(&self) -> &RowReaders {
        &self.shape.readers
    }

    fn readers_mut(&mut self) -> &mut RowReaders {
        &mut Arc::make_mut(&mut self.shape).readers
    }

    fn capacity(&self) -> usize {
        N
    }

    fn widened(&self, lanes: usize) -> Result<Box<dyn FilteredRelation>> {
        Ok(with_lanes!(lanes, M => self.wider::<M>()))
    }

    fn change(&mut self, table: usize, row: &RowAt<'_>, times: i64) -> Result<()> {
        for reader in self.shape.readers.of(table) {
            if !reader.takes(row)? {
                continue;
            }
            if let Some(key) = reader.equal(row)? {
                let delta = reader.delta::<N>(&self.shape.readers, row, times)?;
                let slot = self.sums.locate(&key);
                self.steps.count(1);
                let fits = self.sums.get(slot).plus(delta).is_some();
                fits.then_some(()).ok_or_else(|| overflow("a sum"))?;
                self.sums.add(slot, delta);
            }
        }
        Ok(())
    }

    fn commit(&mut self) {
        self.sums.commit();
    }

    fn rollback(&mut self) {
        self.sums.rollback();
    }

    fn clear(&mut self) {
        self.sums = KeyedSums::new(self.shape.kinds.equal.len());
    }

    fn closed(&self) -> &[Value] {
        &self.shape.closed
    }

    fn passing(&self, closed: &[Cell], into: &mut [i128]) -> Result<()> {
        let shape = &*self.shape;
        let mut passed = Sums::<N>::ZERO;
        if let Some(ranges) = ranges(closed, &shape.kinds.equal)? {
            if let Some(key) = sole(&ranges) {
                passed = self.sums.find(&key).unwrap_or(passed);
            } else {
                let equal = |key: &[i128]| key.iter().zip(&ranges).all(|(at, of)| of.contains(at));
                for (_, sums) in self.sums.iter().filter(|(key, _)| equal(key)) {
                    passed = passed.plus(sums).ok_or_else(|| overflow("a sum"))?;
                }
            }
        }
        into.copy_from_slice(&passed.0[..shape.width]);
        shape.readers.write_reals(&passed.0, 0, into)
    }

    fn width(&self) -> usize {
        self.shape.width
    }

    fn is_empty(&self) -> bool {
        false
    }

    fn is_vacant(&self) -> bool {
        self.sums.is_empty()
    }

    fn walks(&self) -> usize {
        0
    }

    fn memory_usage(&self) -> usize {
        self.sums.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.steps.total()
    }

    fn copy(&self) -> Box<dyn FilteredRelation> {
        Box::new(self.clone())
    }
}
