//! How the values of a row are packed into bytes, each in the width of its own type.
//!
//! Invariant: equal rows are equal bytes, so rows are compared and hashed as bytes. The columns of
//! the key stand first, so that the key is a prefix. In each of the two parts stand the null bits,
//! then the values: 1, 2, 4, 8 or 16 bytes each, without padding; decimals of up to 9 and 18 digits
//! take 4 and 8. Packing and unpacking run column by column, one tight loop each; packing a block
//! of rows at a time, which stays in the nearest cache until it is whole.

use ringview_core::{Batch, Column, Schema, Type};

/// Rows that are packed at a time.
const BLOCK: usize = 128;

/// How a value is stored.
#[derive(Clone, Copy, Debug)]
enum Form {
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

impl Form {
    fn of(ty: &Type) -> Form {
        match (ty, ty.bits()) {
            (Type::Float32, _) => Form::Single,
            (
                Type::Decimal {
                    precision: ..=9, ..
                },
                _,
            ) => Form::Bytes4,
            (
                Type::Decimal {
                    precision: ..=18, ..
                },
                _,
            ) => Form::Bytes8,
            (_, ..=8) => Form::Bytes1,
            (_, 16) => Form::Bytes2,
            (_, 32) => Form::Bytes4,
            (_, 64) => Form::Bytes8,
            _ => Form::Bytes16,
        }
    }

    fn width(self) -> usize {
        match self {
            Form::Bytes1 => 1,
            Form::Bytes2 => 2,
            Form::Bytes4 | Form::Single => 4,
            Form::Bytes8 => 8,
            Form::Bytes16 => 16,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: usize,
    form: Form,
    signed: bool,
    decimal: bool,
    /// Byte and mask of the bit that marks NULL.
    null: Option<(usize, u8)>,
}

/// The packing of the rows of one schema.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    /// By column of the schema.
    places: Vec<Place>,
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
        let key_bytes = place(schema, key, 0, &mut places);
        let stride = place(schema, &rest, key_bytes, &mut places);
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
    fn pack_column(&self, place: Place, column: &Column, first: usize, packed: &mut [u8]) {
        let last = column.words.len().min(first + BLOCK);
        let words = column.words[first..last].iter();
        let (offset, stride) = (place.offset, self.stride);
        match place.form {
            Form::Bytes1 => store::<1>(packed, offset, stride, words.copied()),
            Form::Bytes2 => store::<2>(packed, offset, stride, words.copied()),
            Form::Bytes4 => store::<4>(packed, offset, stride, words.copied()),
            Form::Bytes8 => store::<8>(packed, offset, stride, words.copied()),
            Form::Single => {
                let single = |&word: &u64| (f64::from_bits(word) as f32).to_bits().into();
                store::<4>(packed, offset, stride, words.map(single));
            }
            Form::Bytes16 => {
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

    /// Refills `column` with column `index` of packed rows.
    pub(super) fn unpack<'a>(
        &self,
        at: impl Iterator<Item = &'a [u8]> + Clone,
        index: usize,
        column: &mut Column,
    ) {
        column.clear();
        let place = self.places[index];
        let values = at.clone().map(|row| &row[place.offset..]);
        let signed = place.signed;
        let words = &mut column.words;
        match place.form {
            Form::Bytes1 => words.extend(values.map(|at| load::<1>(at, signed))),
            Form::Bytes2 => words.extend(values.map(|at| load::<2>(at, signed))),
            Form::Bytes4 => words.extend(values.map(|at| load::<4>(at, signed))),
            Form::Bytes8 => words.extend(values.map(|at| load::<8>(at, signed))),
            Form::Single => words.extend(
                values.map(|at| f64::from(f32::from_bits(load::<4>(at, false) as u32)).to_bits()),
            ),
            Form::Bytes16 => {
                words.extend(values.clone().map(|at| load::<8>(at, false)));
                column
                    .high
                    .extend(values.map(|at| load::<8>(&at[8..], false)));
            }
        }
        if place.decimal && column.high.is_empty() {
            // A narrow decimal: its upper half is its sign.
            column
                .high
                .extend(column.words.iter().map(|&word| (word as i64 >> 63) as u64));
        }
        if let Some((byte, mask)) = place.null {
            let valid: Vec<bool> = at.map(|row| row[byte] & mask == 0).collect();
            column.valid = valid.contains(&false).then_some(valid);
        }
    }
}

/// Places `columns` from byte `start` on: null bits, then values. Returns where they end.
fn place(schema: &Schema, columns: &[usize], start: usize, places: &mut [Option<Place>]) -> usize {
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
        let form = Form::of(&field.ty);
        let decimal = matches!(field.ty, Type::Decimal { .. });
        places[column] = Some(Place {
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
        row[offset..offset + WIDTH].copy_from_slice(&word.to_le_bytes()[..WIDTH]);
    };
    if words.len() == 1 {
        // A row alone is not worth the division that tells how many there are.
        return words.next().into_iter().for_each(|word| put(packed, word));
    }
    for (row, word) in packed.chunks_exact_mut(stride).zip(words) {
        put(row, word);
    }
}

#[inline(always)]
fn load<const WIDTH: usize>(at: &[u8], signed: bool) -> u64 {
    let mut bytes = [0; 8];
    bytes[..WIDTH].copy_from_slice(&at[..WIDTH]);
    let word = u64::from_le_bytes(bytes);
    let unused = 64 - 8 * WIDTH;
    if signed {
        (((word << unused) as i64) >> unused) as u64
    } else {
        word
    }
}
