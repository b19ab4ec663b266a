//! The groups of one relation that share a join key, by the number of results behind each.
//!
//! Invariant: `count` is the sum of the groups' weights, a weight is a power of two or 0, and the groups lie in one
//! list, bucket after bucket of equal weights, the lightest first. The end of each bucket but the last is kept at the
//! end of the list's block, the first one's end last. So a group whose weight changes moves by one exchange a bucket,
//! and all groups of the key are one run of words.
//!
//! A rounded count is the least power of two that covers the count, or up to two doublings more once tuples
//! left: between two changes of it the count has doubled, or halved, or become 0, or was 0.
//! Cost: a move passes no more buckets than its exponent changes, so that a group of weight 2^e has been paid for by
//! e exchanges; finding a position walks the buckets, at most 127 (Algorithm 9).

use super::lists::{List, Lists};

/// The exponent of 0: 2^ZERO is read as 0.
pub(super) const ZERO: u8 = 127;
/// Counts are at most 2^MOST; weights are below it.
pub(super) const MOST: u8 = 126;

/// The groups of a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// The sum of the weights.
    pub(super) count: u128,
    /// Set of the buckets: the lowest bit for that of weight 0, then one an exponent.
    buckets: u128,
    pub(super) list: List,
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

/// The bit of an exponent.
#[inline]
fn bit(exponent: u8) -> u128 {
    1 << ((exponent + 1) & 127)
}

/// The block of a record's list, with where its buckets end.
struct Buckets<'a> {
    block: &'a mut [u32],
    /// Buckets, and groups.
    count: usize,
    len: u32,
}

impl Buckets<'_> {
    /// End of a bucket, and begin of the next.
    #[inline]
    fn end(&self, rank: usize) -> u32 {
        if rank + 1 == self.count {
            self.len
        } else {
            self.block[self.block.len() - 1 - rank]
        }
    }

    #[inline]
    fn end_mut(&mut self, rank: usize) -> &mut u32 {
        let last = self.block.len() - 1;
        &mut self.block[last - rank]
    }

    #[inline]
    fn begin(&self, rank: usize) -> u32 {
        if rank == 0 { 0 } else { self.end(rank - 1) }
    }

    /// Moves a free place from a bucket up to another.
    #[inline(always)]
    fn up(
        &mut self,
        mut place: u32,
        ranks: (usize, usize),
        on_move: &mut impl FnMut(u32, u32),
    ) -> u32 {
        for rank in ranks.0..ranks.1 {
            let last = self.end(rank) - 1;
            if last != place {
                self.fill(place, last, on_move);
            }
            *self.end_mut(rank) = last;
            place = last;
        }
        place
    }

    /// Moves a free place from a bucket down to another.
    #[inline(always)]
    fn down(
        &mut self,
        mut place: u32,
        ranks: (usize, usize),
        on_move: &mut impl FnMut(u32, u32),
    ) -> u32 {
        for rank in (ranks.1 + 1..=ranks.0).rev() {
            let first = self.begin(rank);
            if first != place {
                self.fill(place, first, on_move);
            }
            *self.end_mut(rank - 1) = first + 1;
            place = first;
        }
        place
    }

    #[inline]
    fn fill(&mut self, place: u32, from: u32, on_move: &mut impl FnMut(u32, u32)) {
        let group = self.block[from as usize];
        self.block[place as usize] = group;
        on_move(group, place);
    }
}

impl Record {
    fn rank(&self, exponent: u8) -> usize {
        (self.buckets & (bit(exponent) - 1)).count_ones() as usize
    }

    /// Number of buckets, that of weight 0 included.
    #[inline]
    pub(super) fn buckets(&self) -> usize {
        self.buckets.count_ones() as usize
    }

    /// Words kept at the block's end.
    #[inline]
    fn tail(&self) -> usize {
        self.buckets().saturating_sub(1)
    }

