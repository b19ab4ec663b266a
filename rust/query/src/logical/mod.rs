//! The logical query, as it arrives: names not yet resolved, nothing checked.
//!
//! Invariant: none beyond its shape; [`crate::bind()`] checks names and types. Its JSON form is
//! what other languages send, so field and variant names are a contract: unknown fields are
//! refused. An expression is a text of SQL there: see `expression`. It is the paper's
//! `SELECT X1, .., Xf, SUM(g(..) * ..) FROM R1 .. Rn GROUP BY X1, .., Xf` (section 2) with filters
//! on single atoms, and a condition that compares across them and with queries within, over tables,
//! views and blocks.

mod above;
mod block;
mod exponents;
mod expression;
mod frame_bounds;
mod recursive;
mod refresh;
mod rows;
mod time;
mod unnest;

use std::collections::BTreeSet;

use datafusion_expr::Expr;
use ringview_core::{Error, Result};
use ringview_expr::Scalar;
use serde::{Deserialize, Serialize};

pub use exponents::Exponents;
pub(crate) use expression::named;
pub use expression::{ColumnRef, Comparison, Function, Named};
pub use frame_bounds::{FrameBounds, FrameEnd};
pub use recursive::{StepTable, Strategy};
pub use refresh::Refresh;
pub use rows::{
    Branch, Call, Edge, Frame, FrameUnit, Latest, LatestSide, Ordering, Parted, Rank, SortKey,
};
pub use time::{ALWAYS, Clock, ClockStep, FOREVER, Interval, Span, Spans, TimeCondition, Timed};

/// A join with group-by aggregates.
///
/// ```
/// use ringview_query::Query;
/// let query = Query::from_json(r#"{
///     "atoms": [{"table": "orders", "alias": "o", "filter": null}],
///     "joins": [],
///     "group_by": [{"atom": 0, "column": "day"}],
///     "outputs": [
///         {"kind": "group", "name": "day", "column": {"atom": 0, "column": "day"}},
///         {"kind": "aggregate", "name": "orders", "function": "count", "argument": null}],
///     "order": null}"#)?;
/// assert_eq!(query.atoms[0].table, "orders");
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Queries that atoms may read by their names, each before those that read it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// The relations that are joined; a table may occur more than once.
    pub atoms: Vec<Atom>,
    /// Columns that must be equal, two at a time or more.
    #[serde(default)]
    pub joins: Vec<Vec<ColumnRef>>,
    /// Condition on the rows of the join, beyond equalities and filters: it compares columns of
    /// several atoms and of queries around, and values of subqueries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Scalar>,
    /// Queries that the condition names as subqueries: one value each, for each row. The atoms of a query and of its
    /// subqueries have one numbering: its own, then those of each subquery, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subqueries: Vec<Query>,
    /// The free variables.
    #[serde(default)]
    pub group_by: Vec<ColumnRef>,
    /// The columns of the result, in order.
    pub outputs: Vec<Output>,
    /// Whether its rows are groups of the view or block that its first atom reads, which its
    /// condition chooses: the columns that identify those identify its rows, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_chosen: bool,
    /// Rows that are computed one by one, in the place of a join: then there are atoms, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
    /// Rows of the join itself, each as often as it is there, in the place of groups; absent for
    /// groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bag: Option<Bag>,
    /// Condition on the groups of the result; all where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub having: Option<Scalar>,
    /// The variable order, a forest; chosen by cost where absent.
    #[serde(default)]
    pub order: Option<Vec<OrderRef>>,
    /// The thresholds of heavy values, for an engine that has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<Exponents>,
}

/// A result that is the join itself: a bag of rows over the columns of `group_by`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bag {
    /// Its representation; chosen where absent.
    #[serde(default)]
    pub representation: Option<Representation>,
    /// Whether each row is there once, however often it joins. As a listing that is the groups.
    #[serde(default)]
    pub distinct: bool,
}

/// Representation of the rows of a join (paper, section 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Representation {
    /// Unions and products, distributed over the views; rows are made when they are read.
    Factorised,
    /// One key a distinct row, with its multiplicity.
    Listing,
}

/// One occurrence of a table, a view or a block in a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Atom {
    /// An earlier block of this query, else a table or a view.
    pub table: String,
    /// The name under which the query speaks of it.
    pub alias: String,
    /// Condition on its rows that take part; all where absent.
    #[serde(default)]
    pub filter: Option<Scalar>,
}

/// One column of the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Output {
    /// The value by which rows are grouped.
    Group {
        /// Its name in the result.
        name: String,
        /// A column of `group_by`, or one that equals it.
        column: ColumnRef,
    },
    /// A value computed over the rows of the group.
    Aggregate {
        /// Its name in the result.
        name: String,
        /// The aggregate function.
        function: Function,
        /// Over what; absent for `COUNT(*)` alone.
        #[serde(default)]
        argument: Option<Scalar>,
    },
    /// A value computed from aggregates and the values by which rows are grouped.
    Expression {
        /// Its name in the result.
        name: String,
        /// An expression over aggregates and columns of groups.
        value: Scalar,
    },
    /// Counts, sums and sums of products of numeric columns, as one degree-m payload, and what
    /// categorical columns add to it. One a view.
    Cofactor {
        /// Its name.
        name: String,
        /// The numeric features.
        columns: Vec<ColumnRef>,
        /// The categorical features.
        #[serde(default)]
        categorical: Vec<ColumnRef>,
        /// Handling of rows with NULL in a feature.
        #[serde(default)]
        nulls: Nulls,
    },
}

