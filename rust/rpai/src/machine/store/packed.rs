//! Rows as bytes: a bag of few rows takes some bytes a row, and no box of its own.
//!
//! Invariant: rows with equal values in the columns that are read are equal bytes. A bag holds each
//! row once, behind its length and before its multiplicity, which is not 0. Cost: O(bytes of the
//! bag) a change; numbers take as many bytes as they have digits to the base 128.

use ringview_core::{Batch, Result, Type};
use ringview_ring::{Expansion, Number};

use crate::machine::query::{Cell, ColumnType, Kind, Quantity, Row, RowAt, equal_keys};
use crate::tree::overflow;

/// Conversion of a column's values to distinct integers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coding {
    Signed,
    Unsigned,
    /// Units of a scale.
    Decimal(i8),
    Real,
    Bit,
}

impl Coding {
    pub(crate) fn of(ty: &Type) -> Self {
        match ty {
            Type::Float32 | Type::Float64 => Coding::Real,
            Type::Decimal { scale, .. } => Coding::Decimal(*scale),
            Type::UInt64 => Coding::Unsigned,
            Type::Bool => Coding::Bit,
            _ => Coding::Signed,
        }
    }

    /// The integer of a value that is not NULL.
    pub(crate) fn read(self, row: &RowAt<'_>, column: usize) -> i128 {
        match self {
            Coding::Bit => i128::from(row.bit(column) == Some(true)),
            Coding::Real | Coding::Unsigned => i128::from(row.word(column)),
            Coding::Signed => i128::from(row.word(column) as i64),
            Coding::Decimal(_) => row.batch.column(column).decimal(row.at),
        }
    }

    /// The integer of a column of one word.
    pub(crate) fn of_word(self, word: u64) -> i128 {
        match self {
            Coding::Signed | Coding::Decimal(_) => i128::from(word as i64),
            _ => i128::from(word),
        }
    }

    /// The number of an integer.
    pub(crate) fn quantity(self, value: i128) -> Quantity {
        match self {
            Coding::Real => Quantity::Real(f64::from_bits(value as u64)),
            Coding::Decimal(scale) if scale >= 0 => Quantity::Exact {
                units: value,
                scale: scale as u8,
            },
            Coding::Decimal(_) => Quantity::int(value.saturating_mul(self.power())),
            _ => Quantity::int(value),
        }
    }

    /// Value of a unit, if it is no fraction.
    fn power(self) -> i128 {
        match self {
            Coding::Decimal(scale @ ..0) => 10i128.saturating_pow(scale.unsigned_abs().into()),
            _ => 1,
        }
    }

    /// The integers of the values that equal a number, from the first to the one behind the last:
    /// several exact numbers equal a double beyond 2^53.
    pub(crate) fn equal_to(self, number: Quantity) -> Result<(i128, i128)> {
        let kind = match self {
            Coding::Real => {
                let bits = i128::from((number.real() + 0.0).to_bits());
                return Ok((bits, bits + 1));
            }
            Coding::Decimal(scale) => Kind::Exact(scale.max(0) as u8),
            _ => Kind::Exact(0),
        };
        let (first, end) = equal_keys(number, kind)?;
        let above = |units: i128| -(-units).div_euclid(self.power());
        Ok((above(first), above(end)))
    }

    fn put(self, value: i128, out: &mut Vec<u8>) {
        match self {
            // The digits of round doubles are in the upper bytes.
            Coding::Real => put(out, u128::from((value as u64).swap_bytes())),
            Coding::Unsigned | Coding::Bit => put(out, value as u128),
            Coding::Signed | Coding::Decimal(_) => put(out, zigzag(value)),
        }
    }

    fn get(self, bytes: &mut &[u8]) -> i128 {
        let value = get(bytes);
        match self {
            Coding::Real => i128::from((value as u64).swap_bytes()),
            Coding::Unsigned | Coding::Bit => value as i128,
            Coding::Signed | Coding::Decimal(_) => unzigzag(value),
        }
    }
}

/// Packing of a table's rows: its columns that are read.
#[derive(Clone, Debug)]
pub(crate) struct RowFormat {
    /// Each with whether it may be NULL.
    columns: Vec<(usize, Coding, bool)>,
    /// Of all columns, whether they are read.
    needed: Vec<bool>,
}

