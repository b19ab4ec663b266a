//! Rows that are no block yet: a join of tables and blocks, filters over it, and columns.
//!
//! Invariant: a column of an expression is qualified by the number of the atom that has it. Operators are folded into
//! this form as long as they fit; it becomes a block where they no longer do. Cost: O(size of the expressions).

use std::collections::{BTreeMap, BTreeSet};

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema, ScalarValue, TableReference};
use datafusion_expr::{Expr, Operator};
use ringview_core::Result;
use ringview_query::{Frame, Rank};

use super::levels::NestedPredicate;
use crate::error::refusal;

/// The qualifier of the value that a window function gives a row.
const WINDOW: &str = "window";

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    /// Names of tables and blocks.
    pub(crate) atoms: Vec<String>,
    /// Names of atoms in the text, where these differ.
    pub(crate) aliases: BTreeMap<usize, String>,
    /// Expressions over one atom each that must be equal.
    pub(crate) equal: Vec<(Expr, Expr)>,
    /// Conditions, all of which must hold.
    pub(crate) filters: Vec<Expr>,
    /// Conditions with subqueries, in the form in which an engine keeps them.
    pub(crate) nested: NestedPredicate,
    /// Expressions of each row.
    pub(crate) columns: Vec<Expr>,
    /// Window functions over the rows that meet the filters: columns may name one by its number.
    pub(crate) windows: Vec<Window>,
    /// Conditions on what the windows have computed.
    pub(crate) above: Vec<Expr>,
    /// Of a correlated subquery: an expression of the query around, and that of this one which equals it.
    pub(crate) outer: Vec<(Expr, Expr)>,
    /// Of a correlated subquery: its other conditions on the query around, whose columns are outer references.
    pub(crate) outer_conditions: Vec<Expr>,
}

/// A sort key, whether it descends, and whether NULL sorts first.
pub(crate) type SortedBy = (Expr, bool, bool);

/// A window function that numbers rows.
#[derive(Clone, Debug)]
pub(crate) struct Ranking {
    pub(crate) rank: Rank,
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<SortedBy>,
}

/// A window function.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) function: Function,
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<SortedBy>,
}

/// A function of the rows of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Expr>,
    /// As text.
    pub(crate) constants: Vec<String>,
    pub(crate) filter: Option<Expr>,
    pub(crate) order: Vec<SortedBy>,
    pub(crate) distinct: bool,
    pub(crate) ignore_nulls: bool,
    pub(crate) frame: Option<Frame>,
}

impl Pending {
    /// Some columns of one table or block.
    pub(crate) fn over<'n>(name: &str, columns: impl IntoIterator<Item = &'n String>) -> Self {
        Self {
            atoms: vec![name.to_owned()],
            columns: columns
                .into_iter()
                .map(|column| of_atom(0, column))
                .collect(),
            ..Self::default()
        }
    }

    /// Whether they are computed row by row from one table or block.
    pub(crate) fn is_plain(&self) -> bool {
        let is_free = self.outer.is_empty() && self.outer_conditions.is_empty();
        let is_chosen = !self.nested.conditions.is_empty();
        self.atoms.len() == 1 && is_free && self.windows.is_empty() && !is_chosen
    }

    /// Whether they are all rows of their atoms.
    pub(crate) fn is_whole(&self) -> bool {
        self.filters.is_empty() && self.nested.conditions.is_empty() && self.windows.is_empty()
    }

    /// The same under a name of the text.
    pub(crate) fn called(mut self, alias: &str) -> Self {
        if self.atoms.len() == 1 && self.atoms[0] != alias {
            self.aliases.insert(0, alias.to_owned());
        }
        self
    }

    /// An expression over the rows of a plan, over the atoms.
    pub(crate) fn meant(&self, expr: &Expr, schema: &DFSchema) -> Result<Expr> {
        substituted(expr, schema, &self.columns)
    }

    /// The same with the atoms of another behind its own; the other's columns as they are called then.
    pub(crate) fn join(&mut self, other: Pending) -> Result<Vec<Expr>> {
        let by = self.atoms.len();
        let shift = |expr: Expr| shifted(expr, by);
        self.atoms.extend(other.atoms);
        let aliases = other.aliases.into_iter();
        self.aliases
            .extend(aliases.map(|(atom, alias)| (atom + by, alias)));
        self.nested.append(other.nested.shifted(by)?)?;
        for (left, right) in other.equal {
            self.equal.push((shift(left)?, shift(right)?));
        }
        for filter in other.filters {
            self.filters.push(shift(filter)?);
        }
        other.columns.into_iter().map(shift).collect()
    }

    /// Adds a condition: an equality of two atoms, or a filter; one that holds behind the windows where there are any.
    pub(crate) fn restrict(&mut self, condition: Expr) {
        // A condition that is not TRUE fails, also for NULL.
        if let Expr::IsTrue(of) = condition {
            return self.restrict(*of);
        }
        if !self.windows.is_empty() {
            self.above.push(condition);
            return;
        }
        if let Some((shared, rest)) = shared_by_arms(&condition) {
            shared
                .into_iter()
                .chain(rest)
                .for_each(|one| self.restrict(one));
            return;
        }
        if let Expr::BinaryExpr(binary) = &condition
            && binary.op == Operator::Eq
        {
            let sides = (atoms_of(&binary.left), atoms_of(&binary.right));
            if sides.0.len() == 1 && sides.1.len() == 1 && sides.0 != sides.1 {
                self.equal
                    .push((*binary.left.clone(), *binary.right.clone()));
                return;
            }
        }
        // Conditions that an OR over several atoms implies for one atom alone exclude most of its
        // rows from the join.
        let implied = implied_by_arms(&condition);
        self.filters
            .extend(implied.into_iter().filter(|one| *one != condition));
        self.filters.push(condition);
    }
}

