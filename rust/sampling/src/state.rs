//! The state of a reservoir without its items: how many items to pass over, and the place of the next.
//!
//! Think of a key for each real item, uniform in (0, 1]. The reservoir holds the k items of the smallest keys. Invariant,
//! once it is full: `w` is the largest key held, so its law is Beta(k, r - k + 1) for r real items, whatever is held; `q`
//! more items are passed over until one has a key below w. `q` is geometric, drawn for real items and dummies alike, because
//! an item's key is independent of whether it is a dummy (Algorithm 1 and Theorem 3.1). A new item replaces that of the
//! largest key, which is any of those held with equal chances. The largest of k keys below w is the new w.
//!
//! A delete may take items out of the reservoir. The others, and those outside, keep their keys: the keys outside are uniform
//! above w. So a walk upward finds the next smallest of them: of M items not yet met, the smallest key is the least of M
//! uniform numbers above the last one, and belongs to any of them with equal chances. Dummies, and items held already, are
//! met and passed over: their keys are invented and mean nothing. The key of the k-th item held is the new w.
//!
//! Why that is exact: let S be the k smallest of r independent uniform keys and w the largest of these. (S, w) has S
//! uniform among the sets of k, w ~ Beta(k, r - k + 1) independent of S, and given both, the keys outside S are
//! independent and uniform above w. Deleted items are chosen without regard to keys. Given (S, w) and the deleted
//! items, the keys of the survivors lie below w, all others above. So the k smallest of the rest are the survivors and
//! the smallest of the others, in that order, which the walk draws from their conditional law. If no held item is
//! deleted, neither S nor w change, and both are those of the smaller r. If fewer than k are left, all are held, no key
//! matters any more, and none is fixed: when k are held again, w is the largest of k fresh keys. After each step of any
//! kind, (S, w) has the law for the r items of that moment. Inserts wait until the walk is done, because the place of a
//! new item depends on the items held by then.
//!
//! Many stops may be looked up at once, with one w: each item has a key below it with that chance. Later, when w has fallen
//! to w', the key of one of them is below w' with the chance w' / w, whatever else is given, and it is a stop, or it is
//! passed over. So the law is the same, and no more than one look-up in eight is in vain, because w falls by a share of
//! 1/k a stop.
//!
//! Cost: O(k + k log(r / k)) stops over r real items (Theorem 3.2), O(1) each.

use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::random::{Random, Skip};

/// Beyond this a k is not exact as a double.
const MOST: u64 = 1 << 53;

/// One in so many of those held may be replaced before the stops looked up are examined.
const AT_ONCE: u64 = 8;
const MOST_AT_ONCE: u64 = 1024;

/// The state by which stops are looked up ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookahead {
    w: f64,
    limit: u64,
}

impl Lookahead {
    /// Number of stops that may be looked up before they are examined.
    pub(crate) fn limit(self) -> u64 {
        self.limit
    }
}

/// The state of a reservoir without its items.
///
/// ```
/// use ringview_sampling::ReservoirState;
/// let mut state = ReservoirState::new(2, 7)?;
/// assert_eq!(state.to_pass(), 0);
/// assert_eq!(state.stop(true), Some(0));
/// assert_eq!(state.stop(false), None); // a dummy takes no place
/// assert_eq!(state.stop(true), Some(1));
/// assert_eq!(state.items(), 2);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReservoirState {
    k: u64,
    held: u64,
    /// 1 until the reservoir is full: every key is below.
    w: f64,
    /// Whether k were held, and all that are outside have keys above w.
    full: bool,
    skip: Skip,
    random: Random,
}

impl ReservoirState {
    /// The state of an empty reservoir for `k` items.
    ///
    /// # Errors
    /// `Value` if k is 0 or more than 2^53.
    pub fn new(k: u64, seed: u64) -> Result<ReservoirState> {
        if k == 0 || k > MOST {
            return Err(Error::Value {
                place: "the size k of a sample".to_owned(),
                problem: format!("it is 1 to 2^53, not {k}"),
            });
        }
        Ok(ReservoirState {
            k,
            held: 0,
            w: 1.0,
            full: false,
            skip: NONE,
            random: Random::new(seed),
        })
    }

    /// Whether it can be the state of a reservoir of k items between two transactions.
    pub(crate) fn is_of(&self, k: u64) -> bool {
        let begun = match self.full {
            true => self.held == k && self.w > 0.0 && self.w <= 1.0,
            false => self.held < k && self.w == 1.0 && self.skip == NONE,
        };
        self.k == k && begun
    }

