//! Who follows the changes of a view, and where each of them stands.
//!
//! What moves is logged in segments, oldest first; the last one is open, and transactions write to it
//! alone. A follower's place is where a segment starts: it has been given all that lies before.
//! Invariant: each segment starts at the place of somebody; what nobody tells apart any more is one
//! segment. So there are no more segments than followers, and none where nobody has begun to read.
//! Cost: a transaction pays for one log, however many follow. A reader pays for the segments from its
//! place on; merging costs the size of a segment that was just read, or whose last reader left.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The place of somebody who was given nothing yet, and is to be given the whole view.
const START: u64 = u64::MAX;

/// Somebody who follows the changes of one view, for as long as this value, or a copy, lives.
#[derive(Clone, Debug)]
pub struct Follower {
    /// Read and written under whatever guards the view.
    place: Arc<AtomicU64>,
}

impl Follower {
    fn at(place: u64) -> Self {
        Self {
            place: Arc::new(AtomicU64::new(place)),
        }
    }

    /// Whether it was given nothing yet, so that what it is given next is the whole view.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.place() == START
    }

    fn place(&self) -> u64 {
        self.place.load(Ordering::Relaxed)
    }
}

/// What moved between two places.
pub trait Segment {
    /// Whether nothing did.
    fn is_empty(&self) -> bool;
    /// Bytes allocated.
    fn memory_usage(&self) -> usize;
}

/// The followers of a view, and what moved since the first of them looked.
#[derive(Debug)]
pub struct Followers<S> {
    places: Vec<Weak<AtomicU64>>,
    /// With the place where each starts, ascending.
    segments: Vec<(u64, S)>,
    next: u64,
}

impl<S> Default for Followers<S> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            segments: Vec::new(),
            next: 0,
        }
    }
}

impl<S: Segment> Followers<S> {
    /// One more, who is to be given the whole view first.
    pub fn join(&mut self) -> Follower {
        self.enter(START)
    }

    /// One more, who is given what moves from now on.
    pub fn join_here(&mut self, empty: impl FnOnce() -> S) -> Follower {
        let here = self.here(empty);
        self.enter(here)
    }

    fn enter(&mut self, place: u64) -> Follower {
        let follower = Follower::at(place);
        self.places.push(Arc::downgrade(&follower.place));
        follower
    }

    /// The segment that the running transaction writes to; `None` if there is nobody to read it.
    pub fn open(&mut self) -> Option<&mut S> {
        self.segments.last_mut().map(|(_, open)| open)
    }

    /// What moved since a follower's place, in parts, oldest first; `None` if it was given nothing yet.
    pub fn since(&self, follower: &Follower) -> Option<Vec<&S>> {
        let place = follower.place();
        let behind = self.segments.iter().filter(|(start, _)| *start >= place);
        (place != START).then(|| behind.map(|(_, segment)| segment).collect())
    }

    /// Whether anything was logged since a follower's place; `None` if it was given nothing yet.
    pub fn has_moved(&self, follower: &Follower) -> Option<bool> {
        let parts = self.since(follower)?;
        Some(parts.iter().any(|part| !part.is_empty()))
    }

    /// A follower was given all that there is; what nobody needs any more goes.
    pub fn advance(
        &mut self,
        follower: &Follower,
        empty: impl FnOnce() -> S,
        merge: impl FnMut(&mut S, &S, &[(u64, S)]) -> bool,
    ) {
        let here = self.here(empty);
        follower.place.store(here, Ordering::Relaxed);
        self.tidy(merge);
    }

    /// Whether somebody follows, or did when `lost_one` was last asked.
    pub fn is_followed(&self) -> bool {
        !self.places.is_empty()
    }

    /// Whether somebody left since this was last asked. O(followers).
    pub fn lost_one(&mut self) -> bool {
        let before = self.places.len();
        self.places.retain(|place| place.strong_count() > 0);
        self.places.len() < before
    }

    /// Drops what lies before all places, and makes one segment of those between which nobody stands.
    /// `merge` takes a segment into the one before it, given those behind; it may refuse.
    pub fn tidy(&mut self, mut merge: impl FnMut(&mut S, &S, &[(u64, S)]) -> bool) {
        self.places.retain(|place| place.strong_count() > 0);
        let all = self.places.iter().filter_map(Weak::upgrade);
        let mut places: Vec<u64> = all.map(|place| place.load(Ordering::Relaxed)).collect();
        places.retain(|&place| place != START);
        let first = places.iter().min().copied().unwrap_or(START);
        self.segments.retain(|(start, _)| *start >= first);
        for at in (1..self.segments.len()).rev() {
            if places.contains(&self.segments[at].0) {
                continue;
            }
            let (before, rest) = self.segments.split_at_mut(at);
            if let (Some((_, into)), Some(((_, from), later))) =
                (before.last_mut(), rest.split_first())
                && merge(into, from, later)
            {
                self.segments.remove(at);
            }
        }
    }

    /// All that is logged.
    pub fn segments(&self) -> impl Iterator<Item = &S> {
        self.segments.iter().map(|(_, segment)| segment)
    }

    /// The same, to be rewritten.
    pub fn segments_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.segments.iter_mut().map(|(_, segment)| segment)
    }

    /// The place of whoever has been given everything.
    fn here(&mut self, empty: impl FnOnce() -> S) -> u64 {
        if let Some((start, _)) = self.segments.last().filter(|(_, open)| open.is_empty()) {
            return *start;
        }
        let here = self.next;
        self.next += 1;
        self.segments.push((here, empty()));
        here
    }

    /// Bytes of what is logged.
    pub fn memory_usage(&self) -> usize {
        let segments = self.segments.iter();
        segments.map(|(_, segment)| segment.memory_usage()).sum()
    }
}
