//! A row at hand as words: one or two words a column, those of the key first.
//!
//! Invariant: equal rows are equal words. A NULL has words of 0 and a bit in a word of null bits, of
//! which there is one for each eight columns that may be NULL; the null bits of the key
//! precede the key, the others follow it. So the key is a prefix. A decimal of more than 18 digits
//! takes two words, all other values one. Batches are transposed column by column, one tight loop
//! each, over a block of rows at a time, which stays in the nearest cache until it is whole.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use foldhash::quality::SeedableRandomState;
use ringview_core::{Batch, Column, Schema, Type};

/// Rows that are transposed at a time.
pub(super) const BLOCK: usize = 128;

/// Columns whose null bits share a word, which so takes one byte where rows are stored.
const NULL_BITS: usize = 8;

/// Encoding of the values of a column in its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Word,
    /// The word is a float64 that is a float32, whose bits are stored.
    Single,
    /// A decimal of at most 18 digits: its upper half is its sign.
    ShortDecimal,
    /// A decimal of two words.
    Decimal,
}

/// Range of the values of a word, from which the number of bytes follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordRange {
    Signed,
    Unsigned,
    /// Bits of a float, which fill so many bytes.
    Float(usize),
}

/// The words of a column in a row.
#[derive(Clone, Copy, Debug)]
struct ColumnWords {
    word: usize,
    encoding: Encoding,
    /// The word of null bits, and the bit.
    null: Option<(usize, u64)>,
}

/// Source of the values of a word.
#[derive(Clone, Debug)]
enum Source {
    /// The words of a column.
    Words(usize),
    /// Those of a column of float32.
    Singles(usize),
    /// The upper halves of a column.
    High(usize),
    /// The null bits of up to eight columns.
    Nulls(Vec<(usize, u64)>),
}

/// The words of the rows of one schema.
#[derive(Clone, Debug)]
pub(super) struct RowWords {
    columns: Vec<ColumnWords>,
    /// By word.
    sources: Vec<Source>,
    ranges: Vec<WordRange>,
    key_words: usize,
}

/// Some rows as words, one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedRows {
    pub(super) words: Vec<u64>,
    /// By word, the bits that determine the bytes that all values need; see [`WordRange::spread`].
    pub(super) spreads: Vec<u64>,
}

impl WordRange {
    /// The bits of a value that must not be cut off; those of several values are united by `|`.
    #[inline(always)]
    pub(super) fn spread(self, word: u64) -> u64 {
        match self {
            WordRange::Signed => word ^ (word as i64 >> 63) as u64,
            WordRange::Unsigned | WordRange::Float(_) => word,
        }
    }

    /// The bytes in which all values of a spread fit.
    pub(super) fn bytes(self, spread: u64) -> usize {
        let bits = (u64::BITS - spread.leading_zeros()) as usize;
        match self {
            // One bit more for the sign.
            WordRange::Signed => bits / 8 + 1,
            WordRange::Unsigned => bits.div_ceil(8).max(1),
            WordRange::Float(bytes) => bytes,
        }
    }
}

impl RowWords {
    /// The words of the rows of `schema` with the columns in `key` first.
    pub(super) fn new(schema: &Schema, key: &[usize]) -> RowWords {
        let all = 0..schema.len();
        let rest: Vec<usize> = all.filter(|column| !key.contains(column)).collect();
        let mut places = vec![None; schema.len()];
        let mut words = Vec::new();
        lay_out(schema, key, &mut places, &mut words);
        let key_words = words.len();
        lay_out(schema, &rest, &mut places, &mut words);
        let (sources, ranges) = words.into_iter().unzip();
        RowWords {
            columns: places.into_iter().flatten().collect(),
            sources,
            ranges,
            key_words,
        }
    }

    /// Columns of a row.
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Words of a row.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Leading words that are the key.
    pub(super) fn key_words(&self) -> usize {
        self.key_words
    }

    pub(super) fn ranges(&self) -> &[WordRange] {
        &self.ranges
    }

    /// The first word of a column.
    pub(super) fn word_of(&self, column: usize) -> usize {
        self.columns[column].word
    }

    /// The hash of the key of a row, of which at least the words of the key are given.
    #[inline(always)]
    pub(super) fn hash(
        &self,
        hasher: &SeedableRandomState,
        words: impl Iterator<Item = u64>,
    ) -> u64 {
        let mut hasher = hasher.build_hasher();
        let mut words = words.take(self.key_words);
        // Two words are as dear as one.
        while let Some(low) = words.next() {
            match words.next() {
                Some(high) => hasher.write_u128(u128::from(high) << 64 | u128::from(low)),
                None => hasher.write_u64(low),
            }
        }
        hasher.finish()
    }

