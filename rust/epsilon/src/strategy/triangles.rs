//! The full triangle query: R(a, b) * S(b, c) * T(c, a) as rows, each there with constant delay (appendix E).
//!
//! A triangle is of one kind, by which of its corners are heavy. With none heavy but one, or all, each of
//! its edges finds it by a short walk: these are listed. With one light corner z between two heavy
//! ones, the edge across from z may close any number at once: these are kept factorised, a tree for
//! each z. Beside the relations are kept
//!
//! - `H_k` and `L_k`, the tuples of K_k whose keys are all heavy, or all light,
//! - `Q^L(a, b, c)`, the listed triangles (figure 12),
//! - for each z: `V_z(a, b, c)`, two edges through a light value of z between heavy ends; its sum over z; and the root
//!   `G_z`, over the key of K_z: K_z times that sum. Every key of the root has a triangle below, the matching keys of
//!   V_z give its corners z.
//!
//! A tuple dK_k, whose keys are y and z, adds
//!
//! - both light: `dK_k * K_y * K_z` to Q^L; y alone light: the same with L_z for K_z, for key k is light too; both
//!   heavy: `dK_k * H_y * H_z`;
//! - y alone light: `dK_k * K_z` where key k is heavy to V_y, and what follows of it to its sum and to G_y;
//! - both heavy: `dK_k` times the sum over V_k to G_k.
//!
//! Invariant: each triangle is in Q^L or below one root, once. The result is the sum over all. Figure 12
//! lists hhh and lll alone, and factorises hl*, *hl, l*h, whose overlaps its classes by relation
//! keep apart; a class by value has no such overlaps. Cost: O(N^max(e, 1-e)) a tuple, O(N^(3/2)) room; with
//! followers as much, and a step for each triangle that moves.

use ringview_ring::PayloadRing;

use super::builder::{Builder, Key};
use super::{Case, Role, RowSources, Strategy, Tree};
use crate::algebra::Algebra;
use crate::query::{Epsilon, Query};

/// The relations and views made for each relation or key, by its number.
struct Made<'q> {
    query: &'q Query,
    wholes: Vec<usize>,
    heavies: Vec<usize>,
    lights: Vec<usize>,
    keys: Vec<Key>,
    leaves: Vec<usize>,
    sums: Vec<usize>,
    roots: Vec<usize>,
    list: usize,
    log: usize,
}

impl<R: PayloadRing> Strategy<R> {
    /// For three relations, all pairs of which join on variables that the third lacks.
    pub(crate) fn triangles(query: &Query, epsilons: &[Epsilon], algebra: &Algebra<R>) -> Self {
        let all: Vec<usize> = (0..query.packing.len()).collect();
        let mut builder = Builder::new(algebra, &query.packing, &[]);
        let relation = |k: usize| builder.relation(format!("relation {k}"), &query.fields[k]);
        let wholes: Vec<usize> = (0..3).map(relation).collect();
        let split = query.split_keys();
        let key = |z: usize| {
            let key = &split[z];
            let epsilon = epsilons[key.relation];
            builder.partition(&format!(" of key {z}"), &key.fields, epsilon)
        };
        let keys: Vec<Key> = (0..3).map(key).collect();
        let (mut heavies, mut lights) = (Vec::new(), Vec::new());
        for (k, &whole) in wholes.iter().enumerate() {
            let faces = [(k + 1) % 3, (k + 2) % 3];
            let faces = faces.map(|z| (&keys[z], split[z].fields.as_slice()));
            let input = builder.input(whole, &faces);
            let heavy = builder.heavy_but(input, None);
            let light = Case::Keys { heavy: 0, light: 3 };
            heavies.push(builder.part(format!("heavy part {k}"), input, heavy));
            lights.push(builder.part(format!("light part {k}"), input, light));
        }
        let mut views = |name: &str, all: Option<&[usize]>| -> Vec<usize> {
            let fields = |z: usize| all.unwrap_or(&query.fields[z]);
            let view = |z| builder.view(format!("{name} {z}"), fields(z));
            (0..3).map(view).collect()
        };
        let (leaves, sums, roots) = (
            views("leaf", Some(&all)),
            views("view", None),
            views("root", None),
        );
        let made = Made {
            list: builder.view("list", &all),
            log: builder.relation("rows that moved", &all),
            query,
            wholes,
            heavies,
            lights,
            keys,
            leaves,
            sums,
            roots,
        };
        for k in 0..3 {
            made.listed(&mut builder, k);
            made.factorised(&mut builder, k);
            made.changed(&mut builder, k);
        }
        let mut strategy = builder.done();
        strategy.rows = Some(made.rows(&mut strategy));
        strategy
    }
}

