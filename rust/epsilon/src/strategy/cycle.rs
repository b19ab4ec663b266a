//! One relation at the three places of a triangle: E(a, b) E(b, c) E(c, a) (appendix B).
//!
//! Beside the edges are kept those between heavy vertices, and one view: V(a, c), the paths from a heavy vertex a
//! through a light one to a heavy vertex c. An edge closes paths through a light end by the smaller of two groups,
//! paths between its heavy ends through heavy vertices one by one, and through light ones by a look at V; each counts
//! three times, once for each place of the edge.
//!
//! Invariant: as `loomis_whitney`, with one partition; edges of a batch meet each other through a relation
//! that holds those of them which begin where others end. dQ = 3 dE E E + 3 dE dE E + dE dE dE. Cost: as there, with a third of the room.

use ringview_relation::KeyField;
use ringview_ring::PayloadRing;

use super::builder::{Builder, When};
use super::{Case, Strategy};
use crate::algebra::Algebra;
use crate::query::Epsilon;

impl<R: PayloadRing> Strategy<R> {
    /// For one relation E(A, B), its fields packed alike.
    pub(crate) fn cycle(field: KeyField, epsilon: Epsilon, algebra: &Algebra<R>) -> Self {
        let (a, b, c) = (0, 1, 2);
        let packing = [field; 3];
        let mut builder = Builder::new(algebra, &packing, &[]);
        let edges = builder.relation("edges", &[a, b]);
        let view = builder.view("view", &[a, c]);
        let batch = builder.batch(&[a, b]);
        let vertex = builder.partition("", &[a], epsilon);
        let input = builder.input(edges, &[(&vertex, &[a]), (&vertex, &[b])]);
        let all = builder.heavy_but(input, None);
        let heavy = builder.part("heavy part", input, all);
        let result = (builder.result(), &[][..]);
        let closing = [
            (edges, edges, Case::SomeLight, When::BeforeThrice),
            (heavy, heavy, all, When::BeforeThrice),
            (batch, edges, Case::Met, When::BeforeThrice),
            (batch, batch, Case::Met, When::Before),
        ];
        for (left, right, case, when) in closing {
            let joins = vec![builder.join(left, &[b, c]), builder.join(right, &[c, a])];
            builder.own_rule((input, case, when), joins, result);
        }
        let joins = vec![builder.join(view, &[b, a])];
        builder.own_rule((input, all, When::BeforeThrice), joins, result);
        // V(a, c) = E(a, b) E(b, c): a new first edge meets old second ones, a new second edge all.
        let first = builder.heavy_but(input, Some(1));
        let joins = vec![
            builder.join(edges, &[b, c]),
            builder.join(vertex.heavy, &[c]),
        ];
        builder.own_rule((input, first, When::Before), joins, (view, &[a, c]));
        let second = builder.heavy_but(input, Some(0));
        let joins = vec![
            builder.join(edges, &[c, a]),
            builder.join(vertex.heavy, &[c]),
        ];
        builder.own_rule((input, second, When::After), joins, (view, &[c, b]));
        builder.done()
    }
}
