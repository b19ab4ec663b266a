//! Why a view is kept as it is and what that costs, as data: every account of it is drawn from here.
//!
//! Invariant: an [`Explanation`] says what the engine does. Which sibling a change meets, in which
//! order and how, comes from the function that the engine compiles its paths by; sizes and counts
//! are the engine's own. Names are those of the query. Cost: linear in the plan, but for a small
//! linear program a view and a GYO reduction each for the classes and the indicator projections.
//!
//! | file | holds |
//! |---|---|
//! | `conditions` | which class conditions hold, or what they fail by |
//! | `nodes` | the views: what each holds, and why it is kept |
//! | `changes` | what a change of each relation meets on its way up |
//! | `format`, `text`, `graph`, `html` | the forms in which it is read |

mod changes;
mod conditions;
mod format;
mod graph;
mod html;
mod nodes;
mod text;

use serde::{Deserialize, Serialize};

use crate::plan::{CofactorPlan, OrderNode, OutputKind, Plan, PlanOutput, VarId};
use crate::query::{Query, Representation};

pub use conditions::conditions;
pub use format::Format;

/// How a view is kept, why, and what that costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The view; absent for a plan of which no view was made.
    pub view: Option<String>,
    /// How many rows the view has, in words.
    pub size: Option<String>,
    /// Bytes that it takes, indexes and all that stands beside it included.
    pub bytes: Option<u64>,
    /// The query as the engine took it.
    pub query: Option<Query>,
    /// The engine, and why this one.
    pub engine: Choice,
    /// The form in which the result is kept, and why.
    pub form: Choice,
    /// The class conditions.
    pub conditions: Vec<Condition>,
    /// The fractional width of the variable order; absent where there is none.
    pub width: Option<f64>,
    /// Views have at most N^space keys each; absent where they are dense.
    pub space: Option<f64>,
    /// The variable order, a forest, before chains are composed.
    pub order: Vec<OrderFacts>,
    /// The views, children before their parents, the root last.
    pub nodes: Vec<NodeFacts>,
    /// What a change of each relation costs.
    pub changes: Vec<ChangeFacts>,
    /// What the costs are of: "a change of one row".
    pub change: String,
    /// The views that stand beside this one; those have none.
    pub beside: Vec<Beside>,
}

/// What was chosen, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What.
    pub name: String,
    /// Why.
    pub because: String,
}

/// A condition on the query that says what changes and reading must cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// `alpha-acyclic`, `free-connex`, `hierarchical`, `q-hierarchical` or `free-top`.
    pub name: String,
    /// Whether it holds.
    pub holds: bool,
    /// Where it fails: what by.
    pub because: String,
    /// The variables that it fails by.
    pub variables: Vec<String>,
    /// The relations that it fails by.
    pub relations: Vec<String>,
    /// What follows for changes and reading.
    pub means: String,
}

/// A variable of the order with what is below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderFacts {
    /// Its name.
    pub variable: String,
    /// Whether the result keeps it.
    pub free: bool,
    /// Those directly below.
    pub children: Vec<OrderFacts>,
}

/// What a node of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// The rows of a table, as far as the query reads them.
    Relation,
    /// The join of its children, what is not kept summed away.
    View,
    /// Its one child, with what is not kept summed away.
    Sum,
    /// The keys of a relation from outside the subtree, each with the ring's one.
    Indicator,
    /// A matrix of a chain.
    Matrix,
}

/// A view of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its name with its keys.
    pub label: String,
    /// What it is.
    pub kind: NodeKind,
    /// The table that it reads, if it is one's.
    pub table: Option<String>,
    /// Whether only some rows of the table take part.
    pub filtered: bool,
    /// Whether nothing below it changes once the view is there.
    pub is_static: bool,
    /// The variables that it keeps, in their order.
    pub keys: Vec<String>,
    /// The variables that its children are joined on here.
    pub joins: Vec<String>,
    /// The variables that are summed away here.
    pub summed: Vec<String>,
    /// What it holds for each key.
    pub payload: String,
    /// Whether it is kept.
    pub stored: bool,
    /// Why it is kept, or is not.
    pub because: String,
    /// At an indicator projection: why it is there.
    pub closes: Option<String>,
    /// It has at most N^space keys; absent for dense parts.
    pub space: Option<f64>,
    /// What it joins, by position.
    pub children: Vec<usize>,
    /// What it is joined into.
    pub parent: Option<usize>,
    /// The keys that it holds; absent where it is not kept, or there is no view yet.
    pub rows: Option<u64>,
    /// The bytes that it takes.
    pub bytes: Option<u64>,
    /// The rows of changes that have reached it and stayed. At a relation, those that took part; above, what
    /// became of them; of a change in factors, the rows of the factors.
    pub updates: Option<u64>,
}

