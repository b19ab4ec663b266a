//! Construction of strategies from their components: relations, partitions with their faces, rules.
//!
//! Invariant: a relation has the number under which it was made, and a rule meets it by its own fields unless it is
//! given others. Cost: none that depends on data.

use std::sync::Arc;

use ringview_relation::join::{Join, LevelRule, Rule};
use ringview_relation::{KeyField, KeyLayout, KeyedTable, Partition, Relation, Threshold};
use ringview_ring::PayloadRing;

use super::{Case, Evaluation, Face, Input, Reads, Role, Strategy, Subkey};
use crate::algebra::Algebra;
use crate::query::{Epsilon, Query};

pub(super) struct Builder<'a, R: PayloadRing> {
    algebra: &'a Algebra<R>,
    packing: &'a [KeyField],
    /// The fields of each relation's key.
    fields: Vec<Vec<usize>>,
    strategy: Strategy<R>,
}

impl<'a, R: PayloadRing> Builder<'a, R> {
    /// With the result alone, grouped by these fields.
    pub(super) fn new(algebra: &'a Algebra<R>, packing: &'a [KeyField], groups: &[usize]) -> Self {
        let mut builder = Self {
            algebra,
            packing,
            fields: Vec::new(),
            strategy: Strategy {
                relations: Vec::new(),
                partitions: Vec::new(),
                epsilons: Vec::new(),
                indicators: Vec::new(),
                counted_faces: Vec::new(),
                inputs: Vec::new(),
                views: Vec::new(),
                result: 0,
                batch: None,
                rows: None,
                reads: None,
            },
        };
        builder.strategy.result = builder.relation("result", groups);
        builder
    }

    /// For a query, whose relations are made next; inputs have their numbers.
    pub(super) fn of(algebra: &'a Algebra<R>, query: &'a Query) -> (Self, Vec<usize>) {
        let mut builder = Self::new(algebra, &query.packing, &query.groups);
        let relations = query.fields.iter().enumerate();
        let wholes = relations.map(|(k, fields)| builder.relation(format!("relation {k}"), fields));
        let wholes: Vec<usize> = wholes.collect();
        builder.strategy.reads = query.read_from.map(|input| Reads {
            input,
            key: builder.subkey(wholes[input], &query.groups),
            rules: Vec::new(),
        });
        (builder, wholes)
    }

    /// The strategy, once all is said.
    pub(super) fn done(self) -> Strategy<R> {
        self.strategy
    }

    pub(super) fn relation(&mut self, name: impl Into<String>, fields: &[usize]) -> usize {
        let packing: Vec<KeyField> = fields.iter().map(|&field| self.packing[field]).collect();
        let shape = &self.algebra.shape;
        let table = KeyedTable::new(KeyLayout::new(&packing), R::stride(shape));
        let relation = Relation::new(name.into(), shape.clone(), Some(table));
        self.strategy.relations.push(relation);
        self.fields.push(fields.to_vec());
        self.strategy.relations.len() - 1
    }

    /// An auxiliary view.
    pub(super) fn view(&mut self, name: impl Into<String>, fields: &[usize]) -> usize {
        let view = self.relation(name, fields);
        self.strategy.views.push(view);
        view
    }

    /// The relation that holds a batch while it meets itself.
    pub(super) fn batch(&mut self, fields: &[usize]) -> usize {
        let batch = self.relation("batch", fields);
        self.strategy.batch = Some(batch);
        batch
    }

    /// A partition of the values of some fields, and the relation of the heavy ones.
    pub(super) fn partition(&mut self, name: &str, key: &[usize], epsilon: Epsilon) -> Key {
        let packing: Vec<KeyField> = key.iter().map(|&field| self.packing[field]).collect();
        let threshold = Threshold::new(1, epsilon.value());
        let partition = Partition::new(KeyLayout::new(&packing), threshold);
        let heavy = self.relation(format!("heavy values{name}"), key);
        let strategy = &mut self.strategy;
        strategy.partitions.push(partition);
        strategy.epsilons.push(epsilon);
        strategy.indicators.push(heavy);
        strategy.counted_faces.push(Vec::new());
        Key {
            partition: strategy.partitions.len() - 1,
            heavy,
        }
    }

    /// A relation that changes, with no rules yet. Its faces are on keys with a partition, whose fields
    /// it calls so.
    pub(super) fn input(&mut self, whole: usize, keys: &[(&Key, &[usize])]) -> usize {
        let number = self.strategy.inputs.len();
        let mut faces = Vec::new();
        for (key, fields) in keys {
            self.strategy.counted_faces[key.partition].push((number, faces.len()));
            faces.push(Face {
                partition: key.partition,
                key: self.subkey(whole, fields),
            });
        }
        self.strategy.inputs.push(Input {
            whole,
            parts: Vec::new(),
            faces,
            before: Vec::new(),
            after: Vec::new(),
            counted: Vec::new(),
            toggled: Vec::new(),
        });
        number
    }

