//! Relations, partitions, auxiliary views and delta rules of a join, made from its keys.
//!
//! For the join of K0, K1, K2 with keys as in `query`, each value of a key with a partition is heavy or
//! light. Beside the relations themselves are kept
//!
//! - `H_k`, the tuples of K_k whose two keys are both heavy (parts hh of figure 8),
//! - `V_z`, over the key of K_z: the sum of K_i * K_j through the light values of key z that they
//!   share, between heavy values of their other keys (V_RS, V_ST, V_TR of figures 8 and 18).
//!
//! Then a tuple dK_k adds to the result (figures 9 and 19, cases put together where the rule is one):
//!
//! - a key of it is light: `dK_k * (K_i >< K_j)`, by the smaller of two groups: O(N^e);
//! - both are heavy: `dK_k * (H_i >< H_j)`, the heavy values between: O(N^(1-e)), and `dK_k * V_k`, the
//!   light ones: O(1);
//!
//! and to the views, if its key z is light and the other heavy: `dV = dK_k * K_j`, by the group of the
//! light value, where the far end is heavy: O(N^e).
//!
//! A key that only fields of all three make has no partition and counts as heavy (H.1.4). One relation
//! that stands at all three places of a triangle (appendix B) is the same with one partition: tuples
//! of a batch meet each other through a relation that holds the batch.

use std::sync::Arc;

use ringview_relation::join::{Join, LevelRule, Path, Rule};
use ringview_relation::{KeyField, KeyLayout, Part, Partition, Relation, Threshold};
use ringview_ring::PayloadRing;

use crate::algebra::Algebra;
use crate::query::{Epsilon, Refused, Triple};

/// One of the two keys of a relation.
#[derive(Clone, Debug)]
pub(crate) struct Face {
    /// The partition of its values; without one they count as heavy.
    pub(crate) partition: Option<usize>,
    /// Its places in the relation's key, in the order of the partition's.
    pub(crate) columns: Vec<usize>,
    /// The relation's index on it; `None` if it is the whole key, or has no partition.
    pub(crate) index: Option<usize>,
    /// Which place of the key each field of that index has.
    pub(crate) order: Vec<usize>,
}

/// Which rows of a change a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// All.
    Any,
    /// Those of which a key is light.
    Light,
    /// Those of which both keys are heavy.
    Heavy,
    /// Those of which this key is light and the other heavy.
    Through(usize),
}

/// What follows of a change, for some of its rows.
#[derive(Debug)]
pub(crate) struct Evaluation<R: PayloadRing> {
    pub(crate) case: Case,
    /// Whether it counts three times.
    pub(crate) thrice: bool,
    pub(crate) path: Arc<Path<R>>,
}

/// A relation that changes.
#[derive(Debug)]
pub(crate) struct Input<R: PayloadRing> {
    /// Itself.
    pub(crate) whole: usize,
    /// Its tuples with two heavy keys.
    pub(crate) heavy: usize,
    pub(crate) faces: [Face; 2],
    /// What follows of a change, over the relation as it was.
    pub(crate) before: Vec<Evaluation<R>>,
    /// What follows over the relation as it has become.
    pub(crate) after: Vec<Evaluation<R>>,
    /// By slot: whether the tuple is counted.
    pub(crate) counted: Vec<bool>,
    /// Slots for which that changed in this transaction.
    pub(crate) toggled: Vec<u32>,
}

impl<R: PayloadRing> Input<R> {
    /// What follows for the views of a tuple whose key at this face is light.
    pub(crate) fn through(&self, face: usize) -> Option<&Arc<Path<R>>> {
        let mut all = self.before.iter().chain(&self.after);
        let found = all.find(|evaluation| evaluation.case == Case::Through(face));
        found.map(|evaluation| &evaluation.path)
    }
}

/// All that a machine works with.
#[derive(Debug)]
pub(crate) struct Strategy<R: PayloadRing> {
    pub(crate) relations: Vec<Relation<R>>,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) epsilons: Vec<Epsilon>,
    /// By partition: the relation of its heavy values.
    pub(crate) indicators: Vec<usize>,
    /// By partition: the inputs and faces that it counts.
    pub(crate) stars: Vec<[(usize, usize); 2]>,
    pub(crate) inputs: Vec<Input<R>>,
    pub(crate) views: Vec<usize>,
    pub(crate) result: usize,
    /// The relation that holds a batch while it meets itself.
    pub(crate) batch: Option<usize>,
}

struct Builder<'a, R: PayloadRing> {
    algebra: &'a Algebra<R>,
    packing: &'a [KeyField],
    relations: Vec<Relation<R>>,
    /// The fields of each relation's key.
    fields: Vec<Vec<usize>>,
}

