//! Source of payloads: the rows of a leaf, lifted.
//!
//! The tree is the same for every ring; what differs is behind this trait. `SumProductPayloads` is
//! its instance for counts and sums: component 0 of a row is its multiplicity, any other the
//! multiplicity times a factor of the row.

use std::sync::Arc;

use crate::plan::{Component, Node, Plan, RetainedNode, Source};
use ringview_core::{Batch, Dictionary, Error, FreedIds, Result};
use ringview_relation::Relation;
use ringview_ring::{
    Element, Groups, NumberKind, PayloadRing, SumProduct, SumProductShape, TermProduct,
};
use ringview_view::answer::number_kind;
use ringview_view::fields::Fields;
use ringview_view::read::{AtomProgram, LiftedRows, Selection};

use crate::program::ProductPlan;
use crate::tree::state::{Payloads, Recentred, Tree};

/// The payloads of counts and sums.
#[derive(Clone, Debug)]
pub(crate) struct SumProductPayloads {
    components: Vec<Vec<Component>>,
    pub(crate) shapes: Vec<SumProductShape>,
    /// By node.
    leaves: Vec<Option<AtomProgram>>,
}

impl SumProductPayloads {
    /// For each component of a node, which component of a child it takes.
    pub(crate) fn picks(&self, plan: &Plan, node: usize, child: usize) -> Vec<usize> {
        let children = &plan.tree.nodes[node].children;
        let at = children.iter().position(|&other| other == child);
        let pick = |component: &Component| match &component.source {
            Source::Product { children } => children[at.unwrap_or(0)],
            Source::Count | Source::Leaf(_) => 0,
        };
        self.components[node].iter().map(pick).collect()
    }

    pub(crate) fn compile(plan: &Plan) -> Result<Self> {
        let components = plan.payload.nodes.clone();
        let shape = |node: &Vec<Component>| {
            let kinds: Vec<NumberKind> = node.iter().map(|c| number_kind(c.kind)).collect();
            SumProductShape::new(&kinds)
        };
        let program = |(node, description): (usize, &Node)| match description.atom {
            None => Ok(None),
            Some(atom) => {
                let keys = plan.join_columns(node);
                let factors = plan.factors(node);
                AtomProgram::compile_long(&plan.atoms[atom], &keys, &factors).map(Some)
            }
        };
        let leaves = plan.tree.nodes.iter().enumerate().map(program);
        let leaves = leaves.collect::<Result<_>>()?;
        Ok(Self {
            shapes: components.iter().map(shape).collect(),
            components,
            leaves,
        })
    }
}

impl ProductPlan<SumProduct> for SumProductPayloads {
    fn shape(&self, node: usize) -> SumProductShape {
        self.shapes[node].clone()
    }

    fn products(
        &self,
        plan: &Plan,
        node: usize,
        from: usize,
        siblings: &[usize],
    ) -> Vec<TermProduct> {
        let components = &self.components[node];
        let mut picks = self.picks(plan, node, from);
        let mut left = self.shapes[from].clone();
        let last = siblings.len().saturating_sub(1);
        let mut products = Vec::new();
        for (at, &sibling) in siblings.iter().enumerate() {
            let right = &self.shapes[sibling];
            let right_picks = self.picks(plan, node, sibling);
            let pairs: Vec<(usize, usize)> = picks.into_iter().zip(right_picks).collect();
            let kind = |&(l, r): &(usize, usize)| widest(left.elements()[l], right.elements()[r]);
            let out = if at == last {
                self.shapes[node].clone()
            } else {
                SumProductShape::new(&pairs.iter().map(kind).collect::<Vec<_>>())
            };
            products.push(TermProduct::new(&left, right, &out, &pairs));
            left = out;
            picks = (0..components.len()).collect();
        }
        products
    }
}

/// The kind of a product.
pub(crate) fn widest(left: Element, right: Element) -> NumberKind {
    use NumberKind::{Decimal, Integer, Real, Wide};
    match (left.kind, right.kind) {
        (Real, _) | (_, Real) => Real,
        (Wide, _) | (_, Wide) => Wide,
        (Decimal, _) | (_, Decimal) => Decimal,
        (Integer, Integer) => Integer,
    }
}

