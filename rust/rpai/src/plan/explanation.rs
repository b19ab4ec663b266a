//! Explanation of a query with correlated aggregates, in words.
//!
//! Invariant: the explanation is how the machine maintains the query, and of a view how it does now. Cost: linear
//! in the query, and in the keys where it is kept by keys.

use ringview_explain::{Auxiliary, ChangeFacts, Choice, CostWarning, Explanation};

use super::Plan;
use crate::machine::{Description, Strategy};
use ringview_view::Cost;

impl Plan {
    /// Cost of a change, the result included.
    pub(crate) fn cost(&self) -> Cost {
        let own = match self.machine.description().strategy {
            Strategy::Indexed | Strategy::Partitioned => Cost::Logarithmic,
            Strategy::PartitionedGeneral | Strategy::General => Cost::power(self.combined() as f64),
        };
        let companions = self.companions.iter().map(|one| one.plan.cost());
        companions.fold(own, Cost::and)
    }

    /// Number of relations that a row is combined with: all, its own included, if a subquery may see the row; else the
    /// others alone.
    fn combined(&self) -> usize {
        let relations = self.query.atoms.len();
        relations - usize::from(!self.query.is_nested())
    }

    /// Why a change may cost more than the rows of the keys that it has.
    fn warning(&self, description: &Description, because: &str) -> Option<CostWarning> {
        let of_key = description.strategy == Strategy::PartitionedGeneral && self.combined() == 1;
        let is_general = matches!(
            description.strategy,
            Strategy::General | Strategy::PartitionedGeneral
        );
        (is_general && !of_key).then(|| CostWarning {
            cost: self.product(),
            because: because.to_owned(),
            instead: None,
        })
    }

    /// Combinations that the general algorithm evaluates.
    fn product(&self) -> String {
        match (self.combined(), self.query.is_nested()) {
            (1, true) => "O(rows)".to_owned(),
            (1, false) => "O(rows of the other table)".to_owned(),
            (relations, true) => format!("O(rows^{relations})"),
            (relations, false) => format!("O(rows^{relations} of the other tables)"),
        }
    }

    /// The same in words.
    fn cost_text(&self, description: &Description) -> String {
        let product = self.product();
        match description.strategy {
            Strategy::Indexed => "O(log N), the result included".to_owned(),
            Strategy::Partitioned => {
                "O(log N) in the rows of its key, the result included".to_owned()
            }
            Strategy::PartitionedGeneral => format!("{product} of its key"),
            Strategy::General if !self.query.is_nested() => product,
            Strategy::General => {
                format!("{product} for the result, each subquery O(log N) where an index keeps it")
            }
        }
    }

    pub(crate) fn explanation(&self, description: &Description) -> Explanation {
        let because = match (description.strategy, description.why) {
            (Strategy::Indexed, _) => {
                "aggregate indexes: what a row is compared by is a running sum along a tree, so one change moves \
                 all of them at once; the subqueries as views of their own would have every row compared again"
                    .to_owned()
            }
            (Strategy::Partitioned, _) => {
                "aggregate indexes, one for each key: the query joins and correlates by equal columns; the subqueries \
                 as views of their own would have every row of a key compared again"
                    .to_owned()
            }
            (Strategy::PartitionedGeneral, _) => {
                "the general algorithm for each key, because no aggregate index serves a key as it stands".to_owned()
            }
            (Strategy::General, Some(why)) => format!("the general algorithm, because {why}"),
            (Strategy::General, None) => "the general algorithm".to_owned(),
        };
        let form = match description.strategy {
            Strategy::Indexed => "aggregate indexes",
            Strategy::Partitioned => "aggregate indexes by key",
            Strategy::PartitionedGeneral => "free and bound maps by key",
            Strategy::General => "free and bound maps",
        };
        let cost = self.cost_text(description);
        let change = |atom: &ringview_query::PlanAtom| ChangeFacts {
            relation: atom.alias.clone(),
            is_static: atom.is_static,
            constant: false,
            cost: match atom.is_static {
                true => "never changes".to_owned(),
                false => cost.clone(),
            },
            climbs: Vec::new(),
        };
        let auxiliary = self.companions.iter().map(|one| Auxiliary {
            what: format!("the values of {} by group", one.name),
            view: one.plan.explanation(&one.plan.machine.description()),
        });
        Explanation {
            beside: auxiliary.collect(),
            warning: self.warning(description, &because),
            engine: Choice {
                name: "rpai".to_owned(),
                because,
            },
            form: Choice {
                name: form.to_owned(),
                because: fallen_back(description),
            },
            space: Some(1.0),
            changes: self.query.all_atoms().map(change).collect(),
            change: "a change of one row costs".to_owned(),
            ..Explanation::default()
        }
    }
}

/// Description of the indexes that are walked now.
fn fallen_back(description: &Description) -> String {
    match (description.strategy, description.walked, description.parts) {
        (Strategy::General | Strategy::PartitionedGeneral, ..) => {
            "results are summed over the rows that are there".to_owned()
        }
        (_, 0, _) => {
            "no sum of a subquery is negative, so all of them grow along their indexes".to_owned()
        }
        (Strategy::Indexed, ..) => {
            "sums of a subquery are negative now, so its index is walked, O(N), until none is"
                .to_owned()
        }
        (_, walked, parts) => format!(
            "sums of a subquery are negative for {walked} of {parts} keys now: these are walked until none is"
        ),
    }
}
