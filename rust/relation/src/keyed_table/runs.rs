//! The runs of an index: the slots of a group side by side, with its filter (`bloom_filter`) where groups
//! are intersected.
//!
//! Invariant: a run has `2^class` places, and no two overlap; one that was given back is used again
//! for its size. Runs lie in segments, which stay where they are: nothing is copied to make room
//! for others. A run that is longer than a segment has one of its own. Cost: 4 bytes a place, of
//! which at least half are in use once a group grew; 6 more with filters. A slot is copied O(1)
//! times amortised.

use ringview_core::prefetch;

use crate::keyed_table::bloom_filter::{BloomFilter, bit_of};

/// The bits for each place of a run, as a power of two.
const BITS: u32 = 4;
/// The class of the first run of a group with a filter: most groups outgrow a smaller one.
const LEAST: u32 = 2;
/// Words of a segment, as a power of two: what of a start says where in its segment a run begins.
const SEGMENT: u32 = 16;

/// A run of `2^class` places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    start: u32,
    class: u32,
}

impl Run {
    pub(super) fn word(self) -> u64 {
        u64::from(self.start) << 32 | u64::from(self.class)
    }

    #[inline(always)]
    pub(super) fn from_word(word: u64) -> Self {
        Self {
            start: (word >> 32) as u32,
            class: word as u32,
        }
    }

    /// Number of places.
    #[inline(always)]
    pub(super) fn capacity(self) -> usize {
        1 << self.class
    }

    /// The bits of its filter, as a power of two: at least one word.
    #[inline(always)]
    fn bits(self) -> u32 {
        (self.class + BITS).clamp(5, 32)
    }

    /// The words of its filter.
    #[inline(always)]
    fn bit_words(self) -> usize {
        1 << (self.bits() - 5)
    }

    /// The segment that it lies in, and where it starts there.
    #[inline(always)]
    fn segment(self) -> usize {
        (self.start >> SEGMENT) as usize
    }

    #[inline(always)]
    fn offset(self) -> usize {
        self.start as usize % (1 << SEGMENT)
    }
}

/// All runs of an index. See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    segments: Vec<Vec<u32>>,
    /// The segment that the next run is cut from.
    open: usize,
    /// Words of all runs, used or not.
    words: usize,
    free: Vec<Vec<u32>>,
    filtered: bool,
    /// Slots being copied.
    moved: Vec<u32>,
}

impl Runs {
    /// None, which will have filters.
    pub(super) fn filtered() -> Self {
        Self {
            filtered: true,
            ..Self::default()
        }
    }

    /// None, of the same kind.
    pub(super) fn emptied(&self) -> Self {
        Self {
            filtered: self.filtered,
            ..Self::default()
        }
    }

    /// Forgets all, keeping the room of the first segment.
    pub(super) fn clear(&mut self) {
        self.segments.truncate(1);
        self.segments.iter_mut().for_each(Vec::clear);
        self.free.iter_mut().for_each(Vec::clear);
        (self.open, self.words) = (0, 0);
    }

    pub(super) fn is_filtered(&self) -> bool {
        self.filtered
    }

    /// The words of a run, and what lies behind it.
    #[inline(always)]
    fn at(&self, run: Run) -> &[u32] {
        &self.segments[run.segment()][run.offset()..]
    }

    #[inline(always)]
    fn at_mut(&mut self, run: Run) -> &mut [u32] {
        &mut self.segments[run.segment()][run.offset()..]
    }

    /// The slots of a run that has so many.
    #[inline(always)]
    pub(super) fn slots(&self, run: Run, length: usize) -> &[u32] {
        &self.at(run)[..length]
    }

    /// The fingerprints of a run that has so many slots, and filters.
    #[inline(always)]
    pub(super) fn fingerprints(&self, run: Run, length: usize) -> &[u32] {
        &self.at(run)[run.capacity()..][..length]
    }

