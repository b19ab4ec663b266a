//! Auxiliary state of a view tree: values by group or their ends, and degree-m payloads where it has sums too.
//!
//! Invariant: it has taken the rows that the tree has taken. The tree of the degree-m payloads is the
//! view's but for its ring, so a key of one root is a key of the other. Within a transaction the order of values
//! and the origins are those before it.
//! Cost: that of a view of its own, but for the plan.

use std::sync::Arc;

use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_query::Companion;
use ringview_relation::KeyedTable;
use ringview_view::RowDelta;
use ringview_view::answer::values::{Tallies, When};
use ringview_view::answer::{AuxiliaryPayload, PayloadLayout};
use ringview_view::result_table::{Auxiliaries, Auxiliary, ResultTable};

use crate::cofactor::CofactorPayloads;
use crate::extremes::ExtremeTree;
use crate::maintained::{Maintained, NodeStatus};
use crate::plan::{CofactorPlan, Plan};
use crate::root::{keys_of, payloads_of};
use crate::tree::Recentring;
use crate::tree::Tree;
use crate::values::ValueTree;

/// Everything beside the tree of a view.
#[derive(Default)]
pub(crate) struct AuxiliaryState {
    /// The sums of a COFACTOR beside other sums.
    matrix: Option<Tree<CofactorPayloads>>,
    /// MIN and MAX of relations that never change.
    extremes: Option<ExtremeTree>,
    values: Auxiliaries<ValueTree>,
    /// The origins of the degree-m payloads, here or in the tree of the view.
    origins: Vec<u64>,
    /// The same once the running transaction is kept.
    recentring: Option<Recentring>,
    /// The layout of the payload of a group, that in the tree first.
    payload_layout: PayloadLayout,
}

impl AuxiliaryState {
    /// That of a plan, over no rows; `of` are the groups of the tree.
    pub(crate) fn new(plan: &Plan, of: ResultTable<'_>) -> Result<Self> {
        let value = |companion: &Companion<Plan>| {
            let tree = ValueTree::new(&companion.plan)?;
            Ok(Auxiliary::new(companion, of, tree))
        };
        let categories = plan
            .features()
            .into_iter()
            .flat_map(CofactorPlan::companions);
        let matrix = match plan.matrix.as_deref().map(|plan| (plan, &plan.cofactor)) {
            Some((plan, Some(cofactor))) => {
                let payloads = CofactorPayloads::compile(plan, cofactor)?;
                Some(Tree::new(Arc::new(plan.clone()), payloads))
            }
            _ => None,
        };
        let summarized = plan.value_companions();
        let summarized = summarized.map(|(number, companion)| Ok((number, value(companion)?)));
        let summarized = summarized.collect::<Result<_>>()?;
        let tallied = categories.map(value).collect::<Result<_>>()?;
        Ok(Self {
            matrix,
            extremes: ExtremeTree::of(plan)?,
            values: Auxiliaries::new(summarized, tallied),
            origins: Vec::new(),
            recentring: None,
            payload_layout: plan.payload_layout(),
        })
    }

