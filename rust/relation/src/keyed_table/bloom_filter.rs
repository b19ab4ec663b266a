//! The Bloom filter of a group: an unset bit proves that the group lacks a value.
//!
//! Two groups are intersected by looking up the slots of the smaller one in the relation of the larger one, and most of
//! them are not there. So a run may have two things besides its slots: a fingerprint of each slot, 32 bits of its key's
//! fields outside the index, and 16 bits a place in which every fingerprint sets one. If that is one field of no more
//! than 32 bits, the fingerprint is that field, and the join needs neither slots nor keys. An intersection walks the
//! fingerprints of one group and keeps those whose bit is set in the other: both are contiguous in memory, whereas a
//! look-up of each key would be a cache miss.
//!
//! Invariant: the fingerprint of every slot of a run has its bit; equal fields have equal fingerprints, in any order of
//! the fields in a key. A bit without a fingerprint costs a look-up, no more: fingerprints that were chosen to collide
//! make nothing slower than it is without filters. Of a filter that is not older than its run, at most 1 in 16 bits is
//! set, or 1 in 8 after as many removals as there are places. Cost: O(1) amortised a fingerprint added or removed.

/// A filter over the fingerprints of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BloomFilter<'a> {
    pub(super) bits: &'a [u32],
    pub(super) shift: u32,
}

impl BloomFilter<'_> {
    /// False where no slot of the group has this fingerprint.
    #[inline(always)]
    pub(crate) fn may_hold(self, fingerprint: u32) -> bool {
        let bit = bit_of(fingerprint) >> self.shift;
        self.bits[bit as usize / 32] >> (bit % 32) & 1 == 1
    }

    /// The places of the fingerprints that it may hold, the first of which is at `from`; how many they
    /// are. Nothing branches on what is kept: `places` has room for all.
    #[inline(always)]
    pub(crate) fn filter(self, fingerprints: &[u32], from: usize, places: &mut [u32]) -> usize {
        let mut kept = 0;
        for (place, &fingerprint) in (from as u32..).zip(fingerprints) {
            places[kept] = place;
            kept += usize::from(self.may_hold(fingerprint));
        }
        kept
    }

    /// Keeps, of places of fingerprints, those that it may hold; how many they are.
    pub(crate) fn filter_on(self, fingerprints: &[u32], places: &mut [u32]) -> usize {
        let mut kept = 0;
        for at in 0..places.len() {
            places[kept] = places[at];
            kept += usize::from(self.may_hold(fingerprints[places[at] as usize]));
        }
        kept
    }
}

/// Bit of 2^32 that a fingerprint sets; smaller filters use its upper bits.
#[inline(always)]
pub(super) fn bit_of(fingerprint: u32) -> u32 {
    fingerprint.wrapping_mul(0x9e37_79b1)
}

/// The fingerprint of a single value: itself where 32 bits hold it, with a sign or without.
#[inline(always)]
pub(super) fn fingerprint_of_one(value: u64) -> u32 {
    match is_identity(value, true) || is_identity(value, false) {
        true => value as u32,
        false => fingerprint_of(std::iter::once(value)),
    }
}

/// Whether a value fits its lower 32 bits.
#[inline(always)]
pub(super) fn is_identity(value: u64, signed: bool) -> bool {
    value_of(value as u32, signed) == value
}

/// The value whose fingerprint is the value itself.
#[inline(always)]
pub(crate) fn value_of(fingerprint: u32, signed: bool) -> u64 {
    match signed {
        true => i64::from(fingerprint as i32) as u64,
        false => u64::from(fingerprint),
    }
}

/// The fingerprint of some values, independent of their order.
#[inline(always)]
pub(super) fn fingerprint_of(values: impl Iterator<Item = u64>) -> u32 {
    let mixed = |value: u64| {
        let product = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
    };
    (values.fold(0, |sum: u64, value| sum.wrapping_add(mixed(value))) >> 32) as u32
}
