//! What a reservoir remembers beside its items: how many to pass over, and where the next one goes.
//!
//! Think of a key for each real item, uniform in (0, 1]. The reservoir holds the k items of the smallest
//! keys. Invariant, once it is full: `w` is the largest key held, so its law is Beta(k, r - k + 1) for r
//! real items, whatever is held; `q` more items are passed over until one has a key below w, a geometric
//! number, drawn for real items and dummies alike, because whether an item is a dummy has nothing to do
//! with its key (Algorithm 1 and Theorem 3.1). Who comes in takes the place of the largest, which is
//! any of those held with equal chances, and the largest of k keys below w is the new w.
//!
//! When real items leave, some of those held may die. The others, and those outside, keep their keys: the
//! keys outside are uniform above w. So the next smallest of them is found by walking up: of M items not
//! yet met, the smallest key is the least of M uniform numbers above the last one, and belongs to any of
//! them with equal chances. Those that are dummies, or held already, are met and passed by: keys are invented for
//! them too, and tell nothing. The key of the k-th item held is the new w.
//!
//! Why that is exact: let S be the k smallest of r independent uniform keys and w the largest of
//! these. (S, w) has S uniform among the sets of k, w ~ Beta(k, r - k + 1) independent of S, and given both,
//! the keys outside S are independent and uniform above w. Items that leave are chosen without regard to
//! keys. Given (S, w) and what leaves, the keys of the survivors lie below w, all others above; so
//! the k smallest of what is left are the survivors and the smallest of the others, in that
//! order, which is what the walk draws from their conditional law. Where nobody held leaves, neither S nor w change, and
//! both are what they are for the smaller r. Where fewer than k are left all are held, no key matters
//! any more, and none is known: when k are held again w is the largest of k fresh keys. Whatever the steps, (S, w) has after each the law
//! that it has for the r items of then. What comes in must wait until the walk is done, for who is held
//! by then decides whose place it takes.
//!
//! Many stops may be sought at once, with the w of then: each item has a key below it with that chance. Later, when
//! w has fallen to w', the key of one of them is below w' with the chance w' / w, whatever else is known, and it is a stop,
//! or it is passed over. So the law is the same, and no more than one in eight is sought in vain, because w
//! falls by a share of 1/k a stop.
//!
//! Cost: O(k + k log(r / k)) stops over r real items (Theorem 3.2), O(1) each.

use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::random::{Random, Skip};

/// Beyond this a k is not exact as a double.
const MOST: u64 = 1 << 53;

/// One in so many of those held may leave before what was sought is told of.
const AT_ONCE: u64 = 8;
const MOST_AT_ONCE: u64 = 1024;

/// What is sought on behalf of a law as it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scout {
    w: f64,
    most: u64,
}

impl Scout {
    /// How many items may be sought before they are told of.
    pub(crate) fn most(self) -> u64 {
        self.most
    }
}

/// The state of a reservoir without its items.
///
/// ```
/// use ringview_sampling::Law;
/// let mut law = Law::new(2, 7)?;
/// assert_eq!(law.to_pass(), 0);
/// assert_eq!(law.stop(true), Some(0));
/// assert_eq!(law.stop(false), None); // a dummy takes no place
/// assert_eq!(law.stop(true), Some(1));
/// assert_eq!(law.held(), 2);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Law {
    k: u64,
    held: u64,
    /// 1 until the reservoir is full: every key is below.
    w: f64,
    /// Whether k were held, and all that are outside have keys above w.
    full: bool,
    skip: Skip,
    random: Random,
}

impl Law {
    /// The law of a reservoir for `k` items.
    ///
    /// # Errors
    /// `Value` if k is 0 or more than 2^53.
    pub fn new(k: u64, seed: u64) -> Result<Law> {
        if k == 0 || k > MOST {
            return Err(Error::Value {
                place: "the size k of a sample".to_owned(),
                problem: format!("it is 1 to 2^53, not {k}"),
            });
        }
        Ok(Law {
            k,
            held: 0,
            w: 1.0,
            full: false,
            skip: NONE,
            random: Random::new(seed),
        })
    }

    /// Whether it can be that of a reservoir of k items between two transactions.
    pub(crate) fn is_of(&self, k: u64) -> bool {
        let begun = match self.full {
            true => self.held == k && self.w > 0.0 && self.w <= 1.0,
            false => self.held < k && self.w == 1.0 && self.skip == NONE,
        };
        self.k == k && begun
    }

    /// How many items are held when it is full.
    #[must_use]
    pub fn k(&self) -> u64 {
        self.k
    }

    /// How many items are held.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The largest key held; 1 until the reservoir is full.
    #[must_use]
    pub fn w(&self) -> f64 {
        self.w
    }

    /// How many items need not be looked at before the next that must be.
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
    /// called next; None if it is none of them. Notes that they were passed.
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

    /// Notes the item that comes after those to be passed over. Tells the place that it takes, if it
    /// is real: the next free one, or that of an item that leaves.
    ///
    /// # Panics
    /// If items are still to be passed over.
    pub fn stop(&mut self, real: bool) -> Option<u64> {
        assert!(self.skip.items == 0, "an item came too early");
        let place = real.then(|| self.take_in());
        if self.full {
            self.skip = self.random.failures(self.w);
        }
        place
    }

    /// Notes that an item that was held is gone.
    pub(crate) fn lose(&mut self) {
        self.held -= 1;
    }

    /// Whether items outside must be found for those that are gone, before anything else comes.
    pub(crate) fn is_short(&self) -> bool {
        self.full && self.held < self.k
    }

    /// Of so many items outside, which are those not met on this walk, and dummies and items held
    /// among them, the one of the smallest key.
    pub(crate) fn next_outside(&mut self, items: u128) -> u128 {
        self.w = self.random.smallest(items, self.w);
        self.random.below(items)
    }

    /// Notes that the item just met is held now.
    pub(crate) fn gain(&mut self) {
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

    /// What is sought now, on behalf of the law as it is.
    pub(crate) fn scout(&self) -> Scout {
        let most = match self.full {
            true => (self.k / AT_ONCE).clamp(1, MOST_AT_ONCE),
            false => (self.k - self.held).min(MOST_AT_ONCE),
        };
        Scout { w: self.w, most }
    }

    /// Of so many items, how many are passed over before one at which the reservoir might stop; None if it
    /// is none of them. Notes that they were passed, and that one too.
    #[inline]
    pub(crate) fn seek(&mut self, items: u128) -> Option<u128> {
        let passed = self.advance(items);
        if passed.is_some() && self.full {
            self.skip = self.random.failures(self.w);
        }
        passed
    }

    /// Whether the reservoir stops at the next item that was sought: its key is below w, given that it was below w
    /// when it was sought.
    #[inline]
    pub(crate) fn stops(&mut self, scout: Scout) -> bool {
        self.w == scout.w || self.random.unit() * scout.w <= self.w
    }

    /// Notes that all items sought were met. Where w is another by now, how many items are passed over is drawn anew:
    /// of those behind the last one met nothing is known but that they come.
    pub(crate) fn end_scout(&mut self, scout: Scout) {
        if self.full && self.w != scout.w {
            self.skip = self.random.failures(self.w);
        }
    }

    /// The place of a real item that comes in: the next free one, or that of an item that leaves.
    #[inline]
    pub(crate) fn take_in(&mut self) -> u64 {
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
