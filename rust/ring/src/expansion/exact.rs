//! Error-free transformations: a sum or product of two doubles, and what it is off by.
//!
//! Invariant: the bits are the same on every machine. The error of a product is one fused
//! multiplication and addition where there is an instruction for it, and a split into halves
//! elsewhere: both are exact, and where a split would leave the range of doubles the fused one is
//! computed in software. Cost: a sum takes 6 additions; a product 2 operations fused, some 20
//! split.

/// `a + b` and what it is off by.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

/// The rest of a number, as the bits of `Reals::short`: none for zeros of either sign.
#[inline(always)]
pub(crate) fn bits(rest: f64) -> u64 {
    rest.to_bits() << 1
}

/// Computation of a product's rounding error.
pub(crate) trait Exact {
    /// `a * b - product`, where `product` is `a * b` rounded.
    fn remainder(a: f64, b: f64, product: f64) -> f64;

    /// `a * b` and what it is off by.
    #[inline(always)]
    fn two_product(a: f64, b: f64) -> (f64, f64) {
        let product = a * b;
        (product, Self::remainder(a, b, product))
    }
}

/// By an instruction of the machine.
pub(crate) struct Fused;

/// By halves of 26 bits.
pub(crate) struct Split;

impl Exact for Fused {
    #[inline(always)]
    fn remainder(a: f64, b: f64, product: f64) -> f64 {
        a.mul_add(b, -product)
    }
}

impl Exact for Split {
    #[inline(always)]
    fn remainder(a: f64, b: f64, product: f64) -> f64 {
        // 2^995 and 2^-955: what is split, and multiplied in halves, does not overflow; what is
        // left of the product is a double.
        const LARGE: f64 = f64::from_bits(0x7e20 << 48);
        const SMALL: f64 = f64::from_bits(0x0440 << 48);
        let largest = a.abs().max(b.abs()).max(product.abs());
        if largest < LARGE && product.abs() > SMALL {
            let ((a1, a0), (b1, b0)) = (split(a), split(b));
            ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0
        } else {
            at_the_ends(a, b, product)
        }
    }
}

/// Two halves of 26 bits.
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// The remainder at the ends of the range: rounded once, on every machine.
#[inline(never)]
fn at_the_ends(a: f64, b: f64, product: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        return 0.0;
    }
    a.mul_add(b, -product)
}

/// A loop over reals, to be compiled for what the machine has.
pub(crate) trait Loop {
    /// Result of the loop.
    type Out;
    /// Runs it. To be inlined.
    fn run<E: Exact>(self) -> Self::Out;
}

/// Runs a loop with the quickest remainders that there are.
#[inline]
pub(crate) fn run<L: Loop>(work: L) -> L::Out {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "fma")]
        fn fused<L: Loop>(work: L) -> L::Out {
            work.run::<Fused>()
        }
        if is_x86_feature_detected!("fma") {
            // SAFETY: the machine has what the function is compiled for.
            // Test: rust/ring/tests/all/expansion/numbers.rs::sums_are_exact_in_any_order
            return unsafe { fused(work) };
        }
    }
    if cfg!(target_feature = "fma") || cfg!(target_arch = "aarch64") {
        return work.run::<Fused>();
    }
    work.run::<Split>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Exact, Fused, Split};

    proptest! {
        #[test]
        fn both_remainders_are_the_same(a in any::<f64>(), b in any::<f64>(), scale in -300i32..300) {
            let near = b.abs().log2().clamp(-900.0, 900.0) as i32;
            for a in [a, a / 2f64.powi(near), f64::from(scale), a * 10f64.powi(scale)] {
                let product = a * b;
                if a.is_finite() {
                    prop_assert_eq!(Fused::remainder(a, b, product), Split::remainder(a, b, product));
                }
            }
        }
    }
}
