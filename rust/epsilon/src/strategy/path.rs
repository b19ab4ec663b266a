//! The path R(A) S(A, B) T(B, C) U(C) (appendix G).
//!
//! The path looks the same from both sides: on each there is an end E(x) and a middle M(x, b), on the other
//! E'(y) and M'(b, y). Each value of A, B and C is heavy or light, by the tuples of all its
//! relations together. Beside the relations themselves are kept, for each side,
//!
//! - `H(x, b)`, the tuples of M whose keys are both heavy,
//! - `W(b)`, the sum of E * M over x: all x if b is heavy, the light ones if b is light,
//! - `P(x, y)` for heavy x: the sum of M * M' over light b,
//! - `Z(x)` for heavy x: the sum of M * M' * E' over light b and light y.
//!
//! They take the place of the paper's fourteen views and of its indicator projections: there S and T may disagree
//! whether b is heavy, here they cannot. Contributions of a tuple, and their bounds:
//!
//! | | rows | adds to | |
//! |---|---|---|---|
//! | dE | x light | `dE * M * W'` to Q, `dE * M` to W | N^e tuples of x |
//! | | x heavy | `dE * H * W'` to Q, `dE * H` to W | N^(1-e) heavy b |
//! | | | `dE * Z` to Q | a look |
//! | | all | `dE * P' * E'` to Q | N^(1-e) heavy y |
//! | | x light | `dE * P'` to Z' | N^(1-e) heavy y |
//! | dM | b heavy | `E * dM * W'` to Q | looks |
//! | | b light | `E * dM * M' * E'` to Q | N^e tuples of b |
//! | | b heavy, or x light | `E * dM` to W | a look |
//! | | x heavy, b light | `dM * M'` to P, `dM * W'` to Z | N^e tuples of b |
//! | | b light | `dM * M'` to P' where y is heavy | N^e tuples of b |
//! | | both light | `E * dM * M'` to Z' where y is heavy | N^e tuples of b |
//!
//! Invariant: each path is met once: b heavy, or b light with y light (both through W'; but between a heavy
//! x and a light y through Z), or b light with y heavy (through P'). Cost: O(N^max(e, 1-e)) a tuple;
//! P has O(N^(1 + min(e, 1-e))) keys, the rest is linear.

use ringview_ring::PayloadRing;

use super::builder::{Builder, Key};
use super::{Case, Strategy};
use crate::algebra::Algebra;
use crate::query::{Epsilon, Query};

/// The faces of a middle: on the key of its side, and on the one between.
const OUTER: u64 = 1;
const INNER: u64 = 2;

/// Relations and views of a side.
struct Side {
    end: usize,
    middle: usize,
    /// The numbers of these as inputs.
    inputs: [usize; 2],
    heavy: usize,
    closed: usize,
    between: usize,
    light: usize,
    key: Key,
}

impl<R: PayloadRing> Strategy<R> {
    pub(super) fn path(
        query: &Query,
        order: [usize; 4],
        epsilons: &[Epsilon],
        algebra: &Algebra<R>,
    ) -> Self {
        let (mut builder, wholes) = Builder::of(algebra, query);
        let split = query.split_keys();
        let keys: Vec<&[usize]> = split.iter().map(|key| key.fields.as_slice()).collect();
        let made: Vec<Key> = split
            .iter()
            .enumerate()
            .map(|(at, key)| {
                let name = format!(" of key {at}");
                builder.partition(&name, &key.fields, epsilons[key.relation])
            })
            .collect();
        // Inputs have the numbers of the relations.
        let mut faces: Vec<Vec<(&Key, &[usize])>> = vec![Vec::new(); 4];
        for (side, outer) in [(0, 0), (1, 2)] {
            let [end, middle] = Self::end_and_middle(order, side);
            faces[end].push((&made[outer], keys[outer]));
            faces[middle].push((&made[outer], keys[outer]));
            faces[middle].push((&made[1], keys[1]));
        }
        for k in 0..4 {
            builder.input(wholes[k], &faces[k]);
        }
        let mut far = keys[0].to_vec();
        far.extend(keys[2].iter().filter(|field| !keys[0].contains(field)));
        let sides = [(0, 0), (1, 2)].map(|(side, outer)| {
            let [end, middle] = Self::end_and_middle(order, side);
            let case = builder.heavy_but(middle, None);
            Side {
                end: wholes[end],
                middle: wholes[middle],
                inputs: [end, middle],
                heavy: builder.part(format!("heavy part {middle}"), middle, case),
                closed: builder.view(format!("closed {side}"), keys[1]),
                between: builder.view(format!("between {side}"), &far),
                light: builder.view(format!("light {side}"), keys[outer]),
                key: made[outer],
            }
        });
        for (own, other) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            own.of_end(&mut builder, other);
            own.of_middle(&mut builder, other);
        }
        builder.done()
    }

    /// The end and the middle of a side, by their numbers in the query.
    fn end_and_middle([r, s, t, u]: [usize; 4], side: usize) -> [usize; 2] {
        match side {
            0 => [r, s],
            _ => [u, t],
        }
    }
}

impl Side {
    /// Rules for a tuple of the end.
    fn of_end<R: PayloadRing>(&self, builder: &mut Builder<'_, R>, other: &Self) {
        let (input, result) = (self.inputs[0], builder.result());
        let heavy = builder.heavy_but(input, None);
        let light = builder.heavy_but(input, Some(0));
        let rules = [
            (light, vec![self.middle, other.closed], result),
            (heavy, vec![self.heavy, other.closed], result),
            (heavy, vec![self.light], result),
            (Case::ALL, vec![other.between, other.end], result),
            (light, vec![self.middle], self.closed),
            (heavy, vec![self.heavy], self.closed),
            (light, vec![other.between], other.light),
        ];
        for (case, met, into) in rules {
            let joins = builder.meet(met);
            builder.rule(input, case, joins, into);
        }
    }

    /// Rules for a tuple of the middle.
    fn of_middle<R: PayloadRing>(&self, builder: &mut Builder<'_, R>, other: &Self) {
        let (input, result) = (self.inputs[1], builder.result());
        let rows = |heavy, light| Case::Keys { heavy, light };
        let far = other.key.heavy;
        let rules = [
            (rows(INNER, 0), vec![self.end, other.closed], result),
            (
                rows(0, INNER),
                vec![self.end, other.middle, other.end],
                result,
            ),
            (rows(INNER, 0), vec![self.end], self.closed),
            (rows(0, OUTER | INNER), vec![self.end], self.closed),
            (rows(OUTER, INNER), vec![other.middle], self.between),
            (rows(OUTER, INNER), vec![other.closed], self.light),
            (rows(0, INNER), vec![other.middle, far], other.between),
            (
                rows(0, OUTER | INNER),
                vec![self.end, other.middle, far],
                other.light,
            ),
        ];
        for (case, met, into) in rules {
            let joins = builder.meet(met);
            builder.rule(input, case, joins, into);
        }
    }
}