    /// Refills `packed` with some rows of `batch`; columns that it does not carry are left 0.
    pub(super) fn pack(&self, batch: &Batch, rows: Range<usize>, packed: &mut PackedRows) {
        let width = self.len();
        let PackedRows { words, spreads } = packed;
        words.clear();
        words.resize(rows.len() * width, 0);
        spreads.clear();
        spreads.resize(width, 0);
        for first in rows.clone().step_by(BLOCK) {
            let block = &mut words[(first - rows.start) * width..];
            let some = first..rows.end.min(first + BLOCK);
            self.each_word(batch, some, |word, values| {
                let targets = block[word..].iter_mut().step_by(width);
                targets
                    .zip(values)
                    .for_each(|(target, &value)| *target = value);
                spreads[word] |= self.ranges[word].spread_of(values);
            });
        }
    }

    /// Unites `spreads` with those of some rows of a batch.
    pub(super) fn spread(&self, batch: &Batch, rows: Range<usize>, spreads: &mut [u64]) {
        for (word, source) in self.sources.iter().enumerate() {
            let column = |column: &usize| batch.columns[*column].as_ref();
            let values = match source {
                Source::Words(of) => column(of).map(|all| &all.words),
                Source::High(of) => column(of).map(|all| &all.high),
                // Their width is fixed.
                Source::Singles(_) => None,
                Source::Nulls(columns) => {
                    let has_null = |of: &usize| {
                        let valid = column(of).and_then(|all| all.valid.as_ref());
                        valid.is_some_and(|valid| valid[rows.clone()].contains(&false))
                    };
                    let bits = columns.iter().filter(|(of, _)| has_null(of));
                    spreads[word] |= bits.fold(0, |all, (_, bit)| all | bit);
                    None
                }
            };
            if let Some(values) = values {
                spreads[word] |= self.ranges[word].spread_of(&values[rows.clone()]);
            }
        }
    }

    /// Hands out the values of a block of rows of a batch, word by word.
    #[inline(always)]
    pub(super) fn each_word(
        &self,
        batch: &Batch,
        rows: Range<usize>,
        mut take: impl FnMut(usize, &[u64]),
    ) {
        for (word, source) in self.sources.iter().enumerate() {
            let column = |column: &usize| batch.columns[*column].as_ref();
            match source {
                Source::Words(of) => {
                    let values = column(of).map(|column| &column.words[rows.clone()]);
                    values.into_iter().for_each(|values| take(word, values));
                }
                Source::High(of) => {
                    let values = column(of).map(|column| &column.high[rows.clone()]);
                    values.into_iter().for_each(|values| take(word, values));
                }
                Source::Singles(of) => {
                    if let Some(column) = column(of) {
                        let made = &mut [0; BLOCK][..rows.len()];
                        for (made, &word) in made.iter_mut().zip(&column.words[rows.clone()]) {
                            *made = u64::from((f64::from_bits(word) as f32).to_bits());
                        }
                        take(word, made);
                    }
                }
                Source::Nulls(columns) => {
                    let made = &mut [0; BLOCK][..rows.len()];
                    for (of, bit) in columns {
                        let valid = column(of).and_then(|column| column.valid.as_ref());
                        let valid = valid.into_iter().flat_map(|all| &all[rows.clone()]);
                        for (made, &valid) in made.iter_mut().zip(valid) {
                            *made |= if valid { 0 } else { *bit };
                        }
                    }
                    take(word, made);
                }
            }
        }
    }

    /// Copies some columns of a row into another.
    pub(super) fn overlay(&self, from: &[u64], columns: &[usize], into: &mut [u64]) {
        for at in columns.iter().map(|&column| self.columns[column]) {
            let values = at.word..at.word + at.encoding.words();
            into[values.clone()].copy_from_slice(&from[values]);
            if let Some((word, bit)) = at.null {
                into[word] = (into[word] & !bit) | (from[word] & bit);
            }
        }
    }

