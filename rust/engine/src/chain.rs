//! A chain of matrices, explained with the class of its join, which the chain itself does not
//! record.

use ringview_chain::MatrixChain;
use ringview_explain::Explanation;
use ringview_viewtree::plan::explanation::conditions;

/// The tree of a chain: what each view holds, what a change costs, and the class of the join. O(views).
#[must_use]
pub fn chain_explanation(chain: &MatrixChain) -> Explanation {
    Explanation {
        conditions: conditions(&chain.relations(), &chain.variables()),
        ..chain.explanation()
    }
}
