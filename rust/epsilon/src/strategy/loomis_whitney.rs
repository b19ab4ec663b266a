//! Joins whose variables are each in all relations or in all but one: triangles, all of 3R2 and 3R3, and
//! Loomis-Whitney joins of any degree (appendices D, F and H).
//!
//! Key z is what all relations but K_z share. Each value of a key that K_z lacks is heavy or light,
//! by the tuples of all its relations together. A key that all relations have has no partition and
//! counts as heavy (H.1.4). Beside the relations themselves are kept
//!
//! - `H_k`, the tuples of K_k whose keys are all heavy (part hh of figure 8),
//! - `V_z`, over the key of K_z: the product of all other relations, summed over the light values of key z,
//!   between heavy values of all other keys (V_RS, V_ST, V_TR of figures 8 and 18).
//!
//! A tuple dK_k binds all keys but key k. It adds to the result (figures 9 and 19, cases put together
//! where the rule is one):
//!
//! - a key y of it is light: the product with all other relations, by the smallest of their groups: one of
//!   them has y and lacks key k, so O(N^e);
//! - all are heavy: `dK_k * H_i * H_j * ..`, the heavy values of key k between: O(N^(1-e)), and
//!   `dK_k * V_k`, the light ones: O(1);
//!
//! and to V_z, if of its keys z is light and the rest heavy: the product with all but K_z, where the far
//! end, key k, is heavy: all of them have z, so O(N^e).
//!
//! Grouped by variables that all relations have which change, a tuple is of one group, and all of the above stays as it
//! is. A relation that lacks one of them adds nothing to the result: it is loaded before the rest. Else groups are
//! read, by what the tuples of a relation close (`strategy`): a tuple O(N^max(e, 1-e)), and a value of one of two keys,
//! as a vertex of triangles, no more than O(N) whatever its degree, for its the groups of other relations are walked,
//! or smaller ones. A change and a group cannot both cost less than sqrt(N) if the OMv conjecture holds: the matrix in
//! R(a, b), a vector in S(b, c), and with T(c, a) for all a the groups of a are its product; so for the groups of (a,
//! b), the matrix in S and the vector in T.
//!
//! Invariant: as figure 8, for any number of relations. The paper defines the views of appendix F with one heavy part
//! and the rest light, and uses them, in its case 2, with one light part: the latter is needed by the case, and can be
//! kept; here it follows, since a value is heavy or light for all relations. Cost: O(N^max(e, 1-e)) a tuple; views of
//! O(N^(1 + min(e, 1-e))) keys, for three relations O(N^min(1+e, 2-2e)).

use ringview_ring::PayloadRing;

use super::builder::{Builder, Key};
use super::{Case, Strategy};
use crate::algebra::Algebra;
use crate::query::{Epsilon, Query};

/// The relations and views made for each relation, by its number.
struct Made<'q> {
    query: &'q Query,
    wholes: Vec<usize>,
    heavies: Vec<usize>,
    views: Vec<Option<usize>>,
    /// By key: its partition, if it has one.
    keys: Vec<Option<Key>>,
}

impl<R: PayloadRing> Strategy<R> {
    pub(super) fn loomis_whitney(
        query: &Query,
        epsilons: &[Epsilon],
        algebra: &Algebra<R>,
    ) -> Self {
        let n = query.fields.len();
        let (mut builder, wholes) = Builder::of(algebra, query);
        let keys: Vec<Option<Key>> = (0..n)
            .map(|z| {
                let (name, epsilon) = (format!(" of key {z}"), epsilons[(z + n - 1) % n]);
                let mut made = || builder.partition(&name, &query.key(z), epsilon);
                query.is_split(z).then(&mut made)
            })
            .collect();
        let mut made = Made {
            query,
            wholes,
            heavies: Vec::new(),
            views: Vec::new(),
            keys,
        };
        for k in 0..n {
            made.input(&mut builder, k);
        }
        for k in 0..n {
            made.closing(&mut builder, k);
            made.through(&mut builder, k);
        }
        builder.done()
    }
}

impl Made<'_> {
    /// The keys with a partition that a relation has, in the order of its faces.
    fn faces(&self, k: usize) -> Vec<usize> {
        let n = self.wholes.len();
        let others = (1..n).map(|step| (k + step) % n);
        others.filter(|&z| self.keys[z].is_some()).collect()
    }

    fn input<R: PayloadRing>(&mut self, builder: &mut Builder<'_, R>, k: usize) {
        let faces: Vec<(usize, Vec<usize>)> = self
            .faces(k)
            .into_iter()
            .map(|z| (z, self.query.key(z)))
            .collect();
        let keys: Vec<(&Key, &[usize])> = faces
            .iter()
            .filter_map(|(z, fields)| Some((self.keys[*z].as_ref()?, fields.as_slice())))
            .collect();
        let input = builder.input(self.wholes[k], &keys);
        let all = builder.heavy_but(input, None);
        let heavy = builder.part(format!("heavy part {k}"), input, all);
        self.heavies.push(heavy);
        let view = |_| builder.view(format!("view {k}"), &self.query.fields[k]);
        self.views.push(self.keys[k].map(view));
    }

    /// The relations but some, those first that share fields with relation k: they have groups.
    fn others(&self, k: usize, but: &[usize]) -> Vec<usize> {
        let n = self.wholes.len();
        let mut others: Vec<usize> = (1..n).map(|step| (k + step) % n).collect();
        others.retain(|other| !but.contains(other));
        others.sort_by_key(|&other| self.query.shared([k, other]).is_empty());
        others
    }

    /// Rule by which a tuple of relation k changes the result.
    fn closing<R: PayloadRing>(&self, builder: &mut Builder<'_, R>, k: usize) {
        if !self.query.has_group(k) {
            return;
        }
        let others = self.others(k, &[]);
        let of = |all: &[usize]| others.iter().map(|&i| all[i]).collect::<Vec<_>>();
        let (case, result) = match self.keys[k] {
            Some(_) => (Case::SomeLight, builder.result()),
            None => (Case::ALL, builder.result()),
        };
        let walk = builder.meet(of(&self.wholes));
        builder.rule(k, case, walk, result);
        if let Some(view) = self.views[k] {
            let all = builder.heavy_but(k, None);
            let heavy = builder.meet(of(&self.heavies));
            builder.rule(k, all, heavy, result);
            let light = builder.meet([view]);
            builder.rule(k, all, light, result);
        }
    }

    /// Rules by which a tuple of relation k changes the views.
    fn through<R: PayloadRing>(&self, builder: &mut Builder<'_, R>, k: usize) {
        for (face, z) in self.faces(k).into_iter().enumerate() {
            let Some(view) = self.views[z] else { continue };
            let mut met: Vec<usize> = self.others(k, &[z]);
            met.iter_mut().for_each(|i| *i = self.wholes[*i]);
            met.extend(self.keys[k].map(|far| far.heavy));
            let joins = builder.meet(met);
            let case = builder.heavy_but(k, Some(face));
            builder.rule(k, case, joins, view);
        }
    }
}
