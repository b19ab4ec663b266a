//! The groups of one node that share a join key, by how many results each stands for below the node.
//!
//! Invariant: `count` is the sum of the groups' weights, a weight is a power of two, and each bucket
//! lists the groups of one weight; those that stand for nothing lie in a bucket of their own, so that all
//! groups of the key can be walked. `rounded` is the least power of two that covers the count, or up to
//! two doublings more once tuples left: between two changes of it the count has doubled, or halved, or
//! become 0 or left it. Cost: O(1) a move; finding a position walks the buckets, at most 127 (Algorithm 9).

use super::lists::{List, Lists};

/// The exponent of what stands for nothing: 2^ZERO is read as 0.
pub(super) const ZERO: u8 = 127;
/// Counts go up to 2^MOST; weights stay below.
pub(super) const MOST: u8 = 126;

/// The groups of a key.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// The sum of the weights.
    pub(super) count: u128,
    /// Which buckets there are.
    buckets: u128,
    lists: Vec<List>,
}

/// The weight of an exponent.
#[inline]
pub(super) fn weight(exponent: u8) -> u128 {
    if exponent == ZERO { 0 } else { 1 << exponent }
}

/// The log of the least power of two that is not below a number.
#[inline]
fn log(number: u128) -> u8 {
    match number {
        0 => ZERO,
        _ => (u128::BITS - (number - 1).leading_zeros()) as u8,
    }
}

/// The exponent for a count that had another before.
#[inline]
pub(super) fn rounded(before: u8, count: u128) -> u8 {
    let needed = log(count);
    let lax = needed <= before && before - needed < 2;
    if lax && before != ZERO && count > 0 {
        before
    } else {
        needed
    }
}

impl Record {
    fn rank(&self, exponent: u8) -> usize {
        (self.buckets & ((1 << exponent) - 1)).count_ones() as usize
    }

    /// Adds a group of a weight; tells its place, and whether the count is still at most 2^MOST.
    #[inline]
    pub(super) fn put(&mut self, lists: &mut Lists, exponent: u8, group: u32) -> (u32, bool) {
        let rank = self.rank(exponent);
        if self.buckets >> exponent & 1 == 0 {
            self.buckets |= 1 << exponent;
            self.lists.insert(rank, List::EMPTY);
        }
        self.count = self.count.saturating_add(weight(exponent));
        let fits = self.count <= 1 << MOST;
        (lists.push(&mut self.lists[rank], group), fits)
    }

    /// Takes the group at a place of a bucket out; tells the group that now stands there.
    #[inline]
    pub(super) fn take(&mut self, lists: &mut Lists, exponent: u8, place: u32) -> Option<u32> {
        let rank = self.rank(exponent);
        let moved = lists.take(&mut self.lists[rank], place);
        if self.lists[rank].len == 0 {
            self.lists.remove(rank);
            self.buckets &= !(1 << exponent);
        }
        self.count = self.count.saturating_sub(weight(exponent));
        moved
    }

    /// The group whose results a position falls into, and the position among these. None behind the
    /// last: a dummy.
    #[inline]
    pub(super) fn find(&self, lists: &Lists, mut position: u128) -> Option<(u32, u128)> {
        if position >= self.count {
            return None;
        }
        let mut left = self.buckets & !(1 << ZERO);
        // Large weights first: most positions fall into them.
        for rank in (0..left.count_ones() as usize).rev() {
            let exponent = left.ilog2();
            left ^= 1 << exponent;
            let list = self.lists[rank];
            let all = u128::from(list.len) << exponent;
            if position < all {
                let group = lists.get(list, (position >> exponent) as u32);
                return Some((group, position & ((1 << exponent) - 1)));
            }
            position -= all;
        }
        None
    }

    /// How many buckets there are, with that of the groups that stand for nothing.
    pub(super) fn buckets(&self) -> usize {
        self.lists.len()
    }

    /// The groups of the bucket of a rank.
    pub(super) fn bucket(&self, rank: usize) -> List {
        self.lists[rank]
    }

    /// The groups of an exponent.
    pub(super) fn of(&self, exponent: u8) -> List {
        match self.buckets >> exponent & 1 {
            0 => List::EMPTY,
            _ => self.lists[self.rank(exponent)],
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.lists.capacity() * size_of::<List>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_rounded_with_slack_downward() {
        assert_eq!(rounded(ZERO, 0), ZERO);
        assert_eq!([1, 2, 3, 4, 5].map(|n| rounded(ZERO, n)), [0, 1, 2, 2, 3]);
        assert_eq!(rounded(3, 0), ZERO);
        assert_eq!(rounded(3, 9), 4);
        // Half and a bit of slack: 2^3 stays for 3, not for 2.
        assert_eq!([8, 4, 3, 2, 1].map(|n| rounded(3, n)), [3, 3, 3, 1, 0]);
        assert_eq!(rounded(0, 1 << MOST), MOST);
    }

    #[test]
    fn a_toggle_at_the_border_changes_nothing() {
        let mut exponent = rounded(ZERO, 4);
        let mut changes = 0;
        for step in 0..100 {
            let next = rounded(exponent, 4 + step % 2);
            changes += u32::from(next != exponent);
            exponent = next;
        }
        assert_eq!(changes, 1);
    }
}
