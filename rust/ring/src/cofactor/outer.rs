//! Sums of outer products x u^T over rows of numbers, a few x at a time, their sums in registers.
//!
//! Every sum is that of its terms in the order of the rows, a vector of sums at a time, without fused
//! rounding: the same on every machine. Vectors may read and write beyond the end of a row: all has room of
//! a vector behind. Cost: a multiplication and an addition a number and row.

use super::blocks::{LANES, padded};

/// Variables whose sums are kept in registers together.
pub(super) const TOGETHER: usize = 4;

#[inline(always)]
pub(super) fn load(from: &[f64], at: usize) -> [f64; LANES] {
    let mut vector = [0.0; LANES];
    vector.copy_from_slice(&from[at..at + LANES]);
    vector
}

#[inline(always)]
pub(super) fn store(to: &mut [f64], at: usize, vector: [f64; LANES]) {
    to[at..at + LANES].copy_from_slice(&vector);
}

/// Rows of numbers, each `stride` behind the last.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) numbers: &'a [f64],
    pub(super) stride: usize,
}

impl<'a> Rows<'a> {
    /// Rows from a column on.
    #[inline(always)]
    pub(super) fn of(numbers: &'a [f64], stride: usize, column: usize) -> Self {
        Self { numbers, stride }.from(column)
    }

    /// The same from a column on.
    #[inline(always)]
    pub(super) fn from(self, column: usize) -> Self {
        Self {
            numbers: &self.numbers[column..],
            ..self
        }
    }
}

/// Target of sums, which are added, or stored while it holds nothing yet: rows `stride` apart.
pub(super) struct Sums<'a> {
    pub(super) numbers: &'a mut [f64],
    pub(super) stride: usize,
    pub(super) begun: bool,
}

impl Sums<'_> {
    #[inline(always)]
    fn take(&mut self, row: usize, vector: usize, mut sum: [f64; LANES]) {
        let at = row * self.stride + vector * LANES;
        if self.begun {
            let before = load(self.numbers, at);
            for lane in 0..LANES {
                sum[lane] += before[lane];
            }
        }
        store(self.numbers, at, sum);
    }
}

/// sum += x * u
#[inline(always)]
fn add_product(sum: &mut [f64; LANES], x: f64, u: &[f64; LANES]) {
    for (sum, u) in sum.iter_mut().zip(u) {
        *sum += x * u;
    }
}

/// The sums over `rows` rows of the first R numbers of x times each of u, vector by vector.
#[inline(always)]
pub(super) fn outer<const R: usize>(
    x: Rows<'_>,
    u: Rows<'_>,
    rows: usize,
    len: usize,
    out: &mut Sums<'_>,
) {
    let (vectors, mut vector) = (len.div_ceil(LANES), 0);
    // With four factors there are sums enough for one vector to keep the machine busy.
    while R < TOGETHER && vector + 2 <= vectors {
        let (mut ones, mut twos) = ([[0.0; LANES]; R], [[0.0; LANES]; R]);
        for row in 0..rows {
            let at = row * u.stride + vector * LANES;
            let (one, two) = (load(u.numbers, at), load(u.numbers, at + LANES));
            let factors = &x.numbers[row * x.stride..][..R];
            for r in 0..R {
                add_product(&mut ones[r], factors[r], &one);
                add_product(&mut twos[r], factors[r], &two);
            }
        }
        for (r, (one, two)) in ones.into_iter().zip(twos).enumerate() {
            out.take(r, vector, one);
            out.take(r, vector + 1, two);
        }
        vector += 2;
    }
    while vector < vectors {
        let mut sums = [[0.0; LANES]; R];
        for row in 0..rows {
            let one = load(u.numbers, row * u.stride + vector * LANES);
            let factors = &x.numbers[row * x.stride..][..R];
            for r in 0..R {
                add_product(&mut sums[r], factors[r], &one);
            }
        }
        for (r, sum) in sums.into_iter().enumerate() {
            out.take(r, vector, sum);
        }
        vector += 1;
    }
}

/// The same for any number of factors up to `TOGETHER`.
#[inline(always)]
pub(super) fn outer_of(
    factors: usize,
    x: Rows<'_>,
    u: Rows<'_>,
    rows: usize,
    len: usize,
    out: &mut Sums<'_>,
) {
    match factors {
        1 => outer::<1>(x, u, rows, len, out),
        2 => outer::<2>(x, u, rows, len, out),
        3 => outer::<3>(x, u, rows, len, out),
        _ => outer::<TOGETHER>(x, u, rows, len, out),
    }
}

/// Adds the triangle of the sums of x u^T over some rows, m variables, to what there is if it is begun,
/// row after row. There is room of a vector behind x, u and the triangle.
#[inline(always)]
pub(super) fn triangle(
    (x, u): (Rows<'_>, Rows<'_>),
    rows: usize,
    m: usize,
    out: &mut [f64],
    begun: bool,
    strip: &mut [f64],
) {
    let mut to = 0;
    for first in (0..m).step_by(TOGETHER) {
        let (factors, len) = (TOGETHER.min(m - first), m - first);
        let stride = padded(len);
        let mut sums = Sums {
            numbers: strip,
            stride,
            begun: false,
        };
        outer_of(factors, x.from(first), u.from(first), rows, len, &mut sums);
        for row in 0..factors {
            // The numbers before the diagonal of a row are those below the diagonal.
            let (from, len) = (row * stride + row, len - row);
            if begun {
                let sums = strip[from..][..len].iter();
                out[to..][..len]
                    .iter_mut()
                    .zip(sums)
                    .for_each(|(out, sum)| *out += sum);
            } else {
                copy(out, to, strip, from, len);
            }
            to += len;
        }
    }
}

/// `out[to..][..len] = numbers[from..][..len]`, and more behind.
#[inline(always)]
pub(super) fn copy(out: &mut [f64], to: usize, numbers: &[f64], from: usize, len: usize) {
    for offset in (0..len).step_by(LANES) {
        store(out, to + offset, load(numbers, from + offset));
    }
}

/// out += scale * from
#[inline(always)]
pub(super) fn add_scaled(out: &mut [f64], scale: f64, from: &[f64], begun: bool) {
    for (out, from) in out.iter_mut().zip(from) {
        *out = if begun { *out } else { 0.0 } + scale * from;
    }
}