impl<R: PayloadRing> Builder<'_, R> {
    fn relation(&mut self, name: String, fields: &[usize]) -> usize {
        let packing: Vec<KeyField> = fields.iter().map(|&field| self.packing[field]).collect();
        let shape = &self.algebra.shape;
        let part = Part::new(KeyLayout::new(&packing), R::stride(shape));
        self.relations
            .push(Relation::new(name, shape.clone(), Some(part)));
        self.fields.push(fields.to_vec());
        self.relations.len() - 1
    }

    /// Meets a relation, the fields of whose key are called so.
    fn join(&self, relation: usize, fields: &[usize]) -> Join<R> {
        Join {
            relation,
            fields: fields.to_vec(),
            product: self.algebra.product.clone(),
        }
    }

    /// Meets a relation by its own fields.
    fn meet(&self, relation: usize) -> Join<R> {
        self.join(relation, &self.fields[relation])
    }

    fn rule(
        &mut self,
        from: (usize, &[usize]),
        joins: Vec<Join<R>>,
        into: (usize, &[usize]),
        case: Case,
    ) -> Evaluation<R> {
        let rule = Rule {
            from: from.0,
            fields: from.1.to_vec(),
            levels: vec![LevelRule {
                joins,
                into: into.0,
                keep: into.1.to_vec(),
                intersect: true,
            }],
        };
        Evaluation {
            case,
            thrice: false,
            path: Arc::new(rule.compile(self.packing, &mut self.relations)),
        }
    }

    /// The face of a relation on some fields of its key.
    fn face(&mut self, whole: usize, key: &[usize], partition: Option<usize>) -> Face {
        let fields = &self.fields[whole];
        let place = |field: &usize| fields.iter().position(|own| own == field);
        let columns: Vec<usize> = key.iter().filter_map(place).collect();
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_unstable_by_key(|&at| columns[at]);
        let indexed: Vec<usize> = order.iter().map(|&at| columns[at]).collect();
        let part = self.relations[whole].part_mut();
        let part = part.filter(|_| columns.len() < fields.len() && partition.is_some());
        Face {
            partition,
            index: part.map(|part| part.add_index(&indexed)),
            columns,
            order,
        }
    }

    fn partition(&self, key: &[usize], epsilon: Epsilon) -> Partition {
        let packing: Vec<KeyField> = key.iter().map(|&field| self.packing[field]).collect();
        Partition::new(KeyLayout::new(&packing), Threshold::new(1, epsilon.value()))
    }
}

impl<R: PayloadRing> Strategy<R> {
    /// For three relations with an epsilon each, which is that of the key which a relation shares with
    /// the one before it: A for R(A, B) in R(A, B), S(B, C), T(C, A).
    pub(crate) fn triple(
        query: &Triple,
        epsilons: [Epsilon; 3],
        algebra: &Algebra<R>,
    ) -> Result<Self, Refused> {
        query.class()?;
        let mut builder = Builder {
            algebra,
            packing: &query.packing,
            relations: Vec::new(),
            fields: Vec::new(),
        };
        let mut made = |name: &str| -> Vec<usize> {
            let mut one = |k: usize| builder.relation(format!("{name} {k}"), &query.fields[k]);
            (0..3).map(&mut one).collect()
        };
        let (wholes, heavies, views) = (made("relation"), made("heavy part"), made("view"));
        let result = builder.relation("result".to_owned(), &[]);
        let keys: Vec<Vec<usize>> = (0..3).map(|z| query.key(z)).collect();
        let mut strategy = Self {
            relations: Vec::new(),
            partitions: Vec::new(),
            epsilons: Vec::new(),
            indicators: Vec::new(),
            stars: Vec::new(),
            inputs: Vec::new(),
            views: Vec::new(),
            result,
            batch: None,
        };
        let mut partition_of = [None; 3];
        for z in (0..3).filter(|&z| query.is_pair(z)) {
            partition_of[z] = Some(strategy.partitions.len());
            let epsilon = epsilons[(z + 2) % 3];
            strategy
                .partitions
                .push(builder.partition(&keys[z], epsilon));
            strategy.epsilons.push(epsilon);
            strategy
                .indicators
                .push(builder.relation(format!("heavy values of key {z}"), &keys[z]));
            strategy.views.push(views[z]);
            // The face of relation z + 1 is its second, that of z + 2 its first.
            strategy.stars.push([((z + 1) % 3, 1), ((z + 2) % 3, 0)]);
        }
        for k in 0..3 {
            let input = Self::input(
                &mut builder,
                (query, k),
                (&wholes, &heavies, &views, result),
                (&partition_of, &strategy.indicators),
            );
            strategy.inputs.push(input);
        }
        strategy.relations = builder.relations;
        Ok(strategy)
    }

