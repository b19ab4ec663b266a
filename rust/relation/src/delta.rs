//! A delta: a relation that holds a change, column by column.
//!
//! `columns` are registers: a path says which of them are live at each step. Rows may repeat a
//! key; they are summed where that is cheap (`group`), and every step is right whether or not
//! they were: the delta rules are linear. Cost of summing: O(rows), expected where it hashes.

use std::ops::Range;

use ringview_ring::{Overflow, PayloadRing, Slab};

use crate::directory::Keys;
use crate::group::Grouper;
use crate::layout::KeyLayout;
use crate::sort::{SortedKeys, never_falls};

/// A batch of keys and payloads.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    /// Number of rows.
    pub rows: usize,
    /// Registers, each a column of as many values as there are rows, or unused.
    pub columns: Vec<Vec<u64>>,
    /// The payloads, row by row.
    pub payload: Vec<u64>,
    /// Words of a payload: the ring's stride, or less where it keeps single rows shorter.
    pub width: usize,
    /// Whether they are of the ring's widened shape: a sum among them does not fit.
    pub wide: bool,
}

/// Room for gathering, kept between batches.
#[derive(Clone, Debug, Default)]
pub struct GatherScratch {
    words: Vec<u64>,
    first: Vec<u32>,
    groups: Vec<u32>,
    /// Keys that are sorted.
    entries: Vec<u64>,
}

impl Delta {
    /// An empty delta with so many registers.
    #[must_use]
    pub fn with_registers(registers: usize) -> Self {
        Self {
            columns: vec![Vec::new(); registers],
            ..Self::default()
        }
    }

