//! The plan of a view: what an engine needs to build and maintain its view tree.
//!
//! Invariants: children precede their parents, and the root is last. A view's keys are its children's keys without the
//! bound variables that it marginalises; every bound variable is marginalised at exactly one node. An indicator
//! projection is over a relation from outside the subtree of its parent, and over variables that its parent keeps.
//! Component 0 of every node is the count, and the components of a node are distinct. Keys of all views follow one
//! total order of the variables, top to bottom.

pub(crate) mod build;
mod classes;
pub(crate) mod cofactor;
mod cost;
pub mod explanation;
mod extremes;
pub(crate) mod factorised;
mod leaf;
mod meetings;
pub(crate) mod payload;
mod payload_layout;
mod pruned;
pub(crate) mod split;
mod together;
pub(crate) mod tree;

use ringview_core::Type;
use ringview_query::graph::order::OrderNode;
use ringview_query::{
    Factor, Kind, PlanAtom, PlanOutput, Representation, Results, VarId, Variable,
};

/// A view beside the view, planned.
pub type Companion = ringview_query::Companion<Plan>;

pub use build::Planning;
pub(crate) use pruned::RetainedNode;
pub use split::{LeafFactor, split_leaf};
pub use together::Together;

/// A checked query with its variable order, view tree and payloads.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The relations, one an occurrence.
    pub atoms: Vec<PlanAtom>,
    /// The variables: join classes and group-by columns.
    pub variables: Vec<Variable>,
    /// The variable order, a forest, before chains are composed.
    pub order: Vec<OrderNode>,
    /// The views.
    pub tree: ViewTree,
    /// Payload of each view.
    pub payload: SumProduct,
    /// The degree-m payloads, if the query has COFACTOR and no sums: they then replace the sums.
    pub cofactor: Option<CofactorPlan>,
    /// If it has both: the same plan for the degree-m payloads. Its tree is this one's, so a key of one root is a key
    /// of the other.
    pub matrix: Option<Box<Plan>>,
    /// The columns of the result.
    pub outputs: Vec<PlanOutput>,
    /// Representation of the rows of the join, if the result is these rows and not groups. Factorised, the tree is that
    /// of `factorised.rs`: every variable is marginalised, and nothing is lost.
    pub bag: Option<Representation>,
    /// Whether each row of the factorised join is there once: rows of a relation that are equal in
    /// what the join reads of them count as one.
    pub distinct: bool,
    /// Inputs of `results`.
    pub measures: Vec<PlanOutput>,
    /// Condition on groups to be rows of the result; all are where absent.
    pub results: Option<Results>,
    /// The auxiliary views, one for each column with a MIN, MAX or COUNT(DISTINCT).
    pub companions: Vec<Companion>,
    /// The values of companions of which the ends are enough, where no relation changes.
    pub(crate) extremes: Option<ExtremesPlan>,
    /// Class of this query.
    pub class: Class,
}

/// The views, one a node, children before their parents and the root last (paper, figure 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewTree {
    /// The views.
    pub nodes: Vec<Node>,
    /// The result's.
    pub root: usize,
}

/// One view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The atom's alias at a leaf, `V@x` at the variable x, `V` where nothing is joined on.
    pub name: String,
    /// At a leaf, the atom.
    pub atom: Option<usize>,
    /// At an indicator projection, the atom whose keys it projects: a leaf that holds the ring's
    /// one for each key that the atom has, so that the view above it stays small (paper, section 6).
    pub indicator: Option<usize>,
    /// Join variables of its children; the bound ones are marginalised. Empty at a leaf (whose local columns are summed
    /// away as its rows are read) and for a Cartesian product. In a factorised tree a view with several children joins
    /// on them and one with a single child marginalises them.
    pub variables: Vec<VarId>,
    /// The schema of the view.
    pub keys: Vec<VarId>,
    /// The views that it joins, at least two (or one that it sums, in a factorised tree), and after
    /// them its indicator projections; none at a leaf.
    pub children: Vec<usize>,
    /// The views that it is joined into: none at the root, in the tree of one query one elsewhere. Views of several
    /// queries may be made of one that they share.
    pub parents: Vec<usize>,
    /// Whether the view is kept (paper, figure 5): the root, a view with a sibling that changes, and a relation that
    /// changes and has indicator projections, which are maintained from it.
    pub stored: bool,
}

