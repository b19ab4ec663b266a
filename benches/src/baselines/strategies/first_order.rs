//! The first-order strategy: base rows with every index that a delta join wants, and no views.
//!
//! dQ = dR * S * T: each row of a batch is joined with the base relations as they are. Sums are pushed below the join,
//! so independent relations are walked one beside the other; yet each change walks its whole group in them, where a
//! view has the group's aggregates ready. Invariant: every index of a relation holds all of its rows.

use std::collections::{BTreeSet, HashMap};

use arrow_array::RecordBatch;

use super::moments::Moments;
use super::shape::{Key, Shape};
use crate::common::data::Dataset;
use crate::common::system::{System, Totals};

type Row = (Key, Vec<f64>);

/// The rows of a relation by the values of some of its join attributes, given by their places.
type Index = (Vec<usize>, HashMap<Key, Vec<Row>>);

/// Base relations and the result.
pub(crate) struct FirstOrder {
    shape: Shape,
    indexes: Vec<Vec<Index>>,
    result: Moments,
}

impl FirstOrder {
    pub(crate) fn new(data: &Dataset) -> Self {
        let shape = Shape::new(data);
        let indexes = shape.joined.iter().map(|_| Vec::new()).collect();
        let mut system = Self {
            result: Moments::zero(shape.features(shape.all())),
            indexes,
            shape,
        };
        for changed in 0..system.indexes.len() {
            let rest = system.shape.all() & !(1 << changed);
            system.prepare(rest, &system.shape.attributes(1 << changed));
        }
        system
    }

    /// Makes the indexes with which the join of a set is walked from some bound attributes.
    fn prepare(&mut self, set: u32, bound: &BTreeSet<usize>) {
        for component in self.shape.components(set, bound) {
            let first = self.first(component, bound);
            let places = self.places(first, bound);
            if !self.indexes[first]
                .iter()
                .any(|(known, _)| *known == places)
            {
                self.indexes[first].push((places, HashMap::new()));
            }
            let bound = bound | &self.shape.attributes(1 << first);
            self.prepare(component & !(1 << first), &bound);
        }
    }

    /// The relation of a component that has most of the bound attributes.
    fn first(&self, component: u32, bound: &BTreeSet<usize>) -> usize {
        let known = |relation: &usize| self.places(*relation, bound).len();
        let members = self.shape.members(component);
        members.max_by_key(known).expect("components are not empty")
    }

    fn places(&self, relation: usize, bound: &BTreeSet<usize>) -> Vec<usize> {
        let attributes = self.shape.joined[relation].iter().enumerate();
        let known = attributes.filter(|(_, (id, _))| bound.contains(id));
        known.map(|(place, _)| place).collect()
    }

    /// The moments of the join of a set, given the values of some attributes; `None` if it is empty.
    fn walk(&self, set: u32, bound: &HashMap<usize, i32>) -> Option<Moments> {
        let ids: BTreeSet<usize> = bound.keys().copied().collect();
        let mut product: Option<Moments> = None;
        for component in self.shape.components(set, &ids) {
            let first = self.first(component, &ids);
            let places = self.places(first, &ids);
            let joined = &self.shape.joined[first];
            let at: Key = places
                .iter()
                .map(|&place| bound[&joined[place].0])
                .collect();
            let mut indexes = self.indexes[first].iter();
            let (_, index) = indexes.find(|(known, _)| *known == places)?;
            let features = self.shape.features(1 << first);
            let rest = component & !(1 << first);
            let mut sum: Option<Moments> = None;
            for (key, row) in index.get(&at)? {
                let mut moments = Moments::of_row(&features, row, 1.0);
                if rest != 0 {
                    let mut bound = bound.clone();
                    bound.extend(joined.iter().map(|(id, _)| *id).zip(key.iter().copied()));
                    let Some(below) = self.walk(rest, &bound) else {
                        continue;
                    };
                    moments = moments.times(&below);
                }
                match &mut sum {
                    Some(sum) => *sum += &moments,
                    None => sum = Some(moments),
                }
            }
            let sum = sum?;
            product = Some(product.map_or(sum.clone(), |product| product.times(&sum)));
        }
        product
    }
}

impl System for FirstOrder {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        let features = self.shape.features(1 << relation);
        let others = self.shape.all() & !(1 << relation);
        for (key, row) in self.shape.rows(relation, batch) {
            let ids = self.shape.joined[relation].iter().map(|(id, _)| *id);
            let bound = ids.zip(key.iter().copied()).collect();
            if let Some(others) = self.walk(others, &bound) {
                self.result += &Moments::of_row(&features, &row, sign as f64).times(&others);
            }
            for (places, index) in &mut self.indexes[relation] {
                let part = places.iter().map(|&place| key[place]).collect();
                let rows = index.entry(part).or_default();
                if sign > 0 {
                    rows.push((key.clone(), row.clone()));
                } else {
                    let place = rows
                        .iter()
                        .rposition(|other| *other == (key.clone(), row.clone()));
                    rows.swap_remove(place.expect("only rows that were inserted are deleted"));
                }
            }
        }
    }

    fn totals(&self) -> Totals {
        self.shape.totals(&self.result)
    }

    fn memory(&self) -> usize {
        let bytes = |(key, row): &Row| key.len() * size_of::<i32>() + row.len() * size_of::<f64>();
        let indexes = self.indexes.iter().flatten();
        let rows = indexes.flat_map(|(_, index)| index.values().flatten());
        rows.map(bytes).sum()
    }
}
