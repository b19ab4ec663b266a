//! A join key: the relations that meet in it, and what each has for every value of the key.
//!
//! Invariant: a relation that meets the join here alone is a leaf, and has a list of tuples for each value; one that
//! goes on to other hubs is a branch, and has a record of groups. What a branch is told of a value is the
//! product of what all others have for it, as a power of two (`cnt~`, paper 4.2); nothing else is rounded, so a star,
//! whose relations are leaves, has no dummies. All that a value has lies together, in three arrays.
//! Cost: O(relations) a value.

use ringview_core::prefetch;

use super::keys::Keys;
use super::lists::{List, Lists};
use super::record::{MOST, Record, ZERO, rounded};

/// What a relation keeps at a hub, and as the how manieth of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Leaf(usize),
    Branch(usize),
}

/// A relation at a hub.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) node: usize,
    /// Which of the relation's hubs this is.
    pub(super) at: usize,
    pub(super) part: Part,
}

/// What one branch is told anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) key: u32,
    pub(super) before: u8,
    pub(super) now: u8,
}

/// The relations that meet in a join key.
#[derive(Clone, Debug)]
pub(super) struct Hub {
    pub(super) keys: Keys,
    pub(super) members: Vec<Member>,
    leaves: usize,
    branches: usize,
    /// By key and leaf.
    lists: Vec<List>,
    /// By key and branch.
    records: Vec<Record>,
    /// By key and branch, what it is told.
    exponents: Vec<u8>,
    /// Keys of which something changed that is not passed on yet, each once.
    pub(super) dirty: Vec<u32>,
    marks: Vec<bool>,
}

impl Hub {
    pub(super) fn new(width: usize) -> Hub {
        Hub {
            keys: Keys::new(width),
            members: Vec::new(),
            leaves: 0,
            branches: 0,
            lists: Vec::new(),
            records: Vec::new(),
            exponents: Vec::new(),
            dirty: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// Adds a relation; tells its place among the members.
    pub(super) fn join(&mut self, node: usize, at: usize, leaf: bool) -> usize {
        let next = if leaf {
            &mut self.leaves
        } else {
            &mut self.branches
        };
        let nth = *next;
        *next += 1;
        let part = if leaf {
            Part::Leaf(nth)
        } else {
            Part::Branch(nth)
        };
        self.members.push(Member { node, at, part });
        self.members.len() - 1
    }

    /// Makes room for all keys that have numbers.
    pub(super) fn fit(&mut self) {
        let keys = self.keys.len();
        if self.marks.len() < keys {
            self.marks.resize(keys, false);
            self.lists.resize(keys * self.leaves, List::default());
            self.records.resize(keys * self.branches, Record::default());
            self.exponents.resize(keys * self.branches, ZERO);
        }
    }

    /// Forgets all tuples; the keys stay.
    pub(super) fn clear(&mut self) {
        self.lists.fill(List::default());
        self.records.fill(Record::default());
        self.exponents.fill(ZERO);
        self.marks.fill(false);
        self.dirty.clear();
    }

    #[inline]
    pub(super) fn list(&self, key: u32, leaf: usize) -> List {
        self.lists[key as usize * self.leaves + leaf]
    }

    #[inline]
    pub(super) fn list_mut(&mut self, key: u32, leaf: usize) -> &mut List {
        &mut self.lists[key as usize * self.leaves + leaf]
    }

    #[inline]
    pub(super) fn record(&self, key: u32, branch: usize) -> &Record {
        &self.records[key as usize * self.branches + branch]
    }

    #[inline]
    pub(super) fn record_mut(&mut self, key: u32, branch: usize) -> &mut Record {
        &mut self.records[key as usize * self.branches + branch]
    }

    /// What a branch is told of a key.
    #[inline]
    pub(super) fn exponent(&self, key: u32, branch: usize) -> u8 {
        self.exponents[key as usize * self.branches + branch]
    }

    /// Notes that something of a key changed.
    #[inline]
    pub(super) fn mark(&mut self, key: u32) {
        let mark = &mut self.marks[key as usize];
        if !*mark {
            *mark = true;
            self.dirty.push(key);
        }
    }

    /// The keys that were marked; none is any more.
    pub(super) fn take_dirty(&mut self) -> Vec<u32> {
        let dirty = std::mem::take(&mut self.dirty);
        for &key in &dirty {
            self.marks[key as usize] = false;
        }
        dirty
    }

    /// What a relation has for a key.
    #[inline]
    pub(super) fn count(&self, key: u32, part: Part) -> u128 {
        match part {
            Part::Leaf(nth) => self.list(key, nth).len.into(),
            Part::Branch(nth) => self.record(key, nth).count,
        }
    }

    /// The product of what all have for a key but one; None above 2^MOST.
    #[inline]
    pub(super) fn product(&self, key: u32, except: Option<usize>) -> Option<u128> {
        let mut product = 1u128;
        let mut fits = true;
        for (at, member) in self.members.iter().enumerate() {
            if Some(at) == except {
                continue;
            }
            let count = self.count(key, member.part);
            if count == 0 {
                return Some(0);
            }
            match (u64::try_from(product), u64::try_from(count)) {
                (Ok(a), Ok(b)) => product = u128::from(a) * u128::from(b),
                _ => match product.checked_mul(count) {
                    Some(more) => product = more,
                    None => fits = false,
                },
            }
        }
        (fits && product <= 1 << MOST).then_some(product)
    }

    /// Tells a branch of some keys; notes where that is something new. False if it is too much.
    pub(super) fn tell(&mut self, member: usize, keys: &[u32], told: &mut Vec<Told>) -> bool {
        let Part::Branch(nth) = self.members[member].part else {
            return true;
        };
        let mut fits = true;
        for &key in keys {
            let product = self.product(key, Some(member));
            fits &= product.is_some();
            let place = &mut self.exponents[key as usize * self.branches + nth];
            let now = rounded(*place, product.unwrap_or(1 << MOST));
            let before = std::mem::replace(place, now);
            if before != now {
                told.push(Told { key, before, now });
            }
        }
        fits
    }

    /// Asks for what a key has.
    #[inline]
    pub(super) fn prefetch(&self, key: u32) {
        let key = key as usize;
        prefetch(&self.lists, key * self.leaves);
        if self.leaves > 1 {
            prefetch(&self.lists, (key + 1) * self.leaves - 1);
        }
        for branch in 0..self.branches {
            prefetch(&self.records, key * self.branches + branch);
        }
    }

    /// Asks for the values of a member's list, of which it is time to have the head at hand.
    #[inline]
    pub(super) fn prefetch_values(&self, lists: &Lists, key: u32, part: Part) {
        match part {
            Part::Leaf(nth) => lists.prefetch(self.list(key, nth)),
            Part::Branch(nth) => lists.prefetch(self.record(key, nth).list),
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.keys.memory_usage()
            + self.lists.capacity() * size_of::<List>()
            + self.records.capacity() * size_of::<Record>()
            + self.exponents.capacity()
            + self.marks.capacity()
            + self.dirty.capacity() * 4
    }
}
