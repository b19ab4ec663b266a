//! A directory for keys that fill their range: an array of slots indexed by the key itself.
//!
//! Invariant: every live key lies in the box `base .. base + extent` field by field, and its slot
//! is stored at its mixed-radix code in that box. The box holds at most `FILL` cells a key when it
//! is made, so a cell costs no more than an entry of the hash table; a look-up is one multiply-add
//! a field, without hashing or comparing, and neighbouring keys are neighbours in memory.
//!
//! The box widens geometrically, so widening is O(1) amortised an insert; where that would break
//! the bound, the table returns to hashing. To widen the box upwards in its first field, which
//! varies slowest, appends cells whose memory the system supplies zeroed. That is O(1), so keys
//! that count upwards never wait.

use std::ops::Range;

use ringview_core::Slab;

use crate::ABSENT;
use crate::layout::KeyLayout;

/// Cells a key may cost while the box widens. A table that hashes its keys so far becomes dense at
/// three quarters of it.
pub(crate) const FILL: u128 = 4;
/// Cells that are always affordable.
const FREE_CELLS: u128 = 256;
/// The code of a key outside a box of several dimensions.
const OUTSIDE: u32 = u32::MAX;

/// Smallest and greatest value of each field, as signed words.
pub(crate) type Ranges = Vec<(i64, i64)>;

#[derive(Clone, Copy, Debug)]
struct Dimension {
    base: u64,
    extent: u64,
    stride: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct DenseDirectory {
    dimensions: Vec<Dimension>,
    /// By code the slot, all bits turned: what was never written is `ABSENT`.
    cells: Slab<u32>,
}

/// The cells of the box that spans `ranges`.
pub(crate) fn cells(ranges: &Ranges) -> u128 {
    ranges.iter().fold(1u128, |product, &(low, high)| {
        product.saturating_mul(u128::from(high.wrapping_sub(low) as u64) + 1)
    })
}

/// The cells that `keys` keys may spread over.
pub(crate) fn budget(keys: usize) -> u128 {
    (keys as u128 * FILL)
        .max(FREE_CELLS)
        .min(u128::from(u32::MAX - 1))
}

impl DenseDirectory {
    /// An empty box over `ranges`; the first field varies slowest.
    pub(crate) fn new(ranges: &Ranges) -> Self {
        let mut stride = 1;
        let mut dimensions: Vec<Dimension> = ranges
            .iter()
            .rev()
            .map(|&(low, high)| {
                let extent = high.wrapping_sub(low) as u64 + 1;
                let dimension = Dimension {
                    base: low as u64,
                    extent,
                    stride,
                };
                stride *= extent;
                dimension
            })
            .collect();
        dimensions.reverse();
        let mut cells = Slab::new();
        cells.reserve_exact(stride as usize);
        cells.extend_zeroed(stride as usize);
        Self { dimensions, cells }
    }

    /// Widens the box to ranges, if nothing but cells behind all others is new.
    pub(crate) fn extend(&mut self, ranges: &Ranges) -> bool {
        let (Some(first), Some(&(low, high))) = (self.dimensions.first().copied(), ranges.first())
        else {
            return false;
        };
        let extents = ranges.iter().zip(&self.dimensions);
        let mut others = extents.skip(1);
        let same = others.all(|(&(low, high), d)| {
            low as u64 == d.base && high.wrapping_sub(low) as u64 + 1 == d.extent
        });
        let extent = high.wrapping_sub(low) as u64 + 1;
        if !same || low as u64 != first.base || extent < first.extent {
            return false;
        }
        self.dimensions[0].extent = extent;
        self.cells.extend_zeroed((extent * first.stride) as usize);
        true
    }

    /// Number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Number of cells that hold a slot.
    pub(crate) fn filled(&self) -> usize {
        self.cells.iter().filter(|&&cell| cell != !ABSENT).count()
    }

    /// Puts a slot, or `ABSENT`, at a code in the box.
    #[inline(always)]
    pub(crate) fn put(&mut self, code: usize, slot: u32) {
        self.cells[code] = !slot;
    }

