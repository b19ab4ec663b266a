//! Sums as integers: in units of a power of ten, or doubles by their digits.
//!
//! A double is one or two digits of 80 bits, on a grid that is the same for all: the digit of a
//! place counts units of `2^(80 place - 20)`. A sum of doubles is one integer for each place that
//! some double of it has: at first two, which serve money, weights and rates, more once other
//! doubles are inserted. Invariant: a sum is exact over the whole range of doubles, so inserts and
//! deletes leave no residue, in any order. Cost: O(places).

use ringview_core::Result;
use ringview_ring::{CommutativeMonoid, Expansion, Number};

use crate::machine::query::{Kind, Quantity};

use crate::tree::overflow;

/// Bits of a digit.
const BITS: i32 = 80;
/// The exponent of the unit of place 0.
const ORIGIN: i32 = -20;
/// The places that every sum has.
const FIRST: [i32; 2] = [0, -1];
/// The least place, and how many there are up to that of the largest sums.
const LEAST: i32 = -14;
const PLACES: usize = 30;

/// The unit of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumKind {
    /// Units of a power of ten.
    Scale(u8),
    /// Doubles.
    Real,
}

impl SumKind {
    /// Number of integers of a sum, at first and in a result.
    pub(crate) fn lanes(self) -> usize {
        match self {
            SumKind::Scale(_) => 1,
            SumKind::Real => FIRST.len(),
        }
    }
}

/// A digit: its place, and how many of its units.
pub(crate) type Digit = (i32, i128);

/// The digits of a double, which is finite; 0 where there is none.
pub(crate) fn digits(value: f64) -> [Digit; 2] {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (digits, exponent) = match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent - 1075),
    };
    if digits == 0 {
        return [(0, 0); 2];
    }
    // No more digits than it has, so that it takes no lane in vain.
    let zeros = digits.trailing_zeros();
    let (digits, exponent) = (digits >> zeros, exponent + zeros as i32);
    let (power, shift) = (
        (exponent - ORIGIN).div_euclid(BITS),
        (exponent - ORIGIN).rem_euclid(BITS),
    );
    let kept = (BITS - shift).min(63);
    let (low, high) = (digits & ((1 << kept) - 1), digits >> kept);
    let signed = |digits: u64| match value < 0.0 {
        true => -i128::from(digits),
        false => i128::from(digits),
    };
    [(power, signed(low) << shift), (power + 1, signed(high))]
}

/// A sum of doubles among the sums of a relation.
#[derive(Clone, Debug)]
pub(crate) struct Reals {
    /// The lanes of its places.
    lanes: Vec<(i32, usize)>,
}

impl Reals {
    /// One whose first lanes begin here.
    pub(crate) fn new(at: usize) -> Self {
        let lanes = FIRST
            .iter()
            .enumerate()
            .map(|(more, &power)| (power, at + more));
        Self {
            lanes: lanes.collect(),
        }
    }

    /// Its first lane, where its sum begins in a result.
    pub(crate) fn at(&self) -> usize {
        self.lanes[0].1
    }

    /// The lane of a place.
    #[inline]
    pub(crate) fn lane(&self, power: i32) -> Option<usize> {
        let found = self.lanes.iter().find(|(of, _)| *of == power);
        found.map(|(_, lane)| *lane)
    }

    /// From now on a place has a lane.
    pub(crate) fn extend(&mut self, power: i32, lane: usize) {
        self.lanes.push((power, lane));
    }

    /// All of its lanes.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = usize> {
        self.lanes.iter().map(|(_, lane)| *lane)
    }

    /// The key of the double that is nearest to the sum, of which each lane is given: it grows with the sum, for it is
    /// rounded once. Of a sum beyond all doubles, that of an infinity.
    pub(crate) fn key(&self, sum: impl Fn(usize) -> i128) -> i128 {
        let infinite = |sign: i128| f64::INFINITY * sign as f64;
        let mut digits = [0i128; PLACES];
        let mut sign = 1;
        let nearest = loop {
            for &(power, lane) in &self.lanes {
                digits[(power - LEAST) as usize] = sign * sum(lane);
            }
            match carried(&mut digits) {
                Ok(0) => break sign as f64 * nearest(&digits),
                Ok(_) => {}
                Err(_) => break infinite(sign),
            }
            sign = -sign;
            digits.fill(0);
        };
        let key = Kind::Real.key(Quantity::Real(nearest));
        key.unwrap_or_else(|_| unreachable!("every double is a key"))
    }

    /// The sum.
    pub(crate) fn total(&self, sums: &[i128]) -> Result<Expansion> {
        let mut digits = [0i128; PLACES];
        for &(power, lane) in &self.lanes {
            digits[(power - LEAST) as usize] = sums[lane];
        }
        // Digits of one sign, so that nothing cancels.
        if carried(&mut digits)? < 0 {
            digits.iter_mut().for_each(|digit| *digit = 0);
            for &(power, lane) in &self.lanes {
                digits[(power - LEAST) as usize] = sums[lane].checked_neg().ok_or_else(too_much)?;
            }
            carried(&mut digits)?;
            return finite(whole(&digits).negated());
        }
        finite(whole(&digits))
    }
}