/// Payload of each view for each of its keys: several sums of products that share one tree.
#[derive(Clone, Debug, PartialEq)]
pub struct SumProduct {
    /// The components, by node.
    pub nodes: Vec<Vec<Component>>,
    /// By term of the query: which component of the root it is.
    pub terms: Vec<usize>,
}

/// One number of a payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Kind of the number.
    pub kind: Kind,
    /// Source of the number.
    pub source: Source,
}

/// Source of a component.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// At a leaf: the sum of the rows' multiplicities. At an indicator projection: 1.
    Count,
    /// At a leaf: the sum of multiplicity times factor.
    Leaf(Factor),
    /// At an inner node: the sum, over what is marginalised, of the product of one component of
    /// each child.
    ///
    /// If the component is Real, its children are Real, or Int (to be converted) if they count.
    /// If it is Decimal, its children are Decimal or Int, and their scales add up to its.
    Product {
        /// For each child, in the order of the node's children, which of its components.
        children: Vec<usize>,
    },
}

/// Class of a query's hardness.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Whether the hypergraph is alpha-acyclic.
    pub acyclic: bool,
    /// Whether any two variables have nested or disjoint sets of atoms.
    pub hierarchical: bool,
    /// Hierarchical, and no free variable's atoms lie strictly within a bound one's: exactly then
    /// (without self-joins) every change costs O(1).
    pub q_hierarchical: bool,
    /// Whether it stays acyclic with an atom over the free variables added.
    pub free_connex: bool,
    /// The fractional width of the order: what joining at any of its variables costs is N^width.
    pub width: f64,
    /// Views have at most N^space keys each.
    pub space: f64,
}

impl Node {
    /// The view that it is joined into, in the tree of one query; `None` at the root.
    #[must_use]
    pub fn parent(&self) -> Option<usize> {
        self.parents.first().copied()
    }

    /// Whether it joins others, as no relation and no indicator projection does.
    #[must_use]
    pub fn is_inner(&self) -> bool {
        self.atom.is_none() && self.indicator.is_none()
    }
}

impl Plan {
    /// The degree-m payloads, wherever they are kept.
    #[must_use]
    pub fn features(&self) -> Option<&CofactorPlan> {
        let matrix = self.matrix.as_deref();
        self.cofactor.as_ref().or_else(|| matrix?.cofactor.as_ref())
    }

    /// The companions that hold values, with their numbers.
    pub(crate) fn value_companions(&self) -> impl Iterator<Item = (usize, &Companion)> {
        let is_kept = |&(number, _): &(usize, &Companion)| {
            let extremes = self.extremes.as_ref();
            !extremes.is_some_and(|extremes| extremes.has(number))
        };
        self.companions.iter().enumerate().filter(is_kept)
    }

    /// The variable at the root of the order by which rows can be split into independent parts:
    /// atoms that lack it must be seen by every part. `None` if there is no variable.
    pub fn root_variable(&self) -> Option<VarId> {
        self.order.first().map(|node| node.variable)
    }
}

/// Two categorical features, planned.
pub type CategoryPair = ringview_query::CategoryPair<Plan>;

/// The payloads of a degree-m matrix ring over a tree.
///
/// The components of a leaf are its count, then the features that are lifted there, as they are; the
/// components of an inner node are its count alone.
#[derive(Clone, Debug, PartialEq)]
pub struct CofactorPlan {
    /// The names of the numeric features, in the order of the query.
    pub names: Vec<String>,
    /// By node: the features that its payload covers, in the order of the payload.
    pub nodes: Vec<Vec<usize>>,
    /// By atom: nullable columns that are features; a row with NULL in one is refused.
    pub not_null: Vec<Vec<usize>>,
    /// The categorical features: counts and sums of the numeric ones, by category.
    pub categories: Vec<Companion>,
    /// Counts by pair of categories of two of them, by their positions.
    pub pairs: Vec<CategoryPair>,
}

/// The values of which the least and the greatest are kept, and the views that have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtremesPlan {
    pub(crate) values: Vec<ExtremeValue>,
    /// By node, the values of its payload.
    pub(crate) nodes: Vec<Vec<usize>>,
}

/// A value of whose companion only the ends are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtremeValue {
    /// The number of the companion.
    pub(crate) companion: usize,
    /// The relation it is read from, and the column.
    pub(crate) atom: usize,
    pub(crate) column: usize,
    pub(crate) ty: Type,
}

impl ExtremesPlan {
    /// Whether it has the values of a companion.
    pub(crate) fn has(&self, companion: usize) -> bool {
        self.values.iter().any(|value| value.companion == companion)
    }
}
