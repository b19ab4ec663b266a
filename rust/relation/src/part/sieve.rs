//! The runs of an index, each the slots of a group; and the sieve of a group, which tells in a bit what it
//! does not hold.
//!
//! Two groups are intersected by looking up the slots of the smaller one in the relation of the larger one,
//! and most of them are not there. So a run may have two things beside its slots: a print of each slot,
//! 32 bits of what its key has beside the fields of the index, and 16 bits a place in which every
//! print sets one. Where that is one field of no more than 32 bits, the print is that field: whoever has the
//! prints needs neither slots nor keys to look up elsewhere. Who intersects walks the prints of one group and keeps those whose bit is set in the
//! other: both lie side by side in memory, where a look-up of each key would go somewhere else.
//!
//! Invariant: the print of every slot of a run has its bit; equal fields have equal prints, in whatever
//! order a key has them. A bit without a print costs whoever meets it a look-up, no more: prints
//! that were chosen to collide make nothing slower than it is without sieves. Of a sieve that is not
//! older than its run, at most 1 in 16 bits is set, or 1 in 8 after as many removals as there are places.
//!
//! Cost: 4 bytes a place, of which at least half are in use once a group grew; 6 more with sieves. A
//! print that comes or goes costs O(1) amortised.

use ringview_core::prefetch;

/// The bits for each place of a run, as a power of two.
const BITS: u32 = 4;

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

    /// How many places it has.
    #[inline(always)]
    pub(super) fn room(self) -> usize {
        1 << self.class
    }

    /// The bits of its sieve, as a power of two: at least one word.
    #[inline(always)]
    fn bits(self) -> u32 {
        (self.class + BITS).clamp(5, 32)
    }
}

/// The slots of a group, and what can be told of what it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve<'a> {
    /// Its slots.
    pub(crate) slots: &'a [u32],
    /// A print each.
    pub(crate) prints: &'a [u32],
    bits: &'a [u32],
    shift: u32,
}

impl Sieve<'_> {
    /// Asks for the first line of what is walked.
    #[inline(always)]
    pub(crate) fn prefetch_prints(&self) {
        prefetch(self.prints, 0);
    }

    /// Asks for the first line of what is asked.
    #[inline(always)]
    pub(crate) fn prefetch_bits(&self) {
        prefetch(self.bits, 0);
    }

    /// False where no slot of the group has this print.
    #[inline(always)]
    pub(crate) fn may_hold(&self, print: u32) -> bool {
        let bit = spread(print) >> self.shift;
        self.bits[bit as usize / 32] >> (bit % 32) & 1 == 1
    }
}

/// Which bit of 2^32 a print sets; of fewer, the upper ones say which.
#[inline(always)]
fn spread(print: u32) -> u32 {
    print.wrapping_mul(0x9e37_79b1)
}

/// The print of the only value: itself where 32 bits hold it, with a sign or without.
#[inline(always)]
pub(super) fn print_of_one(value: u64) -> u32 {
    match tells(value, true) || tells(value, false) {
        true => value as u32,
        false => print_of(std::iter::once(value)),
    }
}

/// Whether the lower 32 bits of a value are all of it.
#[inline(always)]
pub(super) fn tells(value: u64, signed: bool) -> bool {
    told(value as u32, signed) == value
}

/// The value of a print that is a value itself.
#[inline(always)]
pub(crate) fn told(print: u32, signed: bool) -> u64 {
    match signed {
        true => i64::from(print as i32) as u64,
        false => u64::from(print),
    }
}

/// The print of some values, in whatever order they come.
#[inline(always)]
pub(super) fn print_of(values: impl Iterator<Item = u64>) -> u32 {
    let mixed = |value: u64| {
        let product = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
    };
    (values.fold(0, |sum: u64, value| sum.wrapping_add(mixed(value))) >> 32) as u32
}

/// Runs of powers of two in one array; a run given back is used again for its size.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    words: Vec<u32>,
    free: Vec<Vec<u32>>,
    sifted: bool,
}

impl Runs {
    /// None, which will have sieves.
    pub(super) fn sifted() -> Self {
        Self {
            sifted: true,
            ..Self::default()
        }
    }

    /// None, of the same kind.
    pub(super) fn emptied(&self) -> Self {
        Self {
            sifted: self.sifted,
            ..Self::default()
        }
    }

    pub(super) fn is_sifted(&self) -> bool {
        self.sifted
    }

    /// The slots of a run that has so many.
    #[inline(always)]
    pub(super) fn slots(&self, run: Run, length: usize) -> &[u32] {
        &self.words[run.start as usize..][..length]
    }