    /// Positions of some fields in a relation.
    fn subkey(&mut self, whole: usize, key: &[usize]) -> Subkey {
        let fields = &self.fields[whole];
        let place = |field: &usize| fields.iter().position(|own| own == field);
        let columns: Vec<usize> = key.iter().filter_map(place).collect();
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_unstable_by_key(|&at| columns[at]);
        let indexed: Vec<usize> = order.iter().map(|&at| columns[at]).collect();
        let is_whole = columns.len() == fields.len();
        let table = self.strategy.relations[whole].table_mut();
        Subkey {
            index: table
                .filter(|_| !is_whole)
                .map(|table| table.add_index(&indexed)),
            columns,
            order,
        }
    }

    /// A relation of some tuples of an input.
    pub(super) fn part(&mut self, name: impl Into<String>, input: usize, case: Case) -> usize {
        let fields = self.fields[self.strategy.inputs[input].whole].clone();
        let part = self.relation(name, &fields);
        self.strategy.inputs[input].parts.push((case, part));
        part
    }

    /// The case of rows of an input all of whose keys are heavy, but for a light one, if there is one.
    pub(super) fn heavy_but(&self, input: usize, light: Option<usize>) -> Case {
        let light = light.map_or(0, |face| 1 << face);
        Case::Keys {
            heavy: self.strategy.inputs[input].all_heavy() & !light,
            light,
        }
    }

    /// Meets a relation, the fields of whose key are called so.
    pub(super) fn join(&self, relation: usize, fields: &[usize]) -> Join<R> {
        Join {
            relation,
            fields: fields.to_vec(),
            product: self.algebra.product.clone(),
        }
    }

    /// Meets relations by their own fields.
    pub(super) fn meet(&self, relations: impl IntoIterator<Item = usize>) -> Vec<Join<R>> {
        let relations = relations.into_iter();
        relations
            .map(|relation| self.join(relation, &self.fields[relation]))
            .collect()
    }

    /// For rows of an input: what they meet, in this order, is added to a relation. A result that is read
    /// is that of the tuples of one relation, and changes with none.
    pub(super) fn rule(&mut self, input: usize, case: Case, joins: Vec<Join<R>>, into: usize) {
        let role = match into == self.strategy.result {
            true => Role::Result,
            false => Role::View,
        };
        let read = self.strategy.reads.as_ref().map(|reads| reads.input);
        match (role, read) {
            (Role::Result, Some(read)) if read != input => {}
            (Role::Result, Some(_)) => {
                let keep = self.fields[into].clone();
                let rule = self.compiled((input, case, role), vec![level(joins, (into, &keep))]);
                if let Some(reads) = &mut self.strategy.reads {
                    reads.rules.push(rule);
                }
            }
            _ => self.chain((input, case, role), vec![(joins, into)]),
        }
    }

    /// The same one after the other: what is added to one relation meets the next.
    pub(super) fn chain(
        &mut self,
        (input, case, role): (usize, Case, Role),
        levels: Vec<(Vec<Join<R>>, usize)>,
    ) {
        let levels = levels.into_iter().map(|(joins, into)| {
            let keep = self.fields[into].clone();
            level(joins, (into, &keep))
        });
        let levels = levels.collect();
        let rule = self.compiled((input, case, role), levels);
        self.strategy.inputs[input].before.push(rule);
    }

    /// The same for a relation that meets itself: over the relation as it was, or as it has become.
    pub(super) fn own_rule(
        &mut self,
        (input, case, when): (usize, Case, When),
        joins: Vec<Join<R>>,
        into: (usize, &[usize]),
    ) {
        let role = match into.0 == self.strategy.result {
            true => Role::Result,
            false => Role::View,
        };
        let mut rule = self.compiled((input, case, role), vec![level(joins, into)]);
        rule.thrice = when == When::BeforeThrice;
        let input = &mut self.strategy.inputs[input];
        match when {
            When::After => input.after.push(rule),
            When::Before | When::BeforeThrice => input.before.push(rule),
        }
    }

    fn compiled(
        &mut self,
        (input, case, role): (usize, Case, Role),
        levels: Vec<LevelRule<R>>,
    ) -> Evaluation<R> {
        let from = self.strategy.inputs[input].whole;
        let rule = Rule {
            from,
            fields: self.fields[from].clone(),
            levels,
        };
        let path = rule.compile(self.packing, &mut self.strategy.relations);
        Evaluation {
            case,
            role,
            thrice: false,
            path: Arc::new(path),
        }
    }

    /// The result.
    pub(super) fn result(&self) -> usize {
        self.strategy.result
    }
}

/// Rule for one relation of a path: the siblings that are met on the way, and the registers that are kept there.
fn level<R: PayloadRing>(joins: Vec<Join<R>>, (into, keep): (usize, &[usize])) -> LevelRule<R> {
    LevelRule {
        joins,
        into,
        keep: keep.to_vec(),
        intersect: true,
    }
}

/// A key with a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) partition: usize,
    /// The relation of its heavy values.
    pub(super) heavy: usize,
}

/// When a relation meets itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// As it was.
    Before,
    /// As it was, and each time counts three times.
    BeforeThrice,
    /// As it has become.
    After,
}
