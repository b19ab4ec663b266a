//! A view, as the database sees it: rows go in, and stay or are undone; its answer is read.
//!
//! Invariant: a transaction is any number of changes ([`apply`](View::apply),
//! [`apply_product`](View::apply_product)), then [`settle`](View::settle), then
//! [`commit`](View::commit); instead of what is left of that, at any point,
//! [`rollback`](View::rollback). After an error only `rollback` may follow. Between transactions the
//! answer is the query over all rows that stayed. Cost: a call through the trait a batch and atom; what
//! a change costs, each engine says in its candidate.

use std::any::Any;
use std::fmt::Debug;

use ringview_core::{Batch, Budget, Dictionary, HoldsStrings, Result};
use ringview_explain::Explanation;
use ringview_query::Bound;

use arrow_array::RecordBatch;

use crate::answer::followers::Follower;
use crate::answer::weighed::each_once;
use crate::answer::{Answer, encoded};
use crate::rows::{FactorRows, ProductDelta, RowDelta};

/// Rows that are handled at a time: of a product that is multiplied out, and of an answer that is read.
const BLOCK: usize = 1 << 16;

/// A query that is kept up to date.
///
/// Its birth: rows of static relations, [`seal`](Self::seal), all other rows, `settle`, `commit`. A table
/// that stands at several atoms of the query is applied at each of them in turn. The dictionary that
/// comes with a call knows all strings of the rows at hand; ids that a view keeps are told through
/// [`HoldsStrings`]. What only one kind of view can do is asked of that kind, as [`Any`].
pub trait View: HoldsStrings + Any + Debug + Send + Sync {
    /// Takes rows of the relation at one atom. Called once a chunk of rows (65,536 at the most) and atom;
    /// an interrupt is asked for through `budget` as work goes on.
    ///
    /// # Errors
    /// `Overflow`; `NotANumber` for NaN in a key and `NullFeature` for NULL in a feature; what the
    /// budget says. The view must then be rolled back.
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()>;

    /// Takes rows that are the product of factors, as `apply` would take the rows. By default they are
    /// multiplied out, a block at a time; an engine that can do better says so here.
    ///
    /// # Errors
    /// As `apply`.
    fn apply_product(&mut self, product: ProductDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        multiplied_out(self, product, budget)
    }

    /// Static relations have all their rows: what only loading needed can go. Called once, before the
    /// first row of any other relation.
    fn seal(&mut self) {}

