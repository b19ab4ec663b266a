//! The log of a view, and its followers. A [`Logged`] is the form in which the log keeps deltas: rows or partials.
//!
//! Changes are logged in segments, oldest first; the last one is open, and commits write to it alone. A follower's
//! position is the start of a segment: it has received all changes before. Invariant: each segment starts at the
//! position of a follower; segments without a position between them are merged. So there are no more segments than
//! followers, and none before a follower has begun to read. Cost: a transaction pays for one log, however many follow.
//! A reader pays for the segments from its position on; merging costs the size of a segment that was just read, or
//! whose last reader left.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use ringview_core::Result;

/// The position of somebody who was given nothing yet, and is to be given the whole view.
const START: u64 = u64::MAX;

/// Somebody who follows the changes of one view, for as long as this value, or a copy, lives.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    /// Read and written under whatever guards the view.
    position: Arc<AtomicU64>,
}

impl Follower {
    fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }
}

/// The form in which a log keeps the deltas of its view.
pub(crate) trait Logged: Debug {
    /// The changes between two positions.
    type Segment: Debug;
    /// The delta of a transaction, and of all since a position.
    type Changes;

    /// Nothing.
    fn none(&self) -> Self::Segment;
    /// Takes in the delta of a transaction.
    fn record(&self, open: &mut Self::Segment, changes: &Self::Changes);
    /// Takes in the changes of the segment behind it.
    fn merge(&self, into: &mut Self::Segment, later: &Self::Segment);
    /// Whether it changes nothing.
    fn is_empty(segment: &Self::Segment) -> bool;
    /// The changes of a segment.
    fn read(&self, segment: &Self::Segment) -> Result<Self::Changes>;
    /// Bytes that it takes.
    fn memory_usage(segment: &Self::Segment) -> usize;
}

/// The log of a view.
#[derive(Debug)]
pub(crate) struct Log<L: Logged> {
    logged: L,
    positions: Vec<Weak<AtomicU64>>,
    /// With the position where each starts, ascending.
    segments: Vec<(u64, L::Segment)>,
    next: u64,
}

impl<L: Logged> Log<L> {
    /// One that nobody follows yet.
    pub(crate) fn new(logged: L) -> Self {
        Self {
            logged,
            positions: Vec::new(),
            segments: Vec::new(),
            next: 0,
        }
    }

    /// One more follower, who is given the whole view first, or what changes `from_now` on.
    pub(crate) fn join(&mut self, from_now: bool) -> Follower {
        let position = if from_now { self.here() } else { START };
        let follower = Follower {
            position: Arc::new(AtomicU64::new(position)),
        };
        self.positions.push(Arc::downgrade(&follower.position));
        follower
    }

    /// Whether somebody is to be given what changes from now on.
    pub(crate) fn is_open(&self) -> bool {
        !self.segments.is_empty()
    }

    /// Takes in the delta of a transaction that is committed.
    pub(crate) fn record(&mut self, changes: &L::Changes) {
        if let Some((_, open)) = self.segments.last_mut() {
            self.logged.record(open, changes);
        }
    }

    /// The changes since a follower's position; `None` if it was given nothing yet.
    pub(crate) fn since(&self, follower: &Follower) -> Result<Option<L::Changes>> {
        let Some(parts) = self.unread(follower) else {
            return Ok(None);
        };
        let mut all = self.logged.none();
        let one = match parts[..] {
            [one] => one,
            _ => {
                let parts = parts.into_iter();
                parts.for_each(|part| self.logged.merge(&mut all, part));
                &all
            }
        };
        self.logged.read(one).map(Some)
    }

    fn unread(&self, follower: &Follower) -> Option<Vec<&L::Segment>> {
        let position = follower.position();
        let behind = self.segments.iter().filter(|(start, _)| *start >= position);
        (position != START).then(|| behind.map(|(_, segment)| segment).collect())
    }

    /// Whether anything changed since a follower's position, or it was given nothing yet.
    pub(crate) fn has_changes(&self, follower: &Follower) -> bool {
        let parts = self.unread(follower);
        parts.is_none_or(|parts| !parts.into_iter().all(L::is_empty))
    }

    /// A follower was given all changes; what nobody needs any more is dropped.
    pub(crate) fn advance(&mut self, follower: &Follower) {
        follower.position.store(self.here(), Ordering::Relaxed);
        self.tidy();
    }

    /// Drops what followers alone needed who have left since the last call. O(followers).
    pub(crate) fn forget_lost(&mut self) {
        let before = self.positions.len();
        self.positions
            .retain(|position| position.strong_count() > 0);
        if self.positions.len() < before {
            self.tidy();
        }
    }

    /// Drops changes before all positions, and merges segments without a position between them.
    pub(crate) fn tidy(&mut self) {
        self.positions
            .retain(|position| position.strong_count() > 0);
        let all = self.positions.iter().filter_map(Weak::upgrade);
        let mut positions: Vec<u64> = all.map(|one| one.load(Ordering::Relaxed)).collect();
        positions.retain(|&position| position != START);
        let first = positions.iter().min().copied().unwrap_or(START);
        self.segments.retain(|(start, _)| *start >= first);
        for at in (1..self.segments.len()).rev() {
            if !positions.contains(&self.segments[at].0) {
                let (_, later) = self.segments.remove(at);
                self.logged.merge(&mut self.segments[at - 1].1, &later);
            }
        }
    }

    /// The position of whoever has been given everything.
    fn here(&mut self) -> u64 {
        let last = self.segments.last();
        if let Some((start, _)) = last.filter(|(_, open)| L::is_empty(open)) {
            return *start;
        }
        let here = self.next;
        self.next += 1;
        self.segments.push((here, self.logged.none()));
        here
    }

    /// Bytes of what is logged.
    pub(crate) fn memory_usage(&self) -> usize {
        let segments = self.segments.iter();
        segments.map(|(_, segment)| L::memory_usage(segment)).sum()
    }
}
