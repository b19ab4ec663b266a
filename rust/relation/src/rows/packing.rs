//! How the values of a row are packed into bytes, each in the width of its own type.
//!
//! Invariant: equal rows are equal bytes, so rows are compared and hashed as bytes. The columns of
//! the key stand first, so that the key is a prefix. In each of the two parts stand the null bits,
//! then the values: 1, 2, 4, 8 or 16 bytes each, without padding; decimals of up to 9 and 18 digits
//! take 4 and 8. Packing and unpacking run column by column, one tight loop each, over a block of rows
//! at a time, which stays in the nearest cache until it is whole.

use ringview_core::{Batch, Column, Schema, Type};

/// Rows that are packed or unpacked at a time.
const BLOCK: usize = 128;

/// How a value is stored.
#[derive(Clone, Copy, Debug)]
enum Storage {
    /// The lowest bytes of the word.
    Bytes1,
    Bytes2,
    Bytes4,
    Bytes8,
    /// The word and its upper half.
    Bytes16,
    /// A float64 that is a float32.
    Single,
}

impl Storage {
    fn of(ty: &Type) -> Storage {
        match (ty, ty.bits()) {
            (Type::Float32, _) => Storage::Single,
            (
                Type::Decimal {
                    precision: ..=9, ..
                },
                _,
            ) => Storage::Bytes4,
            (
                Type::Decimal {
                    precision: ..=18, ..
                },
                _,
            ) => Storage::Bytes8,
            (_, ..=8) => Storage::Bytes1,
            (_, 16) => Storage::Bytes2,
            (_, 32) => Storage::Bytes4,
            (_, 64) => Storage::Bytes8,
            _ => Storage::Bytes16,
        }
    }

