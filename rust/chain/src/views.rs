//! The views of a chain: a binary tree over its matrices, each inner view the product of two.
//!
//! V[X_i, X_j] = sum over X_k of L[X_i, X_k] * R[X_k, X_j], a join that marginalises the variable
//! between its children (paper, section 7.1).
//!
//! Invariant: a view is stored if it is a matrix of the chain, the result, or the sibling of one
//! that changes; between updates it equals its definition up to rounding.
//!
//! Cost: one product of two matrices a view to compute them all.

use std::sync::Arc;

use crate::matrix::{Matrix, Transposed};
use ringview_core::Result;

use crate::order::Order;

/// One view of the tree.
#[derive(Clone, Debug)]
pub(crate) struct ChainView {
    /// The first and last matrix that it multiplies.
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) children: Option<(usize, usize)>,
    pub(crate) parent: Option<usize>,
    /// Whether a matrix below it changes.
    pub(crate) changes: bool,
    pub(crate) stored: bool,
    /// Shared with whoever reads it: a change then writes to a copy.
    pub(crate) part: Option<Arc<Matrix>>,
    /// Changes that have reached it, each as often as its rank.
    pub(crate) updates: u64,
}

/// The views in the order of their computation; the matrices of the chain are first, the result is
/// last.
#[derive(Clone, Debug)]
pub(crate) struct Views {
    pub(crate) nodes: Vec<ChainView>,
}

impl Views {
    /// The tree of an order over these matrices; nothing is computed yet.
    pub(crate) fn new(matrices: Vec<Matrix>, changing: &[bool], order: &Order) -> Self {
        let leaf = |(at, matrix): (usize, Matrix)| ChainView {
            first: at,
            last: at,
            children: None,
            parent: None,
            changes: changing[at],
            stored: true,
            part: Some(Arc::new(matrix)),
            updates: 0,
        };
        let nodes = matrices.into_iter().enumerate().map(leaf).collect();
        let mut views = Self { nodes };
        views.grow(order);
        let root = views.root();
        views.nodes[root].stored = true;
        views
    }

    /// Adds the views of an order, and says which is its top.
    fn grow(&mut self, order: &Order) -> usize {
        let (left, right) = match order {
            Order::Matrix(at) => return *at,
            Order::Product(left, right) => (self.grow(left), self.grow(right)),
        };
        let own = self.nodes.len();
        let (l, r) = (&self.nodes[left], &self.nodes[right]);
        let view = ChainView {
            first: l.first,
            last: r.last,
            children: Some((left, right)),
            parent: None,
            changes: l.changes || r.changes,
            stored: false,
            part: None,
            updates: 0,
        };
        for (child, sibling) in [(left, right), (right, left)] {
            self.nodes[child].stored |= self.nodes[sibling].changes;
            self.nodes[child].parent = Some(own);
        }
        self.nodes.push(view);
        own
    }

    /// The result.
    pub(crate) fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Computes every view from the matrices; they take effect together, or not at all. Those that
    /// hang on static matrices alone are computed once.
    pub(crate) fn compute(&mut self, poll: &mut dyn FnMut() -> Result<()>) -> Result<u64> {
        let mut computed: Vec<Option<Arc<Matrix>>> = vec![None; self.nodes.len()];
        let mut steps = 0;
        for at in 0..self.nodes.len() {
            let view = &self.nodes[at];
            let Some((left, right)) = view.children else {
                continue;
            };
            let wanted = view.changes || (view.part.is_none() && self.is_needed(at));
            if !wanted {
                continue;
            }
            let part = |child: usize| computed[child].as_ref().or(self.nodes[child].part.as_ref());
            let (Some(left_part), Some(right_part)) = (part(left), part(right)) else {
                unreachable!("what a view is computed from is computed before it")
            };
            let (l, r) = (
                (&**left_part, Transposed::No),
                (&**right_part, Transposed::No),
            );
            let product = Matrix::product(l, r, poll)?;
            steps += (left_part.rows() * left_part.columns()) as u64 * right_part.columns() as u64;
            poll()?;
            computed[at] = Some(Arc::new(product));
            // Inputs that nothing else reads are freed before the next product.
            for child in [left, right] {
                if !self.nodes[child].stored {
                    computed[child] = None;
                }
            }
        }
        for (view, part) in self.nodes.iter_mut().zip(computed) {
            if part.is_some() && view.stored {
                view.part = part;
            }
        }
        Ok(steps)
    }

    /// Whether a view over static matrices is still to be computed: it is stored, or part of one
    /// that is.
    fn is_needed(&self, node: usize) -> bool {
        let view = &self.nodes[node];
        let by = |parent: usize| self.nodes[parent].part.is_none() && self.is_needed(parent);
        view.stored || view.parent.is_some_and(by)
    }
}
