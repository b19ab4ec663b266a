//! The explanation of a chain is right.

use ringview_chain::{Matrix, MatrixChain};

#[test]
fn a_chain_counts_ranks_on_the_way_up() {
    let ones = |rows, columns| Matrix::new(rows, columns, vec![1.0; rows * columns]).unwrap();
    let mut poll = || Ok(());
    let matrices = vec![ones(2, 3), ones(3, 4), ones(4, 5)];
    let mut chain = MatrixChain::new(matrices, None, &mut poll).unwrap();
    chain.update(1, ones(2, 3), ones(2, 4), &mut poll).unwrap();
    chain.update_row(0, 1, vec![1.0; 3], &mut poll).unwrap();
    assert!(chain.update(2, ones(1, 3), ones(1, 5), &mut poll).is_err());
    let explanation = chain.explanation();
    let count = |name: &str| {
        let node = explanation
            .nodes
            .iter()
            .find(|node| node.name == name)
            .unwrap();
        node.updates.unwrap()
    };
    assert_eq!(
        (count("A1"), count("A2"), count("A3"), count("A1..A3")),
        (1, 2, 0, 3)
    );
    // At most as many multiply-adds as it says, for a change of rank 1.
    for (at, change) in explanation.changes.iter().enumerate() {
        let (rows, columns) = [(2, 3), (3, 4), (4, 5)][at];
        let before = chain.steps();
        chain
            .update(at, ones(1, rows), ones(1, columns), &mut poll)
            .unwrap();
        assert_eq!(
            (chain.steps() - before).to_string(),
            change.cost,
            "{}",
            change.relation
        );
    }
}
