//! A view over a join: its tree, its result and its changes, whatever the ring.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Dictionary, Result, Schema};
use ringview_query::{CofactorPlan, Plan};

use crate::changes::ChangeLog;
use crate::cofactor::CofactorPayloads;
use crate::companion::Companion;
use crate::maintained::{Maintained, NodeStatus};
use crate::payloads::SumProductPayloads;
use crate::result::{Assembler, Beside, ResultRows};
use crate::tree::Tree;

/// A maintained view: group-by counts, sums, averages or degree-m payloads over a join.
///
/// Changes go in with [`apply`](Self::apply), one relation after the other, and stay with
/// [`commit`](Self::commit) or go with [`rollback`](Self::rollback). After an error only
/// `rollback` may follow.
pub struct ViewTree {
    plan: Arc<Plan>,
    tree: Box<dyn Maintained>,
    beside: Beside,
    log: Option<ChangeLog>,
}

impl fmt::Debug for ViewTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewTree")
            .field("nodes", &self.describe())
            .finish()
    }
}

impl ViewTree {
    /// An empty view. `schemas` are those of the plan's atoms, in their order.
    ///
    /// # Errors
    /// What the plan's expressions cannot be compiled for.
    pub fn new(plan: Arc<Plan>, schemas: &[Schema]) -> Result<Self> {
        let tree: Box<dyn Maintained> = match &plan.cofactor {
            Some(cofactor) => {
                let payloads = CofactorPayloads::compile(&plan, cofactor, schemas)?;
                Box::new(Tree::new(Arc::clone(&plan), payloads))
            }
            None => {
                let payloads = SumProductPayloads::compile(&plan, schemas)?;
                Box::new(Tree::new(Arc::clone(&plan), payloads))
            }
        };
        let keys = &plan.tree.nodes[plan.tree.root].keys;
        let companion = |c| Companion::new(c, schemas, tree.fields(), keys);
        let summarized = plan.companions.iter().map(companion);
        let categories = plan.cofactor.iter().flat_map(CofactorPlan::companions);
        Ok(Self {
            beside: Beside {
                summarized: summarized.collect::<Result<_>>()?,
                tallied: categories.map(companion).collect::<Result<_>>()?,
            },
            plan,
            tree,
            log: None,
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
    /// `Overflow`; `NotANumber` for NaN in a key; the view must then be rolled back.
    pub fn apply(
        &mut self,
        atom: usize,
        batch: &Batch,
        sign: i64,
        dictionary: &Dictionary,
    ) -> Result<()> {
        self.tree.apply(atom, batch, sign, dictionary)?;
        let mut companions = self.beside.iter_mut();
        companions.try_for_each(|companion| companion.apply(atom, batch, sign, dictionary))
    }

    /// Ends loading of the static relations: frees what only loading needed.
    pub fn seal(&mut self) {
        self.tree.seal();
        self.beside.iter_mut().for_each(Companion::seal);
    }

    /// Keeps the changes since the last commit; `dictionary` knows the strings that came.
    pub fn commit(&mut self, dictionary: &Dictionary) {
        if let (Some(log), Some(result)) = (&mut self.log, self.tree.result()) {
            log.record(result, &self.beside);
        }
        for companion in self.beside.iter_mut() {
            companion.commit(dictionary);
        }
        self.tree.commit();
    }

    /// Undoes the changes since the last commit, exactly.
    pub fn rollback(&mut self) {
        self.tree.rollback();
        self.beside.iter_mut().for_each(Companion::rollback);
    }

    /// The number of groups: of the result's rows, where no HAVING leaves some out. O(1).
    #[must_use]
    pub fn groups(&self) -> usize {
        match self.tree.result() {
            Some(result) if result.layout().fields() > 0 => result.len(),
            _ => 1,
        }
    }

    /// The number of rows of the result. O(1), or O(groups) with HAVING.
    ///
    /// # Errors
    /// `Overflow` if what HAVING computes does not fit.
    pub fn len(&self, dictionary: &Dictionary) -> Result<usize> {
        if self.plan.having.is_none() {
            return Ok(self.groups());
        }
        self.assembler(dictionary).count(&self.rows())
    }

    /// The schema of the result.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::new(self.assembler(&Dictionary::new()).schema())
    }

    /// The result. O(rows).
    ///
    /// # Errors
    /// `Overflow` if a sum of several terms, or what is computed from aggregates, does not fit.
    pub fn result(&self, dictionary: &Dictionary) -> Result<RecordBatch> {
        self.assembler(dictionary).batch(self.rows())
    }

    /// A row for each group.
    fn rows(&self) -> ResultRows {
        let all = |result| ResultRows::all(result, &self.beside);
        self.tree.result().map(all).unwrap_or_default()
    }

    /// What moved since the last call: old rows with multiplicity -1, new ones with +1. The first
    /// call gives the whole result. O(groups touched since).
    ///
    /// # Errors
    /// As `result`.
    pub fn changes(&mut self, dictionary: &Dictionary) -> Result<RecordBatch> {
        let Some(result) = self.tree.result() else {
            return self.result(dictionary);
        };
        let beside = &self.beside;
        let (rows, multiplicities) = match &mut self.log {
            Some(log) => log.take(result, beside),
            None => {
                let rows = ResultRows::all(result, beside);
                let ones = vec![1; rows.rows];
                self.log = Some(ChangeLog::new(result, beside));
                (rows, ones)
            }
        };
        self.assembler(dictionary).changes(rows, multiplicities)
    }

    fn assembler<'a>(&'a self, dictionary: &'a Dictionary) -> Assembler<'a> {
        Assembler {
            plan: &self.plan,
            fields: self.tree.fields(),
            aggregates: self.tree.aggregates(),
            dictionary,
        }
    }

    /// What each node of the plan's tree holds.
    #[must_use]
    pub fn describe(&self) -> Vec<NodeStatus> {
        self.tree.describe()
    }

    /// Bytes that the views take, with what filters remember of strings.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let log = self.log.as_ref().map_or(0, ChangeLog::memory_usage);
        let companions = self.beside.iter().map(Companion::memory_usage);
        log + companions.sum::<usize>()
            + self.tree.memory_usage()
            + self.describe().iter().map(|node| node.bytes).sum::<usize>()
    }

    /// Rows handled so far, at leaves, joins and views: the work that complexity is about.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let companions = self.beside.iter().map(Companion::steps);
        self.tree.steps() + companions.sum::<u64>()
    }

    /// Checks the invariants of every part; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self) {
        self.tree.check();
        self.beside.iter().for_each(Companion::check);
    }
}