/// The cases of a tuple of two keys.
const LIGHT: Case = Case::Keys { heavy: 0, light: 3 };
const HEAVY: Case = Case::Keys { heavy: 3, light: 0 };

/// That of a tuple whose key at a face alone is light.
fn light_at(face: usize) -> Case {
    let light = 1 << face;
    Case::Keys {
        heavy: 3 - light,
        light,
    }
}

impl Made<'_> {
    /// Rules by which a tuple of relation k changes the listed triangles.
    fn listed<R: PayloadRing>(&self, builder: &mut Builder<'_, R>, k: usize) {
        let [y, z] = [(k + 1) % 3, (k + 2) % 3];
        let result = builder.result();
        for (case, met) in [
            (LIGHT, [self.wholes[y], self.wholes[z]]),
            (light_at(0), [self.lights[z], self.wholes[y]]),
            (light_at(1), [self.lights[y], self.wholes[z]]),
            (HEAVY, [self.heavies[y], self.heavies[z]]),
        ] {
            let joins = builder.meet(met);
            let levels = vec![(joins, self.list), (Vec::new(), result)];
            builder.chain((k, case, Role::View), levels);
        }
    }

    /// Rules by which it changes the trees.
    fn factorised<R: PayloadRing>(&self, builder: &mut Builder<'_, R>, k: usize) {
        let result = builder.result();
        let [y, z] = [(k + 1) % 3, (k + 2) % 3];
        for (face, [light, other]) in [[y, z], [z, y]].into_iter().enumerate() {
            let through = builder.meet([self.wholes[other], self.keys[k].heavy]);
            let close = builder.meet([self.wholes[light]]);
            let levels = vec![
                (through, self.leaves[light]),
                (Vec::new(), self.sums[light]),
                (close, self.roots[light]),
                (Vec::new(), result),
            ];
            builder.chain((k, light_at(face), Role::View), levels);
        }
        let closing = builder.meet([self.sums[k]]);
        let levels = vec![(closing, self.roots[k]), (Vec::new(), result)];
        builder.chain((k, HEAVY, Role::View), levels);
    }

    /// Rules for the triangles that it closes or opens, one by one.
    fn changed<R: PayloadRing>(&self, builder: &mut Builder<'_, R>, k: usize) {
        let [y, z] = [(k + 1) % 3, (k + 2) % 3];
        for (case, met) in [
            (Case::SomeLight, vec![self.wholes[y], self.wholes[z]]),
            (HEAVY, vec![self.heavies[y], self.heavies[z]]),
            (HEAVY, vec![self.leaves[k]]),
        ] {
            let joins = builder.meet(met);
            builder.chain((k, case, Role::Log), vec![(joins, self.log)]);
        }
    }

    /// Sources of all these rows.
    fn rows<R: PayloadRing>(&self, strategy: &mut Strategy<R>) -> RowSources {
        let mut index = |relation: usize, fields: &[usize]| {
            let table = strategy.relations[relation].table_mut();
            table.map_or(0, |table| table.add_index(fields))
        };
        let trees = (0..3).map(|z| {
            // The key of a leaf is all fields in their order.
            let own = &self.query.fields[z];
            let mut bound = own.clone();
            bound.sort_unstable();
            let place = |field: &usize| own.iter().position(|one| one == field);
            Tree {
                whole: self.wholes[z],
                root: self.roots[z],
                all: index(self.roots[z], &[]),
                leaf: self.leaves[z],
                below: index(self.leaves[z], &bound),
                order: bound.iter().filter_map(place).collect(),
            }
        });
        let trees = trees.collect();
        RowSources {
            all: index(self.list, &[]),
            list: self.list,
            trees,
            log: self.log,
            is_logged: false,
        }
    }
}
