//! A plan explained: why its view tree is as it is and what that costs, as an [`Explanation`].
//!
//! Invariant: it says what the engine does. The function that compiles the engine's paths also gives the siblings that
//! a change meets, their order and the kind of each probe. Cost: linear in the plan, but for a small linear program a
//! view and a GYO reduction each for the classes and the indicator projections.
//!
//! | file | holds |
//! |---|---|
//! | `conditions` | which class conditions hold, or what they fail by |
//! | `nodes` | the views: what each holds, and why it is kept |
//! | `changes` | what a change of each relation meets on its way up |

mod changes;
mod conditions;
mod nodes;

use ringview_explain::{Auxiliary, Choice, Explanation, OrderFacts};

use crate::plan::{CofactorPlan, Plan};
use ringview_query::graph::order::OrderNode;
use ringview_query::{OutputKind, PlanOutput, Representation, VarId};

pub use conditions::conditions;

impl Plan {
    /// Layout of a view of this plan, the reasons for it, and its costs.
    #[must_use]
    pub fn explanation(&self) -> Explanation {
        let values = self.value_companions();
        let values = values.map(|(_, companion)| ("the values of", "by group", companion));
        let categories = self.features().into_iter();
        let categories = categories.flat_map(CofactorPlan::companions);
        let categories = categories.map(|companion| match companion.values.len() {
            1 => ("the categories of", "with their counts and sums", companion),
            _ => ("the pairs of categories of", "with their counts", companion),
        });
        let matrix = self.matrix.iter().map(|matrix| Auxiliary {
            what: "the products of the features".to_owned(),
            // Its auxiliary views are listed in this explanation.
            view: Explanation {
                beside: Vec::new(),
                ..matrix.explanation()
            },
        });
        let extremes = self.extremes.iter().map(|extremes| {
            let values = extremes.values.iter();
            let names: Vec<&str> = values
                .map(|value| self.companions[value.companion].name.as_str())
                .collect();
            Auxiliary {
                what: format!(
                    "the least and the greatest of {} by group",
                    names.join(", ")
                ),
                view: self.tree_alone().explanation(),
            }
        });
        let companions = values.chain(categories).map(|(what, how, companion)| {
            let order = match companion.ordered {
                true => ", in order: O(log n) more for one that is new or gone",
                false => "",
            };
            Auxiliary {
                what: format!("{what} {} {how}{order}", companion.name),
                view: companion.plan.explanation(),
            }
        });
        let changes = self.change_facts();
        Explanation {
            engine: Choice {
                name: "viewtree".to_owned(),
                because:
                    "joins by equality, with sums of products, follow a change along one path \
                          of a tree of views"
                        .to_owned(),
            },
            form: self.result_kind(),
            conditions: self.conditions(),
            width: Some(self.class.width),
            space: Some(self.class.space),
            order: self.order_facts(&self.order),
            nodes: self.node_facts(),
            warning: self.warning(&changes),
            changes,
            change: "a change of one row".to_owned(),
            beside: matrix.chain(extremes).chain(companions).collect(),
            ..Explanation::default()
        }
    }

    /// The plan as text.
    #[must_use]
    pub fn explain(&self) -> String {
        self.explanation().text()
    }

    /// The same tree with nothing beside it, of which only the groups are shown.
    fn tree_alone(&self) -> Plan {
        Plan {
            matrix: None,
            outputs: Vec::new(),
            measures: Vec::new(),
            results: None,
            companions: Vec::new(),
            extremes: None,
            ..self.clone()
        }
    }

    fn result_kind(&self) -> Choice {
        let atoms = self.atoms.len();
        let is_group = |output: &PlanOutput| matches!(output.kind, OutputKind::Group { .. });
        let (name, because) = match (self.bag, &self.cofactor) {
            (Some(Representation::Factorised), _) if self.distinct => (
                "factorised",
                format!(
                    "unions and products over {atoms} relations as sets take the room of their \
                     joins at each variable, whatever the number of rows"
                ),
            ),
            (Some(Representation::Factorised), _) if atoms == 1 => (
                "factorised",
                "as it was asked for: a union over its one relation".to_owned(),
            ),
            (Some(Representation::Factorised), _) => (
                "factorised",
                format!(
                    "unions and products over {atoms} relations take the room of their joins at \
                     each variable, whatever the number of rows"
                ),
            ),
            (Some(Representation::Listing), _) if atoms == 1 => (
                "listing",
                "one relation has nothing to factorise".to_owned(),
            ),
            (Some(Representation::Listing), _) => (
                "listing",
                "as it was asked for: one key a distinct row, with its multiplicity".to_owned(),
            ),
            (None, _) if self.matrix.is_some() => (
                "groups",
                "sums for each key of the root, and a degree-m payload beside them".to_owned(),
            ),
            (None, Some(_)) => (
                "groups",
                "one degree-m payload for each key of the root".to_owned(),
            ),
            (None, None) if !self.outputs.is_empty() && self.outputs.iter().all(is_group) => {
                ("groups", "one key of the root for each row".to_owned())
            }
            (None, None) => ("groups", "sums for each key of the root".to_owned()),
        };
        let name = name.to_owned();
        Choice { name, because }
    }

    fn order_facts(&self, order: &[OrderNode]) -> Vec<OrderFacts> {
        let facts = |node: &OrderNode| OrderFacts {
            variable: self.variables[node.variable].name.clone(),
            free: self.variables[node.variable].free,
            children: self.order_facts(&node.children),
        };
        order.iter().map(facts).collect()
    }

    fn names(&self, variables: impl IntoIterator<Item = VarId>) -> Vec<String> {
        let name = |id: VarId| self.variables[id].name.clone();
        variables.into_iter().map(name).collect()
    }
}