    fn open<'a>(&self, lists: &'a mut Lists) -> Buckets<'a> {
        Buckets {
            block: lists.block_mut(self.list),
            count: self.buckets(),
            len: self.list.len,
        }
    }

    /// Makes a bucket, empty, if there is none, and reserves one group more; returns its rank.
    #[inline]
    fn enter_bucket(&mut self, lists: &mut Lists, exponent: u8) -> usize {
        let rank = self.rank(exponent);
        if self.buckets & bit(exponent) != 0 {
            let tail = self.tail();
            lists.reserve(&mut self.list, tail, 1);
            return rank;
        }
        let before = self.buckets();
        lists.reserve(&mut self.list, before.saturating_sub(1), 1 + before.min(1));
        let mut open = self.open(lists);
        if before > 0 {
            let begin = open.begin(rank);
            // Ends are kept from the back: those above move one further to the front.
            let words = open.block.len();
            let (first, last) = (words + 1 - before, words - rank);
            if rank < before {
                open.block.copy_within(first..last, first - 1);
                *open.end_mut(rank) = begin;
            } else {
                *open.end_mut(rank - 1) = begin;
            }
        }
        self.buckets |= bit(exponent);
        rank
    }

    /// Forgets a bucket if it is empty.
    #[inline]
    fn leave_bucket(&mut self, lists: &mut Lists, exponent: u8) {
        let rank = self.rank(exponent);
        let open = self.open(lists);
        if open.begin(rank) < open.end(rank) {
            return;
        }
        let (words, count) = (open.block.len(), open.count);
        if rank + 1 < count {
            let (first, last) = (words + 1 - count, words - 1 - rank);
            open.block.copy_within(first..last, first + 1);
        }
        self.buckets &= !bit(exponent);
    }

    /// Gives the group at a place another weight; None where it is not in the record. Returns whether the count is
    /// still at most 2^MOST.
    #[inline(always)]
    pub(super) fn reweigh(
        &mut self,
        lists: &mut Lists,
        weights: (Option<u8>, Option<u8>),
        (group, place): (u32, u32),
        on_move: &mut impl FnMut(u32, u32),
    ) -> bool {
        match weights {
            (Some(from), Some(to)) => return self.shift(lists, (from, to), place, on_move),
            (None, Some(to)) => return self.put(lists, to, group, on_move),
            (Some(from), None) => self.take(lists, from, place, on_move),
            (None, None) => {}
        }
        true
    }

    /// Adds a group of a weight. Calls `on_move` with the new place of every group that moves; returns whether the count
    /// is still at most 2^MOST.
    #[inline]
    fn put(
        &mut self,
        lists: &mut Lists,
        exponent: u8,
        group: u32,
        on_move: &mut impl FnMut(u32, u32),
    ) -> bool {
        let rank = self.enter_bucket(lists, exponent);
        self.list.len += 1;
        let mut open = self.open(lists);
        let (top, end) = (open.count - 1, open.len - 1);
        let place = open.down(end, (top, rank), on_move);
        open.block[place as usize] = group;
        on_move(group, place);
        self.count = self.count.saturating_add(weight(exponent));
        self.count <= 1 << MOST
    }

    /// Takes the group at a place of a bucket out.
    #[inline]
    fn take(
        &mut self,
        lists: &mut Lists,
        exponent: u8,
        place: u32,
        on_move: &mut impl FnMut(u32, u32),
    ) {
        let rank = self.rank(exponent);
        let mut open = self.open(lists);
        let top = open.count - 1;
        let place = open.up(place, (rank, top), on_move);
        let last = open.len - 1;
        if place != last {
            open.fill(place, last, on_move);
        }
        self.list.len = last;
        self.leave_bucket(lists, exponent);
        self.count = self.count.saturating_sub(weight(exponent));
        let tail = self.tail();
        lists.fit(&mut self.list, tail);
    }

    /// Gives the group at a place another weight.
    #[inline]
    fn shift(
        &mut self,
        lists: &mut Lists,
        (from, to): (u8, u8),
        place: u32,
        on_move: &mut impl FnMut(u32, u32),
    ) -> bool {
        let count = self.count.saturating_sub(weight(from));
        self.count = count.saturating_add(weight(to));
        let fits = self.count <= 1 << MOST;
        if self.list.len == 1 {
            self.buckets = bit(to);
            return fits;
        }
        self.enter_bucket(lists, to);
        let (old, new) = (self.rank(from), self.rank(to));
        let mut open = self.open(lists);
        let group = open.block[place as usize];
        let place = if old < new {
            open.up(place, (old, new), on_move)
        } else {
            open.down(place, (old, new), on_move)
        };
        open.block[place as usize] = group;
        on_move(group, place);
        self.leave_bucket(lists, from);
        fits
    }

    /// The group whose results hold a position, and the position among these. None behind the last: a dummy.
    #[inline]
    pub(super) fn find(&self, lists: &Lists, mut position: u128) -> Option<(u32, u128)> {
        if position >= self.count {
            return None;
        }
        let block = lists.block(self.list);
        let mut left = self.buckets & !1;
        let (mut rank, mut end) = (self.buckets(), self.list.len);
        // Large weights first: most positions fall into them.
        while left != 0 {
            rank -= 1;
            let top = left.ilog2();
            left ^= 1 << top;
            let begin = if rank == 0 {
                0
            } else {
                block[block.len() - rank]
            };
            let all = u128::from(end - begin) << (top - 1);
            if position < all {
                let place = begin + (position >> (top - 1)) as u32;
                let rest = position & ((1 << (top - 1)) - 1);
                return Some((block[place as usize], rest));
            }
            position -= all;
            end = begin;
        }
        None
    }

    /// The groups of an exponent.
    pub(super) fn of<'a>(&self, lists: &'a Lists, exponent: u8) -> &'a [u32] {
        if self.buckets & bit(exponent) == 0 {
            return &[];
        }
        let (block, rank) = (lists.block(self.list), self.rank(exponent));
        let end = |rank: usize| match rank + 1 == self.buckets() {
            true => self.list.len as usize,
            false => block[block.len() - 1 - rank] as usize,
        };
        let begin = if rank == 0 { 0 } else { end(rank - 1) };
        &block[begin..end(rank)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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

    #[test]
    fn buckets_hold_what_was_put_into_them() {
        let mut random = crate::Random::new(3);
        let (mut lists, mut record) = (Lists::default(), Record::default());
        let exponents = [ZERO, 0, 1, 2, 5, 100];
        // By group, its exponent; and its place.
        let mut model = BTreeMap::<u32, u8>::new();
        let mut places = vec![0; 5000];
        for step in 0..5000u32 {
            let mut on_move = |group: u32, place: u32| places[group as usize] = place;
            let exponent = exponents[random.below(6) as usize];
            let grows = random.below(100) < if step / 1000 % 2 == 0 { 60 } else { 20 };
            let nth = random.below(model.len().max(1) as u128) as usize;
            let chosen = model
                .iter()
                .nth(nth)
                .map(|(&group, &exponent)| (group, exponent));
            match chosen {
                Some((group, old)) if !grows && random.below(2) == 0 => {
                    let place = position_of(&lists, &record, group);
                    record.take(&mut lists, old, place, &mut on_move);
                    model.remove(&group);
                }
                Some((group, old)) if !grows && old != exponent => {
                    let place = position_of(&lists, &record, group);
                    assert!(record.shift(&mut lists, (old, exponent), place, &mut on_move));
                    model.insert(group, exponent);
                }
                _ => {
                    assert!(record.put(&mut lists, exponent, step, &mut on_move));
                    model.insert(step, exponent);
                }
            }
            let all = lists.values(record.list);
            assert_eq!(all.len(), model.len());
            let placed = |(&group, _): (&u32, &u8)| all[places[group as usize] as usize] == group;
            assert!(model.iter().all(placed));
            let mut seen = Vec::new();
            for exponent in exponents {
                seen.extend(
                    record
                        .of(&lists, exponent)
                        .iter()
                        .map(|&group| (group, exponent)),
                );
            }
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(model.iter().map(|(&g, &e)| (g, e))));
            let count: u128 = model.values().map(|&exponent| weight(exponent)).sum();
            assert_eq!(record.count, count);
            if let Some(position) = count.checked_sub(1) {
                let position = random.below(position + 1);
                let (group, rest) = record.find(&lists, position).expect("a group");
                assert!(rest < weight(model[&group]));
            }
            assert_eq!(record.find(&lists, count), None);
        }
    }

    /// The place of a group.
    fn position_of(lists: &Lists, record: &Record, group: u32) -> u32 {
        let all = lists.values(record.list);
        all.iter()
            .position(|&other| other == group)
            .expect("it is there") as u32
    }
}
