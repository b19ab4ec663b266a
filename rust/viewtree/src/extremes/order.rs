//! Values as unsigned numbers in their order.
//!
//! Invariant: a lesser value has a lesser number, in the order that MIN and MAX have elsewhere: doubles in their total
//! order, NaN above all others. Cost: an operation a word.

use ringview_core::Type;
use ringview_view::answer::values::SUMMARY;

/// Order in which the values of a type map to unsigned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As they lie.
    Unsigned,
    Signed,
    /// Doubles, NaN above all others.
    Real,
    /// Signed, of two words.
    Decimal,
}

const SIGN: u64 = 1 << 63;

impl Order {
    pub(super) fn of(ty: &Type) -> Self {
        match ty {
            Type::Float32 | Type::Float64 => Self::Real,
            Type::Decimal { .. } => Self::Decimal,
            ty if ty.is_signed() => Self::Signed,
            _ => Self::Unsigned,
        }
    }

    pub(super) fn words(self) -> usize {
        match self {
            Self::Decimal => 2,
            Self::Unsigned | Self::Signed | Self::Real => 1,
        }
    }

    /// The number of a word, or of the upper one of two.
    #[inline(always)]
    pub(super) fn number(self, word: u64) -> u64 {
        match self {
            Self::Unsigned => word,
            Self::Signed | Self::Decimal => word ^ SIGN,
            Self::Real => word ^ (((word as i64 >> 63) as u64) | SIGN),
        }
    }

    /// The word of a number.
    fn word(self, number: u64) -> u64 {
        match self {
            Self::Real if number & SIGN == 0 => !number,
            Self::Real => number ^ SIGN,
            Self::Unsigned | Self::Signed | Self::Decimal => self.number(number),
        }
    }

    /// Writes the value of a number of the payload, whose complement it may be.
    fn write(self, numbers: &[u64], is_least: bool, out: &mut [u64]) {
        let flip = if is_least { u64::MAX } else { 0 };
        let last = self.words() - 1;
        for (at, number) in numbers[..=last].iter().enumerate() {
            let number = number ^ flip;
            out[at] = if at == last {
                self.word(number)
            } else {
                number
            };
        }
    }

    /// Count (0, or 1 for any), least and greatest value.
    pub(super) fn summary(self, numbers: &[u64]) -> [u64; SUMMARY] {
        let mut summary = [0; SUMMARY];
        if numbers.iter().all(|&number| number == 0) {
            return summary;
        }
        let (least, greatest) = numbers.split_at(self.words());
        summary[0] = 1;
        self.write(least, true, &mut summary[1..3]);
        self.write(greatest, false, &mut summary[3..]);
        summary
    }
}
