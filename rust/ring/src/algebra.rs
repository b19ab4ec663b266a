//! The ladder of algebra: a view uses the lowest rung that it needs.
//!
//! Sums need a commutative monoid, deletes a group, joins a ring. An operation whose result cannot
//! be represented is an error, never a wrap: every operation returns an option. If all results are
//! defined, the laws of the paper's Definition 2.1 hold (exactly for integers and decimals, up to
//! rounding for reals); `tests/all/laws.rs` checks them.

/// Addition with a neutral element, associative and commutative.
pub trait CommutativeMonoid: Copy + PartialEq {
    /// The neutral element of addition.
    const ZERO: Self;

    /// The sum; `None` if it cannot be represented.
    fn plus(self, other: Self) -> Option<Self>;

    /// Whether this is the neutral element.
    fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

/// A commutative monoid with inverses: what is inserted can be deleted.
pub trait Group: CommutativeMonoid {
    /// The additive inverse; `None` if it cannot be represented.
    fn minus(self) -> Option<Self>;
}

/// A group with a multiplication that distributes over addition: relations can be joined.
pub trait Ring: Group {
    /// The neutral element of multiplication.
    const ONE: Self;

    /// The product; `None` if it cannot be represented.
    fn times(self, other: Self) -> Option<Self>;
}

macro_rules! checked_integers {
    ($($integer:ty),*) => {$(
        impl CommutativeMonoid for $integer {
            const ZERO: Self = 0;

            fn plus(self, other: Self) -> Option<Self> {
                self.checked_add(other)
            }
        }

        impl Group for $integer {
            fn minus(self) -> Option<Self> {
                self.checked_neg()
            }
        }

        impl Ring for $integer {
            const ONE: Self = 1;

            fn times(self, other: Self) -> Option<Self> {
                self.checked_mul(other)
            }
        }
    )*};
}

checked_integers!(i64, i128);