/// Conditions on the rows of one atom that an OR over several atoms implies: one of its arms holds
/// there.
fn implied_by_arms(condition: &Expr) -> Vec<Expr> {
    let atoms = atoms_of(condition);
    let mut arms = Vec::new();
    split(condition, Operator::Or, &mut arms);
    if atoms.len() < 2 || arms.len() < 2 {
        return Vec::new();
    }
    let own = |arm: &Expr, atom: usize| {
        let mut conjuncts = Vec::new();
        split(arm, Operator::And, &mut conjuncts);
        conjuncts.retain(|one| !any(one, is_nested) && atoms_of(one) == BTreeSet::from([atom]));
        datafusion_expr::utils::conjunction(conjuncts)
    };
    let of_atom = |&atom: &usize| {
        let parts = arms.iter().map(|arm| own(arm, atom));
        datafusion_expr::utils::disjunction(parts.collect::<Option<Vec<Expr>>>()?)
    };
    atoms.iter().filter_map(of_atom).collect()
}

/// The conditions that hold in each arm of an OR, and the OR of what is left; NULL in one is NULL in all.
fn shared_by_arms(condition: &Expr) -> Option<(Vec<Expr>, Option<Expr>)> {
    let mut arms = Vec::new();
    split(condition, Operator::Or, &mut arms);
    let conjuncts = |arm: &Expr| {
        let mut found = Vec::new();
        split(arm, Operator::And, &mut found);
        found
    };
    let mut arms: Vec<Vec<Expr>> = arms.iter().map(conjuncts).collect();
    let (first, others) = arms
        .split_first()
        .filter(|(_, others)| !others.is_empty())?;
    let contains = |arm: &[Expr], one: &Expr| arm.iter().any(|other| is_same(one, other));
    let mut shared: Vec<Expr> = Vec::new();
    for one in first {
        if others.iter().all(|arm| contains(arm, one)) && !contains(&shared, one) {
            shared.push(one.clone());
        }
    }
    if shared.is_empty() {
        return None;
    }
    for arm in &mut arms {
        arm.retain(|one| !contains(&shared, one));
    }
    // An arm without further conditions fails only if the shared ones fail.
    let rest = arms.into_iter().map(datafusion_expr::utils::conjunction);
    let rest: Option<Vec<Expr>> = rest.collect();
    Some((shared, rest.and_then(datafusion_expr::utils::disjunction)))
}

/// Whether two conditions say the same; the sides of an equality may be exchanged.
fn is_same(one: &Expr, other: &Expr) -> bool {
    match (one, other) {
        (Expr::BinaryExpr(a), Expr::BinaryExpr(b))
            if a.op == Operator::Eq && b.op == Operator::Eq =>
        {
            one == other || (a.left == b.right && a.right == b.left)
        }
        _ => one == other,
    }
}

