//! Count, sums and sums of products of some features, each number on its own in one array, whichever features they are.
//!
//! Invariant: `features` ascend; the products are those of the upper triangle, row by row. A product of two covers the
//! features of both, which must not meet. Cost: O(m^2).

use std::ops::AddAssign;

/// The aggregates of one key.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    pub(crate) features: Vec<usize>,
    /// The count, the sums, the products.
    pub(crate) values: Vec<f64>,
}

impl Moments {
    pub(crate) fn zero(features: Vec<usize>) -> Self {
        let m = features.len();
        let values = vec![0.0; 1 + m + m * (m + 1) / 2];
        Self { features, values }
    }

    /// Those of one row, counted `times` times.
    pub(crate) fn of_row(features: &[usize], row: &[f64], times: f64) -> Self {
        let mut values = Vec::with_capacity(1 + row.len() + row.len() * (row.len() + 1) / 2);
        values.push(times);
        values.extend(row.iter().map(|x| times * x));
        for (at, x) in row.iter().enumerate() {
            values.extend(row[at..].iter().map(|y| times * x * y));
        }
        Self {
            features: features.to_vec(),
            values,
        }
    }

    pub(crate) fn count(&self) -> f64 {
        self.values[0]
    }

    fn sum(&self, at: usize) -> f64 {
        self.values[1 + at]
    }

    /// The product of two features by their places, the first not behind the second.
    pub(crate) fn product(&self, left: usize, right: usize) -> f64 {
        let m = self.features.len();
        self.values[1 + m + left * m - (left * left - left) / 2 + right - left]
    }

    /// The moments of the join of two independent sets of rows.
    pub(crate) fn times(&self, other: &Self) -> Self {
        // Each feature of the result: of which side, and where there.
        let mut places: Vec<(usize, bool, usize)> = Vec::new();
        places.extend(
            self.features
                .iter()
                .enumerate()
                .map(|(at, &f)| (f, true, at)),
        );
        places.extend(
            other
                .features
                .iter()
                .enumerate()
                .map(|(at, &f)| (f, false, at)),
        );
        places.sort_unstable();
        let (c, d) = (self.count(), other.count());
        let mut values = Vec::with_capacity(1 + places.len() * (places.len() + 3) / 2);
        values.push(c * d);
        values.extend(places.iter().map(|&(_, mine, at)| match mine {
            true => self.sum(at) * d,
            false => c * other.sum(at),
        }));
        for (i, &(_, mine, at)) in places.iter().enumerate() {
            values.extend(
                places[i..]
                    .iter()
                    .map(|&(_, also_mine, to)| match (mine, also_mine) {
                        (true, true) => self.product(at, to) * d,
                        (false, false) => c * other.product(at, to),
                        (true, false) => self.sum(at) * other.sum(to),
                        (false, true) => other.sum(at) * self.sum(to),
                    }),
            );
        }
        Self {
            features: places.iter().map(|place| place.0).collect(),
            values,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.values.len() * size_of::<f64>()
    }
}

impl AddAssign<&Self> for Moments {
    fn add_assign(&mut self, other: &Self) {
        let pairs = self.values.iter_mut().zip(&other.values);
        pairs.for_each(|(value, more)| *value += more);
    }
}
