//! A chain of matrices is a path query: acyclic, and not free-connex where its ends are kept.

use ringview_engine::{Matrix, MatrixChain, chain_explanation};

#[test]
fn a_chain_has_the_class_of_its_join() {
    let ones = |rows, columns| Matrix::new(rows, columns, vec![1.0; rows * columns]).unwrap();
    let matrices = vec![ones(2, 3), ones(3, 4), ones(4, 5)];
    let chain = MatrixChain::new(matrices, None, &mut || Ok(())).unwrap();
    let explanation = chain_explanation(&chain);
    assert!(!explanation.holds("free-connex") && explanation.holds("alpha-acyclic"));
    let of_one = MatrixChain::new(vec![ones(2, 3)], None, &mut || Ok(())).unwrap();
    assert!(chain_explanation(&of_one).holds("q-hierarchical"));
}
