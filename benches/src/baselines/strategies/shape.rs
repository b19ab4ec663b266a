//! The shape of a natural join: which relation has which join attributes and which features.
//!
//! Invariant: an attribute is a feature of the first relation that has it, and of no other.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;

use super::moments::Moments;
use crate::common::data::{Dataset, values};
use crate::common::system::{Totals, digest, totals_of_matrix};

/// The values of some attributes.
pub(crate) type Key = Vec<i32>;

/// A join of at most 32 relations.
pub(crate) struct Shape {
    /// By relation: its attributes that others have too, ascending, and their columns.
    pub(crate) joined: Vec<Vec<(usize, usize)>>,
    /// By relation: its features, ascending, and their columns.
    features: Vec<Vec<(usize, usize)>>,
    /// Attributes on which relations join.
    keys: BTreeSet<usize>,
}

impl Shape {
    pub(crate) fn new(data: &Dataset) -> Self {
        let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
        let mut seen: Vec<usize> = Vec::new();
        let mut all = Vec::new();
        for relation in &data.relations {
            let mut columns = Vec::new();
            for (column, name) in relation.names.iter().enumerate() {
                let next = ids.len();
                let id = *ids.entry(name).or_insert(next);
                seen.resize(ids.len(), 0);
                seen[id] += 1;
                columns.push((id, column));
            }
            columns.sort_unstable();
            all.push(columns);
        }
        let keys: BTreeSet<usize> = (0..ids.len()).filter(|&id| seen[id] > 1).collect();
        let mut taken = BTreeSet::new();
        let mut features = Vec::new();
        let mut joined = Vec::new();
        for columns in &all {
            let columns = columns.iter().copied();
            joined.push(
                columns
                    .clone()
                    .filter(|(id, _)| keys.contains(id))
                    .collect(),
            );
            features.push(columns.filter(|(id, _)| taken.insert(*id)).collect());
        }
        Self {
            joined,
            features,
            keys,
        }
    }

    /// All relations as bits.
    pub(crate) fn all(&self) -> u32 {
        (1 << self.joined.len()) - 1
    }

    pub(crate) fn members(&self, set: u32) -> impl Iterator<Item = usize> + Clone {
        (0..self.joined.len()).filter(move |relation| set & (1 << relation) != 0)
    }

    /// The join attributes of some relations.
    pub(crate) fn attributes(&self, set: u32) -> BTreeSet<usize> {
        let members = self.members(set);
        members
            .flat_map(|relation| self.joined[relation].iter().map(|(id, _)| *id))
            .collect()
    }

    pub(crate) fn features(&self, set: u32) -> Vec<usize> {
        let members = self.members(set);
        let all = members.flat_map(|relation| self.features[relation].iter().map(|(id, _)| *id));
        let all: BTreeSet<usize> = all.collect();
        all.into_iter().collect()
    }

    /// The parts of a set that share no attribute but those that are bound.
    pub(crate) fn components(&self, set: u32, bound: &BTreeSet<usize>) -> Vec<u32> {
        let mut parts: Vec<u32> = Vec::new();
        for relation in self.members(set) {
            let own: BTreeSet<usize> = &self.attributes(1 << relation) - bound;
            let touching = |part: &u32| !own.is_disjoint(&self.attributes(*part));
            let merged = parts.extract_if(.., |part| touching(part));
            let merged = merged.fold(1 << relation, |all, part| all | part);
            parts.push(merged);
        }
        parts
    }

    /// Each row of a batch: the values of the relation's join attributes, and of its features.
    pub(crate) fn rows(&self, relation: usize, batch: &RecordBatch) -> Vec<(Key, Vec<f64>)> {
        let joined: Vec<&[i32]> = self.joined[relation]
            .iter()
            .map(|(_, column)| values(batch, *column))
            .collect();
        let features: Vec<&[i32]> = self.features[relation]
            .iter()
            .map(|(_, column)| values(batch, *column))
            .collect();
        let row = |row: usize| {
            let key = joined.iter().map(|column| column[row]).collect();
            let features = features.iter().map(|column| f64::from(column[row]));
            (key, features.collect())
        };
        (0..batch.num_rows()).map(row).collect()
    }

    /// The numbers that all systems must agree on.
    pub(crate) fn totals(&self, moments: &Moments) -> Totals {
        let keys: Vec<bool> = moments
            .features
            .iter()
            .map(|id| self.keys.contains(id))
            .collect();
        // Whole numbers, those that are compared below 2^53.
        let numbers = moments.values.iter().map(|&x| x as i64);
        totals_of_matrix(numbers, &digest(&keys))
    }
}