/// How a change meets a sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A look-up of its whole key.
    Key,
    /// A walk of its rows with a part of its key that determines the rest: one at most.
    UniqueKey,
    /// A walk of its rows with a part of its key.
    Group,
    /// That, or the walk before it: for each row of the change the smaller.
    SmallerGroup,
    /// A walk of all its rows.
    All,
    /// A product of a vector and a matrix.
    Vector,
}

/// A sibling that a change meets on its way up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meeting {
    /// The view where it is met, by position.
    pub at: usize,
    /// The sibling, by position.
    pub sibling: usize,
    /// How it is met.
    pub how: How,
    /// The variables of its key that are known then.
    pub known: Vec<String>,
}

/// What a change costs from one leaf to the root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Climb {
    /// The leaf: the relation's, or one of its indicator projections.
    pub leaf: usize,
    /// `O(1)`, or the groups that are walked.
    pub cost: String,
    /// Whether every sibling holds at most one partner for a row.
    pub constant: bool,
    /// The siblings on the way, first to last.
    pub meets: Vec<Meeting>,
}

/// What a change of a relation costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeFacts {
    /// The relation, by its alias.
    pub relation: String,
    /// Whether it never changes.
    pub is_static: bool,
    /// Whether every change costs O(1), those of its indicator projections included.
    pub constant: bool,
    /// All that it costs, in words.
    pub cost: String,
    /// From its leaf, and from each of its indicator projections, which change where one of their keys is
    /// new or gone.
    pub climbs: Vec<Climb>,
}

/// A view beside the view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// What it holds: "the values of x by group".
    pub what: String,
    /// How it is kept.
    pub view: Explanation,
}

/// What a node holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Its keys, if it is kept.
    pub rows: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
    /// The rows of changes that have reached it.
    pub updates: u64,
}

impl Explanation {
    /// Says what each node holds, in the order of the tree's nodes.
    pub fn fill(&mut self, held: &[Held]) {
        for (node, held) in self.nodes.iter_mut().zip(held) {
            node.rows = held.rows;
            node.bytes = Some(held.bytes);
            node.updates = Some(held.updates);
        }
    }

    /// Whether a condition holds; false for one that it does not speak of.
    #[must_use]
    pub fn holds(&self, condition: &str) -> bool {
        let mut named = self.conditions.iter().filter(|c| c.name == condition);
        named.any(|condition| condition.holds)
    }
}

impl Plan {
    /// How a view of this plan is kept, why, and what that costs.
    #[must_use]
    pub fn explanation(&self) -> Explanation {
        let values = self.companions.iter();
        let values = values.map(|companion| ("the values of", "by group", companion));
        let categories = self.features().into_iter();
        let categories = categories.flat_map(CofactorPlan::companions);
        let categories = categories.map(|companion| match companion.values.len() {
            1 => ("the categories of", "with their counts and sums", companion),
            _ => ("the pairs of categories of", "with their counts", companion),
        });
        let matrix = self.matrix.iter().map(|matrix| Beside {
            what: "the products of the features".to_owned(),
            // What stands beside it stands here.
            view: Explanation {
                beside: Vec::new(),
                ..matrix.explanation()
            },
        });
        let companions = values.chain(categories).map(|(what, how, companion)| {
            let order = match companion.ordered {
                true => ", in order: O(log n) more for one that is new or gone",
                false => "",
            };
            Beside {
                what: format!("{what} {} {how}{order}", companion.name),
                view: companion.plan.explanation(),
            }
        });
        Explanation {
            engine: Choice {
                name: "viewtree".to_owned(),
                because:
                    "joins by equality, with sums of products, follow a change along one path \
                          of a tree of views"
                        .to_owned(),
            },
            form: self.form(),
            conditions: self.conditions(),
            width: Some(self.class.width),
            space: Some(self.class.space),
            order: self.order_facts(&self.order),
            nodes: self.node_facts(),
            changes: self.change_facts(),
            change: "a change of one row".to_owned(),
            beside: matrix.chain(companions).collect(),
            ..Explanation::default()
        }
    }

    /// The plan as text.
    #[must_use]
    pub fn explain(&self) -> String {
        self.explanation().text()
    }

    fn form(&self) -> Choice {
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
            (None, None) if self.outputs.iter().all(is_group) => {
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
