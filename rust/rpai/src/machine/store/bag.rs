//! The rows of a table, by the values of some of its columns.
//!
//! Invariant: each index holds all rows, as lists by the slots of a relation whose keys are the
//! values of its column, which the rows of a list do not repeat; a bag without an index has one
//! list. A list of few rows is packed, one of many is ordered. Cost: O(1) expected a change and
//! index, O(`FEW`) in a list of few rows, O(log n) in one of many; some bytes a row and index.

use std::collections::BTreeMap;

use ringview_core::{Result, empty};
use ringview_relation::{ABSENT, KeyField, KeyLayout, KeyScratch, KeyedTable as Table};

use crate::machine::query::{Cell, ColumnType, Quantity, Row, RowAt};
use crate::machine::store::packed::{Coding, PackedRows, RowFormat};
use crate::machine::store::slotted::Slotted;
use crate::tree::overflow;

/// Different rows of a list that is packed, at most.
const FEW: usize = 48;
/// Values that are looked up one by one, at most, where several equal a number.
const SEVERAL: i128 = 64;

/// Rows with equal values in a column.
#[derive(Clone, Debug)]
#[expect(clippy::box_collection, reason = "there are many lists of few rows")]
enum List {
    Few(PackedRows),
    Many(Box<BTreeMap<Box<[u8]>, i64>>),
}

impl Default for List {
    fn default() -> Self {
        List::Few(PackedRows::default())
    }
}

impl List {
    fn is_empty(&self) -> bool {
        match self {
            List::Few(rows) => rows.is_empty(),
            List::Many(rows) => rows.is_empty(),
        }
    }

    fn get(&self, body: &[u8]) -> i64 {
        match self {
            List::Few(rows) => {
                let mut rows = rows.iter();
                let found = rows.find(|(other, _)| *other == body);
                found.map_or(0, |(_, times)| times)
            }
            List::Many(rows) => rows.get(body).copied().unwrap_or(0),
        }
    }

    /// Adds to a multiplicity, and returns those before and now.
    fn change(&mut self, body: &[u8], times: i64) -> Result<(i64, i64)> {
        let rows = match self {
            List::Few(rows) => {
                let changed = rows.change(body, times)?;
                if rows.iter().count() > FEW {
                    let rows = rows.iter().map(|(body, times)| (body.into(), times));
                    *self = List::Many(Box::new(rows.collect()));
                }
                return Ok(changed);
            }
            List::Many(rows) => rows,
        };
        let held = rows.get(body).copied().unwrap_or(0);
        let now = held.checked_add(times);
        let now = now.ok_or_else(|| overflow("a multiplicity"))?;
        match now {
            0 => drop(rows.remove(body)),
            _ => drop(rows.insert(body.into(), now)),
        }
        Ok((held, now))
    }

    fn each(&self, visit: &mut dyn FnMut(&[u8], i64) -> Result<()>) -> Result<()> {
        match self {
            List::Few(rows) => rows.iter().try_for_each(|(body, times)| visit(body, times)),
            List::Many(rows) => rows
                .iter()
                .try_for_each(|(body, &times)| visit(body, times)),
        }
    }

    fn memory_usage(&self) -> usize {
        match self {
            List::Few(rows) => rows.memory_usage(),
            // Nodes are two thirds full, and each row is a box of its own.
            List::Many(rows) => rows.len() * (size_of::<(Box<[u8]>, i64)>() * 3 / 2 + 32),
        }
    }
}

/// Conversion of a column's value to the key of an index.
#[derive(Clone, Copy, Debug)]
struct KeyColumn {
    column: usize,
    coding: Coding,
    is_wide: bool,
    nullable: bool,
}

impl KeyColumn {
    fn new(column: usize, of: &ColumnType) -> Self {
        Self {
            column,
            coding: Coding::of(&of.ty),
            is_wide: matches!(of.ty, ringview_core::Type::Decimal { precision, .. } if precision > 18),
            nullable: of.nullable,
        }
    }

    fn layout(self) -> KeyLayout {
        let word = |bits| KeyField {
            bits,
            signed: false,
        };
        let mut fields = vec![word(64); 1 + usize::from(self.is_wide)];
        fields.extend(self.nullable.then_some(word(1)));
        KeyLayout::new(&fields)
    }

