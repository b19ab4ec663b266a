//! What stands beside the tree of a view: companions, and degree-m payloads where it has sums too.
//!
//! Invariant: it has taken the rows that the tree has taken. The tree of the degree-m payloads is the
//! view's but for its ring, so a key of one root is a key of the other. Within a transaction companions
//! and origins are what they were before it.
//! Cost: what a view of its own would cost, but for the plan.

use std::collections::HashMap;
use std::sync::Arc;

use crate::plan::{CofactorPlan, Plan};
use ringview_core::{Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_query::VarId;
use ringview_relation::{ABSENT, KeyScratch, Keys, Part, SlotChange};
use ringview_view::RowDelta;
use ringview_view::answer::values::{Tallies, When, by_row, no_tallies};
use ringview_view::answer::{Further, Members};
use ringview_view::fields::Fields;

use crate::cofactor::CofactorPayloads;
use crate::companion::Companion;
use crate::maintained::{Maintained, NodeStatus};
use crate::tree::Tree;

/// Everything beside the tree of a view.
#[derive(Default)]
pub(crate) struct Beside {
    /// What a COFACTOR beside sums is read from.
    matrix: Option<Tree<CofactorPayloads>>,
    /// What MIN, MAX and COUNT(DISTINCT) are read from.
    summarized: Vec<Companion>,
    /// What the categories of a COFACTOR are read from.
    tallied: Vec<Companion>,
    /// What the degree-m payloads are counted from, here or in the tree of the view.
    origins: Vec<u64>,
    /// What the payload of a group is made of, that in the tree first.
    members: Members,
}

impl Beside {
    /// What the plan of a view with these fields asks for, empty.
    pub(crate) fn new(plan: &Plan, fields: &Fields) -> Result<Self> {
        let keys: &[VarId] = &plan.tree.nodes[plan.tree.root].keys;
        let companion = |planned| Companion::new(planned, fields, keys);
        let categories = plan.features().into_iter();
        let categories = categories.flat_map(CofactorPlan::companions);
        let matrix = match plan.matrix.as_deref().map(|plan| (plan, &plan.cofactor)) {
            Some((plan, Some(cofactor))) => {
                let payloads = CofactorPayloads::compile(plan, cofactor)?;
                Some(Tree::new(Arc::new(plan.clone()), payloads))
            }
            _ => None,
        };
        Ok(Self {
            matrix,
            summarized: plan
                .companions
                .iter()
                .map(companion)
                .collect::<Result<_>>()?,
            tallied: categories.map(companion).collect::<Result<_>>()?,
            origins: Vec::new(),
            members: plan.members(),
        })
    }

    /// Those that values are read from, those of categories behind the others.
    pub(crate) fn companions(&self) -> impl Iterator<Item = &Companion> {
        self.summarized.iter().chain(&self.tallied)
    }

    fn companions_mut(&mut self) -> impl Iterator<Item = &mut Companion> {
        self.summarized.iter_mut().chain(&mut self.tallied)
    }

    /// The keys of the degree-m payloads.
    fn matrix_root(&self) -> Option<&Part> {
        self.matrix.as_ref()?.result()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.matrix.is_none() && self.companions().next().is_none()
    }

    pub(crate) fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        if let Some(matrix) = &mut self.matrix {
            matrix.apply(rows, budget)?;
        }
        let mut companions = self.companions_mut();
        companions.try_for_each(|companion| companion.apply(rows, budget))
    }

    pub(crate) fn seal(&mut self) {
        self.matrix.iter_mut().for_each(Tree::seal);
        self.companions_mut().for_each(Companion::seal);
    }

    pub(crate) fn settle(&self) -> Result<()> {
        self.matrix.iter().try_for_each(Maintained::settle)?;
        self.companions().try_for_each(Companion::settle)
    }

    /// The tree of the view keeps larger sums from now on.
    pub(crate) fn grow(&mut self) {
        self.members.grow();
    }

    /// Before a commit: as that of a tree.
    pub(crate) fn recentres(&mut self) -> bool {
        self.matrix.as_mut().is_some_and(Maintained::recentres)
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
        self.matrix.iter_mut().for_each(Maintained::commit);
        self.companions_mut()
            .for_each(|companion| companion.commit(dictionary));
    }

    pub(crate) fn rollback(&mut self) {
        self.matrix.iter_mut().for_each(Maintained::rollback);
        self.companions_mut().for_each(Companion::rollback);
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.describe().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Bytes, by what is quickly counted.
    pub(crate) fn bytes(&self) -> usize {
        let views = self.matrix.iter().flat_map(|tree| &tree.views);
        let parts = views.filter_map(|view| view.part());
        parts.map(Part::memory_usage).sum::<usize>()
            + self.companions().map(Companion::bytes).sum::<usize>()
    }

    /// What the nodes of each tree hold, and all the bytes of each, in the order in which the plan
    /// speaks of them.
    pub(crate) fn describe(&self) -> Vec<(Vec<NodeStatus>, usize)> {
        let matrix = self.matrix.iter().map(|tree| {
            let nodes = Maintained::describe(tree);
            let bytes = nodes.iter().map(|node| node.bytes).sum::<usize>();
            (nodes, bytes + Maintained::memory_usage(tree))
        });
        let companions = self.companions().map(|c| (c.describe(), c.memory_usage()));
        matrix.chain(companions).collect()
    }

    pub(crate) fn steps(&self) -> u64 {
        let matrix = self.matrix.iter().map(Maintained::steps);
        matrix.sum::<u64>() + self.companions().map(Companion::steps).sum::<u64>()
    }

    /// Checks the invariants, of which one is told by the keys of the view's root; for tests.
    pub(crate) fn check(&self, root: Option<&Part>) {
        self.companions().for_each(Companion::check);
        let (Some(matrix), Some(root)) = (&self.matrix, root) else {
            return;
        };
        Maintained::check(matrix);
        let of = self.matrix_root().map_or(0, Part::len);
        assert_eq!(of, root.len(), "keys of two trees over the same rows");
    }
}

impl Further for Beside {
    fn members(&self) -> &Members {
        &self.members
    }

    /// The degree-m payloads of the keys, what the companions say of them, the origins.
    fn fill(&self, keys: &[Vec<u64>], rows: &mut [u64], when: When<'_>) {
        let width = self.members.width();
        let count = rows.len() / width;
        if let (Some(root), Some((words, _))) = (self.matrix_root(), self.members.features()) {
            let payloads = payloads(root, keys, count, when);
            for (row, payload) in rows.chunks_exact_mut(width).zip(payloads) {
                if let Some(payload) = payload {
                    row[words.clone()].copy_from_slice(payload);
                }
            }
        }
        for (companion, words) in self.summarized.iter().zip(self.members.summaries()) {
            let summaries = companion.summaries(keys, count, when);
            for (row, summary) in rows.chunks_exact_mut(width).zip(summaries) {
                row[words.clone()].copy_from_slice(&summary);
            }
        }
        let words = self.members.origins();
        if !words.is_empty() {
            let rows = rows.chunks_exact_mut(width);
            rows.for_each(|row| row[words.clone()].copy_from_slice(&self.origins));
        }
    }

    fn tallies(&self, keys: &[Vec<u64>], rows: usize, when: When<'_>) -> Vec<Tallies> {
        let companions = self.tallied.iter();
        let tallies = companions.map(|companion| companion.tallies(keys, rows, when));
        by_row(tallies.collect(), rows)
    }

    fn no_tallies(&self) -> Option<Tallies> {
        no_tallies(self.tallied.len())
    }

    fn part(&self) -> Option<&Part> {
        self.matrix_root()
    }
}

/// The payloads of some keys of a part: as they were before the running transaction, or as they are.
fn payloads<'a>(
    root: &'a Part,
    keys: &[Vec<u64>],
    rows: usize,
    when: When<'_>,
) -> Vec<Option<&'a [u64]>> {
    let mut before = HashMap::new();
    let changes = matches!(when, When::Before).then(|| root.changes());
    for change in changes.into_iter().flatten() {
        // The first change of a slot tells what was there before.
        match change {
            SlotChange::New(slot) => before.entry(slot).or_insert(None),
            SlotChange::Was(slot, payload) => before.entry(slot).or_insert(Some(payload)),
        };
    }
    let fields: Vec<usize> = (0..keys.len()).collect();
    let keys = Keys {
        columns: keys,
        fields: &fields,
        rows,
    };
    let mut slots = Vec::new();
    root.find(keys, &mut KeyScratch::default(), &mut slots);
    let payload = |slot: &u32| match before.get(slot) {
        Some(was) => *was,
        None => (*slot != ABSENT).then(|| root.payload(*slot)),
    };
    slots.iter().map(payload).collect()
}

impl HoldsStrings for Beside {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.matrix.iter().for_each(|tree| tree.mark_strings(held));
        self.companions().for_each(|one| one.mark_strings(held));
    }

    fn string_words(&self) -> usize {
        let matrix = self.matrix.iter().map(HoldsStrings::string_words);
        let companions = self.companions().map(HoldsStrings::string_words);
        matrix.chain(companions).sum()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.matrix
            .iter_mut()
            .for_each(|tree| tree.forget_strings(gone));
        self.companions_mut()
            .for_each(|one| one.forget_strings(gone));
    }
}