    #[inline(always)]
    pub(super) fn sieve(&self, run: Run, length: usize) -> Sieve<'_> {
        let (slots, behind) = self.words[run.start as usize..].split_at(run.room());
        let (prints, behind) = behind.split_at(run.room());
        Sieve {
            slots: &slots[..length],
            prints: &prints[..length],
            bits: &behind[..1 << (run.bits() - 5)],
            shift: 32 - run.bits(),
        }
    }

    /// Words of a run.
    fn width(&self, class: u32) -> usize {
        let run = Run { start: 0, class };
        match self.sifted {
            true => 2 * run.room() + (1 << (run.bits() - 5)),
            false => run.room(),
        }
    }

    pub(super) fn take(&mut self, class: u32) -> Run {
        if let Some(start) = self.free.get_mut(class as usize).and_then(Vec::pop) {
            return Run { start, class };
        }
        let start = self.words.len() as u32;
        let width = self.width(class);
        // By an eighth once it is large: a big block moves by remapping.
        const LARGE: usize = 1 << 18;
        let len = self.words.len();
        if self.words.capacity() - len < width && len > LARGE {
            self.words.reserve_exact(width.max(len / 8));
        }
        self.words.resize(len + width, 0);
        Run { start, class }
    }

    pub(super) fn release(&mut self, run: Run) {
        let class = run.class as usize;
        if self.free.len() <= class {
            self.free.resize(class + 1, Vec::new());
        }
        if self.sifted {
            self.bits_mut(run).fill(0);
        }
        self.free[class].push(run.start);
    }

    /// The run itself when it has room behind `length` slots, else a copy of twice the size.
    pub(super) fn with_room(&mut self, run: Run, length: usize) -> Run {
        if length < run.room() {
            return run;
        }
        let larger = self.take(run.class + 1);
        let (from, to) = (run.start as usize, larger.start as usize);
        self.words.copy_within(from..from + length, to);
        if self.sifted {
            let prints = from + run.room();
            self.words
                .copy_within(prints..prints + length, to + larger.room());
            self.sift(larger, length);
        }
        self.release(run);
        larger
    }

    /// Asks for what `put` will write to.
    #[inline(always)]
    pub(super) fn prefetch(&self, run: Run, at: usize, print: Option<&u32>) {
        prefetch(&self.words, run.start as usize + at);
        if let Some(&print) = print {
            let prints = run.start as usize + run.room();
            prefetch(&self.words, prints + at);
            let bit = spread(print) >> (32 - run.bits());
            prefetch(&self.words, prints + run.room() + bit as usize / 32);
        }
    }

    /// Puts a slot behind the others, with its print where there are sieves.
    #[inline(always)]
    pub(super) fn put(&mut self, run: Run, at: usize, slot: u32, print: Option<&u32>) {
        self.words[run.start as usize + at] = slot;
        if let Some(&print) = print {
            self.words[run.start as usize + run.room() + at] = print;
            self.mark(run, print);
        }
    }

    /// Takes out the slot at a place, where `length` others are left; the last of them, if it took the
    /// place.
    pub(super) fn take_out(&mut self, run: Run, length: usize, place: usize) -> Option<u32> {
        let start = run.start as usize;
        let last = self.words[start + length];
        if place == length {
            return None;
        }
        self.words[start + place] = last;
        if self.sifted {
            let prints = start + run.room();
            self.words[prints + place] = self.words[prints + length];
        }
        Some(last)
    }

    /// Makes the sieve of a run anew, if there are any.
    pub(super) fn sift(&mut self, run: Run, length: usize) {
        if !self.sifted {
            return;
        }
        self.bits_mut(run).fill(0);
        let prints = run.start as usize + run.room();
        for at in prints..prints + length {
            self.mark(run, self.words[at]);
        }
    }

    #[inline(always)]
    fn mark(&mut self, run: Run, print: u32) {
        let bit = spread(print) >> (32 - run.bits());
        self.bits_mut(run)[bit as usize / 32] |= 1 << (bit % 32);
    }

    #[inline(always)]
    fn bits_mut(&mut self, run: Run) -> &mut [u32] {
        &mut self.words[run.start as usize + 2 * run.room()..][..1 << (run.bits() - 5)]
    }

    /// How many places there are, used or not.
    pub(super) fn places(&self) -> usize {
        match self.sifted {
            true => self.words.len() * 2 / 5,
            false => self.words.len(),
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.free.capacity() * size_of::<Vec<u32>>()
            + self.free.iter().map(Vec::capacity).sum::<usize>() * size_of::<u32>()
            + self.words.capacity() * size_of::<u32>()
    }
}
