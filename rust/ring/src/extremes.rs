//! The least and the greatest of values: a semiring, for relations with inserts alone.
//!
//! A payload holds, for each value, the least and the greatest over the rows of its key. The sum of two payloads is the
//! lesser and the greater of each; a product has the values of both, side by side. There is no inverse, so a row cannot
//! be deleted: that would need the remaining values (F-IVM, section 2, requires a ring for deletes).
//!
//! Invariant: a value is an unsigned number in the order of the values, of one word or two, low half first.
//! Of the least the complement is kept: each sum is a maximum, and 0 twice is the payload of no value. The
//! first word is 1, that of a key which is there. Cost: a comparison a number and row.

use crate::payload::{Groups, Overflow, PayloadRing, Rows, Slab};

/// The semiring. A type only: shapes and products carry the data.
#[derive(Clone, Copy, Debug)]
pub struct Extremes;

/// The values of the payloads of one view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtremesShape {
    /// By value, the words of a number.
    words: Vec<usize>,
}

impl ExtremesShape {
    /// Of values that take so many words each, 1 or 2.
    #[must_use]
    pub fn new(words: Vec<usize>) -> Self {
        debug_assert!(words.iter().all(|words| (1..=2).contains(words)));
        Self { words }
    }

    /// Words of a payload.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.at(self.words.len())
    }

    /// Words of a number of a value.
    #[must_use]
    pub fn words(&self, value: usize) -> usize {
        self.words[value]
    }

    /// Position of the numbers of a value: the least, then the greatest.
    #[must_use]
    pub fn at(&self, value: usize) -> usize {
        1 + 2 * self.words[..value].iter().sum::<usize>()
    }
}

/// The payload of a product that has a value, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The left one.
    Left(usize),
    /// The right one.
    Right(usize),
}

/// A number of a product, and the payload that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    from_right: bool,
    from: usize,
    to: usize,
    words: usize,
}

/// Product of two payloads: the source of each number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtremesProduct {
    parts: Vec<Part>,
    left: usize,
    out: usize,
}

impl ExtremesProduct {
    /// `values` has the source of each value of `out`.
    #[must_use]
    pub fn new(
        left: &ExtremesShape,
        right: &ExtremesShape,
        out: &ExtremesShape,
        values: &[Origin],
    ) -> Self {
        let part = |(to, value): (usize, &Origin)| {
            let (from_right, from) = match *value {
                Origin::Left(value) => (false, left.at(value)),
                Origin::Right(value) => (true, right.at(value)),
            };
            let words = out.words[to];
            let to = out.at(to);
            [0, words].map(|behind| Part {
                from_right,
                from: from + behind,
                to: to + behind,
                words,
            })
        };
        Self {
            parts: values.iter().enumerate().flat_map(part).collect(),
            left: left.stride(),
            out: out.stride(),
        }
    }
}

/// The greater of two numbers of so many words, in the place of the first.
#[inline(always)]
fn raise(to: &mut [u64], from: &[u64], words: usize) {
    let is_greater = match words {
        1 => from[0] > to[0],
        _ => (from[1], from[0]) > (to[1], to[0]),
    };
    if is_greater {
        to[..words].copy_from_slice(&from[..words]);
    }
}

/// Adds a value, as it is ordered, to its least and greatest.
#[inline(always)]
pub fn raise_both<const WORDS: usize>(numbers: &mut [u64], value: [u64; WORDS]) {
    raise(numbers, &value.map(|word| !word), WORDS);
    raise(&mut numbers[WORDS..], &value, WORDS);
}

impl PayloadRing for Extremes {
    type Shape = ExtremesShape;
    type Product = ExtremesProduct;
    type Scratch = ();

    const LEAST_GROUP: usize = 1;

    fn stride(shape: &ExtremesShape) -> usize {
        shape.stride()
    }

    fn left_stride(product: &ExtremesProduct) -> usize {
        product.left
    }

    fn is_wide(_: &ExtremesShape) -> bool {
        false
    }

    /// No count becomes 0.
    fn add(
        shape: &ExtremesShape,
        target: &mut [u64],
        slots: &[u32],
        delta: Slab<'_>,
        _emptied: &mut Vec<u32>,
    ) -> Result<(), Overflow> {
        let stride = shape.stride();
        let rows = delta.words().chunks_exact(stride);
        for (&slot, row) in slots.iter().zip(rows) {
            let sum = &mut target[slot as usize * stride..][..stride];
            sum[0] = 1;
            let mut at = 1;
            for &words in &shape.words {
                for _ in 0..2 {
                    raise(&mut sum[at..], &row[at..], words);
                    at += words;
                }
            }
        }
        Ok(())
    }

    fn multiply(
        product: &ExtremesProduct,
        (left, left_rows): (Slab<'_>, Rows<'_>),
        (right, slots): (Slab<'_>, &[u32]),
        groups: Groups<'_>,
        (): &mut (),
        out: &mut Vec<u64>,
    ) -> Result<usize, Overflow> {
        out.clear();
        out.resize(groups.len() * product.out, 0);
        let mut group = groups.cursor();
        for (row, &slot) in slots.iter().enumerate() {
            let sum = &mut out[group.at(row) * product.out..][..product.out];
            sum[0] = 1;
            let (own, other) = (left.row(left_rows.row(row)), right.row(slot as usize));
            for part in &product.parts {
                let from = if part.from_right { other } else { own };
                raise(&mut sum[part.to..], &from[part.from..], part.words);
            }
        }
        Ok(product.out)
    }

    fn is_zero(_: &ExtremesShape, payload: &[u64]) -> bool {
        payload[0] == 0
    }
}
