//! A chain that is stopped in the middle of a change, at each poll: nothing moved.

use ringview_chain::{Matrix, MatrixChain};
use ringview_core::{Error, Result};

fn matrix(rows: usize, columns: usize, start: usize) -> Matrix {
    let values = (0..rows * columns)
        .map(|at| ((start + 7 * at) % 11) as f64)
        .collect();
    Matrix::new(rows, columns, values).expect("finite")
}

fn chain() -> MatrixChain {
    let matrices = (0..5).map(|at| matrix(4 + at, 5 + at, at)).collect();
    MatrixChain::new(matrices, None, &mut || Ok(())).expect("they follow each other")
}

/// Everything that a reader can see.
fn state(chain: &MatrixChain) -> (Vec<Vec<f64>>, Vec<f64>) {
    let matrices =
        (0..chain.matrices()).map(|at| chain.matrix(at).expect("there").values().to_vec());
    (matrices.collect(), chain.product().values().to_vec())
}

/// Runs a call again and again, stopped at its first look, its second, and so on until it is
/// through.
fn stopped_everywhere(
    run: impl Fn(&mut MatrixChain, &mut dyn FnMut() -> Result<()>) -> Result<()>,
) {
    let expected = {
        let mut chain = chain();
        run(&mut chain, &mut || Ok(())).expect("not stopped");
        state(&chain)
    };
    let mut chain = chain();
    let before = state(&chain);
    for looks in 0.. {
        let mut left = looks;
        let done = run(&mut chain, &mut || {
            left -= 1;
            if left < 0 {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        });
        if done.is_ok() {
            assert!(looks > 1, "it never asked");
            break;
        }
        assert_eq!(done, Err(Error::Interrupted));
        assert_eq!(state(&chain), before);
    }
    assert_eq!(state(&chain), expected);
}

#[test]
fn a_stopped_update_leaves_no_trace() {
    stopped_everywhere(|chain, poll| chain.update(2, matrix(2, 6, 1), matrix(2, 7, 3), poll));
    stopped_everywhere(|chain, poll| chain.update_row(1, 3, vec![2.0; 6], poll));
    stopped_everywhere(|chain, poll| chain.update_dense(3, matrix(7, 8, 5), poll));
}

#[test]
fn a_stopped_refresh_leaves_no_trace() {
    stopped_everywhere(MatrixChain::refresh);
}

#[test]
fn a_stopped_start_is_an_error() {
    let matrices = vec![matrix(2, 2, 0), matrix(2, 2, 1)];
    let made = MatrixChain::new(matrices, None, &mut || Err(Error::Interrupted));
    assert_eq!(made.err(), Some(Error::Interrupted));
}
