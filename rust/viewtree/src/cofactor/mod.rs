//! Payloads of the degree-m matrix ring: rows lifted group by group, their features counted from
//! origins.
//!
//! Invariant: between transactions every payload of a tree is counted from the same origins. Cost: a
//! subtraction a value, where it is read.

mod origins;

use std::sync::Arc;

use ringview_core::{Batch, Dictionary, Error, FreedIds, Result, Schema};
use ringview_query::Kind;
use ringview_relation::{KeyedTable, Relation};
use ringview_ring::{Cofactor, CofactorProduct, CofactorShape, Expansion, Groups, Lift};
use ringview_view::read::{AtomProgram, Selection};

use crate::factors::Factored;
use crate::overflow;
use crate::plan::{CofactorPlan, Plan};
use crate::program::ProductPlan;
use crate::tree::Tree;
use crate::tree::payloads::at_leaf;
use crate::tree::{Payloads, Recentred, Recentring};

use origins::{Origins, subtract};

/// Factor by which a batch must outnumber all rows before it, for its values to be sampled before they are read.
const MANY: u64 = 8;

/// A leaf: its program, the columns that must not be NULL, and room for a batch.
#[derive(Clone, Debug)]
struct Leaf {
    program: AtomProgram,
    not_null: Vec<usize>,
    place: String,
    schema: Arc<Schema>,
    /// Feature values row by row.
    values: Vec<f64>,
    times: Vec<i64>,
    lift: Lift,
}

/// The payloads of COFACTOR.
#[derive(Clone, Debug)]
pub(crate) struct CofactorPayloads {
    plan: CofactorPlan,
    /// By node.
    leaves: Vec<Option<Leaf>>,
    /// By feature.
    kinds: Vec<Kind>,
    origins: Origins,
    /// By node, whether its view held a key at the last commit.
    filled: Vec<bool>,
}

impl CofactorPayloads {
    pub(crate) fn compile(plan: &Plan, cofactor: &CofactorPlan) -> Result<Self> {
        let mut leaves = Vec::with_capacity(plan.tree.nodes.len());
        let mut kinds = vec![Kind::Real; cofactor.names.len()];
        for (node, description) in plan.tree.nodes.iter().enumerate() {
            let Some(atom) = description.atom else {
                leaves.push(None);
                continue;
            };
            let of = &plan.atoms[atom];
            let (keys, factors) = (plan.join_columns(node), plan.factors(node));
            let leaf = Leaf {
                program: AtomProgram::compile(of, &keys, &factors)?,
                not_null: cofactor.not_null[atom].clone(),
                place: of.table.clone(),
                schema: Arc::clone(&of.schema),
                values: Vec::new(),
                times: Vec::new(),
                lift: Lift::default(),
            };
            // Component 0 is the count.
            let features = cofactor.nodes[node].iter();
            for (&feature, kind) in features.zip(leaf.program.kinds().skip(1)) {
                kinds[feature] = kind;
            }
            leaves.push(Some(leaf));
        }
        Ok(Self {
            plan: cofactor.clone(),
            filled: vec![false; leaves.len()],
            leaves,
            origins: Origins::new(kinds.len()),
            kinds,
        })
    }

    /// Positions of the features in the payload of a node.
    fn positions(&self, node: usize, features: impl Iterator<Item = usize>) -> Vec<usize> {
        let all = &self.plan.nodes[node];
        features
            .filter_map(|feature| all.iter().position(|other| *other == feature))
            .collect()
    }
}

impl ProductPlan<Cofactor> for CofactorPayloads {
    fn shape(&self, node: usize) -> CofactorShape {
        CofactorShape {
            variables: self.plan.nodes[node].len(),
        }
    }

    fn products(
        &self,
        _: &Plan,
        node: usize,
        from: usize,
        siblings: &[usize],
    ) -> Vec<CofactorProduct> {
        let mut left = self.positions(node, self.plan.nodes[from].iter().copied());
        let product = |&sibling: &usize| {
            let right = self.positions(node, self.plan.nodes[sibling].iter().copied());
            let product = CofactorProduct::new(&left, &right);
            left.extend(right);
            left.sort_unstable();
            product
        };
        siblings.iter().map(product).collect()
    }
}

impl Recentred for CofactorPayloads {
    fn foresee(tree: &mut Tree<Self>, leaf: usize, batch: &Batch) -> Result<()> {
        tree.recentre_before_many(leaf, batch)
    }

    fn origins(&self) -> &[u64] {
        self.origins.shown()
    }

