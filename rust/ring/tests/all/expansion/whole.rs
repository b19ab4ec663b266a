//! Arithmetic on whole numbers as wide as need be.

use ringview_ring::{CommutativeMonoid, Expansion};

/// A whole number of any size, as digits to the base 2^24, signed, smallest first, not carried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole(Vec<i128>);

const BASE: i128 = 1 << 24;

impl Whole {
    /// `mantissa * 2^exponent`.
    pub(crate) fn of(mantissa: i64, exponent: usize) -> Self {
        let mut digits = vec![0; exponent / 24];
        digits.push(i128::from(mantissa) << (exponent % 24));
        Self(digits)
    }

    pub(crate) fn plus(mut self, other: &Self) -> Self {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a += b);
        self
    }

    fn carried(&self) -> Self {
        let (mut digits, mut carry) = (Vec::new(), 0);
        for digit in &self.0 {
            let sum = digit + carry;
            digits.push(sum.rem_euclid(BASE));
            carry = sum.div_euclid(BASE);
        }
        // The sign stays in the last digit.
        digits.push(carry);
        Self(digits)
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        let (a, b) = (self.carried(), other.carried());
        let mut digits = vec![0; a.0.len() + b.0.len()];
        for (i, x) in a.0.iter().enumerate() {
            for (j, y) in b.0.iter().enumerate() {
                digits[i + j] += x * y;
            }
        }
        Self(digits)
    }

    pub(crate) fn negated(&self) -> Self {
        Self(self.0.iter().map(|digit| -digit).collect())
    }

    /// As a double, to 16 digits or so: what is largest leads.
    pub(crate) fn value(&self) -> f64 {
        let carried = self.carried();
        if carried.0.last().is_some_and(|&last| last < 0) {
            return -self.negated().value();
        }
        let digits = carried.0.iter().rev();
        digits.fold(0.0, |sum, &digit| sum * BASE as f64 + digit as f64)
    }
}

/// All digits of an expansion.
pub(crate) fn whole(expansion: Expansion) -> Whole {
    let mut rest = expansion;
    let mut sum = Whole::default();
    for _ in 0..4 {
        let part = rest.value();
        sum = sum.plus(&exactly(part));
        rest = rest.difference(Expansion::from(part));
    }
    assert!(rest.is_zero(), "{expansion:?}");
    sum
}

/// A double that is whole.
pub(crate) fn exactly(value: f64) -> Whole {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1075;
    let mantissa = ((bits & ((1 << 52) - 1)) | 1 << 52) as i64;
    let mantissa = if value < 0.0 { -mantissa } else { mantissa };
    match value {
        0.0 => Whole::default(),
        _ if exponent >= 0 => Whole::of(mantissa, exponent as usize),
        _ => {
            assert_eq!(
                mantissa.trailing_zeros().min(53) as i32,
                mantissa.trailing_zeros() as i32
            );
            assert!(
                mantissa.trailing_zeros() as i32 >= -exponent,
                "{value} is whole"
            );
            Whole::of(mantissa >> -exponent, 0)
        }
    }
}

/// Whether an expansion has all digits of a number.
pub(crate) fn same(expansion: Expansion, exact: &Whole) -> bool {
    let off = whole(expansion).plus(&exact.negated());
    off.carried().0.iter().all(|&digit| digit == 0)
}