    #[inline(always)]
    pub(super) fn bloom_filter(&self, run: Run) -> BloomFilter<'_> {
        BloomFilter {
            bits: &self.at(run)[2 * run.capacity()..][..run.bit_words()],
            shift: 32 - run.bits(),
        }
    }

    /// Words of a run.
    fn width(&self, class: u32) -> usize {
        let run = Run { start: 0, class };
        match self.filtered {
            true => 2 * run.capacity() + run.bit_words(),
            false => run.capacity(),
        }
    }

    /// A run for the first slot of a group.
    pub(super) fn first(&mut self) -> Run {
        match self.filtered {
            true => {
                let run = self.take(LEAST);
                self.bits_mut(run).fill(0);
                run
            }
            false => self.take(0),
        }
    }

    fn take(&mut self, class: u32) -> Run {
        if let Some(start) = self.free.get_mut(class as usize).and_then(Vec::pop) {
            return Run { start, class };
        }
        let width = self.width(class);
        if width > 1 << SEGMENT {
            self.segments.push(Vec::with_capacity(width));
            return self.cut(self.segments.len() - 1, class);
        }
        let used = self.segments.get(self.open).map(Vec::len);
        if used.is_none_or(|used| used + width > 1 << SEGMENT) {
            self.open_next();
        }
        self.cut(self.open, class)
    }

    /// A run at the end of a segment.
    fn cut(&mut self, segment: usize, class: u32) -> Run {
        let width = self.width(class);
        let words = &mut self.segments[segment];
        let start = (segment << SEGMENT | words.len()) as u32;
        words.resize(words.len() + width, 0);
        self.words += width;
        Run { start, class }
    }

    /// Opens another segment. The rest of the one before becomes free runs.
    fn open_next(&mut self) {
        if !self.segments.is_empty() {
            for class in (0..SEGMENT).rev() {
                let used = self.segments[self.open].len();
                if used + self.width(class) <= 1 << SEGMENT {
                    let run = self.cut(self.open, class);
                    self.release(run);
                }
            }
        }
        // The first one grows as it is filled: most indexes need no other.
        let room = match self.segments.is_empty() {
            true => 0,
            false => 1 << SEGMENT,
        };
        self.open = self.segments.len();
        self.segments.push(Vec::with_capacity(room));
    }

    pub(super) fn release(&mut self, run: Run) {
        let class = run.class as usize;
        if self.free.len() <= class {
            self.free.resize(class + 1, Vec::new());
        }
        self.free[class].push(run.start);
    }

    /// The run itself when it has room behind `length` slots, else a copy of twice the size.
    #[inline(always)]
    pub(super) fn grown(&mut self, run: Run, length: usize) -> Run {
        match length < run.capacity() {
            true => run,
            false => self.doubled(run),
        }
    }

    /// A copy of a run that is full, of twice the size.
    fn doubled(&mut self, run: Run) -> Run {
        let larger = self.take(run.class + 1);
        let length = run.capacity();
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        moved.extend_from_slice(&self.at(run)[..if self.filtered { 2 * length } else { length }]);
        let (slots, fingerprints) = moved.split_at(length);
        let words = self.at_mut(larger);
        words[..length].copy_from_slice(slots);
        words[larger.capacity()..][..fingerprints.len()].copy_from_slice(fingerprints);
        self.filter(larger, length);
        self.moved = moved;
        self.release(run);
        larger
    }

    /// Prefetches the memory that `put` will write to.
    #[inline(always)]
    pub(super) fn prefetch(&self, run: Run, at: usize, fingerprint: Option<&u32>) {
        let Some(words) = self.segments.get(run.segment()) else {
            return;
        };
        let start = run.offset();
        prefetch(words, start + at);
        if let Some(&fingerprint) = fingerprint {
            prefetch(words, start + run.capacity() + at);
            let bit = bit_of(fingerprint) >> (32 - run.bits());
            prefetch(words, start + 2 * run.capacity() + bit as usize / 32);
        }
    }

    /// Prefetches the memory that `take_out` will touch.
    #[inline(always)]
    pub(super) fn prefetch_ends(&self, run: Run, length: usize, place: usize) {
        let Some(words) = self.segments.get(run.segment()) else {
            return;
        };
        let slots = run.offset();
        prefetch(words, slots + length);
        prefetch(words, slots + place);
        if self.filtered {
            prefetch(words, slots + run.capacity() + length);
            prefetch(words, slots + run.capacity() + place);
        }
    }

    /// Prefetches the first fingerprints.
    #[inline(always)]
    pub(super) fn prefetch_fingerprints(&self, run: Run) {
        if let Some(words) = self.segments.get(run.segment()) {
            prefetch(words, run.offset() + run.capacity());
        }
    }

    /// Prefetches the first line of the filter.
    #[inline(always)]
    pub(super) fn prefetch_bits(&self, run: Run) {
        if let Some(words) = self.segments.get(run.segment()) {
            prefetch(words, run.offset() + 2 * run.capacity());
        }
    }

    /// Puts a slot behind the others, with its fingerprint where there are filters.
    #[inline(always)]
    pub(super) fn put(&mut self, run: Run, at: usize, slot: u32, fingerprint: Option<&u32>) {
        let (words, room) = (self.at_mut(run), run.capacity());
        words[at] = slot;
        if let Some(&fingerprint) = fingerprint {
            words[room + at] = fingerprint;
            let bit = bit_of(fingerprint) >> (32 - run.bits());
            words[2 * room + bit as usize / 32] |= 1 << (bit % 32);
        }
    }

    /// Takes out the slot at a place, where `length` others are left; the last of them, if it took
    /// the place.
    pub(super) fn take_out(&mut self, run: Run, length: usize, place: usize) -> Option<u32> {
        if place == length {
            return None;
        }
        let is_filtered = self.filtered;
        let words = self.at_mut(run);
        let last = words[length];
        words[place] = last;
        if is_filtered {
            words[run.capacity() + place] = words[run.capacity() + length];
        }
        Some(last)
    }

    /// Makes the filter of a run anew, if there are any.
    pub(super) fn filter(&mut self, run: Run, length: usize) {
        if !self.filtered {
            return;
        }
        let (fingerprints, bits) = self.at_mut(run)[run.capacity()..].split_at_mut(run.capacity());
        let (bits, shift) = (&mut bits[..run.bit_words()], 32 - run.bits());
        bits.fill(0);
        for &fingerprint in &fingerprints[..length] {
            let bit = bit_of(fingerprint) >> shift;
            bits[bit as usize / 32] |= 1 << (bit % 32);
        }
    }

    fn bits_mut(&mut self, run: Run) -> &mut [u32] {
        &mut self.at_mut(run)[2 * run.capacity()..][..run.bit_words()]
    }

    /// Number of places, used or not.
    pub(super) fn capacity(&self) -> usize {
        match self.filtered {
            true => self.words * 2 / 5,
            false => self.words,
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        let words = self.segments.iter().chain(&self.free).map(Vec::capacity);
        (self.segments.capacity() + self.free.capacity()) * size_of::<Vec<u32>>()
            + (words.sum::<usize>() + self.moved.capacity()) * size_of::<u32>()
    }
}
