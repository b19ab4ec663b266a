//! Sums that do not fit: payloads with 256 bits an exact number in passing, or 128 bits for good.
//!
//! Deltas within a transaction may leave 64 or 128 bits as long as the stored sums fit. A sum of
//! integers that stays beyond 64 bits makes its relation grow: from then on it keeps 128 bits a
//! sum. Invariant: a widened or grown payload has the components of the payload, in the same order;
//! its count, and its reals, are as they were. Cost: nothing where sums fit; widened sums are slow,
//! grown ones cost what decimals cost.

use arrow_buffer::i256;

use crate::algebra::{CommutativeMonoid, Group, Ring};
use crate::expansion::Expansion;
use crate::number::{Number, Widen};

use super::shape::{Element, NumberKind, SumProductShape};

impl CommutativeMonoid for i256 {
    const ZERO: Self = i256::ZERO;

    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }
}

impl Group for i256 {
    fn minus(self) -> Option<Self> {
        self.checked_neg()
    }
}

impl Ring for i256 {
    const ONE: Self = i256::ONE;

    fn times(self, other: Self) -> Option<Self> {
        self.checked_mul(other)
    }
}

impl Number for i256 {
    const WORDS: usize = 4;
    const EXACT: bool = true;

    fn load(words: &[u64], at: usize) -> Self {
        let half = |at: usize| u128::from(words[at]) | u128::from(words[at + 1]) << 64;
        Self::from_parts(half(at), half(at + 2) as i128)
    }

    fn store(self, words: &mut [u64], at: usize) {
        let (low, high) = self.to_parts();
        low.store_half(words, at);
        (high as u128).store_half(words, at + 2);
    }

    fn add(self, other: Self) -> (Self, bool) {
        let sum = self.plus(other);
        (sum.unwrap_or_default(), sum.is_none())
    }

    fn mul(self, other: Self) -> (Self, bool) {
        let product = self.times(other);
        (product.unwrap_or_default(), product.is_none())
    }
}

trait Half {
    fn store_half(self, words: &mut [u64], at: usize);
}

impl Half for u128 {
    fn store_half(self, words: &mut [u64], at: usize) {
        words[at] = self as u64;
        words[at + 1] = (self >> 64) as u64;
    }
}

/// A whole number of 256 bits.
pub type Wide = i256;

impl Widen<Wide> for i64 {
    fn widen(self) -> Wide {
        Wide::from(self)
    }
}

/// A number that others become, whatever their kind.
pub trait Common: Number {
    /// The number of a kind that starts at `words[at]`.
    fn of(kind: NumberKind, words: &[u64], at: usize) -> Self;
}

impl Common for i256 {
    fn of(kind: NumberKind, words: &[u64], at: usize) -> Self {
        match kind {
            NumberKind::Integer => Self::from(i64::load(words, at)),
            NumberKind::Decimal => Self::from_i128(i128::load(words, at)),
            NumberKind::Wide => Self::load(words, at),
            // No exact number is made of reals.
            NumberKind::Real => Self::ZERO,
        }
    }
}

impl Common for Expansion {
    fn of(kind: NumberKind, words: &[u64], at: usize) -> Self {
        match kind {
            NumberKind::Real => Self::load(words, at),
            kind => {
                let (low, high) = i256::of(kind, words, at).to_parts();
                let halves = [(low >> 64) as i128, (low as u64).into()].map(Self::from);
                let unit = Self::from(1i128 << 64);
                let low = halves[0].product(unit).sum(halves[1]);
                Self::from(high).product(unit).product(unit).sum(low)
            }
        }
    }
}

impl SumProductShape {
    /// The same with room for exact sums that do not fit; `None` if there are none but the count.
    pub(crate) fn widened(&self) -> Option<Self> {
        let wide = |(at, element): (usize, &Element)| match element.kind {
            NumberKind::Real => NumberKind::Real,
            kind if at == 0 => kind,
            _ => NumberKind::Wide,
        };
        let elements = self.elements();
        let kinds: Vec<NumberKind> = elements.iter().enumerate().map(wide).collect();
        kinds.contains(&NumberKind::Wide).then(|| Self::new(&kinds))
    }

    /// The same with 128 bits a sum of integers; the count keeps 64. `None` if there is no such
    /// sum.
    ///
    /// The low word of a number of 128 bits is the number where it fits 64, so a component that
    /// counts rows reads the same in both shapes.
    pub(crate) fn grown(&self) -> Option<Self> {
        let grown = |(at, element): (usize, &Element)| match element.kind {
            NumberKind::Integer if at > 0 => NumberKind::Decimal,
            kind => kind,
        };
        let elements = self.elements();
        let has_sums = elements[1..]
            .iter()
            .any(|element| element.kind == NumberKind::Integer);
        has_sums.then(|| {
            let kinds: Vec<NumberKind> = elements.iter().enumerate().map(grown).collect();
            Self::new(&kinds)
        })
    }

    /// Payloads in their widened or grown form.
    pub(crate) fn widen(&self, wide: &Self, payloads: &[u64]) -> Vec<u64> {
        let (from, to) = (self.stride(), wide.stride());
        let mut out = vec![0; payloads.len() / from * to];
        for (payload, out) in payloads.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            for (narrow, element) in self.elements().iter().zip(wide.elements()) {
                match (narrow.kind, element.kind) {
                    (_, NumberKind::Wide) => {
                        i256::of(narrow.kind, payload, narrow.word).store(out, element.word);
                    }
                    (NumberKind::Integer, NumberKind::Decimal) => {
                        i128::from(i64::load(payload, narrow.word)).store(out, element.word);
                    }
                    (_, kind) => {
                        let words = &payload[narrow.word..][..kind.words()];
                        out[element.word..][..kind.words()].copy_from_slice(words);
                    }
                }
            }
        }
        out
    }

    /// Widened payloads as they were before, what does not fit wrapped around; whether all fit.
    pub(crate) fn narrow(&self, wide: &Self, payloads: &[u64], out: &mut Vec<u64>) -> bool {
        let (to, from) = (self.stride(), wide.stride());
        out.clear();
        out.resize(payloads.len() / from * to, 0);
        let mut fits = true;
        for (payload, out) in payloads.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            for (narrow, element) in self.elements().iter().zip(wide.elements()) {
                let words = narrow.kind.words();
                let kept = &payload[element.word..][..words];
                out[narrow.word..][..words].copy_from_slice(kept);
                if element.kind == NumberKind::Wide {
                    let value = i256::load(payload, element.word);
                    fits &= i256::of(narrow.kind, out, narrow.word) == value;
                }
            }
        }
        fits
    }
}
