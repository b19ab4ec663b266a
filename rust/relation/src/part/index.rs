//! A secondary index: the slots of a part grouped by some fields of the key.
//!
//! Invariant (after a refresh): every live slot stands exactly once, in the run of its group, at
//! the place the slot remembers; a group without slots does not exist. So a count and a removal
//! are O(1), an insert is O(1) amortised, and a group is a slice, walked with constant delay.
//!
//! The index is lazy: slots added since the last refresh are entered, each once, as one batch,
//! when somebody is about to read. An index that nobody reads costs nothing.

use crate::ABSENT;
use crate::directory::{KeyScratch, Keys};
use crate::layout::KeyLayout;
use crate::part::Part;

/// Slots entered at a time.
const CHUNK: usize = 1024;
/// The place of a slot that is named among those that wait.
const NAMED: u32 = ABSENT - 1;

/// An index on some fields of the keys of a part.
#[derive(Clone, Debug)]
pub struct Index {
    fields: Vec<usize>,
    /// Group key -> where its run starts and its size class, its length.
    groups: Box<Part>,
    runs: Runs,
    /// By slot: the place in its run; `ABSENT` or `NAMED` while it waits.
    place: Vec<u32>,
    /// Reused slots that wait, each once. Slots from `place.len()` on wait without being named.
    waiting: Vec<u32>,
    scratch: KeyScratch,
    /// How often all was forgotten.
    rebuilds: u64,
}

impl Index {
    pub(crate) fn new(layout: &KeyLayout, fields: &[usize]) -> Self {
        Self {
            fields: fields.to_vec(),
            groups: Box::new(Part::new(layout.project(fields), 2)),
            runs: Runs::default(),
            place: Vec::new(),
            waiting: Vec::new(),
            scratch: KeyScratch::default(),
            rebuilds: 0,
        }
    }

    /// The fields of the part's key that make the group.
    #[must_use]
    pub fn fields(&self) -> &[usize] {
        &self.fields
    }

    /// Where a slot stands in its group; `None` while it waits.
    #[must_use]
    pub fn place(&self, slot: u32) -> Option<u32> {
        let place = self.place.get(slot as usize).copied();
        place.filter(|&place| place < NAMED)
    }

    /// How often its groups were made anew: else a slot keeps its group, and its place but for what
    /// removals move.
    #[must_use]
    pub fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// The number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The group of each key of a batch, to be passed to `group`; `ABSENT` for an empty one.
    pub fn find(&self, keys: Keys<'_>, scratch: &mut KeyScratch, out: &mut Vec<u32>) {
        self.groups.find(keys, scratch, out);
    }

    /// The slots of a group; their number is its length. Empty for `ABSENT`.
    #[must_use]
    #[inline]
    pub fn group(&self, group: u32) -> &[u32] {
        if group == ABSENT {
            return &[];
        }
        let payload = self.groups.payload(group);
        &self.runs.words[Run::from_word(payload[0]).start as usize..][..payload[1] as usize]
    }

    pub(crate) fn added(&mut self, slot: u32) {
        if let Some(place) = self.place.get_mut(slot as usize)
            && *place != NAMED
        {
            *place = NAMED;
            self.waiting.push(slot);
        }
    }

    /// Takes a slot out, while the part still holds its key.
    pub(crate) fn removed(&mut self, slot: u32, field: impl Fn(usize) -> u64) {
        let Some(&place) = self.place.get(slot as usize) else {
            return;
        };
        if place >= NAMED {
            return;
        }
        self.place[slot as usize] = ABSENT;
        let columns: Vec<Vec<u64>> = self.fields.iter().map(|&f| vec![field(f)]).collect();
        let all: Vec<usize> = (0..columns.len()).collect();
        let mut found = Vec::new();
        let keys = Keys {
            columns: &columns,
            fields: &all,
            rows: 1,
        };
        self.groups.find(keys, &mut self.scratch, &mut found);
        let group = found[0];
        let payload = self.groups.payload_mut(group);
        let run = Run::from_word(payload[0]);
        payload[1] -= 1;
        let length = payload[1] as usize;
        // The last slot of the run takes the place that became free.
        let start = run.start as usize;
        let last = self.runs.words[start + length];
        if last != slot {
            self.runs.words[start + place as usize] = last;
            self.place[last as usize] = place;
        }
        if length == 0 {
            self.runs.release(run);
            self.groups.remove(group);
        }
    }

    /// Enters the slots of `part` that wait.
    pub(crate) fn refresh(&mut self, part: &Part) {
        if self.is_sparse(part) {
            self.forget();
        }
        let first = self.place.len();
        if first == part.slots() && self.waiting.is_empty() {
            return;
        }
        self.place.resize(part.slots(), ABSENT);
        let mut batch: Vec<u32> = Vec::with_capacity(CHUNK);
        let waiting = std::mem::take(&mut self.waiting);
        for slot in waiting.into_iter().chain(first as u32..part.slots() as u32) {
            self.place[slot as usize] = ABSENT;
            if part.is_live(slot) {
                batch.push(slot);
            }
            if batch.len() == CHUNK {
                self.enter(part, &batch);
                batch.clear();
            }
        }
        self.enter(part, &batch);
    }