impl RowFormat {
    pub(crate) fn new(types: &[ColumnType], needed: &[bool]) -> Self {
        let columns = types.iter().enumerate().filter(|(at, _)| needed[*at]);
        Self {
            columns: columns
                .map(|(at, of)| (at, Coding::of(&of.ty), of.nullable))
                .collect(),
            needed: needed.to_vec(),
        }
    }

    /// Appends a row.
    pub(crate) fn pack(&self, row: &RowAt<'_>, out: &mut Vec<u8>) {
        for &(column, coding, nullable) in &self.columns {
            let is_null = row.is_null(column);
            if nullable {
                out.push(u8::from(is_null));
            }
            if !is_null {
                coding.put(coding.read(row, column), out);
            }
        }
    }

    /// The packed values, by column; `None` for NULL.
    fn values(&self, mut bytes: &[u8]) -> impl Iterator<Item = (usize, Coding, Option<i128>)> {
        self.columns.iter().map(move |&(column, coding, nullable)| {
            let is_null = nullable && byte(&mut bytes) == 1;
            (column, coding, (!is_null).then(|| coding.get(&mut bytes)))
        })
    }

    /// The packed row as the only one of a batch.
    pub(crate) fn unpack(&self, bytes: &[u8], batch: &mut Batch) {
        match batch.rows {
            0 => batch.reset(&self.needed),
            _ => batch.clear(),
        }
        batch.rows = 1;
        for (column, coding, value) in self.values(bytes) {
            let Some(into) = &mut batch.columns[column] else {
                continue;
            };
            into.words.push(value.unwrap_or(0) as u64);
            if matches!(coding, Coding::Decimal(_)) {
                into.high.push((value.unwrap_or(0) >> 64) as u64);
            }
            if value.is_none() {
                into.valid = Some(vec![false]);
            }
        }
    }

    /// The cells of the packed row, with NULL in columns that are not read.
    pub(crate) fn cells(&self, bytes: &[u8], row: &mut Row) {
        row.resize(self.needed.len(), Cell(None));
        for (column, coding, value) in self.values(bytes) {
            row[column] = Cell(value.map(|value| coding.quantity(value)));
        }
    }
}

/// A bag of rows, each some bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackedRows(Box<[u8]>);

impl PackedRows {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rows with their multiplicities, in the order of inserts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], i64)> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || (!rest.is_empty()).then(|| row(&mut rest)))
    }

    /// Adds to the multiplicity of a row, and returns those before and now.
    ///
    /// # Errors
    /// `Overflow` if it does not fit; nothing is changed then.
    pub(crate) fn change(&mut self, body: &[u8], times: i64) -> Result<(i64, i64)> {
        let (all, mut rest) = (&self.0[..], &self.0[..]);
        let (mut start, mut held) = (all.len(), 0);
        while !rest.is_empty() {
            let at = all.len() - rest.len();
            let (other, count) = row(&mut rest);
            if other == body {
                (start, held) = (at, count);
                break;
            }
        }
        let count = held.checked_add(times);
        let count = count.ok_or_else(|| overflow("a multiplicity"))?;
        let mut changed = Vec::with_capacity(all.len() + body.len() + 4);
        changed.extend_from_slice(&all[..start]);
        if count != 0 {
            put(&mut changed, body.len() as u128);
            changed.extend_from_slice(body);
            put(&mut changed, zigzag(count.into()));
        }
        changed.extend_from_slice(rest);
        self.0 = changed.into_boxed_slice();
        Ok((held, count))
    }

    /// Keeps some rows.
    pub(crate) fn retain(&mut self, stays: impl Fn(&[u8]) -> bool) {
        let mut kept = Vec::with_capacity(self.0.len());
        let mut rest = &self.0[..];
        while !rest.is_empty() {
            let whole = rest;
            if stays(row(&mut rest).0) {
                kept.extend_from_slice(&whole[..whole.len() - rest.len()]);
            }
        }
        self.0 = kept.into_boxed_slice();
    }

    /// Bytes on the heap, with those that an allocator takes for itself.
    pub(crate) fn memory_usage(&self) -> usize {
        match self.0.len() {
            0 => 0,
            bytes => (bytes + 8).next_multiple_of(16).max(32),
        }
    }
}

