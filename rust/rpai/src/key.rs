//! Keys of indexes: aggregate values, which are added to and compared.
//!
//! Invariant: keys are totally ordered and shifting by the same distance keeps their order. Within
//! a tree a key is the sum of the distances along a path; integers add there modulo 2^64 or 2^128,
//! so the sum is right whenever the key itself fits, whatever its summands. Reals add as expansions
//! of three doubles: exact while the digits of all keys and distances lie within 157 bits of each
//! other, which is all doubles of one scale; beyond that off by a part in 2^157.

use std::cmp::Ordering;
use std::fmt::Debug;

use ringview_core::{Error, Result};
use ringview_ring::{CommutativeMonoid, Expansion};

/// Aggregate values as keys.
pub trait Key: Copy + Ord + Debug + Send + Sync + 'static {
    /// The neutral element of addition.
    const ZERO: Self;

    /// The sum along a path, where the end is known to fit.
    #[must_use]
    fn offset_by(self, by: Self) -> Self;

    /// The distance from `base`: adding it to `base` with `offset_by` gives this key.
    #[must_use]
    fn relative_to(self, base: Self) -> Self;

    /// The key so far away; `None` if it does not fit.
    fn shifted(self, by: Self) -> Option<Self>;

    /// A word that equal keys have in common.
    fn word(self) -> u64;
}

macro_rules! integer_keys {
    ($($integer:ty),*) => {$(
        impl Key for $integer {
            const ZERO: Self = 0;

            #[inline(always)]
            fn offset_by(self, by: Self) -> Self {
                self.wrapping_add(by)
            }

            #[inline(always)]
            fn relative_to(self, base: Self) -> Self {
                self.wrapping_sub(base)
            }

            #[inline(always)]
            fn shifted(self, by: Self) -> Option<Self> {
                self.checked_add(by)
            }

            #[inline(always)]
            fn word(self) -> u64 {
                (self ^ (self >> (Self::BITS / 2))) as u64
            }
        }
    )*};
}

integer_keys!(i64, i128);

/// A real number as a key: finite, and as exact as sums of reals are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real(Expansion);

impl Real {
    /// A double as a key.
    ///
    /// # Errors
    /// `Value` for NaN and the infinities, which no shift keeps in order.
    pub fn new(value: f64) -> Result<Self> {
        if value.is_finite() {
            return Ok(Self(Expansion::from(value)));
        }
        Err(Error::Value {
            place: "a key of an index".to_owned(),
            problem: format!("{value} has no place among keys that move; leave such values out"),
        })
    }

    /// The nearest double.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0.value()
    }

    /// All its digits.
    #[must_use]
    pub fn expansion(self) -> Expansion {
        self.0
    }
}

impl From<Expansion> for Real {
    /// The expansion must be finite.
    fn from(expansion: Expansion) -> Self {
        Self(expansion)
    }
}

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // The first part of a difference has its sign; only the infinities of an overflow have
        // none.
        let difference = self.0.difference(other.0);
        if difference.is_finite() {
            return difference.value().total_cmp(&0.0);
        }
        self.value().total_cmp(&other.value())
    }
}

impl Key for Real {
    const ZERO: Self = Self(Expansion::ZERO);

    #[inline]
    fn offset_by(self, by: Self) -> Self {
        Self(self.0.sum(by.0))
    }

    #[inline]
    fn relative_to(self, base: Self) -> Self {
        Self(self.0.difference(base.0))
    }

    #[inline]
    fn shifted(self, by: Self) -> Option<Self> {
        self.0.plus(by.0).map(Self)
    }

    #[inline]
    fn word(self) -> u64 {
        self.0.value().to_bits()
    }
}