    fn recentring(tree: &mut Tree<Self>) -> Option<Recentring> {
        tree.look_at_means();
        let root = tree.plan.tree.root;
        let payloads = &tree.payloads;
        let own = &payloads.plan.nodes[root];
        // Keys without rows are removed at the commit.
        let has_rows = |table: &KeyedTable| table.iter().any(|slot| table.payload(slot)[0] != 0);
        let now = |view: &Relation<Cofactor>| view.table().is_some_and(has_rows);
        // One without changes has rows if it had some.
        let stays = |view: &Relation<Cofactor>| view.table().is_some() && !view.has_changed();
        let mut nodes = tree.views.iter().zip(&payloads.filled);
        if !payloads.origins.are_changing()
            && nodes.all(|(view, &filled)| stays(view) || now(view) == filled)
        {
            return None;
        }
        let by = payloads.origins.coming_shift();
        let holds = |feature: usize| {
            let mut nodes = tree.views.iter().zip(&payloads.plan.nodes).rev();
            nodes.any(|(view, features)| features.contains(&feature) && now(view))
        };
        Some(Recentring {
            origins: payloads.origins.coming(holds),
            shape: payloads.shape(root),
            by: by.map(|by| own.iter().map(|&feature| by[feature]).collect()),
        })
    }

    fn commit(tree: &mut Tree<Self>) {
        tree.move_origins();
    }

    fn rollback(&mut self) {
        self.origins.rollback();
    }
}

impl Payloads for CofactorPayloads {
    type Ring = Cofactor;

    fn select(
        &mut self,
        leaf: usize,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Selection,
    ) -> Result<()> {
        let leaf = at_leaf(&mut self.leaves, leaf);
        leaf.program.select(batch, dictionary, into)?;
        leaf.refuse_nulls(batch, into)
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
        let shape = self.shape(leaf);
        let features = &self.plan.nodes[leaf];
        let leaf = at_leaf(&mut self.leaves, leaf);
        leaf.count(batch, selection, sign)?;
        let numbers = leaf.times.len() * shape.variables;
        leaf.values.resize(numbers + Lift::BEHIND, 0.0);
        if leaf.times.is_empty() {
            out.clear();
            return Ok(());
        }
        for (at, &feature) in features.iter().enumerate() {
            // Component 0 is the count.
            let (kind, values) = (
                self.kinds[feature],
                leaf.program.factor(at + 1, batch, selection)?,
            );
            let origin = self.origins.of(feature, kind, values);
            let out = &mut leaf.values[at..numbers];
            subtract(kind, values, origin, out, features.len());
        }
        if matches!(groups, Groups::Each(_)) {
            out.clear();
            // A row by itself stays a row.
            for (row, &times) in leaf.times.iter().enumerate() {
                let values = &leaf.values[row * shape.variables..][..shape.variables];
                out.push(times as u64);
                out.extend(values.iter().map(|value| value.to_bits()));
            }
            return Ok(());
        }
        let (values, times) = (&leaf.values, &leaf.times);
        if leaf.lift.rows(shape, values, times, groups, out) {
            return Err(overflow("the count of a batch".to_owned()));
        }
        Ok(())
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        let leaves = self.leaves.iter_mut().flatten();
        leaves.for_each(|leaf| leaf.program.forget_strings(gone));
    }

    fn memory_usage(&self) -> usize {
        let leaves = self.leaves.iter().flatten();
        leaves.map(|leaf| leaf.program.memory_usage()).sum()
    }
}

/// Rows are lifted whole.
impl Factored for CofactorPayloads {}

impl Tree<CofactorPayloads> {
    /// Finds the origins that the next commit will move, from the groups of the root.
    fn look_at_means(&mut self) {
        let Self {
            plan,
            views,
            payloads,
            ..
        } = self;
        let CofactorPayloads {
            plan: cofactor,
            kinds,
            origins,
            ..
        } = payloads;
        let Some(root) = views[plan.tree.root].table() else {
            return;
        };
        let rows = views.iter().map(Relation::reached).sum();
        if !origins.is_due(rows, root.len()) {
            return;
        }
        // Keys without rows are removed at the commit.
        let groups = root.iter().map(|slot| root.payload(slot));
        let groups = groups.filter(|payload| payload[0] != 0);
        let order = &cofactor.nodes[plan.tree.root];
        let covering = |features: &[usize]| covering(cofactor, views, features);
        origins.look(rows, (groups, order), kinds, covering);
    }

