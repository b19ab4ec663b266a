//! A join key: the relations that meet in it, and the count of each for every value of the key.
//!
//! Invariant: a relation that meets the join here alone is a leaf, and has a list of tuples for each value; one that has
//! other key nodes is a branch, and has a record of groups. For each value a branch has an exponent: that of the power of two
//! that covers the product of the counts of all others (`cnt~`, paper 4.2). Nothing else is rounded, so a star, whose
//! relations are leaves, has no dummies. The entries of a value lie together, in three arrays. Cost: O(relations) a value.

use ringview_core::prefetch;

use super::keys::Keys;
use super::lists::{List, Lists};
use super::record::{MOST, Record, ZERO, rounded};

/// The kind of a relation at a key node, and its number among those of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Leaf(usize),
    Branch(usize),
}

/// A relation at a key node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incidence {
    pub(super) node: usize,
    /// Number of this key node among those of the relation.
    pub(super) at: usize,
    pub(super) role: Role,
}

/// The exponent of a branch for a key has changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightChange {
    pub(super) key: u32,
    pub(super) before: u8,
    pub(super) now: u8,
}

/// The relations that meet in a join key.
#[derive(Clone, Debug)]
pub(super) struct KeyNode {
    pub(super) keys: Keys,
    pub(super) members: Vec<Incidence>,
    leaves: usize,
    branches: usize,
    /// By key and leaf.
    lists: Vec<List>,
    /// By key and branch.
    records: Vec<Record>,
    /// By key and branch, the exponent of `cnt~`.
    exponents: Vec<u8>,
    /// Keys whose counts changed and are not propagated yet, each once.
    pub(super) dirty: Vec<u32>,
    marks: Vec<bool>,
}

impl KeyNode {
    pub(super) fn new(width: usize) -> KeyNode {
        KeyNode {
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

    /// Adds a relation; returns its number among the members.
    pub(super) fn join(&mut self, node: usize, at: usize, leaf: bool) -> usize {
        let next = if leaf {
            &mut self.leaves
        } else {
            &mut self.branches
        };
        let nth = *next;
        *next += 1;
        let role = if leaf {
            Role::Leaf(nth)
        } else {
            Role::Branch(nth)
        };
        self.members.push(Incidence { node, at, role });
        self.members.len() - 1
    }

    /// Reserves capacity for all keys that have numbers.
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

    /// The exponent of a branch for a key.
    #[inline]
    pub(super) fn exponent(&self, key: u32, branch: usize) -> u8 {
        self.exponents[key as usize * self.branches + branch]
    }

    /// Notes that a count of a key changed.
    #[inline]
    pub(super) fn mark(&mut self, key: u32) {
        let mark = &mut self.marks[key as usize];
        if !*mark {
            *mark = true;
            self.dirty.push(key);
        }
    }

    /// Takes the keys that were marked.
    pub(super) fn take_dirty(&mut self) -> Vec<u32> {
        let dirty = std::mem::take(&mut self.dirty);
        for &key in &dirty {
            self.marks[key as usize] = false;
        }
        dirty
    }

    /// The count of a relation for a key.
    #[inline]
    pub(super) fn count(&self, key: u32, role: Role) -> u128 {
        match role {
            Role::Leaf(nth) => self.list(key, nth).len.into(),
            Role::Branch(nth) => self.record(key, nth).count,
        }
    }

    /// The product of the counts of all members but one for a key; None above 2^MOST.
    #[inline]
    pub(super) fn product(&self, key: u32, except: Option<usize>) -> Option<u128> {
        let mut product = 1u128;
        let mut fits = true;
        for (at, member) in self.members.iter().enumerate() {
            if Some(at) == except {
                continue;
            }
            let count = self.count(key, member.role);
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

    /// Computes the exponents of a branch for some keys anew; appends those that changed. False if one is too large.
    pub(super) fn update_weights(
        &mut self,
        member: usize,
        keys: &[u32],
        changes: &mut Vec<WeightChange>,
    ) -> bool {
        let Role::Branch(nth) = self.members[member].role else {
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
                changes.push(WeightChange { key, before, now });
            }
        }
        fits
    }

    /// Prefetches the entries of a key.
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

    /// Prefetches the values of a member's list, whose head was prefetched before.
    #[inline]
    pub(super) fn prefetch_values(&self, lists: &Lists, key: u32, role: Role) {
        match role {
            Role::Leaf(nth) => lists.prefetch(self.list(key, nth)),
            Role::Branch(nth) => lists.prefetch(self.record(key, nth).list),
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