    /// Number of items held when it is full.
    #[must_use]
    pub fn k(&self) -> u64 {
        self.k
    }

    /// Number of items held.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.held
    }

    /// The largest key held; 1 until the reservoir is full.
    #[must_use]
    pub fn w(&self) -> f64 {
        self.w
    }

    /// Number of items to skip before the next that must be read.
    #[must_use]
    pub fn to_pass(&self) -> u128 {
        self.skip.items
    }

    /// Notes that so many items were not looked at.
    ///
    /// # Panics
    /// If they are more than `to_pass`.
    pub fn pass(&mut self, items: u128) {
        assert!(items <= self.skip.items, "an item was missed");
        self.skip.items -= items;
        while self.skip.more && self.skip.items == 0 {
            self.skip = self.random.failures(self.w);
        }
    }

    /// Of so many items, how many are passed over before one that must be looked at, for which `stop` is
    /// called next; None if there is none among them. Passes them.
    pub fn advance(&mut self, items: u128) -> Option<u128> {
        let mut left = items;
        loop {
            let passed = self.skip.items.min(left);
            self.pass(passed);
            left -= passed;
            if left == 0 {
                return None;
            }
            if self.skip.items == 0 {
                return Some(items - left);
            }
        }
    }

    /// Notes the item behind those to be passed over. Returns its place, if it is real: the next free one, or that of
    /// the item that it replaces.
    ///
    /// # Panics
    /// If items are still to be passed over.
    pub fn stop(&mut self, real: bool) -> Option<u64> {
        assert!(self.skip.items == 0, "an item was offered too early");
        let place = real.then(|| self.admit());
        if self.full {
            self.skip = self.random.failures(self.w);
        }
        place
    }

    /// Notes that a held item was deleted.
    pub(crate) fn remove(&mut self) {
        self.held -= 1;
    }

    /// Whether items outside must replace deleted ones before any insert.
    pub(crate) fn is_short(&self) -> bool {
        self.full && self.held < self.k
    }

    /// Of so many items outside, which are those not met on this walk, and dummies and items held
    /// among them, the one of the smallest key.
    pub(crate) fn next_outside(&mut self, items: u128) -> u128 {
        self.w = self.random.smallest(items, self.w);
        self.random.below(items)
    }

    /// Notes that the item just met is held.
    pub(crate) fn add(&mut self) {
        self.held += 1;
    }

    /// Notes that the walk is over: k are held, or there are no more.
    pub(crate) fn end_walk(&mut self) {
        self.full = self.held == self.k;
        if self.full {
            self.skip = self.random.failures(self.w);
        } else {
            (self.w, self.skip) = (1.0, NONE);
        }
    }

    /// The state for looking up stops now.
    pub(crate) fn lookahead(&self) -> Lookahead {
        let limit = match self.full {
            true => (self.k / AT_ONCE).clamp(1, MOST_AT_ONCE),
            false => (self.k - self.held).min(MOST_AT_ONCE),
        };
        Lookahead { w: self.w, limit }
    }

    /// Of so many items, how many are passed over before one at which the reservoir might stop; None if there is none
    /// among them. Passes them and that one.
    #[inline]
    pub(crate) fn skip(&mut self, items: u128) -> Option<u128> {
        let passed = self.advance(items);
        if passed.is_some() && self.full {
            self.skip = self.random.failures(self.w);
        }
        passed
    }

    /// Whether the reservoir stops at the next stop looked up: its key is below w, given that it was below the w of the
    /// look-up.
    #[inline]
    pub(crate) fn accepts(&mut self, lookahead: Lookahead) -> bool {
        self.w == lookahead.w || self.random.unit() * lookahead.w <= self.w
    }

    /// Notes that all stops looked up were examined. If w has changed, the next skip is drawn anew: the keys behind the
    /// last stop are independent of all so far.
    pub(crate) fn end_lookahead(&mut self, lookahead: Lookahead) {
        if self.full && self.w != lookahead.w {
            self.skip = self.random.failures(self.w);
        }
    }

    /// The place of a real item that is admitted: the next free one, or that of the item that it replaces.
    #[inline]
    pub(crate) fn admit(&mut self) -> u64 {
        let place = if self.held < self.k {
            self.held += 1;
            self.held - 1
        } else {
            self.random.below(u128::from(self.k)) as u64
        };
        if self.held == self.k {
            self.full = true;
            self.w = self.random.largest(self.k, self.w);
        }
        place
    }
}

const NONE: Skip = Skip {
    items: 0,
    more: false,
};