/// Takes the first row off.
fn row<'a>(rest: &mut &'a [u8]) -> (&'a [u8], i64) {
    let length = get(rest) as usize;
    let (body, after) = rest.split_at(length);
    *rest = after;
    (body, unzigzag(get(rest)) as i64)
}

/// The first byte of a cell that is no exact number; of others it is their scale.
const NULL: u8 = 0xff;
const REAL: u8 = 0xfe;
const SUM: u8 = 0xfd;

/// Appends cells of any kinds.
pub(crate) fn pack_cells(cells: &[Cell], out: &mut Vec<u8>) {
    for cell in cells {
        match cell.0 {
            None => out.push(NULL),
            Some(Quantity::Exact { units, scale }) => {
                out.push(scale);
                put(out, zigzag(units));
            }
            Some(Quantity::Real(value)) => {
                out.push(REAL);
                put(out, u128::from(value.to_bits().swap_bytes()));
            }
            Some(Quantity::Sum(sum)) => {
                let mut words = [0; Expansion::WORDS];
                sum.store(&mut words, 0);
                out.push(SUM);
                for word in words {
                    put(out, u128::from(word.swap_bytes()));
                }
            }
        }
    }
}

/// The cells that `pack_cells` appended.
pub(crate) fn unpack_cells(mut bytes: &[u8]) -> Vec<Cell> {
    let mut cells = Vec::new();
    while !bytes.is_empty() {
        let real = |bytes: &mut &[u8]| (get(bytes) as u64).swap_bytes();
        cells.push(Cell(match byte(&mut bytes) {
            NULL => None,
            REAL => Some(Quantity::Real(f64::from_bits(real(&mut bytes)))),
            SUM => {
                let words: [u64; Expansion::WORDS] = std::array::from_fn(|_| real(&mut bytes));
                Some(Quantity::Sum(Expansion::load(&words, 0)))
            }
            scale => {
                let units = unzigzag(get(&mut bytes));
                Some(Quantity::Exact { units, scale })
            }
        }));
    }
    cells
}

fn zigzag(value: i128) -> u128 {
    (value << 1 ^ value >> 127) as u128
}

fn unzigzag(value: u128) -> i128 {
    (value >> 1) as i128 ^ -((value & 1) as i128)
}

fn put(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn byte(bytes: &mut &[u8]) -> u8 {
    let (first, rest) = (bytes[0], &bytes[1..]);
    *bytes = rest;
    first
}

#[inline]
fn get(bytes: &mut &[u8]) -> u128 {
    let first = byte(bytes);
    if first < 0x80 {
        return first.into();
    }
    let (mut value, mut shift) = (u128::from(first & 0x7f), 7);
    loop {
        let next = byte(bytes);
        value |= u128::from(next & 0x7f) << shift;
        if next < 0x80 {
            return value;
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::{PackedRows, get, put, unzigzag, zigzag};

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, -1, 63, -64, 64, i128::MAX, i128::MIN, 1 << 70] {
            let mut bytes = Vec::new();
            put(&mut bytes, zigzag(value));
            let mut rest = &bytes[..];
            assert_eq!((unzigzag(get(&mut rest)), rest), (value, &[][..]));
        }
    }

    #[test]
    fn rows_that_leave_leave_nothing() {
        let mut rows = PackedRows::default();
        for (body, times) in [(&b"ab"[..], 2), (b"a", -1), (b"ab", -1), (b"", 300)] {
            rows.change(body, times).expect("fits");
        }
        let all: Vec<(&[u8], i64)> = rows.iter().collect();
        assert_eq!(all, [(&b"ab"[..], 1), (b"a", -1), (b"", 300)]);
        assert!(rows.change(b"ab", i64::MAX).is_err());
        for (body, times) in [(&b"ab"[..], -1), (b"a", 1), (b"", -300)] {
            rows.change(body, times).expect("fits");
        }
        assert_eq!(rows, PackedRows::default());
    }
}