/// Makes digits of less than 2^80 of sums of them; below 0 where the whole is.
fn carried(digits: &mut [i128; PLACES]) -> Result<i128> {
    let mut carry = 0i128;
    for digit in digits {
        let sum = digit.checked_add(carry).ok_or_else(too_much)?;
        (*digit, carry) = (sum & ((1 << BITS) - 1), sum >> BITS);
    }
    match carry {
        -1 | 0 => Ok(carry),
        _ => Err(too_much()),
    }
}

/// The double that is nearest to digits, ties to the even one.
fn nearest(digits: &[i128; PLACES]) -> f64 {
    let Some(top) = digits.iter().rposition(|digit| *digit != 0) else {
        return 0.0;
    };
    let digit = |at: Option<usize>| at.map_or(0, |at| digits[at] as u128);
    // The first 64 bits, from the highest one on, and whether there are others behind them.
    let (first, second) = (digit(Some(top)), digit(top.checked_sub(1)));
    let length = 128 - first.leading_zeros() as i32;
    let below = digits[..top.saturating_sub(1)]
        .iter()
        .any(|digit| *digit != 0);
    let (bits, rest) = match length - 64 {
        more @ 0.. => (first >> more, first & ((1 << more) - 1) != 0 || second != 0),
        less => {
            let kept = BITS + less;
            let bits = first << -less | second >> kept;
            (bits, second & ((1 << kept) - 1) != 0)
        }
    };
    let rest = rest || below;
    let exponent = BITS * (top as i32 + LEAST) + ORIGIN + length - 64;
    // A double has 53 of them, and none below its least power of two.
    let dropped = (-1074 - exponent).max(11);
    if dropped > 64 {
        return 0.0;
    }
    let (kept, half) = (bits >> dropped, 1u128 << (dropped - 1));
    let behind = bits & ((1 << dropped) - 1);
    let is_up = behind > half || behind == half && (rest || kept & 1 == 1);
    let rounded = (kept + u128::from(is_up)) as f64;
    let power = exponent + dropped;
    rounded * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
}

/// The first digits from above, as many as fit.
fn whole(digits: &[i128; PLACES]) -> Expansion {
    let some = digits
        .iter()
        .enumerate()
        .rev()
        .skip_while(|(_, digit)| **digit == 0);
    some.take(4).fold(Expansion::ZERO, |sum, (at, &digit)| {
        if digit == 0 {
            return sum;
        }
        let exponent = BITS * (at as i32 + LEAST) + ORIGIN;
        // Beyond the least power of two a digit has zeros, which are put back in a second step.
        let (one, other) = (exponent / 2, exponent - exponent / 2);
        let digit = Expansion::from(digit).scaled(2f64.powi(one));
        sum.sum(digit.scaled(2f64.powi(other)))
    })
}

fn too_much() -> ringview_core::Error {
    overflow("a sum of doubles")
}

fn finite(sum: Expansion) -> Result<Expansion> {
    Some(sum).filter(|sum| sum.is_finite()).ok_or_else(too_much)
}

/// The doubles that a sum of them is made of.
pub(crate) fn doubles(sum: Expansion) -> [f64; Expansion::WORDS] {
    let mut words = [0; Expansion::WORDS];
    sum.store(&mut words, 0);
    words.map(f64::from_bits)
}

/// A sum of doubles as two numbers.
pub(crate) fn packed(sum: Expansion) -> [i128; 2] {
    let mut words = [0; Expansion::WORDS];
    sum.store(&mut words, 0);
    let [one, two, three] = words;
    [
        (u128::from(one) | u128::from(two) << 64) as i128,
        i128::from(three),
    ]
}