/// Sums are counted from zero.
impl Recentred for SumProductPayloads {}

impl Payloads for SumProductPayloads {
    type Ring = SumProduct;

    const CAN_WAIT: bool = true;

    fn select(
        &mut self,
        leaf: usize,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Selection,
    ) -> Result<()> {
        at_leaf(&mut self.leaves, leaf).select(batch, dictionary, into)
    }

    fn read(
        &mut self,
        leaf: usize,
        batch: &Batch,
        selection: &Selection,
        sign: i64,
        groups: Groups<'_>,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let shape = &self.shapes[leaf];
        let rows = LiftedRows {
            batch,
            selection,
            sign,
            groups,
            stride: SumProduct::stride(shape),
        };
        rows.read(at_leaf(&mut self.leaves, leaf), shape, out)
    }

    fn read_wide(
        &mut self,
        (leaf, batch, selection): (usize, &Batch, &Selection),
        sign: i64,
        groups: Groups<'_>,
        out: &mut Vec<u64>,
        problem: Error,
    ) -> Result<bool> {
        let wide = SumProduct::widened(&self.shapes[leaf]);
        let (Some(wide), Error::Overflow { .. }) = (wide, &problem) else {
            return Err(problem);
        };
        let rows = LiftedRows {
            batch,
            selection,
            sign,
            groups,
            stride: SumProduct::stride(&wide),
        };
        let program = at_leaf(&mut self.leaves, leaf);
        rows.read(program, &wide, out).map(|()| true)
    }

    fn grow(&mut self) -> bool {
        let mut has_grown = false;
        for shape in &mut self.shapes {
            if let Some(grown) = SumProduct::grown(shape) {
                *shape = grown;
                has_grown = true;
            }
        }
        has_grown
    }

    fn retain(tree: &mut Tree<Self>, plan: Arc<Plan>, kept: &[RetainedNode]) -> Result<bool> {
        let mut payloads = Self::compile(&plan)?;
        let mut before: Vec<Option<Relation<SumProduct>>> =
            tree.views.drain(..).map(Some).collect();
        let kept_of = kept
            .iter()
            .filter_map(|kept| Some((before[kept.node].take()?, kept)));
        let kept_of: Vec<(Relation<SumProduct>, &RetainedNode)> = kept_of.collect();
        for ((mut view, kept), shape) in kept_of.into_iter().zip(&mut payloads.shapes) {
            let (before, kept) = (view.shape().clone(), kept.components.iter());
            let elements: Vec<Element> = kept.map(|&at| before.elements()[at]).collect();
            // As wide as they have grown.
            let kinds: Vec<NumberKind> = elements.iter().map(|element| element.kind).collect();
            *shape = SumProductShape::new(&kinds);
            let places: Vec<(Element, Element)> = elements
                .into_iter()
                .zip(shape.elements().iter().copied())
                .collect();
            let stride = SumProduct::stride(shape);
            view.reshape(shape.clone(), |payload, out| {
                let start = out.len();
                out.resize(start + stride, 0);
                for (from, to) in &places {
                    let words = &payload[from.word..][..from.kind.words()];
                    out[start + to.word..][..words.len()].copy_from_slice(words);
                }
            });
            tree.views.push(view);
        }
        for (view, node) in tree.views.iter_mut().zip(&plan.tree.nodes) {
            if !node.stored {
                view.release();
            }
        }
        tree.fields = Fields::new(&plan.variables);
        (tree.plan, tree.payloads) = (plan, payloads);
        tree.compile();
        Ok(true)
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        let leaves = self.leaves.iter_mut().flatten();
        leaves.for_each(|leaf| leaf.forget_strings(gone));
    }

    fn memory_usage(&self) -> usize {
        let leaves = self.leaves.iter().flatten();
        leaves.map(AtomProgram::memory_usage).sum()
    }
}

/// The item of a leaf in a list by node.
pub(crate) fn at_leaf<T>(by_node: &mut [Option<T>], leaf: usize) -> &mut T {
    match by_node.get_mut(leaf) {
        Some(Some(kept)) => kept,
        _ => unreachable!("every leaf has a program"),
    }
}