    /// Runs before rows are read at a leaf. If they outnumber the earlier rows many times and lie far from their
    /// origins, the few existing payloads move first, so that the new rows are not rounded around a distant origin.
    fn recentre_before_many(&mut self, leaf: usize, batch: &Batch) -> Result<()> {
        let Self {
            views,
            payloads,
            work,
            scratch,
            ..
        } = self;
        let selection = &scratch.selection;
        let coming = selection.len() as u64;
        let earlier = views[leaf].reached() - coming;
        if earlier == 0 || coming < MANY * earlier {
            return Ok(());
        }
        let CofactorPayloads {
            plan,
            leaves,
            kinds,
            origins,
            ..
        } = payloads;
        let program = &mut at_leaf(leaves, leaf).program;
        for (at, &feature) in plan.nodes[leaf].iter().enumerate() {
            let values = program.factor(at + 1, batch, selection)?;
            origins.foresee((feature, kinds[feature]), values, (earlier, coming));
        }
        let rows = views.iter().map(Relation::reached).sum();
        let moved = origins.move_now(rows, |features| covering(plan, views, features));
        let Some(by) = moved else { return Ok(()) };
        for (view, by) in moving(plan, views, &by) {
            let (shape, scratch) = (*view.shape(), &mut Vec::new());
            work.steps += view.rewrite(|payload| shape.recentre(payload, &by, scratch)) as u64;
        }
        Ok(())
    }

    /// After a commit: moves the origins that are to be moved, in all payloads, and forgets those of
    /// features that no payload covers any more.
    fn move_origins(&mut self) {
        let Self {
            views,
            payloads,
            work,
            ..
        } = self;
        let CofactorPayloads {
            plan,
            origins,
            filled,
            ..
        } = payloads;
        let mut changed = origins.are_changing();
        for (view, filled) in views.iter().zip(filled) {
            let now = view.filled().is_some();
            changed |= std::mem::replace(filled, now) != now;
        }
        let by = origins.commit();
        if !changed {
            return;
        }
        if let Some(by) = by {
            for (view, by) in moving(plan, views, &by) {
                let (shape, scratch) = (*view.shape(), &mut Vec::new());
                if let Some(table) = view.table_mut() {
                    table.rewrite(|payload| shape.recentre(payload, &by, scratch));
                    work.steps += table.len() as u64;
                }
            }
        }
        origins.keep(|feature| {
            let mut nodes = views.iter().zip(&plan.nodes).rev();
            nodes.any(|(view, features)| features.contains(&feature) && view.filled().is_some())
        });
    }
}

/// Number of keys in kept views that cover any of the given features.
fn covering(plan: &CofactorPlan, views: &[Relation<Cofactor>], features: &[usize]) -> usize {
    let covers = |node: &Vec<usize>| node.iter().any(|feature| features.contains(feature));
    let nodes = plan.nodes.iter().zip(views);
    let tables = nodes.filter(|(node, _)| covers(node));
    let tables = tables.filter_map(|(_, view)| view.table());
    tables.map(|table| table.len()).sum()
}

/// The views that cover a feature that moves, each with how its own features do.
fn moving<'a>(
    plan: &'a CofactorPlan,
    views: &'a mut [Relation<Cofactor>],
    by: &'a [Expansion],
) -> impl Iterator<Item = (&'a mut Relation<Cofactor>, Vec<Expansion>)> {
    let own = |features: &Vec<usize>| features.iter().map(|&f| by[f]).collect::<Vec<_>>();
    let views = views.iter_mut().zip(plan.nodes.iter().map(own));
    views.filter(|(_, by)| by.iter().any(|by| *by != Expansion::default()))
}

impl Leaf {
    /// NULL is no number: a row with one in a feature is refused, not guessed at.
    fn refuse_nulls(&self, batch: &Batch, selection: &Selection) -> Result<()> {
        for &column in &self.not_null {
            let data = batch.column(column);
            let mut rows = (0..selection.len()).map(|at| row_of(selection, at));
            if let Some(row) = rows.find(|&row| data.is_null(row)) {
                return Err(Error::NullFeature {
                    table: self.place.clone(),
                    column: self.schema.fields()[column].name.clone(),
                    row: row as u64,
                });
            }
        }
        Ok(())
    }

    /// The multiplicities of the selected rows.
    fn count(&mut self, batch: &Batch, selection: &Selection, sign: i64) -> Result<()> {
        let rows = selection.len();
        self.times.clear();
        match &batch.multiplicity {
            None => self.times.resize(rows, sign),
            Some(all) => {
                let times = |at| all[row_of(selection, at)].checked_mul(sign);
                for at in 0..rows {
                    let refused = || overflow("a row's multiplicity".to_owned());
                    self.times.push(times(at).ok_or_else(refused)?);
                }
            }
        }
        Ok(())
    }
}

fn row_of(selection: &Selection, at: usize) -> usize {
    selection.rows().map_or(at, |rows| rows[at] as usize)
}
