//! Why a view is kept as it is and what that costs, as data: every account of it is drawn from
//! here.
//!
//! Engines fill an [`Explanation`] in; this crate depends on none of them, nor on queries, nor on
//! data. Invariant: names are those of the query; a node's children precede it, the root is last;
//! every form shows the same facts. Cost: each form is linear in the nodes.
//!
//! | file | holds |
//! |---|---|
//! | `format` | the forms by name |
//! | `text` | for a terminal |
//! | `graph` | the source of a graph, for Mermaid and Graphviz |
//! | `html` | for notebooks |

mod format;
mod graph;
mod html;
mod text;

use serde::{Deserialize, Serialize};

pub use format::Format;
pub use text::power;

/// Maintenance of a view: its plan, the reasons, the costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The view; absent for a plan of which no view was made.
    pub view: Option<String>,
    /// Number of rows of the view, in words.
    pub size: Option<String>,
    /// Bytes that it takes, indexes and auxiliary views included.
    pub bytes: Option<u64>,
    /// The query as the engine took it, as JSON.
    pub query: Option<serde_json::Value>,
    /// The engine, and why this one.
    pub engine: Choice,
    /// Other views of an equal query, which share all that is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<String>,
    /// The functions of the user that it calls: that they depend on their arguments alone is trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<String>,
    /// The sums of other queries that are kept beside its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<MergedSums>,
    /// The engines that were not taken: those that could, and those that cannot.
    #[serde(default)]
    pub others: Vec<Other>,
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
    /// The cost of a change of each relation.
    pub changes: Vec<ChangeFacts>,
    /// Unit of the costs: "a change of one row".
    pub change: String,
    /// Why a change may cost more than the rows of the keys that it has; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<CostWarning>,
    /// The auxiliary views of this one; those have none.
    pub beside: Vec<Auxiliary>,
    /// The views and blocks that it reads, on any way, each behind those that it reads itself; they
    /// have none of their own here.
    #[serde(default)]
    pub below: Vec<Below>,
    /// Those that it reads itself. Of one of `below`: among the same.
    #[serde(default)]
    pub reads: Vec<Read>,
}

/// The sums of several queries over one join with the same groups, kept in one tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedSums {
    /// The other views, and blocks of others.
    pub with: Vec<String>,
    /// Number of the sums that are its own, counts among them.
    pub own: usize,
    /// Number of all sums.
    pub all: usize,
}

/// A change may cost more than the rows of the keys that it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostWarning {
    /// Cost of a change: "O(rows^2)".
    pub cost: String,
    /// Why.
    pub because: String,
    /// A cheaper form of the query, where one is known.
    pub instead: Option<String>,
}

impl std::fmt::Display for CostWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a change may cost {}: {}", self.cost, self.because)?;
        match &self.instead {
            Some(instead) => write!(f, "; cheaper: {instead}"),
            None => Ok(()),
        }
    }
}

/// A choice, and its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Name of the choice.
    pub name: String,
    /// Why.
    pub because: String,
}

/// An engine that was not taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// Its name.
    pub name: String,
    /// Cost of a change of one row; absent where it cannot keep the view.
    pub cost: Option<String>,
    /// Its plan for the view, or the reason why it cannot keep it.
    pub because: String,
}

/// A condition on the query that says what changes and reading must cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// `alpha-acyclic`, `free-connex`, `hierarchical`, `q-hierarchical` or `free-top`.
    pub name: String,
    /// Whether it holds.
    pub holds: bool,
    /// If it fails, the reason.
    pub because: String,
    /// The variables that it fails by.
    pub variables: Vec<String>,
    /// The relations that it fails by.
    pub relations: Vec<String>,
    /// Consequence for changes and reading.
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

/// Kind of a node of the tree.
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
    /// Its kind.
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
    /// Its payload for each key.
    pub payload: String,
    /// Whether it is kept.
    pub stored: bool,
    /// Why it is kept, or is not.
    pub because: String,
    /// At an indicator projection: why it is there.
    pub closes: Option<String>,
    /// It has at most N^space keys; absent for dense parts.
    pub space: Option<f64>,
    /// The nodes that it joins, by position.
    pub children: Vec<usize>,
    /// The node that it is joined into.
    pub parent: Option<usize>,
    /// The keys that it holds; absent where it is not kept, or there is no view yet.
    pub rows: Option<u64>,
    /// The bytes that it takes.
    pub bytes: Option<u64>,
    /// The rows of changes that have reached it and stayed. At a relation, those that took part;
    /// above, what became of them; of a change in factors, the rows of the factors.
    pub updates: Option<u64>,
    /// Other views that have it too, for which it is kept once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<String>,
}

/// Access path of a change to a sibling.
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
    /// Its access path.
    pub how: How,
    /// The variables of its key that are known then.
    pub known: Vec<String>,
}

/// The cost of a change from one leaf to the root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCost {
    /// The leaf: the relation's, or one of its indicator projections.
    pub leaf: usize,
    /// `O(1)`, or the groups that are walked.
    pub cost: String,
    /// Whether every sibling holds at most one partner for a row.
    pub constant: bool,
    /// The siblings on the way, first to last.
    pub meets: Vec<Meeting>,
}

/// The cost of a change of a relation.
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
    /// From its leaf, and from each of its indicator projections, which change where one of their
    /// keys is inserted or deleted.
    pub climbs: Vec<PathCost>,
}

/// A view beside the view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Auxiliary {
    /// Its content: "the values of x by group".
    pub what: String,
    /// Its maintenance.
    pub view: Explanation,
}

/// A view or block that the view reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Below {
    /// Its kind and name, in words: "view revenue".
    pub what: String,
    /// Its maintenance.
    pub view: Explanation,
}

/// Whom a view reads by a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// Its name in the query: the table of its leaves.
    pub name: String,
    /// Its position below.
    pub below: usize,
}

/// Content of a node now, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeSize {
    /// Its keys, if it is kept.
    pub rows: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
    /// The rows of changes that have reached it.
    pub updates: u64,
}

impl Explanation {
    /// Says what each node holds, in the order of the tree's nodes.
    pub fn fill(&mut self, held: &[NodeSize]) {
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