    /// The code of one key, or `None` outside the box.
    #[inline(always)]
    pub(crate) fn code(&self, value: impl Fn(usize) -> u64) -> Option<usize> {
        let mut code = 0;
        for (field, dimension) in self.dimensions.iter().enumerate() {
            let offset = value(field).wrapping_sub(dimension.base);
            if offset >= dimension.extent {
                return None;
            }
            code += offset * dimension.stride;
        }
        Some(code as usize)
    }

    /// The slot at a code; `ABSENT` outside the box.
    #[inline(always)]
    pub(crate) fn slot(&self, code: u32) -> u32 {
        self.cells.get(code as usize).map_or(ABSENT, |cell| !cell)
    }

    /// Appends the slots of some rows of a batch to `out`, `ABSENT` for a key that has none; whether all have one.
    pub(crate) fn find<'a>(
        &self,
        rows: Range<usize>,
        column: impl Fn(usize) -> &'a [u64],
        codes: &mut Vec<u32>,
        out: &mut Vec<u32>,
    ) -> bool {
        let mut is_missed = false;
        let mut seen = |slot: u32| {
            is_missed |= slot == ABSENT;
            slot
        };
        if let [only] = self.dimensions[..] {
            let cells = &self.cells[..];
            let keys = column(0)[rows].iter();
            out.extend(keys.map(|key| {
                let cell = cells.get(key.wrapping_sub(only.base) as usize);
                seen(cell.map_or(ABSENT, |cell| !cell))
            }));
        } else {
            self.codes(rows.end, column, codes);
            let codes = codes[rows.start..].iter();
            out.extend(codes.map(|&code| seen(self.slot(code))));
        }
        !is_missed
    }

    /// The codes of a batch, column by column: no less than there are cells for keys outside the
    /// box.
    pub(crate) fn codes<'a>(
        &self,
        rows: usize,
        column: impl Fn(usize) -> &'a [u64],
        out: &mut Vec<u32>,
    ) {
        out.clear();
        let Some((first, rest)) = self.dimensions.split_first() else {
            out.resize(rows, 0);
            return;
        };
        if rest.is_empty() {
            // The stride is 1.
            let code = |&value: &u64| value.wrapping_sub(first.base).min(first.extent) as u32;
            out.extend(column(0)[..rows].iter().map(code));
            return;
        }
        let at = |d: &Dimension, value: u64| {
            let offset = value.wrapping_sub(d.base);
            (offset < d.extent).then_some((offset.wrapping_mul(d.stride)) as u32)
        };
        out.extend(
            column(0)[..rows]
                .iter()
                .map(|&v| at(first, v).unwrap_or(OUTSIDE)),
        );
        for (field, dimension) in rest.iter().enumerate() {
            for (code, &value) in out.iter_mut().zip(&column(field + 1)[..rows]) {
                *code = match at(dimension, value) {
                    Some(step) if *code != OUTSIDE => *code + step,
                    _ => OUTSIDE,
                };
            }
        }
    }

    /// The ranges that this box must take in `key` too, with room to spare where the budget for
    /// `keys` keys allows it; `None` when the keys are too sparse for an array.
    pub(crate) fn widened(&self, layout: &KeyLayout, key: &[u64], keys: usize) -> Option<Ranges> {
        let mut ranges: Ranges = Vec::with_capacity(self.dimensions.len());
        let mut outgrown = Vec::new();
        for (field, d) in self.dimensions.iter().enumerate() {
            let (low, high) = (d.base as i64, d.base.wrapping_add(d.extent - 1) as i64);
            let value = layout.get(key, field) as i64;
            if value < low || value > high {
                outgrown.push((field, value < low));
            }
            ranges.push((low.min(value), high.max(value)));
        }
        let (needed, budget) = (cells(&ranges), budget(keys));
        if needed.saturating_mul(5) > budget.saturating_mul(4) {
            return None;
        }
        // Spend what is left on the dimensions that moved, in the direction they moved.
        for (field, down) in outgrown {
            let (low, high) = ranges[field];
            let extent = u128::from(high.wrapping_sub(low) as u64) + 1;
            let affordable = budget / (cells(&ranges) / extent);
            let room = (2 * extent).min(affordable).saturating_sub(extent) as i64;
            ranges[field] = if down {
                (low.saturating_sub(room), high)
            } else {
                (low, high.saturating_add(room))
            };
        }
        Some(ranges)
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.cells.memory_usage()
    }
}
