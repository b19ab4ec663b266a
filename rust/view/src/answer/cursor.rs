//! A position in the rows of an answer, from which they are read on, a block at a time.
//!
//! Invariant: it holds no lock and no part of the view: the view may change between two blocks, and the answer reports
//! whether the position is still valid ([`is_current`](super::Answer::is_current)). Cost: that of the rows, at once or
//! as they are read; see [`cursor`](super::Answer::cursor).

use std::any::Any;
use std::fmt::Debug;

use arrow_array::RecordBatch;

/// The position of a stream of rows, in an answer that makes them as they are read.
pub trait Position: Any + Debug + Send + Sync {
    /// Entries and patterns handled so far.
    fn steps(&self) -> u64;
}

/// A position in the rows of an answer.
#[derive(Debug)]
pub struct Cursor(Rest);

#[derive(Debug)]
enum Rest {
    /// All of them, made at once.
    Made(Option<RecordBatch>),
    /// To be made from a view that stays as it is.
    Position(Box<dyn Position>),
}

impl Cursor {
    /// Over rows that are there.
    #[must_use]
    pub fn made(rows: RecordBatch) -> Self {
        Self(Rest::Made(Some(rows)))
    }

    /// Over rows that the answer makes as they are read.
    pub fn at(position: impl Position) -> Self {
        Self(Rest::Position(Box::new(position)))
    }

    /// Entries and patterns that were handled to make rows one by one: what delay is tested by.
    #[must_use]
    pub fn steps(&self) -> u64 {
        match &self.0 {
            Rest::Made(_) => 0,
            Rest::Position(position) => position.steps(),
        }
    }

    /// Whether its rows are there, whatever becomes of the view.
    #[must_use]
    pub fn is_made(&self) -> bool {
        matches!(self.0, Rest::Made(_))
    }

    /// The rows that are there, once.
    pub fn take(&mut self) -> Option<RecordBatch> {
        match &mut self.0 {
            Rest::Made(rows) => rows.take(),
            Rest::Position(_) => None,
        }
    }

    /// The position, for the answer that made it; `None` for any other kind.
    #[must_use]
    pub fn position<P: Position>(&self) -> Option<&P> {
        match &self.0 {
            Rest::Position(position) => (&**position as &dyn Any).downcast_ref(),
            Rest::Made(_) => None,
        }
    }

    /// The same, to read on.
    pub fn position_mut<P: Position>(&mut self) -> Option<&mut P> {
        match &mut self.0 {
            Rest::Position(position) => (&mut **position as &mut dyn Any).downcast_mut(),
            Rest::Made(_) => None,
        }
    }
}
