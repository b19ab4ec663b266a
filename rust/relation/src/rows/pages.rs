//! Packed rows by slot, in pages.
//!
//! Invariant: a page holds `1 << bits` rows, but the last, which may hold fewer. Only the first
//! page ever grows: the memory of a short table is close to its rows, and a long one is never
//! copied.

use ringview_core::prefetch;

/// Bytes that a page holds at least, below what the allocator would map and unmap by itself.
const PAGE: usize = 1 << 15;

#[derive(Clone, Debug)]
pub(super) struct Pages {
    pages: Vec<Vec<u8>>,
    stride: usize,
    bits: u32,
    rows: usize,
}

impl Pages {
    /// No rows, of `stride` bytes each.
    pub(super) fn new(stride: usize) -> Pages {
        Pages {
            pages: Vec::new(),
            stride,
            bits: PAGE.div_ceil(stride.max(1)).next_power_of_two().ilog2(),
            rows: 0,
        }
    }

    /// Page and byte where a row starts.
    #[inline(always)]
    fn page_and_byte(&self, slot: u32) -> (usize, usize) {
        let row = slot as usize & ((1 << self.bits) - 1);
        (slot as usize >> self.bits, row * self.stride)
    }

    #[inline(always)]
    pub(super) fn row(&self, slot: u32) -> &[u8] {
        let (page, start) = self.page_and_byte(slot);
        &self.pages[page][start..start + self.stride]
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, slot: u32) -> &mut [u8] {
        let (page, start) = self.page_and_byte(slot);
        &mut self.pages[page][start..start + self.stride]
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, slot: u32) {
        let (page, start) = self.page_and_byte(slot);
        if let Some(page) = self.pages.get(page) {
            prefetch(page, start);
        }
    }

    /// Appends rows, which stand one after the other in `packed`.
    pub(super) fn extend(&mut self, mut packed: &[u8], mut rows: usize) {
        let whole = 1 << self.bits;
        while rows > 0 {
            let filled = self.rows & (whole - 1);
            if filled == 0 {
                let first = self.pages.is_empty();
                let room = if first { 0 } else { whole * self.stride };
                self.pages.push(Vec::with_capacity(room));
            }
            let fit = rows.min(whole - filled);
            let (now, later) = packed.split_at(fit * self.stride);
            if let Some(page) = self.pages.last_mut() {
                page.extend_from_slice(now);
            }
            self.rows += fit;
            (packed, rows) = (later, rows - fit);
        }
    }

    /// Copies a row to where another one was.
    pub(super) fn copy(&mut self, from: u32, to: u32) {
        let ((source, start), (target, at)) = (self.page_and_byte(from), self.page_and_byte(to));
        let bytes = start..start + self.stride;
        if source == target {
            self.pages[source].copy_within(bytes, at);
        } else if let Ok([source, target]) = self.pages.get_disjoint_mut([source, target]) {
            target[at..at + self.stride].copy_from_slice(&source[bytes]);
        }
    }

    /// Gives back the room behind the last row of the first page, and of the list of pages.
    pub(super) fn fit(&mut self) {
        self.pages.shrink_to_fit();
        if let [only] = &mut self.pages[..] {
            only.shrink_to_fit();
        }
    }

    /// Forgets the rows from `rows` on.
    pub(super) fn truncate(&mut self, rows: usize) {
        if rows < self.rows {
            self.rows = rows;
            self.pages.truncate(rows.div_ceil(1 << self.bits));
            let before = self.pages.len().saturating_sub(1) << self.bits;
            if let Some(page) = self.pages.last_mut() {
                page.truncate((rows - before) * self.stride);
            }
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        let pages: usize = self.pages.iter().map(Vec::capacity).sum();
        pages + self.pages.capacity() * size_of::<Vec<u8>>()
    }
}