    /// Empties the columns that are there, and makes room for so many rows, the words of which are of these spreads.
    pub(super) fn begin_unpacking(
        &self,
        rows: usize,
        columns: &mut [Option<Column>],
        spreads: &[u64],
    ) {
        for (at, column) in self.columns.iter().zip(columns) {
            let Some(column) = column else { continue };
            column.clear();
            column.words.reserve(rows);
            // Most nullable columns hold no NULL: their null bits are not read then.
            let has_null = at.null.is_some_and(|(word, bit)| spreads[word] & bit != 0);
            column.valid = has_null.then(|| Vec::with_capacity(rows));
        }
    }

    /// Appends a block of rows to the columns that are there; `reader` makes a reader of one word
    /// of a row.
    #[inline(always)]
    pub(super) fn unpack<R, F: Fn(R) -> u64>(
        &self,
        rows: impl ExactSizeIterator<Item = R> + Clone,
        columns: &mut [Option<Column>],
        reader: impl Fn(usize) -> F,
    ) {
        for (at, column) in self.columns.iter().zip(columns) {
            let Some(column) = column else { continue };
            let (words, high) = (&mut column.words, &mut column.high);
            let first = words.len();
            let read = reader(at.word);
            match at.encoding {
                Encoding::Single => words.extend(
                    rows.clone()
                        .map(|row| f64::from(f32::from_bits(read(row) as u32)).to_bits()),
                ),
                _ => words.extend(rows.clone().map(read)),
            }
            match at.encoding {
                Encoding::Word | Encoding::Single => {}
                Encoding::ShortDecimal => {
                    let sign = |&word: &u64| (word as i64 >> 63) as u64;
                    high.extend(words[first..].iter().map(sign));
                }
                Encoding::Decimal => high.extend(rows.clone().map(reader(at.word + 1))),
            }
            if let (Some((word, bit)), Some(valid)) = (at.null, &mut column.valid) {
                let nulls = rows.clone().map(reader(word));
                valid.extend(nulls.map(|bits| bits & bit == 0));
            }
        }
    }

    /// Forgets which rows of a column are NULL where none is.
    pub(super) fn end_unpacking(&self, columns: &mut [Option<Column>]) {
        for column in columns.iter_mut().flatten() {
            column.valid.take_if(|valid| !valid.contains(&false));
        }
    }
}

impl Encoding {
    fn of(ty: &Type) -> Encoding {
        match ty {
            Type::Float32 => Encoding::Single,
            Type::Decimal { precision, .. } if *precision <= 18 => Encoding::ShortDecimal,
            Type::Decimal { .. } => Encoding::Decimal,
            _ => Encoding::Word,
        }
    }

    fn words(self) -> usize {
        1 + usize::from(self == Encoding::Decimal)
    }
}

impl WordRange {
    fn of(ty: &Type) -> WordRange {
        match ty {
            Type::Float32 => WordRange::Float(4),
            Type::Float64 => WordRange::Float(8),
            Type::Decimal { precision, .. } if *precision > 18 => WordRange::Unsigned,
            _ if ty.is_signed() => WordRange::Signed,
            _ => WordRange::Unsigned,
        }
    }

    /// The spread of several values.
    #[inline(always)]
    fn spread_of(self, values: &[u64]) -> u64 {
        let spreads = values.iter().map(|&value| self.spread(value));
        spreads.fold(0, |all, spread| all | spread)
    }
}

/// Gives `columns` their words: null bits, then values.
fn lay_out(
    schema: &Schema,
    columns: &[usize],
    places: &mut [Option<ColumnWords>],
    words: &mut Vec<(Source, WordRange)>,
) {
    let fields = schema.fields();
    let nullable: Vec<usize> = columns
        .iter()
        .copied()
        .filter(|&column| fields[column].nullable)
        .collect();
    let first = words.len();
    for some in nullable.chunks(NULL_BITS) {
        let bits = some
            .iter()
            .enumerate()
            .map(|(bit, &column)| (column, 1 << bit));
        words.push((Source::Nulls(bits.collect()), WordRange::Unsigned));
    }
    for &column in columns {
        let ty = &fields[column].ty;
        let encoding = Encoding::of(ty);
        let null = nullable.iter().position(|&other| other == column);
        places[column] = Some(ColumnWords {
            word: words.len(),
            encoding,
            null: null.map(|at| (first + at / NULL_BITS, 1 << (at % NULL_BITS))),
        });
        let low = match encoding {
            Encoding::Single => Source::Singles(column),
            _ => Source::Words(column),
        };
        words.push((low, WordRange::of(ty)));
        if encoding == Encoding::Decimal {
            words.push((Source::High(column), WordRange::Signed));
        }
    }
}
