//! A view over a join: its tree, its result and its changes, whatever the ring.

use std::fmt;
use std::sync::Arc;

use crate::plan::Plan;
use ringview_core::{Batch, Dictionary, Meter, Result};
use ringview_query::Representation;

use crate::beside::Beside;
use crate::changes::ChangeLog;
use crate::cofactor::CofactorPayloads;
use crate::delta::RowDelta;
use crate::factorised::Factorised;
use crate::factors::FactorRows;
use crate::maintained::{Maintained, NodeStatus};
use crate::settle::Fallible;
use crate::tree::Tree;
use crate::tree::payloads::SumProductPayloads;
use ringview_relation::Part;
use ringview_view::answer::followers::Followers;

/// Rows of a product of factors that are multiplied out at a time.
const BLOCK: usize = 1 << 16;

/// A maintained view: group-by counts, sums, averages or degree-m payloads over a join.
///
/// Changes go in with [`apply`](Self::apply), one relation after the other; [`settle`](Self::settle)
/// says whether they can be kept and shown. They stay with [`commit`](Self::commit) or go with [`rollback`](Self::rollback). After an error only
/// `rollback` may follow.
pub struct ViewTree {
    pub(crate) plan: Arc<Plan>,
    pub(crate) tree: Box<dyn Maintained>,
    pub(crate) beside: Beside,
    /// Who is told what moves among its groups.
    pub(crate) followers: Followers<ChangeLog>,
    /// Where the rows of a join are kept factorised.
    pub(crate) factorised: Option<Factorised>,
    /// What a change may make unfit to be shown.
    pub(crate) fallible: Option<Fallible>,
}

impl fmt::Debug for ViewTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewTree")
            .field("nodes", &self.describe())
            .finish()
    }
}

