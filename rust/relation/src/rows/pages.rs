//! Stored rows by slot, in pages, each of which has a layout of its own.
//!
//! Invariant: a page holds `1 << bits` rows, but the last, which may hold fewer; only the first page ever grows, so the
//! memory of a short table is close to its rows, and a long one is never copied. Layouts only become wider: the newest
//! holds every row that any of them holds, and new pages have it. A page of an older layout is rewritten when a row
//! that it cannot hold takes a slot there, or when it is not full: so widening costs at most a page at a time, however
//! many rows there are, and there are at most eight layouts a word. Before rows are added, the caller makes the newest
//! layout wide enough (`widen`).

use std::ops::Range;

use ringview_core::{Column, prefetch};

use super::stored::StoredLayout;
use super::words::{BLOCK, RowWords, WordRange};

/// Bytes that a page holds at least where every value takes half a word, below what the allocator
/// would map and unmap by itself.
const PAGE: usize = 1 << 15;

/// Rows one behind the other that are read as such.
const LONG_RUN: usize = 8;

/// Bytes that memory hands over at once.
const CACHE_LINE: usize = 64;

/// Bytes behind a row that storing it may touch.
const SLACK: usize = size_of::<u64>();

#[derive(Clone, Debug)]
struct Page {
    bytes: Vec<u8>,
    stride: usize,
    layout: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Pages {
    pages: Vec<Page>,
    ranges: Vec<WordRange>,
    /// By word, the spread of all rows so far.
    spreads: Vec<u64>,
    /// The newest is the last.
    layouts: Vec<StoredLayout>,
    bits: u32,
    rows: usize,
    /// Rows that were written anew in a wider layout.
    rewritten: u64,
}

impl Pages {
    /// No rows; their words are of these ranges.
    pub(super) fn new(ranges: &[WordRange]) -> Pages {
        let narrowest = ranges.iter().map(|range| range.bytes(0));
        let half = (ranges.len() * size_of::<u64>() / 2).max(1);
        Pages {
            pages: Vec::new(),
            layouts: vec![StoredLayout::new(ranges, narrowest)],
            ranges: ranges.to_vec(),
            spreads: vec![0; ranges.len()],
            bits: PAGE.div_ceil(half).next_power_of_two().ilog2(),
            rows: 0,
            rewritten: 0,
        }
    }

    /// By word, the spread of all rows so far: a bit that is in none of them is in no row.
    pub(super) fn spreads(&self) -> &[u64] {
        &self.spreads
    }

    /// Number of rows rewritten as their page became wider.
    pub(super) fn rewritten(&self) -> u64 {
        self.rewritten
    }

    #[inline(always)]
    fn page_of(&self, slot: u32) -> usize {
        slot as usize >> self.bits
    }

    /// Position of a row in its page.
    #[inline(always)]
    fn row_of_page(&self, slot: u32) -> usize {
        slot as usize & ((1 << self.bits) - 1)
    }

    /// The layout of a row, and the bytes from its first one on.
    #[inline(always)]
    fn stored(&self, slot: u32) -> (&StoredLayout, &[u8]) {
        let page = &self.pages[self.page_of(slot)];
        let start = self.row_of_page(slot) * page.stride;
        (&self.layouts[page.layout], &page.bytes[start..])
    }

    /// The words of a row.
    #[inline(always)]
    pub(super) fn words(&self, slot: u32) -> impl Iterator<Item = u64> + '_ {
        let (layout, row) = self.stored(slot);
        layout.words(row)
    }

    /// One word of a row.
    pub(super) fn word(&self, slot: u32, word: usize) -> u64 {
        let (layout, row) = self.stored(slot);
        layout.field(word).load(row)
    }

    /// Whether a row is in a slot, of which some leading words may be given.
    #[inline(always)]
    pub(super) fn equals(&self, slot: u32, words: &[u64]) -> bool {
        let (layout, row) = self.stored(slot);
        layout.equals(row, words)
    }

    /// Whether two slots hold the same row.
    pub(super) fn are_equal(&self, one: u32, other: u32) -> bool {
        self.words(one).eq(self.words(other))
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, slot: u32) {
        if let Some(page) = self.pages.get(self.page_of(slot)) {
            prefetch(&page.bytes, self.row_of_page(slot) * page.stride);
        }
    }

