//! How sums are kept as integers: in units of a power of ten, or doubles in two parts.
//!
//! Invariant: what came and left leaves nothing behind, in any order, for all is added as integers. A double is
//! `a / 2^20 + b / 2^100`, `b` less than `2^80`: exact for every double of 2^-48 and more, and within 2^-101 for what is
//! smaller; one of 2^100 and more is an overflow. Cost: O(1).

use ringview_core::Result;
use ringview_ring::Expansion;

use crate::tree::overflow;

/// Digits of the coarse part, and of the fine part behind it, in bits.
const COARSE: i32 = 20;
const FINE: i32 = 80;

/// In what a sum is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Units of a power of ten.
    Scale(u8),
    /// A double, in two parts.
    Real,
}

impl Unit {
    /// How many integers a sum is.
    pub(super) fn lanes(self) -> usize {
        match self {
            Unit::Scale(_) => 1,
            Unit::Real => 2,
        }
    }
}

/// The parts of a double.
pub(super) fn parts(value: f64) -> Result<[i128; 2]> {
    let scaled = value * 2f64.powi(COARSE);
    let coarse = scaled.floor();
    if coarse.is_nan() || coarse.abs() >= 2f64.powi(COARSE + 100) {
        return Err(overflow("a double of a sum"));
    }
    let fine = (scaled - coarse) * 2f64.powi(FINE);
    Ok([coarse as i128, fine.round() as i128])
}

/// A sum from those of its parts.
pub(super) fn whole([coarse, fine]: [i128; 2]) -> Expansion {
    let coarse = Expansion::from(coarse).scaled(2f64.powi(-COARSE));
    coarse.sum(Expansion::from(fine).scaled(2f64.powi(-COARSE - FINE)))
}