    /// Ends the changes of a transaction: the last step that can fail. All work that may go wrong and
    /// that rows as such did not ask for belongs here, not into `commit`: sums must fit, what moved in the
    /// answer must be fit to be shown, parts are rebalanced, a reservoir is refilled.
    ///
    /// # Errors
    /// `Overflow`; what the budget says. The view must then be rolled back.
    fn settle(&mut self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()>;

    /// Keeps the changes since the last commit. Called after `settle` alone; cannot fail.
    fn commit(&mut self, dictionary: &Dictionary);

    /// Undoes the changes since the last commit, exactly: to the last bit of a float, and what is no part
    /// of a relation too. A tree, a reservoir or a random generator that moved within the transaction,
    /// `settle` included, is put back here; each keeps for itself what that takes (a journal, a copy of
    /// its few words), as parts and base rows keep theirs.
    fn rollback(&mut self);

    /// What can be read of it. Between transactions only.
    fn answer(&self) -> &dyn Answer;

    /// What it adds to the view of its query over more rows; by default its rows, as they are read. One batch
    /// at least. Between transactions. See `part/partial`.
    ///
    /// # Errors
    /// What the answer cannot read; what the budget says.
    fn partial(
        &self,
        _query: &Bound,
        (dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        each_once(self.answer(), dictionary, budget)
    }

    /// One more who follows the changes. What it is given first is the whole answer as it is at that
    /// moment; or, `from_now`, what moves from here on. Freed with its last copy.
    fn follow(&mut self, from_now: bool) -> Follower;

    /// What moved since a follower of this view was last told to have been given it: the columns of the
    /// answer with a last one of multiplicities. Old rows have -1 and new ones 1; where rows have no
    /// key, each has how much its multiplicity moved. Nothing is forgotten, see
    /// [`advance`](Self::advance). O(what moved since).
    ///
    /// # Errors
    /// As [`Answer::rows`].
    fn changes(&self, follower: &Follower, dictionary: &Dictionary) -> Result<RecordBatch>;

    /// A follower was given what `changes` says now: the next that it is given is what moves from here
    /// on. O(what it was given).
    fn advance(&mut self, follower: &Follower);

    /// Drops what nobody is to be told any more, now; else a commit does.
    fn tidy(&mut self);

    /// Whether `changes` may have rows for a follower. O(followers).
    fn has_moved(&self, follower: &Follower) -> bool;

    /// Says which columns of the answer other views read, of those that can be read, in their order;
    /// `None` where no view does, so that nothing need be noted for them. Between transactions.
    fn feed(&mut self, needed: Option<&[bool]>);

    /// What the running transaction moved in the answer, between `settle` and `commit`: rows in the
    /// columns that can be read, filled in where other views read them, with their multiplicities. Old rows have -1
    /// and new ones 1, or each how much its multiplicity moves; a row that looks as it did is none.
    /// The dictionary learns the strings that are computed; they go with the transaction. O(what
    /// moved).
    ///
    /// # Errors
    /// `Overflow`; what the budget says. The view must then be rolled back.
    fn moved(&mut self, dictionary: &mut Dictionary, budget: &Budget<'_>) -> Result<Batch>;

    /// Rows of the answer as a view above takes them at its birth, as many as are handled well at a
    /// time: in the columns that can be read, those that are `needed`, from a place on; and the place
    /// behind them, if there may be more. The first place is 0, by default the others are positions in
    /// the answer. Between transactions. O(rows handed out), and what a slice of the answer costs.
    ///
    /// # Errors
    /// As [`Answer::rows`].
    fn rows_from(
        &self,
        place: u64,
        needed: &[bool],
        dictionary: &mut Dictionary,
        budget: &Budget<'_>,
    ) -> Result<(Batch, Option<u64>)> {
        let answer = self.answer();
        let (all, next) = (answer.len(dictionary)?, place + BLOCK as u64);
        let rows = answer.slice((place, next), dictionary, budget)?;
        let batch = encoded(&rows, needed, dictionary)?;
        Ok((batch, (next < all).then_some(next)))
    }

    /// How it is kept, why, what that costs, and what each of its nodes holds now. O(nodes).
    fn explanation(&self) -> Explanation;

    /// Bytes that it takes, all that stands beside it included.
    fn memory_usage(&self) -> usize;

    /// The same by what is quickly counted: asked after each chunk of rows where memory is limited.
    fn bytes(&self) -> usize;

    /// Rows handled so far, to maintain it and to read it out of order: the work that complexity is
    /// about. Counted, so that tests of complexity need no clock.
    fn steps(&self) -> u64;

    /// Checks all invariants; for tests.
    ///
    /// # Panics
    /// When one does not hold.
    fn check(&self);
}

/// Takes a product as rows, a block at a time.
///
/// # Errors
/// As [`View::apply`].
pub fn multiplied_out<V: View + ?Sized>(
    view: &mut V,
    product: ProductDelta<'_>,
    budget: &Budget<'_>,
) -> Result<()> {
    let rows = FactorRows::product_rows(product.factors)?;
    for start in (0..rows).step_by(BLOCK) {
        let batch = FactorRows::multiplied_out(product.factors, start, BLOCK.min(rows - start))?;
        view.apply(product.rows(&batch), budget)
            .map_err(|error| error.counted_from(start as u64))?;
        budget.work(batch.rows as u64)?;
    }
    Ok(())
}
