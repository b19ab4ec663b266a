//! A view over a join: its tree, its result and its changes, whatever the ring.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use ringview_core::{Batch, Dictionary, Result, Schema};
use ringview_query::Plan;

use crate::changes::ChangeLog;
use crate::cofactor::CofactorPayloads;
use crate::maintained::{Maintained, NodeStatus};
use crate::payloads::SumProductPayloads;
use crate::result::{Assembler, ResultRows};
use crate::tree::Tree;

/// A maintained view: group-by counts, sums, averages or degree-m payloads over a join.
///
/// Changes go in with [`apply`](Self::apply), one relation after the other, and stay with
/// [`commit`](Self::commit) or go with [`rollback`](Self::rollback). After an error only
/// `rollback` may follow.
pub struct ViewTree {
    plan: Arc<Plan>,
    tree: Box<dyn Maintained>,
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
        Ok(Self {
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
        self.tree.apply(atom, batch, sign, dictionary)
    }

    /// Ends loading of the static relations: frees what only loading needed.
    pub fn seal(&mut self) {
        self.tree.seal();
    }

    /// Keeps the changes since the last commit.
    pub fn commit(&mut self) {
        if let (Some(log), Some(result)) = (&mut self.log, self.tree.result()) {
            log.record(result);
        }
        self.tree.commit();
    }

    /// Undoes the changes since the last commit, exactly.
    pub fn rollback(&mut self) {
        self.tree.rollback();
    }

    /// The number of rows of the result.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.tree.result() {
            Some(result) if result.layout().fields() > 0 => result.len(),
            _ => 1,
        }
    }

    /// Whether the result has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The schema of the result.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::new(self.assembler(&Dictionary::new()).schema())
    }

    /// The result. O(rows).
    ///
    /// # Errors
    /// `Overflow` if a sum of several terms does not fit.
    pub fn result(&self, dictionary: &Dictionary) -> Result<RecordBatch> {
        let rows = self.tree.result().map(ResultRows::all).unwrap_or_default();
        self.assembler(dictionary).batch(&rows, Vec::new())
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
        let (rows, multiplicities) = match &mut self.log {
            Some(log) => log.take(result),
            None => {
                let rows = ResultRows::all(result);
                let ones = vec![1; rows.rows];
                self.log = Some(ChangeLog::new(result));
                (rows, ones)
            }
        };
        let field = Field::new("multiplicity", DataType::Int64, false);
        let column: ArrayRef = Arc::new(Int64Array::from(multiplicities));
        self.assembler(dictionary)
            .batch(&rows, vec![(field, column)])
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
        log + self.tree.memory_usage()
            + self.describe().iter().map(|node| node.bytes).sum::<usize>()
    }

    /// Rows handled so far, at leaves, joins and views: the work that complexity is about.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.tree.steps()
    }

    /// Checks the invariants of every part; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self) {
        self.tree.check();
    }
}
