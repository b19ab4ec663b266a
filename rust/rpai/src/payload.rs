//! Payloads of indexes: elements of a group, whose sums over any part of an index must fit.
//!
//! Invariant: an index keeps the sum of the magnitudes of its payloads and refuses a change by
//! which that would not fit. So every sum over a part of it fits, however its nodes are cut, and no
//! sum is checked but where a payload itself changes. A payload whose sums may be wider than its
//! values is given as `i128`: prices times volumes of any stream fit there. Cost: one more addition
//! a change.

use std::fmt::Debug;

use ringview_ring::{CommutativeMonoid, Expansion, Group};

/// Entries of a node of a tree at most.
pub const WIDTH: usize = 32;

/// Payload of an index for each key.
pub trait Payload: Group + Debug + Send + Sync + 'static {
    /// Its magnitude, component by component; `None` if that does not fit.
    fn magnitude(self) -> Option<Self>;

    /// The sum, where it is known to fit.
    #[must_use]
    fn with(self, other: Self) -> Self;

    /// The difference, where it is known to fit.
    #[must_use]
    fn without(self, other: Self) -> Self;

    /// The sum of the first so many, which is known to fit.
    #[must_use]
    #[inline(always)]
    fn sum_of_first(all: &[Self; WIDTH], count: usize) -> Self {
        let first = all[..count].iter();
        first.fold(Self::ZERO, |sum, &payload| sum.with(payload))
    }

    /// Whether two computations of a sum agree: exactly, or for reals up to rounding relative to
    /// `weight`.
    fn agrees(self, other: Self, weight: Self) -> bool;
}

macro_rules! integer_payloads {
    ($($integer:ty),*) => {$(
        impl Payload for $integer {
            #[inline(always)]
            fn magnitude(self) -> Option<Self> {
                self.checked_abs()
            }

            #[inline(always)]
            fn with(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn without(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            // All lanes, and no branch that depends on the count.
            #[inline(always)]
            fn sum_of_first(all: &[Self; WIDTH], count: usize) -> Self {
                let counted = |at: usize| if at < count { all[at] } else { 0 };
                (0..WIDTH).fold(0, |sum: Self, at| sum.wrapping_add(counted(at)))
            }

            fn agrees(self, other: Self, _weight: Self) -> bool {
                self == other
            }
        }
    )*};
}

integer_payloads!(i64, i128);

impl Payload for Expansion {
    #[inline]
    fn magnitude(self) -> Option<Self> {
        let value = self.value();
        value
            .is_finite()
            .then(|| if value < 0.0 { self.negated() } else { self })
    }

    #[inline]
    fn with(self, other: Self) -> Self {
        self.sum(other)
    }

    #[inline]
    fn without(self, other: Self) -> Self {
        self.difference(other)
    }

    fn agrees(self, other: Self, weight: Self) -> bool {
        self.difference(other).value().abs() <= weight.value() * 2f64.powi(-120)
    }
}

/// Several sums side by side: a count, and sums of integers or decimals in units of their scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums<const N: usize, W = i128>(pub [W; N]);

impl<const N: usize> Sums<N> {
    /// The same with more sums, which are 0.
    pub(crate) fn widened<const M: usize>(self) -> Sums<M> {
        Sums(std::array::from_fn(|at| {
            self.0.get(at).copied().unwrap_or(0)
        }))
    }
}

macro_rules! sums {
    ($($word:ty),*) => {$(
        impl<const N: usize> Sums<N, $word> {
            #[inline(always)]
            fn pairwise(self, other: Self, both: impl Fn($word, $word) -> $word) -> Self {
                Self(std::array::from_fn(|at| both(self.0[at], other.0[at])))
            }

            #[inline(always)]
            fn checked(self, each: impl Fn(usize, $word) -> ($word, bool)) -> Option<Self> {
                let mut all = self;
                let mut wrapped = false;
                for (at, number) in all.0.iter_mut().enumerate() {
                    let (new, over) = each(at, *number);
                    *number = new;
                    wrapped |= over;
                }
                (!wrapped).then_some(all)
            }
        }

        impl<const N: usize> CommutativeMonoid for Sums<N, $word> {
            const ZERO: Self = Self([0; N]);

            #[inline]
            fn plus(self, other: Self) -> Option<Self> {
                self.checked(|at, number| number.overflowing_add(other.0[at]))
            }
        }

        impl<const N: usize> Group for Sums<N, $word> {
            #[inline]
            fn minus(self) -> Option<Self> {
                self.checked(|_, number| number.overflowing_neg())
            }
        }

        impl<const N: usize> Payload for Sums<N, $word> {
            #[inline]
            fn magnitude(self) -> Option<Self> {
                self.checked(|_, number| number.overflowing_abs())
            }

            #[inline(always)]
            fn with(self, other: Self) -> Self {
                self.pairwise(other, <$word>::wrapping_add)
            }

            #[inline(always)]
            fn without(self, other: Self) -> Self {
                self.pairwise(other, <$word>::wrapping_sub)
            }

            fn agrees(self, other: Self, _weight: Self) -> bool {
                self == other
            }
        }
    )*};
}

sums!(i64, i128);
