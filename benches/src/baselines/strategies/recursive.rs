//! The recursive higher-order strategy, as DBToaster's: a view for each connected subquery that a delta reads.
//!
//! The delta of a view for a change of R joins dR with a view over each component of the other relations, R's
//! attributes being fixed; those views are maintained in the same way, down to single relations. Each aggregate is a
//! scalar of its own: no payload is shared between views. Invariant: a view equals its definition after each batch.
//! Cost: a change of R updates every view that R is in; views over unaggregated foreign keys are as large as the facts.

use std::collections::{BTreeSet, HashMap};

use arrow_array::RecordBatch;

use super::moments::Moments;
use super::shape::{Key, Shape};
use crate::common::data::Dataset;
use crate::common::system::{System, Totals};

/// A component of a delta: its view, by which index it is read, and at which attributes.
struct DeltaComponent {
    view: usize,
    index: usize,
    bound: Vec<usize>,
}

/// By some places of the key: the keys with these values there.
type Index = (Vec<usize>, HashMap<Key, BTreeSet<Key>>);

struct View {
    relations: u32,
    key: Vec<usize>,
    features: Vec<usize>,
    contents: HashMap<Key, Moments>,
    indexes: Vec<Index>,
    /// By relation that changes.
    deltas: HashMap<usize, Vec<DeltaComponent>>,
}

/// Every view that the deltas of the whole query need.
pub(crate) struct Recursive {
    shape: Shape,
    views: Vec<View>,
}

impl Recursive {
    pub(crate) fn new(data: &Dataset, streamed: &[usize]) -> Self {
        let shape = Shape::new(data);
        let mut system = Self {
            views: Vec::new(),
            shape,
        };
        let all = system.shape.all();
        system.view(all, Vec::new());
        let mut next = 0;
        while next < system.views.len() {
            let View { relations, key, .. } = &system.views[next];
            let (relations, key) = (*relations, key.clone());
            // Relations loaded beforehand reach only the views over such relations alone: the others are empty till
            // then.
            let moving = |relation: &usize| streamed.contains(relation);
            let members: Vec<usize> = system.shape.members(relations).collect();
            let loaded = !members.iter().any(moving);
            for relation in members.into_iter().filter(|r| loaded || moving(r)) {
                let components = system.components(relations, &key, relation);
                system.views[next].deltas.insert(relation, components);
            }
            next += 1;
        }
        system
    }

    /// The view of some relations with a key, made if it is not there.
    fn view(&mut self, relations: u32, key: Vec<usize>) -> usize {
        let same = |view: &View| view.relations == relations && view.key == key;
        if let Some(known) = self.views.iter().position(same) {
            return known;
        }
        self.views.push(View {
            features: self.shape.features(relations),
            relations,
            key,
            contents: HashMap::new(),
            indexes: Vec::new(),
            deltas: HashMap::new(),
        });
        self.views.len() - 1
    }

    fn components(&mut self, relations: u32, key: &[usize], changed: usize) -> Vec<DeltaComponent> {
        let fixed = self.shape.attributes(1 << changed);
        let components = self.shape.components(relations & !(1 << changed), &fixed);
        let component = |component: u32| {
            let wanted = |id: &usize| fixed.contains(id) || key.contains(id);
            let attributes = self.shape.attributes(component);
            let inner: Vec<usize> = attributes.into_iter().filter(wanted).collect();
            let places = (0..inner.len()).filter(|&at| fixed.contains(&inner[at]));
            let places: Vec<usize> = places.collect();
            let bound = places.iter().map(|&at| inner[at]).collect();
            let view = self.view(component, inner);
            let indexes = &mut self.views[view].indexes;
            let index = indexes.iter().position(|(known, _)| *known == places);
            let index = index.unwrap_or_else(|| {
                indexes.push((places, HashMap::new()));
                indexes.len() - 1
            });
            DeltaComponent { view, index, bound }
        };
        components.into_iter().map(component).collect()
    }
}

impl View {
    fn add(&mut self, key: Key, change: &Moments) {
        let features = &self.features;
        let entry = self.contents.entry(key.clone());
        let zero = || Moments::zero(features.clone());
        let moments = entry.or_insert_with(zero);
        let was_empty = moments.count() == 0.0;
        *moments += change;
        // Rows are never owed, so a key whose count is 0 has no rows.
        let is_empty = moments.count() == 0.0;
        if is_empty {
            self.contents.remove(&key);
        }
        if was_empty == is_empty {
            return;
        }
        for (places, index) in &mut self.indexes {
            let component: Key = places.iter().map(|&at| key[at]).collect();
            let keys = index.entry(component.clone()).or_default();
            if is_empty {
                keys.remove(&key);
            } else {
                keys.insert(key.clone());
            }
            if keys.is_empty() {
                index.remove(&component);
            }
        }
    }
}

impl System for Recursive {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        let own = self.shape.features(1 << relation);
        let mut changes: HashMap<Key, Moments> = HashMap::new();
        for (key, row) in self.shape.rows(relation, batch) {
            let entry = changes.entry(key);
            *entry.or_insert_with(|| Moments::zero(own.clone())) +=
                &Moments::of_row(&own, &row, sign as f64);
        }
        let attributes: Vec<usize> = self.shape.joined[relation]
            .iter()
            .map(|(id, _)| *id)
            .collect();
        for at in 0..self.views.len() {
            let Some(components) = self.views[at].deltas.get(&relation) else {
                continue;
            };
            let mut delta: HashMap<Key, Moments> = HashMap::new();
            for (key, change) in &changes {
                let bound = attributes
                    .iter()
                    .copied()
                    .zip(key.iter().copied())
                    .collect();
                self.join(at, components, change, bound, &mut delta);
            }
            for (key, change) in delta {
                self.views[at].add(key, &change);
            }
        }
    }

    fn totals(&self) -> Totals {
        let root = &self.views[0];
        let zero = Moments::zero(root.features.clone());
        self.shape
            .totals(root.contents.get(&Vec::new()).unwrap_or(&zero))
    }

    fn memory(&self) -> usize {
        let bytes = |view: &View| {
            let key = view.key.len() * size_of::<i32>();
            let contents = view.contents.values().map(|moments| key + moments.bytes());
            contents.sum::<usize>() + view.contents.len() * view.indexes.len() * key
        };
        self.views.iter().map(bytes).sum()
    }
}

impl Recursive {
    /// Joins a change with the components that are left, one after the other; adds the result to the delta.
    fn join(
        &self,
        view: usize,
        components: &[DeltaComponent],
        change: &Moments,
        bound: HashMap<usize, i32>,
        delta: &mut HashMap<Key, Moments>,
    ) {
        let Some((component, rest)) = components.split_first() else {
            let key = self.views[view].key.iter().map(|id| bound[id]).collect();
            match delta.get_mut(&key) {
                Some(sum) => *sum += change,
                None => {
                    delta.insert(key, change.clone());
                }
            }
            return;
        };
        let other = &self.views[component.view];
        let at: Key = component.bound.iter().map(|id| bound[id]).collect();
        for key in other.indexes[component.index]
            .1
            .get(&at)
            .into_iter()
            .flatten()
        {
            let mut bound = bound.clone();
            bound.extend(other.key.iter().copied().zip(key.iter().copied()));
            self.join(
                view,
                rest,
                &change.times(&other.contents[key]),
                bound,
                delta,
            );
        }
    }
}
