//! Which queries can be sampled, and how that is told.
//!
//! Invariant: a query that is taken is the rows of an acyclic join, each as often as it is there. Cost: that
//! of a join tree.

use ringview_core::{Error, Result};
use ringview_explain::{ChangeFacts, Choice, Explanation};
use ringview_query::Bound;
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use super::SampleView;
use super::shape::Shape;
use crate::Index;

/// A sample to be: how large, and the seed of its random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    /// How many rows it holds, where the join has so many.
    pub k: u64,
    /// The same seed and the same rows in the same order give the same sample.
    pub seed: u64,
}

/// A sample of a query.
struct Plan {
    samples: Samples,
    shape: Shape,
    told: Explanation,
}

impl Engine for Samples {
    fn name(&self) -> &str {
        "sampling"
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        check(query)?;
        let shape = Shape::new(query)?;
        Index::new(&shape.atoms)?;
        Ok(Box::new(Plan {
            samples: *self,
            told: self.told(&shape, query),
            shape,
        }))
    }
}

impl Candidate for Plan {
    fn change(&self) -> Cost {
        Cost::Logarithmic
    }

    fn space(&self) -> f64 {
        1.0
    }

    fn explanation(&self) -> Explanation {
        self.told.clone()
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        let Samples { k, seed } = self.samples;
        Ok(Box::new(SampleView::new(self.shape, k, seed, self.told)?))
    }
}

impl Samples {
    fn told(&self, shape: &Shape, query: &Bound) -> Explanation {
        let Samples { k, seed } = self;
        let change = |(relation, atom): (&super::shape::Relation, _)| {
            let atom: &ringview_query::PlanAtom = atom;
            ChangeFacts {
                relation: relation.alias.clone(),
                is_static: atom.is_static,
                constant: false,
                cost: "O(log N) amortised where rows come, and where counts shrink slowly; a result that \
                       dies is replaced in O(log N) expected"
                    .to_owned(),
                climbs: Vec::new(),
            }
        };
        Explanation {
            engine: Choice {
                name: "sampling".to_owned(),
                because: format!(
                    "a sample of {k} rows was asked for, seed {seed}; the join is acyclic, so an index of \
                     dense batches finds the result at any position in O(log N)"
                ),
            },
            form: Choice {
                name: "a reservoir".to_owned(),
                because: "every set of k results is equally likely after each transaction"
                    .to_owned(),
            },
            change: "a change of one row".to_owned(),
            changes: shape
                .relations
                .iter()
                .zip(&query.atoms)
                .map(change)
                .collect(),
            ..Explanation::default()
        }
    }
}

fn check(query: &Bound) -> Result<()> {
    query.refuse_condition("samples are of tables")?;
    let refused = |what: &str, why: &str, instead: &str| {
        Err(Error::Unsupported {
            what: what.to_owned(),
            why: why.to_owned(),
            instead: instead.to_owned(),
        })
    };
    if query.bag.is_none() {
        return refused(
            "a sample of groups or aggregates",
            "what is sampled are the rows of a join",
            "select columns of the join, and estimate aggregates from the sample, or create a view",
        );
    }
    if query.distinct {
        return refused(
            "a sample of distinct rows",
            "a row comes with the chances of all the results that look like it",
            "leave out DISTINCT",
        );
    }
    Ok(())
}