    /// Refills the columns that are there with the rows of some slots, a block at a time: a block
    /// stays in the nearest cache until all columns have read it.
    pub(super) fn read(&self, words: &RowWords, slots: &[u32], columns: &mut [Option<Column>]) {
        words.begin_unpacking(slots.len(), columns, &self.spreads);
        let mut rows = Vec::with_capacity(BLOCK.min(slots.len()));
        let mut rest = slots;
        while let Some(&first) = rest.first() {
            let page = &self.pages[self.page_of(first)];
            let layout = &self.layouts[page.layout];
            let reader = |word| {
                let field = layout.field(word);
                move |row: &[u8]| field.load(row)
            };
            let run = self.run_length(rest);
            if run >= LONG_RUN {
                let start = self.row_of_page(first) * page.stride;
                let bytes = &page.bytes[start..];
                let run_rows = (0..run).map(|row| &bytes[row * page.stride..]);
                self.prefetch_run(first + run as u32, run);
                words.unpack(run_rows, columns, reader);
                rest = &rest[run..];
                continue;
            }
            // Rows from anywhere are found once for all columns.
            rows.clear();
            for &slot in rest.iter().take(BLOCK) {
                let other = &self.pages[self.page_of(slot)];
                if other.layout != page.layout {
                    break;
                }
                rows.push(&other.bytes[self.row_of_page(slot) * other.stride..]);
            }
            words.unpack(rows.iter().copied(), columns, reader);
            rest = &rest[rows.len()..];
        }
        words.end_unpacking(columns);
    }

    /// Prefetches rows one behind the other together, while those before them are read.
    #[inline(always)]
    fn prefetch_run(&self, first: u32, rows: usize) {
        if let Some(page) = self.pages.get(self.page_of(first)) {
            let start = self.row_of_page(first) * page.stride;
            let lines = (start..start + rows * page.stride).step_by(CACHE_LINE);
            lines.for_each(|line| prefetch(&page.bytes, line));
        }
    }

    /// Number of first slots that lie one behind the other in one page, at most a block.
    fn run_length(&self, slots: &[u32]) -> usize {
        let first = slots[0];
        let left = (1 << self.bits) - self.row_of_page(first);
        let most = &slots[..slots.len().min(left).min(BLOCK)];
        let is_run = |slots: &[u32]| {
            let mut differs = 0;
            for (&slot, next) in slots.iter().zip(first..) {
                differs |= slot ^ next;
            }
            differs == 0
        };
        if is_run(most) { most.len() } else { 0 }
    }

    fn newest(&self) -> usize {
        self.layouts.len() - 1
    }

    /// Sees to it that the newest layout holds words of these spreads.
    pub(super) fn widen(&mut self, spreads: &[u64]) {
        for (all, spread) in self.spreads.iter_mut().zip(spreads) {
            *all |= spread;
        }
        let newest = self.layouts[self.newest()].bytes();
        let needed = self.ranges.iter().zip(spreads).zip(newest);
        let needed = needed.map(|((range, &spread), now)| (range.bytes(spread), now));
        if needed.clone().all(|(needed, now)| needed <= now) {
            return;
        }
        let bytes = needed.map(|(needed, now)| needed.max(now));
        let layout = StoredLayout::new(&self.ranges, bytes);
        self.layouts.push(layout);
        if self.rows & ((1 << self.bits) - 1) > 0 {
            self.rewrite(self.pages.len() - 1);
        }
    }

    /// Rewrites a page in the newest layout.
    #[cold]
    fn rewrite(&mut self, page: usize) {
        let newest = self.newest();
        let (from, to) = (
            &self.layouts[self.pages[page].layout],
            &self.layouts[newest],
        );
        let old = &self.pages[page];
        let rows = (self.rows - (page << self.bits)).min(1 << self.bits);
        let mut bytes = Vec::with_capacity(self.page_capacity(page, rows, to.stride()));
        bytes.resize(rows * to.stride(), 0);
        let mut words = Vec::with_capacity(self.ranges.len());
        for row in 0..rows {
            words.clear();
            words.extend(from.words(&old.bytes[row * from.stride()..]));
            to.store(&words, &mut bytes[row * to.stride()..]);
        }
        let stride = to.stride();
        self.rewritten += rows as u64;
        self.pages[page] = Page {
            bytes,
            stride,
            layout: newest,
        };
    }

    /// The capacity of a page in bytes: all but the first are made whole.
    fn page_capacity(&self, page: usize, rows: usize, stride: usize) -> usize {
        let rows = if page == 0 { rows } else { 1 << self.bits };
        rows * stride + SLACK
    }