/// The operands of a chain of one operator.
pub(crate) fn split(condition: &Expr, by: Operator, into: &mut Vec<Expr>) {
    match condition {
        Expr::BinaryExpr(binary) if binary.op == by => {
            split(&binary.left, by, into);
            split(&binary.right, by, into);
        }
        Expr::Alias(alias) => split(&alias.expr, by, into),
        other => into.push(other.clone()),
    }
}

/// A column of an atom.
pub(crate) fn of_atom(atom: usize, name: &str) -> Expr {
    Expr::Column(Column::new(
        Some(TableReference::bare(atom.to_string())),
        name,
    ))
}

/// The value that a window function gives a row.
pub(crate) fn of_window(number: usize) -> Expr {
    Expr::Column(Column::new(
        Some(TableReference::bare(WINDOW)),
        number.to_string(),
    ))
}

/// Atom and column of an expression that is a single column.
pub(crate) fn column_ref(expr: &Expr) -> Option<(usize, &str)> {
    let Expr::Column(column) = expr else {
        return None;
    };
    let atom = column.relation.as_ref()?.table().parse().ok()?;
    Some((atom, &column.name))
}

/// The number of the window function that an expression is.
pub(crate) fn window(expr: &Expr) -> Option<usize> {
    let Expr::Column(column) = expr else {
        return None;
    };
    let is_window = column.relation.as_ref()?.table() == WINDOW;
    is_window.then(|| column.name.parse().ok()).flatten()
}

/// The atoms that an expression reads.
pub(crate) fn atoms_of(expr: &Expr) -> BTreeSet<usize> {
    let columns = expr.column_refs();
    let atoms = columns
        .iter()
        .filter_map(|column| column.relation.as_ref()?.table().parse().ok());
    atoms.collect()
}

/// Whether something in an expression is so.
pub(crate) fn any(expr: &Expr, holds: impl Fn(&Expr) -> bool) -> bool {
    expr.exists(|node| Ok(holds(node))).unwrap_or(true)
}

/// Whether an expression is a subquery, or compared with one.
pub(crate) fn is_nested(node: &Expr) -> bool {
    matches!(
        node,
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
    )
}

/// An expression over the rows of a plan, each column replaced by what it is.
pub(crate) fn substituted(expr: &Expr, schema: &DFSchema, columns: &[Expr]) -> Result<Expr> {
    mapped(expr.clone(), &mut |node| match node {
        Expr::Column(column) => {
            let at = schema.index_of_column(&column)?;
            Ok(Transformed::yes(columns[at].clone()))
        }
        Expr::Alias(alias) => Ok(Transformed::yes(*alias.expr)),
        other => Ok(Transformed::no(other)),
    })
}

/// An expression with other columns.
pub(crate) fn renamed(expr: Expr, names: &dyn Fn(usize, &str) -> Option<Expr>) -> Result<Expr> {
    mapped(expr, &mut |node| {
        let found = column_ref(&node).and_then(|(atom, name)| names(atom, name));
        Ok(found.map_or(Transformed::no(node), Transformed::yes))
    })
}

/// An expression with something else in the place of its columns.
pub(crate) fn replaced(expr: Expr, by: &dyn Fn(&Expr) -> Option<Expr>) -> Result<Expr> {
    mapped(expr, &mut |node| {
        let found = matches!(node, Expr::Column(_)).then(|| by(&node)).flatten();
        Ok(found.map_or(Transformed::no(node), Transformed::yes))
    })
}

/// The same with the numbers of the atoms increased.
fn shifted(expr: Expr, by: usize) -> Result<Expr> {
    renamed(expr, &|atom, name| Some(of_atom(atom + by, name)))
}

fn mapped(
    expr: Expr,
    each: &mut dyn FnMut(Expr) -> datafusion_common::Result<Transformed<Expr>>,
) -> Result<Expr> {
    let found = expr
        .transform_up(each)
        .map_err(|problem| refusal(&problem))?;
    Ok(found.data)
}

/// A constant integer.
pub(crate) fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => Some(*value),
        Expr::Literal(ScalarValue::UInt64(Some(value)), _) => i64::try_from(*value).ok(),
        _ => None,
    }
}
