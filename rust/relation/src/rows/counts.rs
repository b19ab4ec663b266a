//! Multiplicities by slot, in the narrowest width that holds them all.
//!
//! Invariant: 0 marks a free slot. Most tables stay at one byte a row; the first larger
//! multiplicity rewrites the array once, in O(slots).

use ringview_core::{Slab, Word, prefetch};

#[derive(Clone, Debug)]
pub(super) enum Counts {
    Byte(Slab<u8>),
    Half(Slab<u32>),
    Word(Slab<u64>),
}

impl Counts {
    pub(super) fn new() -> Counts {
        Counts::Byte(Slab::new())
    }

    /// Number of slots, free ones too.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        match self {
            Counts::Byte(all) => all.len(),
            Counts::Half(all) => all.len(),
            Counts::Word(all) => all.len(),
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, slot: u32) -> u64 {
        match self {
            Counts::Byte(all) => all[slot as usize].into(),
            Counts::Half(all) => all[slot as usize].into(),
            Counts::Word(all) => all[slot as usize],
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, slot: u32, count: u64) {
        let fits = match self {
            Counts::Byte(all) => u8::try_from(count)
                .map(|count| all[slot as usize] = count)
                .is_ok(),
            Counts::Half(all) => u32::try_from(count)
                .map(|count| all[slot as usize] = count)
                .is_ok(),
            Counts::Word(all) => {
                all[slot as usize] = count;
                true
            }
        };
        if !fits {
            self.widen();
            self.set(slot, count);
        }
    }

    /// Adds slots of multiplicity 1.
    pub(super) fn push_ones(&mut self, slots: usize) {
        match self {
            Counts::Byte(all) => all.resize(all.len() + slots, 1),
            Counts::Half(all) => all.resize(all.len() + slots, 1),
            Counts::Word(all) => all.resize(all.len() + slots, 1),
        }
    }

    /// Adds a free slot.
    #[inline(always)]
    pub(super) fn push_free(&mut self) {
        match self {
            Counts::Byte(all) => all.push(0),
            Counts::Half(all) => all.push(0),
            Counts::Word(all) => all.push(0),
        }
    }

    /// Gives back the room behind the last slot.
    pub(super) fn fit(&mut self) {
        match self {
            Counts::Byte(all) => all.shrink_to_fit(),
            Counts::Half(all) => all.shrink_to_fit(),
            Counts::Word(all) => all.shrink_to_fit(),
        }
    }

    /// Forgets the slots from `slots` on.
    pub(super) fn truncate(&mut self, slots: usize) {
        match self {
            Counts::Byte(all) => all.truncate(slots),
            Counts::Half(all) => all.truncate(slots),
            Counts::Word(all) => all.truncate(slots),
        }
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, slot: u32) {
        match self {
            Counts::Byte(all) => prefetch(all, slot as usize),
            Counts::Half(all) => prefetch(all, slot as usize),
            Counts::Word(all) => prefetch(all, slot as usize),
        }
    }

    #[cold]
    fn widen(&mut self) {
        *self = match self {
            Counts::Byte(all) => Counts::Half(widened(all)),
            Counts::Half(all) => Counts::Word(widened(all)),
            Counts::Word(_) => return,
        };
    }

    pub(super) fn memory_usage(&self) -> usize {
        match self {
            Counts::Byte(all) => all.memory_usage(),
            Counts::Half(all) => all.memory_usage(),
            Counts::Word(all) => all.memory_usage(),
        }
    }
}

/// The same counts, each in more bytes.
fn widened<T: Word, W: Word + From<T>>(counts: &[T]) -> Slab<W> {
    let mut wide = Slab::new();
    wide.reserve_exact(counts.len());
    counts.iter().for_each(|&count| wide.push(count.into()));
    wide
}