    fn enter(&mut self, part: &Part, slots: &[u32]) {
        let column = |&f: &usize| slots.iter().map(|&slot| part.field(slot, f)).collect();
        let columns: Vec<Vec<u64>> = self.fields.iter().map(column).collect();
        let all: Vec<usize> = (0..columns.len()).collect();
        let keys = Keys {
            columns: &columns,
            fields: &all,
            rows: slots.len(),
        };
        let mut groups = Vec::with_capacity(slots.len());
        self.groups.locate(keys, &mut self.scratch, &mut groups);
        for (&slot, &group) in slots.iter().zip(&groups) {
            let payload = self.groups.payload_mut(group);
            let length = payload[1] as usize;
            let run = match length {
                0 => self.runs.take(0),
                _ => self.runs.with_room(Run::from_word(payload[0]), length),
            };
            payload.copy_from_slice(&[run.word(), length as u64 + 1]);
            self.runs.words[run.start as usize + length] = slot;
            self.place[slot as usize] = length as u32;
        }
    }

    /// The slots from `slots` on are no more; they were removed.
    pub(crate) fn cut_off(&mut self, slots: u32) {
        self.place.truncate(slots as usize);
        self.waiting.retain(|&slot| slot < slots);
    }

    /// Forgets all groups: every slot waits.
    pub(crate) fn forget(&mut self) {
        *self.groups = Part::new(self.groups.layout().clone(), 2);
        self.runs = Runs::default();
        self.place = Vec::new();
        self.waiting = Vec::new();
        self.rebuilds += 1;
    }

    /// Whether most of the room is that of groups or places that have gone. What is entered anew takes
    /// no more than half of that, so there was as much coming and going as is entered.
    fn is_sparse(&self, part: &Part) -> bool {
        const FEW: usize = 1 << 12;
        self.groups.slots() > FEW + 4 * self.groups.len()
            || self.runs.words.len() > FEW + 8 * part.len()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let free = &self.runs.free;
        self.groups.memory_usage()
            + free.capacity() * size_of::<Vec<u32>>()
            + free.iter().map(Vec::capacity).sum::<usize>() * size_of::<u32>()
            + (self.runs.words.capacity() + self.place.capacity() + self.waiting.capacity())
                * size_of::<u32>()
    }

    pub(crate) fn check(&self, part: &Part) {
        let mut seen = 0;
        for group in self.groups.iter() {
            assert!(!self.group(group).is_empty(), "an empty group");
            for (at, &slot) in self.group(group).iter().enumerate() {
                assert!(part.is_live(slot), "a dead slot in a group");
                assert_eq!(
                    self.place[slot as usize] as usize, at,
                    "the place of a slot"
                );
                for (f, &field) in self.fields.iter().enumerate() {
                    assert_eq!(part.field(slot, field), self.groups.field(group, f));
                }
                seen += 1;
            }
        }
        let entered = |&slot: &u32| self.place.get(slot as usize).is_some_and(|&p| p < NAMED);
        assert_eq!(seen, part.iter().filter(entered).count());
    }
}

/// A run of `2^class` places.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u32,
    class: u32,
}

impl Run {
    fn word(self) -> u64 {
        u64::from(self.start) << 32 | u64::from(self.class)
    }

    fn from_word(word: u64) -> Self {
        Self {
            start: (word >> 32) as u32,
            class: word as u32,
        }
    }
}

/// Runs of powers of two in one array; a run given back is used again for its size.
#[derive(Clone, Debug, Default)]
struct Runs {
    words: Vec<u32>,
    free: Vec<Vec<u32>>,
}

impl Runs {
    fn take(&mut self, class: u32) -> Run {
        if let Some(start) = self.free.get_mut(class as usize).and_then(Vec::pop) {
            return Run { start, class };
        }
        let start = self.words.len() as u32;
        self.words.resize(self.words.len() + (1 << class), ABSENT);
        Run { start, class }
    }

    fn release(&mut self, run: Run) {
        let class = run.class as usize;
        if self.free.len() <= class {
            self.free.resize(class + 1, Vec::new());
        }
        self.free[class].push(run.start);
    }

    /// The run itself when it has room behind `length` slots, else a copy of twice the size.
    fn with_room(&mut self, run: Run, length: usize) -> Run {
        if length < 1 << run.class {
            return run;
        }
        let larger = self.take(run.class + 1);
        let start = run.start as usize;
        self.words
            .copy_within(start..start + length, larger.start as usize);
        self.release(run);
        larger
    }
}