    /// Its payloads.
    #[must_use]
    #[inline]
    pub fn slab(&self) -> Slab<'_> {
        Slab::delta(&self.payload, self.width)
    }

    /// Keeps the rows named, in that order, in the registers that are live.
    pub fn gather(&mut self, live: &[usize], rows: &[u32], gather: &mut GatherScratch) {
        for &register in live {
            let column = &mut self.columns[register];
            gather.words.clear();
            gather
                .words
                .extend(rows.iter().map(|&row| column[row as usize]));
            std::mem::swap(column, &mut gather.words);
        }
        self.rows = rows.len();
    }

    /// Has no rows any more, and so many registers.
    pub(crate) fn become_empty(&mut self, registers: usize) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.columns.resize_with(registers, Vec::new);
        self.payload.clear();
        self.rows = 0;
    }

    /// Takes the rows of another delta behind its own, in these registers; their payloads are alike.
    pub fn append(&mut self, registers: &[usize], other: &Self) {
        debug_assert!(
            self.rows == 0 || self.is_like(other),
            "payloads of one width"
        );
        for &register in registers {
            let column = &other.columns[register][..other.rows];
            self.columns[register].extend_from_slice(column);
        }
        let payload = &other.payload[..other.rows * other.width];
        self.payload.extend_from_slice(payload);
        (self.width, self.wide) = (other.width, other.wide);
        self.rows += other.rows;
    }

    /// Becomes some rows of another delta: these registers hold those of the other, one by one.
    pub(crate) fn take_slice(
        &mut self,
        registers: &[usize],
        (other, from): (&Self, &[usize]),
        rows: Range<usize>,
    ) {
        for (&register, &from) in registers.iter().zip(from) {
            let column = &mut self.columns[register];
            column.clear();
            column.extend_from_slice(&other.columns[from][rows.clone()]);
        }
        let words = rows.start * other.width..rows.end * other.width;
        self.payload.clear();
        self.payload.extend_from_slice(&other.payload[words]);
        (self.rows, self.width, self.wide) = (rows.len(), other.width, other.wide);
    }

    /// Whether payloads have as many words, of the same shape.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (self.width, self.wide) == (other.width, other.wide)
    }

    /// Whether the key in these registers never falls from one row to the next. O(rows).
    #[must_use]
    pub fn is_in_order(&self, keys: &[usize]) -> bool {
        never_falls(Keys {
            columns: &self.columns,
            fields: keys,
            rows: self.rows,
        })
    }

    /// Sums rows that have equal keys, and brings the keys in their order, if that is worth its while; else as `fold`, where
    /// those that are `scattered` may be wanted too.
    ///
    /// # Errors
    /// As `fold`.
    pub fn sort<R: PayloadRing>(
        &mut self,
        shape: &R::Shape,
        keys: &[usize],
        layout: &KeyLayout,
        scattered: bool,
        (grouper, gather): (&mut Grouper, &mut GatherScratch),
    ) -> Result<(), Overflow> {
        let fields = Keys {
            columns: &self.columns,
            fields: keys,
            rows: self.rows,
        };
        let Some(sorted) = SortedKeys::of(fields, &mut gather.entries) else {
            return self.fold::<R>(shape, keys, layout, scattered, (grouper, gather));
        };
        for (field, &register) in keys.iter().enumerate() {
            sorted.column(field, &mut self.columns[register]);
        }
        in_order(&self.payload, self.width, sorted.rows(), &mut gather.words);
        std::mem::swap(&mut self.payload, &mut gather.words);
        let mut first = std::mem::take(&mut gather.first);
        let repeats = sorted.groups(&mut gather.groups, &mut first);
        gather.entries = sorted.into_scratch();
        let summed = repeats.map_or(Ok(()), |()| self.sum::<R>(shape, keys, &first, gather));
        gather.first = first;
        summed
    }

    /// Brings the payloads, of this shape, to its widened one.
    ///
    /// # Errors
    /// The given `fault`, where the ring has no wider shape.
    fn widen<R: PayloadRing>(
        &mut self,
        shape: &R::Shape,
        fault: Overflow,
    ) -> Result<R::Shape, Overflow> {
        let wide = R::widened(shape).ok_or(fault)?;
        if !self.wide {
            self.payload = R::widen(shape, &wide, &self.payload);
            self.width = R::stride(&wide);
            self.wide = true;
        }
        Ok(wide)
    }

    /// Brings widened payloads back to their shape, if all fit.
    pub fn narrow<R: PayloadRing>(&mut self, shape: &R::Shape) {
        if !self.wide {
            return;
        }
        let Some(wide) = R::widened(shape) else {
            return;
        };
        let mut narrow = Vec::new();
        if R::narrow(shape, &wide, &self.payload, &mut narrow) {
            self.payload = narrow;
            self.width = R::stride(shape);
            self.wide = false;
        }
    }

    /// Sums rows that have equal keys. Neighbours are found by comparison; with `scattered`, equal keys anywhere in the
    /// batch are found by hashing. `layout` is the key's.
    ///
    /// # Errors
    /// `Overflow` where a sum fits no widened payload either; the rows are then of no use.
    pub fn fold<R: PayloadRing>(
        &mut self,
        shape: &R::Shape,
        keys: &[usize],
        layout: &KeyLayout,
        scattered: bool,
        (grouper, gather): (&mut Grouper, &mut GatherScratch),
    ) -> Result<(), Overflow> {
        grouper.group(&self.columns, keys, self.rows, layout, scattered);
        let Some(first) = grouper.representatives() else {
            return Ok(());
        };
        let groups = grouper.groups();
        let mut cursor = groups.cursor();
        gather.groups.clear();
        gather
            .groups
            .extend((0..self.rows).map(|row| cursor.at(row) as u32));
        self.sum::<R>(shape, keys, first, gather)
    }

    /// Sums rows by the groups in `gather`; `first` holds the representative row of each group.
    fn sum<R: PayloadRing>(
        &mut self,
        shape: &R::Shape,
        keys: &[usize],
        first: &[u32],
        gather: &mut GatherScratch,
    ) -> Result<(), Overflow> {
        let mut sum = |shape: &R::Shape, delta: &mut Self| {
            let (groups, sums) = (&gather.groups, &mut gather.words);
            sums.clear();
            sums.resize(first.len() * R::stride(shape), 0);
            R::add(shape, sums, groups, delta.slab(), &mut Vec::new())?;
            std::mem::swap(&mut delta.payload, sums);
            delta.width = R::stride(shape);
            Ok(())
        };
        let summed = match self.wide {
            false => sum(shape, self),
            true => Err(Overflow { component: 0 }),
        };
        if let Err(fault) = summed {
            let wide = self.widen::<R>(shape, fault)?;
            sum(&wide, self)?;
            self.narrow::<R>(shape);
        }
        self.gather(keys, first, gather);
        Ok(())
    }

    /// Sums rows with equal keys, which are identified by their slots in a table of `limit` slots.
    /// Afterwards `slots` holds the slot of each remaining row.
    pub(crate) fn fold_slots<R: PayloadRing>(
        &mut self,
        shape: &R::Shape,
        keys: &[usize],
        slots: &mut Vec<u32>,
        limit: usize,
        gather: &mut GatherScratch,
    ) -> Result<(), Overflow> {
        const NONE: u32 = u32::MAX;
        let mut group_of = vec![NONE; limit];
        let (mut first, mut groups) = (
            std::mem::take(&mut gather.first),
            std::mem::take(&mut gather.groups),
        );
        first.clear();
        groups.clear();
        for (row, &slot) in (0u32..).zip(slots.iter()) {
            let group = &mut group_of[slot as usize];
            if *group == NONE {
                *group = first.len() as u32;
                first.push(row);
            }
            groups.push(*group);
        }
        if first.len() < self.rows {
            let mut sums = vec![0; first.len() * R::stride(shape)];
            R::add(shape, &mut sums, &groups, self.slab(), &mut Vec::new())?;
            self.payload = sums;
            self.width = R::stride(shape);
            self.gather(keys, &first, gather);
            let kept: Vec<u32> = first.iter().map(|&row| slots[row as usize]).collect();
            *slots = kept;
        }
        (gather.first, gather.groups) = (first, groups);
        Ok(())
    }
}

/// Payloads of so many words in another order of their rows.
fn in_order(
    payload: &[u64],
    width: usize,
    rows: impl ExactSizeIterator<Item = usize>,
    into: &mut Vec<u64>,
) {
    fn of<const N: usize>(payload: &[u64], rows: impl Iterator<Item = usize>, into: &mut Vec<u64>) {
        let (all, _) = payload.as_chunks::<N>();
        into.extend(rows.flat_map(|row| all[row]));
    }
    into.clear();
    into.reserve(rows.len() * width);
    match width {
        1 => of::<1>(payload, rows, into),
        2 => of::<2>(payload, rows, into),
        3 => of::<3>(payload, rows, into),
        _ => rows.for_each(|row| into.extend_from_slice(&payload[row * width..][..width])),
    }
}