/// Handling of a row with NULL in a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nulls {
    /// The change that brings it fails.
    #[default]
    Refuse,
    /// The row is left out.
    Skip,
}

impl Output {
    /// Its name in the result.
    pub fn name(&self) -> &str {
        match self {
            Output::Group { name, .. }
            | Output::Aggregate { name, .. }
            | Output::Expression { name, .. }
            | Output::Cofactor { name, .. } => name,
        }
    }

    /// The expression that it shows; none of a COFACTOR.
    #[must_use]
    pub fn expr(&self) -> Option<Expr> {
        match self {
            Output::Group { column, .. } => Some(column.expr()),
            Output::Aggregate {
                function, argument, ..
            } => function.call(argument.iter().map(|one| one.expr().clone()).collect()),
            Output::Expression { value, .. } => Some(value.expr().clone()),
            Output::Cofactor { .. } => None,
        }
    }
}

/// A variable of an order that the user gives, with what is below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderRef {
    /// Any column of the variable.
    pub variable: ColumnRef,
    /// The variables directly below.
    #[serde(default)]
    pub children: Vec<OrderRef>,
}

/// Computation of rows from rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rows {
    /// The union, as Z-sets, of what each atom's rows compute.
    Map {
        /// The names of the columns.
        names: Vec<String>,
        /// Computation of each atom's rows.
        branches: Vec<Branch>,
    },
    /// The rows of the one atom in an order: all, or the first of each partition.
    Ordered(Ordering),
    /// Functions over the rows of each partition of the one atom.
    Parted(Parted),
    /// The rows of the one atom, each while time says so.
    Timed(Timed),
    /// Each row of the first atom with the latest row of the second: an ASOF join.
    Latest(Latest),
    /// The rows of the first atom, and all that a step makes of them: `WITH RECURSIVE`.
    Recursive(Recursion),
    /// Expressions over such rows, computed as they are read, and as they change.
    Computed {
        /// The rows, of a kind that is kept.
        of: Box<Self>,
        /// The names of the columns.
        names: Vec<String>,
        /// The computation.
        branch: Branch,
    },
}

impl Rows {
    /// The stored rows, from which others may be computed.
    #[must_use]
    pub fn stored(&self) -> &Self {
        match self {
            Self::Computed { of, .. } => of.stored(),
            own => own,
        }
    }

    /// A description, for messages.
    fn description(&self) -> &'static str {
        match self {
            Self::Computed { of, .. } => of.description(),
            Self::Map { .. } => "expressions over rows, outer joins and unions",
            Self::Ordered(_) => "ORDER BY and LIMIT",
            Self::Parted(_) => "window functions and ordered aggregates",
            Self::Timed(_) => "conditions on now()",
            Self::Latest(_) => "ASOF joins",
            Self::Recursive(_) => "WITH RECURSIVE",
        }
    }
}

/// A recursion: the rows of a seed, and all that a step makes of them, of what it made, and so on.
///
/// The step is a query with blocks of its own, over a table of the rows so far and over what the atoms behind the first
/// one read, under names that are its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recursion {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The same columns of the first atom, which has the seed.
    pub seed: Vec<String>,
    /// The table that the step reads the rows so far by.
    pub table: String,
    /// Other tables that the step reads, by the atoms behind the first one.
    #[serde(default)]
    pub reads: Vec<StepTable>,
    /// The query of the step: its columns are those of the result, and behind them the level where there is one.
    pub step: Box<Query>,
    /// Method that finds the fixpoint.
    pub strategy: Strategy,
}

impl Recursion {
    /// The query of its step.
    ///
    /// # Errors
    /// `Value` for blocks that cannot be.
    pub fn query(&self) -> Result<&Query> {
        self.step.check_blocks()?;
        Ok(&self.step)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Why a condition stays as it is.
type Why = &'static str;

/// Names of nothing are refused when the query is bound.
const UNREAD: Why = "an expression of it names what is no column of a query";

/// The name of a block that means nothing else.
fn free_name(what: &str, number: usize, is_taken: &dyn Fn(&str) -> bool) -> String {
    let mut name = format!("{what} {}", number + 1);
    while is_taken(&name) {
        name.push('\'');
    }
    name
}

impl Query {
    /// Its atoms and those of all its subqueries, by their numbers.
    #[must_use]
    pub fn all_atoms(&self) -> Vec<&Atom> {
        let inner = self.subqueries.iter().flat_map(Query::all_atoms);
        self.atoms.iter().chain(inner).collect()
    }

    /// The names of the tables and views that it reads, itself and in its blocks.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<&str> {
        let (mut blocks, mut reads) = (BTreeSet::new(), BTreeSet::new());
        let queries = self.blocks.iter().map(|one| (Some(&*one.name), &one.query));
        for (block, query) in queries.chain([(None, self)]) {
            let names = query.all_atoms().into_iter().map(|atom| &*atom.table);
            reads.extend(names.filter(|name| !blocks.contains(name)));
            blocks.extend(block);
        }
        reads
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// `Value` for what is no query, and for blocks that cannot be.
    pub fn from_json(text: &str) -> Result<Query> {
        let query: Query = serde_json::from_str(text).map_err(|problem| Error::Value {
            place: "the query".to_owned(),
            problem: problem.to_string(),
        })?;
        query.check_blocks()?;
        Ok(query)
    }

    /// Writes the JSON form.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|problem| Error::Value {
            place: "the query".to_owned(),
            problem: problem.to_string(),
        })
    }
}

/// A query that has a name within another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// Its query; without blocks of its own.
    pub query: Query,
}