    /// The fields of a value, and how many there are.
    fn fields(self, value: Option<i128>) -> ([u64; 3], usize) {
        let (number, is_null) = (value.unwrap_or(0), u64::from(value.is_none()));
        let (low, high) = (number as u64, (number >> 64) as u64);
        match (self.is_wide, self.nullable) {
            (true, nullable) => ([low, high, is_null], 2 + usize::from(nullable)),
            (false, nullable) => ([low, is_null, 0], 1 + usize::from(nullable)),
        }
    }

    /// The value of a slot.
    fn cell(self, keys: &Table, slot: u32) -> Cell {
        let word = keys.field(slot, 0);
        let value = match self.is_wide {
            true => i128::from(word) | i128::from(keys.field(slot, 1)) << 64,
            false => self.coding.of_word(word),
        };
        let is_null = self.nullable && keys.field(slot, 1 + usize::from(self.is_wide)) == 1;
        Cell((!is_null).then(|| self.coding.quantity(value)))
    }
}

#[derive(Clone, Debug)]
struct Index {
    /// `None` where all rows are one list.
    key: Option<KeyColumn>,
    /// The other columns.
    format: RowFormat,
    lists: Slotted<List>,
}

/// A row inserted or deleted since the last commit.
#[derive(Clone, Debug)]
struct Change {
    index: u32,
    slot: u32,
    body: Box<[u8]>,
    times: i64,
}

/// Selection of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which<'a> {
    All,
    /// Those with a value in an indexed column.
    With(usize, Quantity),
    /// One, if it is there, also packed.
    Row(&'a Row, &'a [u8]),
}

/// Rows with multiplicities.
#[derive(Clone, Debug)]
pub(crate) struct Bag {
    types: Vec<ColumnType>,
    needed: Vec<bool>,
    indexes: Vec<Index>,
    len: usize,
    undo: Vec<Change>,
    scratch: KeyScratch,
    body: Vec<u8>,
}

impl Bag {
    pub(crate) fn new(types: &[ColumnType], needed: &[bool]) -> Self {
        Self {
            types: types.to_vec(),
            needed: needed.to_vec(),
            indexes: Vec::new(),
            len: 0,
            undo: Vec::new(),
            scratch: KeyScratch::default(),
            body: Vec::new(),
        }
    }

    /// Adds an index by a column. Before any row.
    pub(crate) fn index(&mut self, column: usize) {
        if self.index_of(column).is_none() {
            self.push_index(Some(KeyColumn::new(column, &self.types[column])));
        }
    }

    fn push_index(&mut self, key: Option<KeyColumn>) {
        let layout = key.map_or_else(|| KeyLayout::new(&[]), KeyColumn::layout);
        let mut needed = self.needed.clone();
        if let Some(key) = key {
            needed[key.column] = false;
        }
        self.indexes.push(Index {
            key,
            format: RowFormat::new(&self.types, &needed),
            lists: Slotted::new(Table::new(layout, 0)),
        });
    }

    /// A row as `Which::Row` has it packed.
    pub(crate) fn pack(&mut self, row: &RowAt<'_>, body: &mut Vec<u8>) {
        if self.indexes.is_empty() {
            self.push_index(None);
        }
        body.clear();
        self.indexes[0].format.pack(row, body);
    }

    fn index_of(&self, column: usize) -> Option<&Index> {
        let is_of = |key: KeyColumn| key.column == column;
        self.indexes
            .iter()
            .find(|index| index.key.is_some_and(is_of))
    }