impl ViewTree {
    /// An empty view.
    ///
    /// # Errors
    /// What the plan's expressions cannot be compiled for.
    pub fn new(plan: Arc<Plan>) -> Result<Self> {
        let mut tree: Box<dyn Maintained> = match &plan.cofactor {
            Some(cofactor) => {
                let payloads = CofactorPayloads::compile(&plan, cofactor)?;
                Box::new(Tree::new(Arc::clone(&plan), payloads))
            }
            None => {
                let payloads = SumProductPayloads::compile(&plan)?;
                Box::new(Tree::new(Arc::clone(&plan), payloads))
            }
        };
        let mut beside = Beside::new(&plan, tree.fields())?;
        beside.take_origins(&*tree);
        let factorised = plan.bag == Some(Representation::Factorised);
        let factorised = factorised.then(|| Factorised::new(&plan, &mut *tree));
        Ok(Self {
            fallible: Fallible::of(&plan),
            factorised,
            beside,
            plan,
            tree,
            followers: Followers::default(),
        })
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Applies rows of the relation at one atom; `sign` is 1 for inserts, -1 for deletes (and
    /// multiplies the batch's multiplicities). A table that stands at several atoms is applied at
    /// each in turn. Static relations come before all others, and `seal` ends them.
    ///
    /// # Errors
    /// `Overflow`; `NotANumber` for NaN in a key and `NullFeature` for NULL in a feature; what the
    /// meter says. The view must then be rolled back.
    pub fn apply(
        &mut self,
        atom: usize,
        batch: &Batch,
        sign: i64,
        dictionary: &Dictionary,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let rows = RowDelta {
            atom,
            batch,
            sign,
            dictionary,
        };
        match &mut self.factorised {
            Some(factorised) => {
                factorised.apply(&mut *self.tree, rows, meter)?;
            }
            None => self.tree.apply(rows, meter)?,
        }
        self.beside.apply(rows, meter)
    }

    /// Applies rows that are the product of factors over disjoint columns, as `apply` would apply
    /// the rows; every column of the relation belongs to one factor. Where the payloads allow it, the
    /// product is multiplied out only at views that are kept.
    ///
    /// # Errors
    /// As `apply`.
    pub fn apply_factors(
        &mut self,
        atom: usize,
        factors: &[FactorRows],
        sign: i64,
        dictionary: &Dictionary,
        meter: &Meter<'_>,
    ) -> Result<()> {
        if factors.iter().any(|factor| factor.batch.rows == 0) {
            return Ok(());
        }
        // What stands beside, and joins kept factorised, read rows.
        let by_row = !self.beside.is_empty() || self.factorised.is_some();
        let tree = &mut self.tree;
        if !by_row && tree.apply_factors(atom, factors, sign, dictionary, meter)? {
            return Ok(());
        }
        let rows = FactorRows::product_rows(factors)?;
        for start in (0..rows).step_by(BLOCK) {
            let batch = FactorRows::multiplied_out(factors, start, BLOCK.min(rows - start))?;
            self.apply(atom, &batch, sign, dictionary, meter)
                .map_err(|error| error.counted_from(start as u64))?;
            meter.work(batch.rows as u64)?;
        }
        Ok(())
    }

    /// Ends loading of the static relations: frees what only loading needed.
    pub fn seal(&mut self) {
        self.tree.seal();
        self.beside.seal();
    }

    /// Keeps the changes since the last commit; `dictionary` knows the strings that came.
    pub fn commit(&mut self, dictionary: &Dictionary) {
        let all_move = self.tree.recentres() | self.beside.recentres();
        if let (Some(log), Some(result)) = (self.followers.open(), self.tree.result()) {
            log.record(result, &self.beside);
            if all_move {
                log.record_all(result, &self.beside);
            }
        }
        self.beside.commit(dictionary);
        if let Some(factorised) = &mut self.factorised {
            factorised.before_commit(&*self.tree);
        }
        self.tree.commit();
        self.beside.take_origins(&*self.tree);
        if let (Some(log), Some(result)) = (self.followers.open(), self.tree.result()) {
            log.settle(result);
        }
        if self.followers.lost_one() {
            self.tidy();
        }
        if let Some(factorised) = &mut self.factorised {
            factorised.commit(&mut *self.tree);
        }
    }

    /// Undoes the changes since the last commit, exactly.
    pub fn rollback(&mut self) {
        self.tree.rollback();
        if let Some(factorised) = &mut self.factorised {
            factorised.rollback(&mut *self.tree);
        }
        self.beside.rollback();
    }

    /// What each node of the plan's tree holds.
    #[must_use]
    pub fn describe(&self) -> Vec<NodeStatus> {
        self.tree.describe()
    }

    /// Bytes that the views take, with what filters remember of strings.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let factorised = self.factorised.as_ref().map_or(0, Factorised::memory_usage);
        self.followers.memory_usage()
            + factorised
            + self.beside.memory_usage()
            + self.tree.memory_usage()
            + self.describe().iter().map(|node| node.bytes).sum::<usize>()
    }

    /// The same, by what is quickly counted. O(nodes).
    #[must_use]
    pub fn bytes(&self) -> usize {
        let nodes = 0..self.plan.tree.nodes.len();
        let parts = nodes.filter_map(|node| self.tree.part(node));
        let log = self.followers.memory_usage();
        let factorised = self.factorised.as_ref().map_or(0, Factorised::memory_usage);
        parts.map(Part::memory_usage).sum::<usize>() + self.beside.bytes() + log + factorised
    }

    /// Rows handled so far, at leaves, joins and views, and to read a join out of order: the work that complexity is about.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let read = self.factorised.as_ref().map_or(0, Factorised::steps);
        self.tree.steps() + self.beside.steps() + read
    }

    /// Checks the invariants of every part; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self) {
        self.tree.check();
        self.beside.check(self.tree.result());
        if let Some(factorised) = &self.factorised {
            factorised.check(&self.plan, &*self.tree);
        }
    }
}