/// The sum of two numbers.
pub(crate) fn unpacked([one, two]: [i128; 2]) -> Expansion {
    Expansion::load(&[one as u64, (one as u128 >> 64) as u64, two as u64], 0)
}

#[cfg(test)]
mod tests {
    use super::{Kind, LEAST, PLACES, Reals, digits, packed, unpacked};

    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    /// A sum with a lane for every place.
    fn all() -> Reals {
        let mut reals = Reals::new(0);
        for at in 0..PLACES {
            let power = at as i32 + LEAST;
            if reals.lane(power).is_none() {
                reals.extend(power, at + 2);
            }
        }
        reals
    }

    fn add(sums: &mut [i128], reals: &Reals, value: f64, times: i128) {
        for (power, digit) in digits(value) {
            if digit != 0 {
                sums[reals.lane(power).expect("a lane for every power")] += times * digit;
            }
        }
    }

    #[test]
    fn doubles_of_any_size_come_back_and_leave_nothing() {
        let (reals, mut state) = (all(), 0x9e37_79b9_7f4a_7c15);
        let ends = [
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            1e-20,
            1e-40,
            -1e31,
            0.1,
            -0.0,
        ];
        let some = (0..2_000).map(|_| f64::from_bits(random(&mut state)));
        let some: Vec<f64> = ends
            .into_iter()
            .chain(some)
            .filter(|it| it.is_finite())
            .collect();
        let mut sums = vec![0i128; PLACES + 2];
        for (at, &value) in some.iter().enumerate() {
            add(&mut sums, &reals, value, 1);
            if at > 0 {
                add(&mut sums, &reals, some[at - 1], -1);
            }
            let sum = unpacked(packed(reals.total(&sums).expect("fits")));
            assert_eq!(sum.value(), value + 0.0);
            assert_eq!(sum.rest(), 0.0);
        }
        add(&mut sums, &reals, some[some.len() - 1], -1);
        assert!(sums.iter().all(|&sum| sum == 0));
    }

    /// The double of a key.
    fn double(key: i128) -> f64 {
        Kind::Real.number(key).real()
    }

    #[test]
    fn a_key_is_that_of_the_nearest_double() {
        let (reals, mut state) = (all(), 0x2545_f491_4f6c_dd1d);
        for _ in 0..5_000 {
            // Multiples of 2^-30 have an exact sum of integers beside them.
            let values: Vec<i64> = (0..1 + random(&mut state) % 5)
                .map(|_| random(&mut state) as i64 >> (random(&mut state) % 63))
                .collect();
            let (mut sums, mut exact) = (vec![0i128; PLACES + 2], 0i128);
            for value in values {
                // Two halves, for a double has 53 bits.
                for half in [value >> 32 << 32, value & 0xffff_ffff] {
                    add(&mut sums, &reals, half as f64 * 2f64.powi(-30), 1);
                    exact += i128::from(half);
                }
                let key = reals.key(|lane| sums[lane]);
                assert_eq!(double(key), exact as f64 * 2f64.powi(-30));
            }
        }
    }

    #[test]
    fn keys_grow_with_sums() {
        let (reals, mut state) = (all(), 0x9e37_79b9_7f4a_7c15);
        let mut sums = vec![0i128; PLACES + 2];
        let mut last = reals.key(|lane| sums[lane]);
        assert_eq!(last, 0);
        for at in 0..3_000 {
            let size = (at / 2) as f64 - 1_070.0;
            let value = (random(&mut state) % 1_000) as f64 * size.min(900.0).exp2();
            add(&mut sums, &reals, value, 1);
            let key = reals.key(|lane| sums[lane]);
            let total = reals.total(&sums).expect("fits").value();
            assert!(key >= last, "{at}: {value}");
            assert!((double(key) - total).abs() <= total * f64::EPSILON);
            assert_eq!(reals.key(|lane| -sums[lane]), -key - i128::from(key != 0));
            last = key;
        }
    }

    #[test]
    fn a_sum_beyond_the_largest_double_is_refused() {
        let (reals, mut sums) = (all(), vec![0i128; PLACES + 2]);
        add(&mut sums, &reals, -f64::MAX, 3);
        assert!(reals.total(&sums).is_err());
        add(&mut sums, &reals, f64::MAX, 2);
        assert_eq!(reals.total(&sums).expect("fits").value(), -f64::MAX);
    }
}