    /// Stores a row in a slot.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: u32, words: &[u64]) {
        let page = self.page_of(slot);
        let layout = self.pages[page].layout;
        if layout != self.newest() && !self.layouts[layout].holds(words) {
            self.rewrite(page);
        }
        let row = self.row_of_page(slot);
        let page = &mut self.pages[page];
        let layout = &self.layouts[page.layout];
        debug_assert!(layout.holds(words), "the newest layout is wide enough");
        layout.store(words, &mut page.bytes[row * page.stride..]);
        debug_assert!(self.are_noted(words), "rows were made room for");
    }

    /// Appends a row.
    #[inline(always)]
    pub(super) fn push(&mut self, words: &[u64]) {
        let (page, layout) = self.last_page();
        debug_assert!(layout.holds(words), "the newest layout is wide enough");
        let start = page.bytes.len();
        page.bytes.resize(start + layout.stride() + SLACK, 0);
        layout.store(words, &mut page.bytes[start..]);
        page.bytes.truncate(start + layout.stride());
        self.rows += 1;
        debug_assert!(self.are_noted(words), "rows were made room for");
    }

    /// Whether the spreads are those of a row, too; a float takes all of its bytes.
    fn are_noted(&self, words: &[u64]) -> bool {
        let mut words = self.ranges.iter().zip(words).zip(&self.spreads);
        words.all(|((range, &word), spread)| {
            matches!(range, WordRange::Float(_)) || range.spread(word) & !spread == 0
        })
    }

    /// Appends rows, at most a block at a time: `store` stores them in the bytes that they take.
    #[inline(always)]
    pub(super) fn extend(
        &mut self,
        rows: usize,
        mut store: impl FnMut(&StoredLayout, Range<usize>, &mut [u8]),
    ) {
        let whole = 1 << self.bits;
        let mut done = 0;
        while done < rows {
            let filled = self.rows & (whole - 1);
            let some = (rows - done).min(whole - filled).min(BLOCK);
            let (page, layout) = self.last_page();
            let start = page.bytes.len();
            page.bytes.resize(start + some * layout.stride(), 0);
            store(layout, done..done + some, &mut page.bytes[start..]);
            self.rows += some;
            done += some;
        }
    }

    /// The page that is not full, which is of the newest layout.
    #[inline(always)]
    fn last_page(&mut self) -> (&mut Page, &StoredLayout) {
        let layout = self.newest();
        if self.rows & ((1 << self.bits) - 1) == 0 {
            let stride = self.layouts[layout].stride();
            let bytes = Vec::with_capacity(self.page_capacity(self.pages.len(), 0, stride));
            self.pages.push(Page {
                bytes,
                stride,
                layout,
            });
        }
        let last = self.pages.len() - 1;
        let page = &mut self.pages[last];
        debug_assert_eq!(
            page.layout, layout,
            "a page that is not full is of the newest"
        );
        (page, &self.layouts[layout])
    }

    /// Copies a row to where another one was.
    pub(super) fn copy(&mut self, from: u32, to: u32) {
        let (source, target) = (self.page_of(from), self.page_of(to));
        let (page, stride) = (&self.pages[source], self.pages[source].stride);
        if page.layout != self.pages[target].layout {
            let words: Vec<u64> = self.words(from).collect();
            return self.set(to, &words);
        }
        let start = self.row_of_page(from) * stride;
        let (bytes, at) = (start..start + stride, self.row_of_page(to) * stride);
        if source == target {
            self.pages[source].bytes.copy_within(bytes, at);
        } else if let Ok([source, target]) = self.pages.get_disjoint_mut([source, target]) {
            target.bytes[at..at + stride].copy_from_slice(&source.bytes[bytes]);
        }
    }

    /// Gives back the room behind the last row of the first page, and of the list of pages.
    pub(super) fn fit(&mut self) {
        self.pages.shrink_to_fit();
        if let [only] = &mut self.pages[..] {
            only.bytes.shrink_to_fit();
        }
    }

    /// Forgets the rows from `rows` on.
    pub(super) fn truncate(&mut self, rows: usize) {
        if rows >= self.rows {
            return;
        }
        self.rows = rows;
        self.pages.truncate(rows.div_ceil(1 << self.bits));
        let before = self.pages.len().saturating_sub(1) << self.bits;
        let newest = self.newest();
        let Some(last) = self.pages.last_mut() else {
            return;
        };
        last.bytes.truncate((rows - before) * last.stride);
        if last.layout != newest && rows - before < 1 << self.bits {
            self.rewrite(self.pages.len() - 1);
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        let pages: usize = self.pages.iter().map(|page| page.bytes.capacity()).sum();
        pages + self.pages.capacity() * size_of::<Page>()
    }
}
