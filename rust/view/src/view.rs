//! A view, as the database sees it: it takes rows, and keeps or undoes them; its answer is read.
//!
//! Invariant: a transaction is any number of changes ([`apply`](View::apply), [`apply_product`](View::apply_product)),
//! then [`prepare`](View::prepare), then [`commit`](View::commit); instead of what is left of that, at any point,
//! [`rollback`](View::rollback). After an error only `rollback` may follow. Between transactions the answer is the
//! query over all rows that stayed. Cost: a call through the trait a batch and atom; each engine's candidate states
//! what a change costs.

use std::any::Any;
use std::fmt::Debug;

use arrow_array::RecordBatch;
use ringview_core::{Budget, Dictionary, Error, HoldsStrings, Result};
use ringview_explain::Explanation;
use ringview_query::Bound;

use crate::answer::Answer;
use crate::answer::weighed::each_once;
use crate::delta::{Context, Delta};
use crate::result_table::ResultTable;
use crate::result_table::partial::Since;
use crate::rows::{FactorRows, ProductDelta, RowDelta};

/// Rows of a product that are multiplied out at a time.
const BLOCK: usize = 1 << 16;

/// A query that is kept up to date.
///
/// Its birth: rows of static relations, [`freeze`](Self::freeze), all other rows, `prepare`, `commit`. A table at
/// several atoms of the query is applied at each of them in turn. A view keeps the ids of strings and names them
/// through [`HoldsStrings`]. The database keeps the followers of a view and the views that read it: the view gives the
/// [`Delta`] of its result if the context requests one. Operations of one kind of view are called on that kind, as
/// [`Any`].
pub trait View: HoldsStrings + Any + Debug + Send + Sync {
    /// Takes rows of the relation at one atom: a chunk (65,536 at the most) at a time.
    ///
    /// # Errors
    /// `Overflow`; `NotANumber` for NaN in a key and `NullFeature` for NULL in a feature; cancellation and the
    /// budget of the budget. The view must then be rolled back.
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()>;

    /// Takes rows that are the product of factors, as `apply` would take the rows. By default they are
    /// multiplied out, a block at a time; an engine that can do better says so here.
    ///
    /// # Errors
    /// As `apply`.
    fn apply_product(&mut self, product: ProductDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        multiplied_out(product, cx.budget, |rows| self.apply(rows, cx))
    }

    /// Static relations have all their rows, so storage that only loading needs is released. Called once, before the
    /// first row of any other relation.
    fn freeze(&mut self) {}

    /// Ends the changes of a transaction and gives the change of the result, empty if none was requested. All work that
    /// may fail, and that `apply` did not need, belongs here, not into `commit`: sums must fit, the rows that changed
    /// must be fit to be shown, partitions are rebalanced, a reservoir is refilled.
    ///
    /// # Errors
    /// `Overflow`; cancellation and the budget of the budget. The view must then be rolled back.
    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta>;

    /// The atoms whose rows are loaded next, one after the other in this order, while the view is filled: what none of
    /// them will meet, and nothing reads later, need not be kept. By default all is.
    fn before_load(&mut self, _atoms: &[usize]) {}

    /// Takes rows as `apply` does, in whatever way is the best for many: while a view is filled. They may wait until
    /// `end_load`.
    ///
    /// # Errors
    /// As `apply`.
    fn load(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.apply(rows, cx)
    }

    /// All rows of an atom have been loaded.
    ///
    /// # Errors
    /// As `apply`.
    fn end_load(&mut self, _cx: &Context<'_, '_>) -> Result<()> {
        Ok(())
    }

    /// Keeps the changes since the last commit. Called after `prepare` alone; cannot fail.
    fn commit(&mut self, dictionary: &Dictionary);

    /// Undoes the changes since the last commit, exactly: to the last bit of a float, and beyond the relations too. A
    /// tree, a reservoir or a random generator that changed within the transaction, `prepare` included, is put back
    /// here; each keeps for itself what that takes (a journal, a copy of its few words), as tables and base rows do.
    fn rollback(&mut self);

    /// Its answer. Between transactions only.
    fn answer(&self) -> &dyn Answer;

    /// The groups of sums that it maintains by one of its groupings, where other queries may be answered from them, too:
    /// see [`Facet`](crate::result_table::Facet). By default there are none.
    fn groups(&self, _grouping: usize) -> Option<ResultTable<'_>> {
        None
    }

    /// Forgets the terms that are not marked, the count being marked, and groupings without marks, between two
    /// transactions: what stays is numbered anew, in its order. Whether it did: by default it cannot, and keeps all.
    /// O(keys that are kept).
    fn retain_terms(&mut self, _read: &[Option<Vec<bool>>]) -> bool {
        false
    }

    /// Whether `prepare` can give a delta.
    ///
    /// # Errors
    /// `Unsupported`, with the reason, where the result is computed as it is read.
    fn has_delta(&self) -> Result<()> {
        Ok(())
    }

    /// Its contribution to the view of its query over more rows, all of it between transactions, or what the running
    /// transaction changed once it is prepared; by default its rows as they are read, and of changes nothing. One batch
    /// at least. See `result_table/partial`.
    ///
    /// # Errors
    /// As of the answer; cancellation and the budget of the budget; `Unsupported` if it does not record its changes.
    fn partial(
        &self,
        _query: &Bound,
        since: Since,
        (dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        match since {
            Since::Ever => each_once(self.answer(), dictionary, budget),
            Since::LastCommit => Err(no_partial_changes()),
        }
    }

    /// Its layout, the reasons for it, its costs, and the contents of each node now. O(nodes).
    fn explanation(&self) -> Explanation;

    /// The same of one of its groupings; `names` has by grouping who reads it, and nodes say with whom they are shared.
    fn explanation_of(&self, _grouping: usize, _names: &[Vec<String>]) -> Explanation {
        self.explanation()
    }

    /// Bytes that it takes, auxiliary state included.
    fn memory_usage(&self) -> usize;

    /// The same by what is quickly counted: called after each chunk of rows where memory is limited.
    fn bytes(&self) -> usize {
        self.memory_usage()
    }

    /// Rows handled so far, to maintain it and to read it out of order: the work that complexity is
    /// about. Counted, so that tests of complexity need no clock.
    fn steps(&self) -> u64;

    /// Checks all invariants; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    fn check(&self);
}

/// The error of a view that does not record the changes of its partial.
fn no_partial_changes() -> Error {
    Error::Unsupported {
        what: "following the partials of this view".to_owned(),
        why: "it is kept otherwise than as groups of sums".to_owned(),
        instead: "follow its rows, or take its partial anew".to_owned(),
    }
}

/// Hands on a product as rows, a block at a time.
///
/// # Errors
/// As [`View::apply`].
pub fn multiplied_out(
    product: ProductDelta<'_>,
    budget: &Budget<'_>,
    mut apply: impl FnMut(RowDelta<'_>) -> Result<()>,
) -> Result<()> {
    let rows = FactorRows::product_rows(product.factors)?;
    for start in (0..rows).step_by(BLOCK) {
        let batch = FactorRows::multiplied_out(product.factors, start, BLOCK.min(rows - start))?;
        apply(product.rows(&batch)).map_err(|error| error.counted_from(start as u64))?;
        budget.work(batch.rows as u64)?;
    }
    Ok(())
}
