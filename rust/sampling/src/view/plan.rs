//! Queries that can be sampled, and their explanations.
//!
//! Invariant: an accepted query is the rows of a join, each as often as it is there. Cost: that
//! of a decomposition.

use ringview_core::{Error, Result};
use ringview_explain::{ChangeFacts, Choice, Explanation};
use ringview_query::Bound;
use ringview_view::{Candidate, Cost, Engine, Refusal, View};

use super::SampleView;
use super::shape::{Reading, Shape};
use crate::{BagDescription, Relations};

/// The size of a sample, and the seed of its random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    /// Number of rows that it holds, if the join has as many.
    pub k: u64,
    /// The same seed and the same rows in the same order give the same sample.
    pub seed: u64,
}

/// A sample of a query.
struct Plan {
    samples: Samples,
    shape: Shape,
    relations: Relations,
    explanation: Explanation,
}

impl Engine for Samples {
    fn name(&self) -> &str {
        "sampling"
    }

    fn plan(&self, query: &Bound) -> std::result::Result<Box<dyn Candidate>, Refusal> {
        Refusal::thresholds(query, self.name())?;
        check(query)?;
        let shape = Shape::new(query)?;
        let relations = Relations::new(&shape.relations)?;
        Ok(Box::new(Plan {
            samples: *self,
            explanation: self.explain(&shape, &relations, query),
            relations,
            shape,
        }))
    }
}

impl Candidate for Plan {
    fn change(&self) -> Cost {
        match self.relations.width() > 1.0 {
            // N changes make N^width rows of bags.
            true => Cost::Power(self.relations.width() - 1.0),
            false => Cost::Logarithmic,
        }
    }

    fn space(&self) -> f64 {
        self.relations.width()
    }

    fn explanation(&self) -> Explanation {
        self.explanation.clone()
    }

    fn make(self: Box<Self>) -> Result<Box<dyn View>> {
        let Samples { k, seed } = self.samples;
        let view = SampleView::new(self.shape, self.relations, (k, seed), self.explanation)?;
        Ok(Box::new(view))
    }
}

impl Samples {
    fn explain(&self, shape: &Shape, relations: &Relations, query: &Bound) -> Explanation {
        let Samples { k, seed } = self;
        let change =
            |(at, (reading, atom)): (usize, (&Reading, &ringview_query::PlanAtom))| ChangeFacts {
                relation: reading.alias.clone(),
                is_static: atom.is_static,
                constant: false,
                cost: cost(at, relations),
                climbs: Vec::new(),
            };
        let found = match relations.ghd() {
            None => "the join is acyclic".to_owned(),
            Some(ghd) => format!(
                "the join is cyclic; bags of width {}{} in the place of its cycles make it acyclic",
                ghd.width,
                if ghd.least {
                    ", the least,"
                } else {
                    ", found greedily,"
                }
            ),
        };
        let found = match &query.condition {
            None => found,
            Some(_) => {
                found
                    + "; results that its condition across tables leaves out are passed over as dummies are"
            }
        };
        let readings = shape.readings.iter().zip(&query.atoms).enumerate();
        Explanation {
            engine: Choice {
                name: "sampling".to_owned(),
                because: format!(
                    "a sample of {k} rows was asked for, seed {seed}; {found}, so an index of dense batches finds \
                     the result at any position in O(log N){}",
                    combined(shape, relations)
                ),
            },
            form: Choice {
                name: "a reservoir".to_owned(),
                because: "every set of k results is equally likely after each transaction"
                    .to_owned(),
            },
            change: "a change of one row".to_owned(),
            changes: readings.map(change).collect(),
            ..Explanation::default()
        }
    }
}

/// The cost of a change of a relation.
fn cost(relation: usize, relations: &Relations) -> String {
    let of =
        |bag: &&BagDescription| bag.joins.contains(&relation) || bag.narrows.contains(&relation);
    let bags = relations.descriptions().iter().filter(of);
    let dearest = bags.filter_map(|bag| bag.width).max();
    let log = "O(log N) amortised for inserts, and where counts shrink slowly";
    let first = match dearest {
        None => log.to_owned(),
        Some(width) => {
            format!("{log}, for each row of a bag, of which N changes make O(N^{width})")
        }
    };
    format!("{first}; a deleted result is replaced in O(log N) expected")
}

/// The relations that are merged, and those whose rows are grouped.
fn combined(shape: &Shape, relations: &Relations) -> String {
    let named = |of: &[usize]| {
        let names = of
            .iter()
            .map(|&relation| shape.readings[relation].alias.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let mut text = String::new();
    for bag in relations.descriptions() {
        let joins = named(&bag.joins);
        text += &match bag.width {
            None => format!("; {joins} are kept as one relation, combined by their unique keys"),
            Some(width) => format!(
                "; a bag of width {width} joins {}",
                match (&bag.joins[..], &bag.narrows[..]) {
                    (_, []) => joins,
                    ([], narrows) => format!("what {} have in it", named(narrows)),
                    (_, narrows) => format!("{joins} with what {} have in it", named(narrows)),
                }
            ),
        };
    }
    let grouped = relations.grouped();
    if !grouped.is_empty() {
        text += &format!(
            "; rows of {} that agree in all join columns are kept as groups",
            named(&grouped)
        );
    }
    text
}

fn check(query: &Bound) -> Result<()> {
    if query.is_nested() {
        query.refuse_condition("samples are of tables")?;
    }
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
