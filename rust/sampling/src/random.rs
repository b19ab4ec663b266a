//! The one generator of random numbers, and what is drawn from it.
//!
//! Invariant: the same seed and the same calls give the same numbers on every machine: the generator is
//! PCG, logarithms and exponentials are those of `libm`, not of the system. A position among up to 2^127
//! is uniform in all of its bits, though a double has only 53. Cost: a few nanoseconds a draw.

use libm::{exp, floor, log, log1p};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// More items than this are never passed over at once: who has passed them draws again, which by the
/// geometric law's lack of memory changes nothing.
const FAR: u32 = 127;
/// Bits of a double's mantissa.
const MANTISSA: u32 = 53;

/// A seeded generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random(Pcg64);

/// Number of items to skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skip {
    pub(crate) items: u128,
    /// Whether it is only known that at least so many are passed over.
    pub(crate) more: bool,
}

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(Pcg64::seed_from_u64(seed))
    }

    /// A number in (0, 1], a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << MANTISSA) as f64
    }

    /// A number below `limit`, all with equal chances: of as many bits as `limit` has, drawn until
    /// they fit, twice on average at worst.
    ///
    /// # Panics
    /// If `limit` is 0.
    pub fn below(&mut self, limit: u128) -> u128 {
        assert!(limit > 0, "there is no number below 0");
        let bits = u128::BITS - (limit - 1).leading_zeros();
        loop {
            let drawn = self.bits(bits);
            if drawn < limit {
                return drawn;
            }
        }
    }

    /// The largest of `count` numbers that are uniform in (0, `below`].
    pub fn largest(&mut self, count: u64, below: f64) -> f64 {
        below * exp(log(self.unit()) / count as f64)
    }

    /// The smallest of `count` numbers that are uniform in (`above`, 1].
    pub fn smallest(&mut self, count: u128, above: f64) -> f64 {
        // 1 - U^(1/count), without losing what is small beside 1.
        let gap = -libm::expm1(log(self.unit()) / count as f64);
        above + (1.0 - above) * gap
    }

    /// Number of failures before the first success, of chance `w` each: geometric.
    pub(crate) fn failures(&mut self, w: f64) -> Skip {
        // The logarithm of 1 - w, right for a w far below 2^-53 too.
        let real = log(self.unit()) / log1p(-w);
        if real.is_nan() || real >= (1u128 << FAR) as f64 {
            return Skip {
                items: 1 << FAR,
                more: true,
            };
        }
        let real = floor(real);
        let exponent = (real as u128)
            .checked_ilog2()
            .map_or(0, |log| (log + 1).saturating_sub(MANTISSA));
        // A double that large is a multiple of 2^exponent. Within one such step the chances differ by
        // less than a double resolves, so what lies below it is uniform.
        let items = real as u128 + self.bits(exponent);
        Skip { items, more: false }
    }

    /// A number of so many random bits.
    fn bits(&mut self, bits: u32) -> u128 {
        match bits {
            0 => 0,
            1..=64 => u128::from(self.0.next_u64() >> (64 - bits)),
            _ => {
                let high = u128::from(self.0.next_u64());
                (high << 64 | u128::from(self.0.next_u64())) >> (128 - bits)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_a_limit_are_uniform() {
        let mut random = Random::new(1);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[random.below(6) as usize] += 1;
        }
        // Four standard deviations.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 366));
        assert!((0..100).all(|_| random.below(1) == 0));
        assert!((0..100).any(|_| random.below(1 << 127) > 1 << 126));
    }

    #[test]
    fn long_skips_have_random_low_bits() {
        let mut random = Random::new(2);
        let mut odd = 0;
        for _ in 0..10_000 {
            let skip = random.failures(2f64.powi(-100));
            assert!(!skip.more);
            odd += u32::from(skip.items % 2 == 1);
        }
        assert!(odd.abs_diff(5000) < 200, "{odd}");
    }

    #[test]
    fn skips_have_the_mean_of_the_geometric_law() {
        for w in [0.9, 0.5, 0.01, 1e-6] {
            let mut random = Random::new(3);
            let sum: u128 = (0..100_000).map(|_| random.failures(w).items).sum();
            let (mean, expected) = (sum as f64 / 1e5, (1.0 - w) / w);
            let deviation = (1.0 - w).sqrt() / w / 1e5f64.sqrt();
            assert!((mean - expected).abs() < 4.0 * deviation, "{w}: {mean}");
        }
    }

    #[test]
    fn what_passes_every_bound_is_cut_and_said() {
        let mut random = Random::new(4);
        let cut = Skip {
            items: 1 << 127,
            more: true,
        };
        assert_eq!(random.failures(1e-60), cut);
        assert_eq!(random.failures(0.0), cut);
        let none = Skip {
            items: 0,
            more: false,
        };
        assert_eq!(random.failures(1.0), none);
    }

    #[test]
    fn order_statistics_have_their_means() {
        let mut random = Random::new(5);
        let largest: f64 = (0..10_000).map(|_| random.largest(4, 0.5)).sum();
        assert!((largest / 1e4 - 0.4).abs() < 0.005);
        let smallest: f64 = (0..10_000).map(|_| random.smallest(4, 0.5)).sum();
        assert!((smallest / 1e4 - 0.6).abs() < 0.005);
    }
}