    /// The values by group, those of categories behind the others.
    pub(crate) fn values(&self) -> Vec<ResultTable<'_>> {
        let mut others = self.values.rows().into_iter();
        let mut next = |companion: usize| {
            let extremes = self.extremes.as_ref();
            extremes
                .and_then(|extremes| extremes.table(companion))
                .or_else(|| others.next())
        };
        let companions = 0..self.payload_layout.summaries().count();
        let mut all: Vec<ResultTable<'_>> = companions.filter_map(&mut next).collect();
        all.extend(others);
        all
    }

    /// The keys of the degree-m payloads.
    fn matrix_root(&self) -> Option<&KeyedTable> {
        self.matrix.as_ref()?.result()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.matrix.is_none() && self.extremes.is_none() && self.values.is_empty()
    }

    pub(crate) fn before_load(&mut self, atoms: &[usize]) {
        if let Some(extremes) = &mut self.extremes {
            extremes.tree.before_load(atoms);
        }
    }

    /// Takes rows that fill a view.
    pub(crate) fn load(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        if let Some(extremes) = &mut self.extremes {
            extremes.tree.load(rows, budget)?;
        }
        self.apply_values(rows, budget)
    }

    pub(crate) fn end_load(&mut self, budget: &Budget<'_>) -> Result<()> {
        match &mut self.extremes {
            Some(extremes) => extremes.tree.end_load(budget),
            None => Ok(()),
        }
    }

    pub(crate) fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        if let Some(extremes) = &mut self.extremes {
            extremes.tree.apply(rows, budget)?;
        }
        self.apply_values(rows, budget)
    }

    fn apply_values(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        if let Some(matrix) = &mut self.matrix {
            matrix.apply(rows, budget)?;
        }
        self.values.apply(rows, budget)
    }

    pub(crate) fn freeze(&mut self) {
        self.matrix.iter_mut().for_each(Tree::freeze);
        if let Some(extremes) = &mut self.extremes {
            extremes.tree.freeze();
        }
        self.values.freeze();
    }

    /// Checks that all sums fit, and finds how the commit will show degree-m payloads.
    pub(crate) fn prepare(
        &mut self,
        tree: &mut dyn Maintained,
        reading: (&Dictionary, &Budget<'_>),
    ) -> Result<()> {
        self.matrix.iter().try_for_each(Maintained::check_fits)?;
        self.values.prepare(reading.0, reading.1)?;
        self.recentring = match &mut self.matrix {
            Some(matrix) => Maintained::recentring(matrix),
            None => tree.recentring(),
        };
        Ok(())
    }

    /// The tree of the view keeps larger sums from now on.
    pub(crate) fn grow(&mut self) {
        self.payload_layout.grow();
    }

    /// The groups of the tree are those of another plan from now on, with payloads of so many words.
    pub(crate) fn lay_out(&mut self, plan: &Plan, width: Option<usize>) {
        self.payload_layout = plan.payload_layout();
        if width.is_some_and(|width| width != self.payload_layout.first()) {
            self.payload_layout.grow();
        }
    }

    /// After a commit of the view's tree too: takes the origins as they are by now.
    pub(crate) fn take_origins(&mut self, tree: &dyn Maintained) {
        let origins = match &self.matrix {
            Some(matrix) => Maintained::origins(matrix),
            None => tree.origins(),
        };
        self.origins.clear();
        self.origins.extend_from_slice(origins);
    }

    pub(crate) fn commit(&mut self, dictionary: &Dictionary) {
        self.recentring = None;
        self.matrix.iter_mut().for_each(Maintained::commit);
        self.extremes.iter_mut().for_each(ExtremeTree::commit);
        self.values.commit(dictionary);
    }

    pub(crate) fn rollback(&mut self) {
        self.recentring = None;
        self.matrix.iter_mut().for_each(Maintained::rollback);
        if let Some(extremes) = &mut self.extremes {
            Maintained::rollback(&mut extremes.tree);
        }
        self.values.rollback();
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.describe().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Bytes, by what is quickly counted.
    pub(crate) fn bytes(&self) -> usize {
        let views = self.matrix.iter().flat_map(|tree| &tree.views);
        let matrix = views.filter_map(|view| view.table());
        let views = self
            .extremes
            .iter()
            .flat_map(|extremes| &extremes.tree.views);
        let tables = matrix.chain(views.filter_map(|view| view.table()));
        let values = self.values.memory_usage(true);
        tables.map(KeyedTable::memory_usage).sum::<usize>() + values.sum::<usize>()
    }

    /// Statistics of each tree's nodes, and the total bytes of each tree, in the order of the plan's description.
    pub(crate) fn describe(&self) -> Vec<(Vec<NodeStatus>, usize)> {
        let matrix = self.matrix.iter().map(|tree| described(tree));
        let extremes = self
            .extremes
            .iter()
            .map(|extremes| described(&extremes.tree));
        let values = self.values.maintainers().map(ValueTree::describe);
        matrix
            .chain(extremes)
            .chain(values.zip(self.values.memory_usage(false)))
            .collect()
    }

    pub(crate) fn steps(&self) -> u64 {
        let extremes = self
            .extremes
            .iter()
            .map(|extremes| extremes.tree.work.steps);
        let matrix = self.matrix.iter().map(Maintained::steps);
        matrix.chain(extremes).sum::<u64>() + self.values.steps()
    }

    /// Checks the invariants, also those with the keys of the view's root; for tests.
    pub(crate) fn check(&self, root: Option<&KeyedTable>) {
        self.values.check();
        if let (Some(extremes), Some(root)) = (&self.extremes, root) {
            Maintained::check(&extremes.tree);
            let of = extremes.tree.result().map_or(0, KeyedTable::len);
            assert_eq!(of, root.len(), "keys of two trees over the same rows");
        }
        let (Some(matrix), Some(root)) = (&self.matrix, root) else {
            return;
        };
        Maintained::check(matrix);
        let of = self.matrix_root().map_or(0, KeyedTable::len);
        assert_eq!(of, root.len(), "keys of two trees over the same rows");
    }
}

impl AuxiliaryPayload for AuxiliaryState {
    fn payload_layout(&self) -> &PayloadLayout {
        &self.payload_layout
    }

    /// The degree-m payloads of the keys, the summaries of their values, the origins.
    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>) {
        let width = self.payload_layout.width();
        let count = rows.len() / width;
        let features = self.payload_layout.features();
        if let (Some(root), Some((words, _))) = (self.matrix_root(), &features) {
            let payloads = payloads_of(root, keys, count, when);
            for (row, payload) in rows.chunks_exact_mut(width).zip(payloads) {
                if let Some(payload) = payload {
                    row[words.clone()].copy_from_slice(payload);
                }
            }
        }
        if let Some(extremes) = &self.extremes {
            extremes.fill(&self.payload_layout, keys, rows, when);
        }
        self.values.fill(&self.payload_layout, keys, rows, when);
        let origins = self.payload_layout.origins();
        if origins.is_empty() {
            return;
        }
        let recentring = self
            .recentring
            .as_ref()
            .filter(|_| matches!(when, When::Settling(_)));
        let shown = recentring.map_or(&self.origins, |coming| &coming.origins);
        let mut scratch = Vec::new();
        for row in rows.chunks_exact_mut(width) {
            row[origins.clone()].copy_from_slice(shown);
            if let (
                Some(Recentring {
                    shape,
                    by: Some(by),
                    ..
                }),
                Some((words, _)),
            ) = (recentring, &features)
            {
                shape.recentre(&mut row[words.clone()], by, &mut scratch);
            }
        }
    }

    fn tallies(&self, keys: &[Vec<u64>], rows: usize, when: When<'_>) -> Vec<Tallies> {
        self.values.tallies(keys, rows, when)
    }

    fn touched(&self) -> Vec<(Vec<Vec<u64>>, usize)> {
        let mut touched = self.values.touched();
        let extremes = self.extremes.as_ref();
        let extremes = extremes.and_then(|extremes| extremes.tree.result());
        touched.extend(self.matrix_root().into_iter().chain(extremes).map(keys_of));
        touched
    }

    fn changes_all(&self) -> bool {
        // Every row has the origins.
        let coming = self.recentring.as_ref();
        coming.is_some_and(|coming| coming.by.is_some() || coming.origins != self.origins)
    }
}

impl HoldsStrings for AuxiliaryState {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.matrix.iter().for_each(|tree| tree.mark_strings(held));
        let extremes = self.extremes.iter();
        extremes.for_each(|extremes| extremes.tree.mark_strings(held));
        self.values.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        let matrix = self.matrix.iter().map(HoldsStrings::string_words);
        let extremes = self
            .extremes
            .iter()
            .map(|extremes| extremes.tree.string_words());
        matrix.chain(extremes).sum::<usize>() + self.values.string_words()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.matrix
            .iter_mut()
            .for_each(|tree| tree.forget_strings(gone));
        let extremes = self.extremes.iter_mut();
        extremes.for_each(|extremes| extremes.tree.forget_strings(gone));
        self.values.forget_strings(gone);
    }
}

/// The status of each node of a tree, and all its bytes.
fn described(tree: &dyn Maintained) -> (Vec<NodeStatus>, usize) {
    let nodes = tree.describe();
    let bytes = nodes.iter().map(|node| node.bytes).sum::<usize>();
    (nodes, bytes + tree.memory_usage())
}
