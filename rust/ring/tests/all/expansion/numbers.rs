//! Expansions against arithmetic on whole numbers as wide as need be.

use proptest::prelude::*;
use ringview_ring::{CommutativeMonoid, Expansion, Ring};

use crate::expansion::whole::{Whole, same, whole};

/// The same number both ways: 53 bits, anywhere in 60 binary places.
fn number() -> impl Strategy<Value = (Expansion, Whole)> {
    (-(1i64 << 53) + 1..1i64 << 53, 0usize..60).prop_map(|(mantissa, exponent)| {
        let value = mantissa as f64 * 2f64.powi(exponent as i32);
        (Expansion::from(value), Whole::of(mantissa, exponent))
    })
}

proptest! {
    /// 113 bits and what carries hold in 159.
    #[test]
    fn sums_are_exact_in_any_order(
        numbers in prop::collection::vec(number(), 1..40),
        leaving in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let mut sum = numbers.iter().fold(Expansion::ZERO, |sum, (number, _)| sum.sum(*number));
        let mut exact = numbers.iter().fold(Whole::default(), |sum, (_, exact)| sum.plus(exact));
        prop_assert!(same(sum, &exact));
        for at in leaving {
            let (number, whole) = at.get(&numbers);
            sum = sum.difference(*number);
            exact = exact.plus(&whole.negated());
            prop_assert!(same(sum, &exact));
        }
        prop_assert!((sum.value() - exact.value()).abs() <= 1e-15 * exact.value().abs());
    }

    #[test]
    fn products_of_doubles_are_exact(a in number(), b in number(), c in number(), d in number()) {
        let product = Expansion::product_of(a.0.value(), b.0.value());
        prop_assert_eq!(product, a.0.product(b.0));
        prop_assert!(same(product, &a.1.times(&b.1)));
        // Of sums, which have more digits than a double, to 46 digits.
        let (left, right) = (a.0.sum(b.0), c.0.sum(d.0));
        let exact = a.1.clone().plus(&b.1).times(&c.1.clone().plus(&d.1));
        let off = exact.clone().plus(&whole(left.product(right)).negated()).value().abs();
        prop_assert!(off <= exact.value().abs() * 2f64.powi(-152), "{}", off);
        prop_assert_eq!(left.product(right), right.product(left));
    }

    #[test]
    fn quotients_multiply_back(a in number(), b in number(), divisor in 1i64..i64::MAX) {
        let (number, divisor) = (a.0.sum(b.0), Expansion::from(divisor));
        let back = number.divided_by(divisor).product(divisor);
        prop_assert!(number.difference(back).value().abs() <= number.value().abs() * 2f64.powi(-150));
    }

    #[test]
    fn integers_are_exact(value in any::<i128>(), narrow in any::<i64>(), scale in 0i8..19) {
        let digits = |value: i128| {
            let halves = [value as u64 & 0xffff_ffff, value as u64 >> 32].map(|half| half as i64);
            let high = (value >> 64) as i64;
            let high = [high & 0xffff_ffff, high >> 32];
            let parts = halves.into_iter().chain(high).enumerate();
            parts.fold(Whole::default(), |sum, (at, part)| sum.plus(&Whole::of(part, 32 * at)))
        };
        prop_assert!(same(Expansion::from(value), &digits(value)));
        prop_assert!(same(Expansion::from(narrow), &digits(i128::from(narrow))));
        let power = Expansion::from(10i64.pow(u32::from(scale.unsigned_abs())));
        let off = Expansion::of_decimal(value, scale).product(power).difference(value.into());
        prop_assert!(off.value().abs() <= (value as f64).abs() * 2f64.powi(-150));
        prop_assert_eq!(Expansion::of_decimal(i128::from(narrow), -scale), Expansion::from(narrow).product(power));
        let short = narrow >> 12;
        prop_assert_eq!(
            Expansion::decimal_value(i128::from(short), scale),
            format!("{short}e-{scale}").parse::<f64>().unwrap()
        );
    }
}

#[test]
fn what_came_and_left_leaves_nothing() {
    let real = Expansion::from;
    assert_eq!(real(1e16).sum(real(1.0)).sum(real(-1e16)).value(), 1.0);
    let mixed = [1e30, 1.0, 0.25, -1e-9, -1e30, 3e15];
    let sum = mixed
        .iter()
        .fold(Expansion::ZERO, |sum, &x| sum.sum(real(x)));
    let rest = mixed[..5]
        .iter()
        .fold(sum, |sum, &x| sum.difference(real(x)));
    assert_eq!(rest.value(), 3e15);
    assert!(rest.difference(real(3e15)).is_zero());
    assert_eq!(real(-0.0).value().to_bits(), 0);
    assert_eq!(real(1e16).sum(real(1.0)).rest(), 1.0);
}

/// At the ends of the range a product is what it is on every machine.
#[test]
fn products_at_the_ends_of_the_range() {
    let product = Expansion::product_of;
    assert_eq!(product(1e300, 1e-300).value(), 1e300 * 1e-300);
    assert_eq!(
        product(1.1e300, 1.3e-10).rest(),
        1.1e300f64.mul_add(1.3e-10, -(1.1e300 * 1.3e-10))
    );
    assert_eq!(product(1.1e300, 1e7).value(), 1.1e300 * 1e7);
    assert_eq!(product(1e-200, 1e-200).value(), 0.0);
    assert_eq!(product(0.0, f64::MAX), Expansion::ZERO);
    assert!(!product(1e200, 1e200).is_finite());
    assert_eq!(Expansion::from(f64::MAX).times(Expansion::from(2.0)), None);
    assert_eq!(
        Expansion::from(f64::MAX).plus(Expansion::from(f64::MAX)),
        None
    );
}
