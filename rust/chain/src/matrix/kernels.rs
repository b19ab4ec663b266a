//! The inner loops over dense parts, each compiled for the vectors that the machine has.
//!
//! Invariant: every sum is taken in an order that depends on the shape alone, without fused
//! rounding, so the same input gives the same bits on every machine.
//!
//! Cost: of the first three, one walk over the matrix whatever the rank, so they are as fast as the
//! memory while the rank is small.

use multiversion::multiversion;

/// Partial sums of a dot product: four of the widest registers.
const LANES: usize = 32;
/// Columns taken at a time, so that the sums over them stay in the nearest cache.
const STRIP: usize = 1024;
/// Rows taken at a time.
const ROWS: usize = 4;

#[inline(always)]
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let ((left, left_rest), (right, right_rest)) =
        (left.as_chunks::<LANES>(), right.as_chunks::<LANES>());
    for (left, right) in left.iter().zip(right) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    for (sum, (left, right)) in sums.iter_mut().zip(left_rest.iter().zip(right_rest)) {
        *sum += left * right;
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

/// The bits of magnitudes order as the magnitudes do, and infinities and NaN are last.
#[inline(always)]
fn magnitude(value: f64) -> u64 {
    value.to_bits() & (u64::MAX >> 1)
}

/// The largest magnitude; infinite or NaN if any value is.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
pub(super) fn largest(values: &[f64]) -> f64 {
    let mut most = [0u64; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            most[lane] = most[lane].max(magnitude(chunk[lane]));
        }
    }
    let rest = rest.iter().map(|&value| magnitude(value)).max();
    let most = most.into_iter().chain(rest).max();
    f64::from_bits(most.unwrap_or_default())
}

/// `out[c] = matrix * u[c]` for each row c of `u`; the largest magnitude of `out`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
pub(super) fn times(matrix: &[f64], columns: usize, u: &[f64], out: &mut [f64]) -> f64 {
    let rank = u.len() / columns;
    let rows = out.len() / rank;
    for row in 0..rows {
        let values = &matrix[row * columns..][..columns];
        for c in 0..rank {
            out[c * rows + row] = dot(values, &u[c * columns..][..columns]);
        }
    }
    largest(out)
}

/// `out[c] = v[c]^T * matrix` for each row c of `v`; the largest magnitude of `out`.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
pub(super) fn transposed_times(matrix: &[f64], rows: usize, v: &[f64], out: &mut [f64]) -> f64 {
    let rank = v.len() / rows;
    let columns = out.len() / rank;
    out.fill(0.0);
    for start in (0..columns).step_by(STRIP) {
        let width = STRIP.min(columns - start);
        let strip = |row: usize| &matrix[row * columns + start..][..width];
        let whole = rows - rows % ROWS;
        for row in (0..whole).step_by(ROWS) {
            let (s0, s1, s2, s3) = (strip(row), strip(row + 1), strip(row + 2), strip(row + 3));
            for c in 0..rank {
                let by = &v[c * rows + row..][..ROWS];
                let out = &mut out[c * columns + start..][..width];
                for j in 0..width {
                    out[j] += (by[0] * s0[j] + by[1] * s1[j]) + (by[2] * s2[j] + by[3] * s3[j]);
                }
            }
        }
        for row in whole..rows {
            for c in 0..rank {
                let by = v[c * rows + row];
                let out = &mut out[c * columns + start..][..width];
                for (out, value) in out.iter_mut().zip(strip(row)) {
                    *out += by * value;
                }
            }
        }
    }
    largest(out)
}

/// `matrix += sum of u[c] v[c]^T` over the rows c of `u` and `v`, where `u[c]` is not 0; the largest
/// magnitude in the rows that it wrote to.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq", "x86_64+avx2"))]
#[must_use]
pub(super) fn add_product(matrix: &mut [f64], rows: usize, u: &[f64], v: &[f64]) -> f64 {
    let rank = u.len() / rows;
    let columns = v.len() / rank;
    let mut most = 0.0f64;
    for row in 0..rows {
        let values = &mut matrix[row * columns..][..columns];
        let mut written = false;
        for c in 0..rank {
            let by = u[c * rows + row];
            if by == 0.0 {
                continue;
            }
            written = true;
            for (value, v) in values.iter_mut().zip(&v[c * columns..][..columns]) {
                *value += by * v;
            }
        }
        if written {
            most = most.max(largest(values));
        }
    }
    most
}