    /// Number of distinct rows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn change(&mut self, row: &RowAt<'_>, times: i64) -> Result<()> {
        if self.indexes.is_empty() {
            self.push_index(None);
        }
        for (at, index) in self.indexes.iter_mut().enumerate() {
            let (fields, width) = index.key.map_or(([0; 3], 0), |key| {
                let is_null = row.is_null(key.column);
                key.fields((!is_null).then(|| key.coding.read(row, key.column)))
            });
            let slot = (index.lists).locate_key(&fields[..width], &mut self.scratch);
            self.body.clear();
            index.format.pack(row, &mut self.body);
            let (held, now) = index.lists[slot].change(&self.body, times)?;
            if at == 0 {
                self.len = self.len + usize::from(now != 0) - usize::from(held != 0);
            }
            self.undo.push(Change {
                index: at as u32,
                slot,
                body: self.body[..].into(),
                times,
            });
        }
        Ok(())
    }

    /// Calls `visit` with rows and their multiplicities.
    pub(crate) fn each(
        &self,
        which: Which<'_>,
        visit: &mut dyn FnMut(&Row, i64) -> Result<()>,
    ) -> Result<()> {
        let Some(first) = self.indexes.first() else {
            return Ok(());
        };
        match which {
            Which::All => first.each(first.lists.keys.iter(), visit),
            Which::Row(row, body) => {
                let slots = match first.key {
                    Some(key) => first.find(key, row[key.column])?,
                    None => first.lists.keys.iter().collect(),
                };
                let times = slots.iter().map(|&slot| first.lists[slot].get(body));
                match times.sum() {
                    0 => Ok(()),
                    times => visit(row, times),
                }
            }
            Which::With(column, value) => {
                let index = self.index_of(column).unwrap_or(first);
                match index.key {
                    Some(key) => index.each(index.find(key, Cell(Some(value)))?, visit),
                    None => index.each(index.lists.keys.iter(), visit),
                }
            }
        }
    }

    pub(crate) fn commit(&mut self) {
        let mut leaving = vec![Vec::new(); self.indexes.len()];
        for change in &self.undo {
            if self.indexes[change.index as usize].lists[change.slot].is_empty() {
                leaving[change.index as usize].push(change.slot);
            }
        }
        for (index, leaving) in self.indexes.iter_mut().zip(&leaving) {
            index.lists.commit(leaving);
        }
        empty(&mut self.undo);
    }

    pub(crate) fn rollback(&mut self) {
        for change in std::mem::take(&mut self.undo).into_iter().rev() {
            let list = &mut self.indexes[change.index as usize].lists[change.slot];
            let undone = list.change(&change.body, -change.times);
            debug_assert!(undone.is_ok(), "what fitted fits again");
            if let (0, Ok((held, now))) = (change.index, undone) {
                self.len = self.len + usize::from(now != 0) - usize::from(held != 0);
            }
        }
        let indexes = self.indexes.iter_mut();
        indexes.for_each(|index| index.lists.rollback());
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let indexes = self.indexes.iter().map(|index| {
            let lists = index.lists.values().iter().map(List::memory_usage);
            index.lists.memory_usage() + lists.sum::<usize>()
        });
        let undo = self.undo.iter().map(|change| change.body.len() + 16);
        let undo = self.undo.capacity() * size_of::<Change>() + undo.sum::<usize>();
        indexes.sum::<usize>() + undo
    }
}

impl Index {
    /// Calls `visit` with the rows of some lists.
    fn each(
        &self,
        slots: impl IntoIterator<Item = u32>,
        visit: &mut dyn FnMut(&Row, i64) -> Result<()>,
    ) -> Result<()> {
        let mut row = Row::new();
        for slot in slots {
            let own = (self.key).map(|key| (key.column, key.cell(&self.lists.keys, slot)));
            self.lists[slot].each(&mut |body, times| {
                self.format.cells(body, &mut row);
                if let Some((column, cell)) = own {
                    row[column] = cell;
                }
                visit(&row, times)
            })?;
        }
        Ok(())
    }

    /// The lists of the values that equal one, at least: one at most, but for a double beyond 2^53
    /// among exact numbers. Readers compare them.
    fn find(&self, key: KeyColumn, value: Cell) -> Result<Vec<u32>> {
        let (first, end) = match value.0 {
            Some(number) => key.coding.equal_to(number)?,
            None => (0, 1),
        };
        if end.saturating_sub(first) > SEVERAL {
            return Ok(self.lists.keys.iter().collect());
        }
        let mut scratch = KeyScratch::default();
        let slots = (first..end).map(|number| {
            let (fields, width) = key.fields(value.0.map(|_| number));
            self.lists.keys.find_key(&fields[..width], &mut scratch)
        });
        Ok(slots.filter(|&slot| slot != ABSENT).collect())
    }
}