    /// Relation k of three: its faces are on the keys k + 1 and k + 2.
    fn input(
        builder: &mut Builder<'_, R>,
        (query, k): (&Triple, usize),
        (wholes, heavies, views, result): (&[usize], &[usize], &[usize], usize),
        (partition_of, indicators): (&[Option<usize>; 3], &[usize]),
    ) -> Input<R> {
        let own = query.fields[k].as_slice();
        let from = (wholes[k], own);
        // What is walked first shares a key with a partition.
        let partners = match partition_of[(k + 2) % 3] {
            Some(_) => [(k + 1) % 3, (k + 2) % 3],
            None => [(k + 2) % 3, (k + 1) % 3],
        };
        let meet = |builder: &Builder<'_, R>, of: &[usize]| {
            Vec::from(partners.map(|i| builder.meet(of[i])))
        };
        let walk = meet(builder, wholes);
        let case = match partition_of[k] {
            Some(_) => Case::Light,
            None => Case::Any,
        };
        let mut before = vec![builder.rule(from, walk, (result, &[]), case)];
        if partition_of[k].is_some() {
            let heavy = meet(builder, heavies);
            before.push(builder.rule(from, heavy, (result, &[]), Case::Heavy));
            let view = vec![builder.meet(views[k])];
            before.push(builder.rule(from, view, (result, &[]), Case::Heavy));
        }
        for (face, z) in [(k + 1) % 3, (k + 2) % 3].into_iter().enumerate() {
            if partition_of[z].is_none() {
                continue;
            }
            // The partner across key z, and the far end: its other key, which is key k.
            let mut joins = vec![builder.meet(wholes[3 - k - z])];
            joins.extend(partition_of[k].map(|far| builder.meet(indicators[far])));
            let into = (views[z], query.fields[z].as_slice());
            before.push(builder.rule(from, joins, into, Case::Through(face)));
        }
        let faces = [(k + 1) % 3, (k + 2) % 3]
            .map(|z| builder.face(wholes[k], &query.key(z), partition_of[z]));
        Input {
            whole: wholes[k],
            heavy: heavies[k],
            faces,
            before,
            after: Vec::new(),
            counted: Vec::new(),
            toggled: Vec::new(),
        }
    }

    /// For one relation E(A, B) in E(a, b) E(b, c) E(c, a), its fields packed alike.
    pub(crate) fn cycle(field: KeyField, epsilon: Epsilon, algebra: &Algebra<R>) -> Self {
        let (a, b, c) = (0, 1, 2);
        let packing = [field; 3];
        let mut builder = Builder {
            algebra,
            packing: &packing,
            relations: Vec::new(),
            fields: Vec::new(),
        };
        let edges = builder.relation("edges".to_owned(), &[a, b]);
        let heavy = builder.relation("heavy part".to_owned(), &[a, b]);
        let view = builder.relation("view".to_owned(), &[a, b]);
        let batch = builder.relation("batch".to_owned(), &[a, b]);
        let result = builder.relation("result".to_owned(), &[]);
        let values = builder.relation("heavy values".to_owned(), &[a]);
        let partition = builder.partition(&[a], epsilon);
        let from = (edges, [a, b]);
        let from = (from.0, from.1.as_slice());
        let close = |builder: &mut Builder<'_, R>, [left, right]: [usize; 2], case| {
            let joins = vec![builder.join(left, &[b, c]), builder.join(right, &[c, a])];
            builder.rule(from, joins, (result, &[]), case)
        };
        let mut closing = vec![
            close(&mut builder, [edges, edges], Case::Light),
            close(&mut builder, [heavy, heavy], Case::Heavy),
            close(&mut builder, [batch, edges], Case::Any),
        ];
        let joins = vec![builder.join(view, &[b, a])];
        closing.push(builder.rule(from, joins, (result, &[]), Case::Heavy));
        for evaluation in &mut closing {
            evaluation.thrice = true;
        }
        closing.push(close(&mut builder, [batch, batch], Case::Any));
        // V(a, c) = E(a, b) E(b, c): a new first edge meets old second ones, a new second edge all.
        let joins = vec![builder.join(edges, &[b, c]), builder.join(values, &[c])];
        closing.push(builder.rule(from, joins, (view, &[a, c]), Case::Through(1)));
        let joins = vec![builder.join(edges, &[c, a]), builder.join(values, &[c])];
        let after = vec![builder.rule(from, joins, (view, &[c, b]), Case::Through(0))];
        let faces = [a, b].map(|field| builder.face(edges, &[field], Some(0)));
        Self {
            relations: builder.relations,
            partitions: vec![partition],
            epsilons: vec![epsilon],
            indicators: vec![values],
            stars: vec![[(0, 0), (0, 1)]],
            inputs: vec![Input {
                whole: edges,
                heavy,
                faces,
                before: closing,
                after,
                counted: Vec::new(),
                toggled: Vec::new(),
            }],
            views: vec![view],
            result,
            batch: Some(batch),
        }
    }
}
