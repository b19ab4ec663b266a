//! Sets of variables, of atoms, of small numbers in general: one machine word and a bit.
//!
//! Invariant: members are below [`Set::CAPACITY`]; `bind` refuses larger queries. All operations
//! are O(1) but for walking, which is O(members).

use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

/// A set of numbers below 128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Set(u128);

impl Set {
    /// Members are below this.
    pub const CAPACITY: usize = u128::BITS as usize;

    /// The set of one member.
    #[must_use]
    pub fn one(member: usize) -> Set {
        debug_assert!(member < Set::CAPACITY);
        Set(1 << member)
    }

    /// Whether it has a member.
    #[must_use]
    pub fn contains(self, member: usize) -> bool {
        self.0 >> member & 1 == 1
    }

    /// Adds a member.
    pub fn insert(&mut self, member: usize) {
        *self |= Set::one(member);
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of members.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether all its members are in the other.
    #[must_use]
    pub fn is_subset(self, other: Set) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether any of its members is in the other.
    #[must_use]
    pub fn meets(self, other: Set) -> bool {
        self.0 & other.0 != 0
    }

    /// The members, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let member = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (member < Set::CAPACITY).then_some(member)
        })
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Set {
        members
            .into_iter()
            .fold(Set::default(), |set, member| set | Set::one(member))
    }
}

impl BitOr for Set {
    type Output = Set;
    fn bitor(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }
}

impl BitOrAssign for Set {
    fn bitor_assign(&mut self, other: Set) {
        self.0 |= other.0;
    }
}

impl BitAnd for Set {
    type Output = Set;
    fn bitand(self, other: Set) -> Set {
        Set(self.0 & other.0)
    }
}

impl Sub for Set {
    type Output = Set;
    fn sub(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }
}