    fn width(self) -> usize {
        match self {
            Storage::Bytes1 => 1,
            Storage::Bytes2 => 2,
            Storage::Bytes4 | Storage::Single => 4,
            Storage::Bytes8 => 8,
            Storage::Bytes16 => 16,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct StoredColumn {
    offset: usize,
    form: Storage,
    signed: bool,
    decimal: bool,
    /// Byte and mask of the bit that marks NULL.
    null: Option<(usize, u8)>,
}

/// The packing of the rows of one schema.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    /// By column of the schema.
    places: Vec<StoredColumn>,
    /// How many leading bytes are the key.
    key_bytes: usize,
    stride: usize,
}

impl Packing {
    /// The packing of `schema` with the columns in `key` first.
    pub(super) fn new(schema: &Schema, key: &[usize]) -> Packing {
        let rest: Vec<usize> = (0..schema.len())
            .filter(|column| !key.contains(column))
            .collect();
        let mut places = vec![None; schema.len()];
        let key_bytes = lay_out(schema, key, 0, &mut places);
        let stride = lay_out(schema, &rest, key_bytes, &mut places);
        Packing {
            places: places.into_iter().flatten().collect(),
            key_bytes,
            stride,
        }
    }

    /// Columns of a row.
    pub(super) fn columns(&self) -> usize {
        self.places.len()
    }

    pub(super) fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Bytes of a row.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Refills `packed` with the rows of `batch`, one after the other; columns that it does not
    /// carry are left 0.
    pub(super) fn pack(&self, batch: &Batch, packed: &mut Vec<u8>) {
        packed.clear();
        packed.resize(batch.rows * self.stride, 0);
        let blocks = packed.chunks_mut((BLOCK * self.stride).max(1));
        for (block, rows) in blocks.enumerate() {
            for (place, column) in self.places.iter().zip(&batch.columns) {
                if let Some(column) = column {
                    self.pack_column(*place, column, block * BLOCK, rows);
                }
            }
        }
    }

    /// Packs a block of values of a column, from one on.
    #[inline(always)]
    fn pack_column(&self, place: StoredColumn, column: &Column, first: usize, packed: &mut [u8]) {
        let last = column.words.len().min(first + BLOCK);
        let words = column.words[first..last].iter();
        let (offset, stride) = (place.offset, self.stride);
        match place.form {
            Storage::Bytes1 => store::<1>(packed, offset, stride, words.copied()),
            Storage::Bytes2 => store::<2>(packed, offset, stride, words.copied()),
            Storage::Bytes4 => store::<4>(packed, offset, stride, words.copied()),
            Storage::Bytes8 => store::<8>(packed, offset, stride, words.copied()),
            Storage::Single => {
                let single = |&word: &u64| (f64::from_bits(word) as f32).to_bits().into();
                store::<4>(packed, offset, stride, words.map(single));
            }
            Storage::Bytes16 => {
                store::<8>(packed, offset, stride, words.copied());
                let high = column.high[first..last].iter().copied();
                store::<8>(packed, offset + 8, stride, high);
            }
        }
        if let (Some((byte, mask)), Some(valid)) = (place.null, &column.valid) {
            let bytes = packed[byte..].iter_mut().step_by(stride);
            for (byte, &valid) in bytes.zip(&valid[first..last]) {
                *byte |= if valid { 0 } else { mask };
            }
        }
    }

    /// The id in a column of strings of a packed row; that of a NULL is 0.
    #[inline(always)]
    pub(super) fn id(&self, row: &[u8], column: usize) -> u64 {
        load::<4>(&row[self.places[column].offset..], false)
    }

    /// Copies some columns of a packed row into another.
    pub(super) fn overlay(&self, from: &[u8], columns: &[usize], into: &mut [u8]) {
        for place in columns.iter().map(|&column| self.places[column]) {
            let value = place.offset..place.offset + place.form.width();
            into[value.clone()].copy_from_slice(&from[value]);
            if let Some((byte, mask)) = place.null {
                into[byte] = (into[byte] & !mask) | (from[byte] & mask);
            }
        }
    }

    /// Refills the columns that are there with packed rows, a block of rows at a time: each row is found once for all
    /// columns, and a block stays in the nearest cache until all have read it.
    pub(super) fn unpack<'a>(
        &self,
        mut rows: impl Iterator<Item = &'a [u8]>,
        columns: &mut [Option<Column>],
    ) {
        let (least, _) = rows.size_hint();
        for column in columns.iter_mut().flatten() {
            column.clear();
            column.words.reserve(least);
        }
        let mut block: Vec<&[u8]> = Vec::with_capacity(least.min(BLOCK));
        loop {
            block.clear();
            block.extend(rows.by_ref().take(BLOCK));
            if block.is_empty() {
                break;
            }
            for (place, column) in self.places.iter().zip(&mut *columns) {
                if let Some(column) = column {
                    unpack_column(*place, &block, column);
                }
            }
        }
        for column in columns.iter_mut().flatten() {
            column.valid.take_if(|valid| !valid.contains(&false));
        }
    }
}

/// Appends a column of a block of packed rows.
#[inline(always)]
fn unpack_column(place: StoredColumn, block: &[&[u8]], column: &mut Column) {
    let values = block.iter().map(|row| &row[place.offset..]);
    let signed = place.signed;
    let (words, high) = (&mut column.words, &mut column.high);
    let first = words.len();
    match place.form {
        Storage::Bytes1 => words.extend(values.map(|at| load::<1>(at, signed))),
        Storage::Bytes2 => words.extend(values.map(|at| load::<2>(at, signed))),
        Storage::Bytes4 => words.extend(values.map(|at| load::<4>(at, signed))),
        Storage::Bytes8 => words.extend(values.map(|at| load::<8>(at, signed))),
        Storage::Single => words.extend(
            values.map(|at| f64::from(f32::from_bits(load::<4>(at, false) as u32)).to_bits()),
        ),
        Storage::Bytes16 => {
            words.extend(values.clone().map(|at| load::<8>(at, false)));
            high.extend(values.map(|at| load::<8>(&at[8..], false)));
        }
    }
    if place.decimal && !matches!(place.form, Storage::Bytes16) {
        // A narrow decimal: its upper half is its sign.
        high.extend(
            words[first..]
                .iter()
                .map(|&word| (word as i64 >> 63) as u64),
        );
    }
    if let Some((byte, mask)) = place.null {
        let valid = column.valid.get_or_insert_default();
        valid.extend(block.iter().map(|row| row[byte] & mask == 0));
    }
}

/// Places `columns` from byte `start` on: null bits, then values. Returns where they end.
fn lay_out(
    schema: &Schema,
    columns: &[usize],
    start: usize,
    places: &mut [Option<StoredColumn>],
) -> usize {
    let nullable = columns
        .iter()
        .filter(|&&column| schema.fields()[column].nullable)
        .count();
    let mut offset = start + nullable.div_ceil(8);
    let mut bit = 0;
    for &column in columns {
        let field = &schema.fields()[column];
        let null = field.nullable.then(|| {
            bit += 1;
            (start + (bit - 1) / 8, 1 << ((bit - 1) % 8))
        });
        let form = Storage::of(&field.ty);
        let decimal = matches!(field.ty, Type::Decimal { .. });
        places[column] = Some(StoredColumn {
            offset,
            form,
            signed: field.ty.is_signed(),
            decimal,
            null,
        });
        offset += form.width();
    }
    offset
}

/// Puts values where their column stands in rows of `stride` bytes.
#[inline(always)]
fn store<const WIDTH: usize>(
    packed: &mut [u8],
    offset: usize,
    stride: usize,
    mut words: impl ExactSizeIterator<Item = u64>,
) {
    let put = |row: &mut [u8], word: u64| {
        let target = row.get_mut(offset..).and_then(<[u8]>::first_chunk_mut);
        if let Some(target) = target {
            *target = first::<WIDTH>(&word.to_le_bytes());
        }
    };
    if words.len() == 1 {
        // A row alone is not worth the division that tells how many there are.
        return words.next().into_iter().for_each(|word| put(packed, word));
    }
    for (row, word) in packed.chunks_exact_mut(stride).zip(words) {
        put(row, word);
    }
}

/// The first bytes. An array, as a slice of a length that is known is still copied by a call.
#[inline(always)]
fn first<const WIDTH: usize>(bytes: &[u8]) -> [u8; WIDTH] {
    bytes.first_chunk().copied().unwrap_or([0; WIDTH])
}

#[inline(always)]
fn load<const WIDTH: usize>(at: &[u8], signed: bool) -> u64 {
    let word = match WIDTH {
        1 => at[0].into(),
        2 => u16::from_le_bytes(first(at)).into(),
        4 => u32::from_le_bytes(first(at)).into(),
        _ => u64::from_le_bytes(first(at)),
    };
    let unused = 64 - 8 * WIDTH;
    if signed {
        (((word << unused) as i64) >> unused) as u64
    } else {
        word
    }
}
