//! Dense parts against three nested loops, across the edges of tiles, strips and blocks.

use ringview_chain::{Matrix, MatrixFactor, Transposed};
use ringview_core::{Error, Result};

fn matrix(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut state = seed;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 60) as f64 - 8.0
    };
    let values = (0..rows * columns).map(|_| draw()).collect();
    Matrix::new(rows, columns, values).expect("finite")
}

fn naive(left: &Matrix, right: &Matrix) -> Vec<f64> {
    let mut out = Vec::new();
    for row in 0..left.rows() {
        for column in 0..right.columns() {
            let term = |at: usize| left.row(row)[at] * right.row(at)[column];
            out.push((0..left.columns()).map(term).sum());
        }
    }
    out
}

fn transpose(matrix: &Matrix) -> Matrix {
    let value = |row: usize| (0..matrix.rows()).map(move |at| matrix.row(at)[row]);
    let values = (0..matrix.columns()).flat_map(value).collect();
    Matrix::new(matrix.columns(), matrix.rows(), values).expect("finite")
}

fn go_on() -> Result<()> {
    Ok(())
}

#[test]
fn products_equal_three_loops() {
    let sizes = [0, 1, 3, 8, 9, 17, 40];
    for rows in sizes {
        for depth in sizes.into_iter().chain([300]) {
            for columns in sizes.into_iter().chain([1030]) {
                if rows * depth * columns > 2_000_000 {
                    continue;
                }
                let (left, right) = (matrix(rows, depth, 1), matrix(depth, columns, 2));
                let expected = naive(&left, &right);
                use Transposed::{No, Yes};
                let (l, r) = (transpose(&left), transpose(&right));
                for (left, right) in [
                    ((&left, No), (&right, No)),
                    ((&l, Yes), (&right, No)),
                    ((&left, No), (&r, Yes)),
                    ((&l, Yes), (&r, Yes)),
                ] {
                    let found = Matrix::product(left, right, &mut go_on).expect("small");
                    assert_eq!(found.values(), expected, "{rows} {depth} {columns}");
                    let most = expected.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
                    assert_eq!(found.bound(), most);
                }
            }
        }
    }
}

#[test]
fn added_factors_equal_their_product() {
    for rank in [0, 1, 2, 8, 9, 20] {
        let (rows, columns) = (21, 34);
        let places = |limit: usize| (0..rank).map(|c| c * 5 % limit).collect::<Vec<_>>();
        let dense = |seed, length| MatrixFactor::dense(matrix(rank, length, seed));
        for left in [dense(3, rows), MatrixFactor::units(places(rows))] {
            for right in [dense(4, columns), MatrixFactor::units(places(columns))] {
                let mut sum = matrix(rows, columns, 5);
                let before = sum.clone();
                sum.check(&left, &right).expect("small");
                sum.add(&left, &right);
                let shape = (rows, columns);
                let product = Matrix::multiplied_out(&left, &right, shape, &mut go_on);
                let product = product.expect("small");
                let total = before
                    .values()
                    .iter()
                    .zip(product.values())
                    .map(|(a, b)| a + b);
                assert_eq!(sum.values(), total.collect::<Vec<_>>());
                assert!(sum.values().iter().all(|value| value.abs() <= sum.bound()));
            }
        }
    }
}

#[test]
fn a_long_product_can_be_stopped() {
    let (left, right) = (matrix(1100, 1100, 1), matrix(1100, 1100, 2));
    let mut stop = || Err(Error::Interrupted);
    let found = Matrix::product((&left, Transposed::No), (&right, Transposed::No), &mut stop);
    assert_eq!(found, Err(Error::Interrupted));
}

#[test]
fn what_leaves_the_doubles_is_refused() {
    assert!(Matrix::new(1, 1, vec![f64::NAN]).is_err());
    assert!(Matrix::new(2, 1, vec![1.0]).is_err());
    let big = Matrix::new(1, 1, vec![1e200]).expect("finite");
    let product = Matrix::product((&big, Transposed::No), (&big, Transposed::No), &mut go_on);
    assert!(matches!(product, Err(Error::Overflow { .. })));
    let mut sum = Matrix::new(1, 1, vec![8e307]).expect("finite");
    let before = sum.clone();
    let one = MatrixFactor::units(vec![0]);
    let more = MatrixFactor::dense(Matrix::new(1, 1, vec![8e307]).expect("finite"));
    assert!(matches!(
        sum.check(&one, &more),
        Err(Error::Overflow { .. })
    ));
    assert_eq!(sum, before);
}
