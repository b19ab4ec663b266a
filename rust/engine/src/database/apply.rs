//! Transactions: lists of changes that happen together or not at all.
//!
//! Invariant and cost: those of `transaction`.

use ringview_core::Result;

use super::Database;
use super::suspend::Suspended;
use crate::op::Change;
use crate::{OnCommit, Poll};

impl Database {
    /// Applies a transaction. `poll` is called after each chunk, and within long work.
    ///
    /// # Errors
    /// `UnknownTable`, `Static`; what the encoder refuses in names, types and values; `OverDelete`
    /// and `Duplicate`, `UnknownKey` and `NullKey`; `Unsupported` for changes by key of a table without
    /// one or without base rows; `Overflow`, `NotANumber` and `NullFeature`; what `poll` returns. Nothing
    /// has changed then.
    pub fn apply<'a, C>(&mut self, ops: &[C], poll: Poll<'_>) -> Result<()>
    where
        C: Copy + Into<Change<'a>>,
    {
        self.apply_with(ops, false, poll, &mut || Ok(()))
    }

    /// Applies a transaction by its net effect: a delete may precede its insert.
    ///
    /// # Errors
    /// As `apply`; `Unsupported` if a table is changed both by key and by whole rows.
    pub fn apply_net<'a, C>(&mut self, ops: &[C], poll: Poll<'_>) -> Result<()>
    where
        C: Copy + Into<Change<'a>>,
    {
        self.apply_with(ops, true, poll, &mut || Ok(()))
    }

    /// Applies a transaction, of which the net effect counts if `net`, and calls `keep` once it is known
    /// that nothing else can fail. A view that fails and may be suspended is, in the place of a refusal.
    ///
    /// # Errors
    /// As `apply` or `apply_net`; what `keep` returns, and then nothing has changed either.
    pub fn apply_with<'a, C>(
        &mut self,
        ops: &[C],
        net: bool,
        poll: Poll<'_>,
        keep: OnCommit<'_>,
    ) -> Result<()>
    where
        C: Copy + Into<Change<'a>>,
    {
        let mut suspended = Suspended::default();
        loop {
            let done = self.state.apply(ops, net, &mut *poll, &mut *keep);
            let again = match &done {
                Ok(()) => Ok(false),
                Err(error) => self.suspend_failed(error, &mut suspended),
            };
            match (done, again) {
                (Ok(()), _) => {
                    self.keep_suspended(suspended);
                    return Ok(());
                }
                (Err(_), Ok(true)) => {}
                (Err(error), _) => {
                    self.undo_suspended(suspended);
                    return Err(error);
                }
            }
        }
    }
}
