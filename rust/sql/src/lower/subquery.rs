//! Subqueries in conditions: EXISTS and IN as joins with different keys, one value as a join with its block.
//!
//! Invariant: a subquery is correlated by equalities; EXISTS and IN by other conditions beside them. Cost: that of the
//! joins.

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, JoinType, TableReference};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::{Expr, LogicalPlan, Operator};
use ringview_core::{Error, Result};

use super::correlated::without_columns;
use super::domain::{inside, is_reference};
use super::null_rejecting::{is_null_of_nothing, rejects_null};
use super::pairs::Conditions;
use super::pending::{Pending, any, atoms_of, column_ref, is_nested, of_atom, renamed, split};
use super::state::Lowering;
use crate::error::{refusal, unsupported};

/// The use of expressions with subqueries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Rows that do not meet all of them are left out.
    Condition,
    Column,
}

/// The expressions of the query around and of this one that a condition equates, if it is such an
/// equality and no more.
pub(crate) fn correlation(condition: &Expr) -> Option<(Expr, Expr)> {
    let Expr::BinaryExpr(binary) = condition else {
        return None;
    };
    let is_outer = |expr: &Expr| any(expr, |node| matches!(node, Expr::OuterReferenceColumn(..)));
    let (one, other) = ((*binary.left).clone(), (*binary.right).clone());
    match (binary.op, is_outer(&one), is_outer(&other)) {
        (Operator::Eq, true, false) if one.column_refs().is_empty() => Some((one, other)),
        (Operator::Eq, false, true) if other.column_refs().is_empty() => Some((other, one)),
        _ => None,
    }
}

/// Whether the subqueries of a condition refer to the row around by equalities alone.
fn meets_by_equality(condition: &Expr) -> bool {
    let is_outer = |expr: &Expr| any(expr, |node| matches!(node, Expr::OuterReferenceColumn(..)));
    let by_equality = |plan: &LogicalPlan| {
        let mut conjuncts = Vec::new();
        match plan {
            LogicalPlan::Filter(filter) => split(&filter.predicate, Operator::And, &mut conjuncts),
            other => conjuncts.extend(other.expressions()),
        }
        let mut conjuncts = conjuncts.iter();
        conjuncts.all(|one| !is_outer(one) || correlation(one).is_some())
    };
    !any(condition, |node| match node {
        Expr::ScalarSubquery(subquery) => {
            let plan = &*subquery.subquery;
            plan.exists(|node| Ok(!by_equality(node))).unwrap_or(true)
        }
        other => is_nested(other),
    })
}

impl Lowering<'_> {
    /// Rows that meet a condition with subqueries: by joins with blocks, or as an engine keeps it.
    ///
    /// A subquery that chooses rows is joined by key; the value of one is left to an engine that compares aggregates.
    pub(crate) fn with_subqueries(
        &mut self,
        mut rows: Pending,
        condition: Expr,
        schema: &DFSchema,
    ) -> Result<Pending> {
        let is_choice = match &condition {
            Expr::Not(of) => matches!(**of, Expr::Exists(_)) && !self.only_joins,
            Expr::InSubquery(within) => !within.negated || !self.only_joins,
            Expr::Exists(exists) => !exists.negated || !self.only_joins,
            _ => self.once && meets_by_equality(&condition),
        };
        let joined = match is_choice {
            true => Some(self.nested(rows.clone(), condition.clone(), schema)),
            false => self.joined_value(&rows, &condition, schema).map(Ok),
        };
        if let Some(Ok(joined)) = joined {
            return Ok(joined);
        }
        let refusal = match self.nested_condition(&rows, &condition, schema) {
            Ok(nested) => {
                rows.nested.append(nested)?;
                return Ok(rows);
            }
            Err(refusal) => refusal,
        };
        let joined = joined.unwrap_or_else(|| self.nested(rows, condition, schema));
        joined.map_err(|problem| match (problem, refusal) {
            // For operands that do not compare, the refusal with the place in the text is returned.
            (Error::Type { .. } | Error::Value { .. }, Some(refusal)) => refusal,
            (problem, _) => problem,
        })
    }

    /// Rows of which a column equals the one value of a subquery: the join with its groups.
    ///
    /// A group is there once for its keys, and its value is NULL, which equals nothing, over no rows.
    fn joined_value(
        &mut self,
        rows: &Pending,
        condition: &Expr,
        schema: &DFSchema,
    ) -> Option<Pending> {
        let Expr::BinaryExpr(binary) = condition else {
            return None;
        };
        let (looked, subquery) = match (&*binary.left, &*binary.right) {
            (Expr::ScalarSubquery(subquery), looked) | (looked, Expr::ScalarSubquery(subquery)) => {
                (looked, subquery)
            }
            _ => return None,
        };
        let (atom, column) = column_ref(looked).filter(|_| binary.op == Operator::Eq)?;
        let mut inner = self.relation(&subquery.subquery).ok()?;
        let keys = correlated(&mut inner, rows, schema).ok()?;
        let value = inner.columns.first()?.clone();
        let (_, name) = column_ref(&value)?;
        let is_one = inner.outer_conditions.is_empty()
            && match keys.is_empty() {
                true => self.is_one_row(&inner),
                false => self.is_one_row_a_key(&inner, &keys),
            };
        let sought = self.column(&rows.atoms[atom], column).ok()?.0;
        let there = self.column(inner.atoms.first()?, name).ok()?.0;
        if !is_one || sought != there || sought.to_arrow().is_floating() {
            return None;
        }
        let mut joined = rows.clone();
        let by = joined.atoms.len();
        joined.join(inner).ok()?;
        let pairs = keys.into_iter().chain([(looked.clone(), value)]);
        for (around, key) in pairs {
            let key = renamed(key, &|atom, name| Some(of_atom(atom + by, name))).ok()?;
            joined.equal.push(single_atom(around, key).ok()?);
        }
        Some(joined)
    }

    /// Rows that meet a condition with subqueries, by joins with blocks.
    fn nested(&mut self, rows: Pending, condition: Expr, schema: &DFSchema) -> Result<Pending> {
        let width = rows.columns.len();
        let condition = [condition];
        let (rows, schema) = self.with_reached(rows, &condition, schema)?;
        let [condition] = condition;
        let mut found = self.nested_here(rows, condition, &schema)?;
        found.columns.truncate(width);
        Ok(found)
    }

    /// The same of one whose subqueries read these rows alone.
    fn nested_here(
        &mut self,
        rows: Pending,
        condition: Expr,
        schema: &DFSchema,
    ) -> Result<Pending> {
        match condition {
            Expr::Not(of) => match *of {
                Expr::Exists(exists) => {
                    let negated = !exists.negated;
                    self.exists(rows, &Exists { negated, ..exists }, schema)
                }
                Expr::InSubquery(within) => {
                    let negated = !within.negated;
                    self.in_subquery(rows, &InSubquery { negated, ..within }, schema)
                }
                other => self.with_subquery_values(rows, Expr::Not(Box::new(other)), schema),
            },
            Expr::Exists(exists) => self.exists(rows, &exists, schema),
            Expr::InSubquery(within) => self.in_subquery(rows, &within, schema),
            other => self.with_subquery_values(rows, other, schema),
        }
    }

    fn exists(&mut self, rows: Pending, exists: &Exists, schema: &DFSchema) -> Result<Pending> {
        let value = || Expr::Exists(exists.clone());
        // It is not lowered to be lowered again: one within another would cost twice as much with each.
        if exists.subquery.outer_ref_columns.is_empty() {
            return self.with_subquery_values(rows, value(), schema);
        }
        let plan = without_columns(&exists.subquery.subquery);
        let mut inner = self.correlated_rows(plan, &rows, schema)?;
        let keys = correlated(&mut inner, &rows, schema)?;
        if keys.is_empty() {
            return self.with_subquery_values(rows, value(), schema);
        }
        self.semi_join(rows, inner, keys, exists.negated, schema)
    }

    fn in_subquery(
        &mut self,
        rows: Pending,
        within: &InSubquery,
        schema: &DFSchema,
    ) -> Result<Pending> {
        let mut inner = self.correlated_rows(&within.subquery.subquery, &rows, schema)?;
        let mut keys = correlated(&mut inner, &rows, schema)?;
        let looked = (*within.expr).clone();
        let there = inner.columns[0].clone();
        if within.negated
            && (self.may_be_null(&looked, &rows)? || self.may_be_null(&there, &inner)?)
        {
            // NULL makes it unknown, not false.
            let node = Expr::InSubquery(within.clone());
            return self.with_subquery_values(rows, node, schema);
        }
        keys.push((looked, there));
        self.semi_join(rows, inner, keys, within.negated, schema)
    }

    /// A semi-join: rows with a match, or those without where it is negated.
    fn semi_join(
        &mut self,
        rows: Pending,
        mut inner: Pending,
        keys: Vec<(Expr, Expr)>,
        negated: bool,
        schema: &DFSchema,
    ) -> Result<Pending> {
        let conditions = std::mem::take(&mut inner.outer_conditions);
        if !conditions.is_empty() {
            return self.semi_join_where(rows, inner, keys, (&conditions, schema), negated);
        }
        if negated {
            self.anti(rows, inner, keys)
        } else {
            self.semi(rows, inner, keys)
        }
    }

    /// A condition with values of subqueries.
    fn with_subquery_values(
        &mut self,
        rows: Pending,
        condition: Expr,
        schema: &DFSchema,
    ) -> Result<Pending> {
        let (mut rows, conditions) =
            self.with_values_for(Use::Condition, rows, vec![condition], schema)?;
        conditions
            .into_iter()
            .for_each(|condition| rows.restrict(condition));
        Ok(rows)
    }

    /// Rows with other columns, some of which may have values of subqueries.
    pub(crate) fn projected(
        &mut self,
        mut rows: Pending,
        exprs: &[Expr],
        schema: &DFSchema,
    ) -> Result<Pending> {
        if exprs.iter().any(|expr| any(expr, is_nested)) {
            rows = self.flat(rows)?;
        }
        let columns = exprs.iter().map(|expr| rows.meant(expr, schema));
        let columns = columns.collect::<Result<Vec<Expr>>>()?;
        let (mut rows, mut columns) = self.with_values(rows, columns, schema)?;
        if columns.iter().any(|column| any(column, is_reference)) {
            rows = self.flat(rows)?;
            (rows, columns) = self.with_references(rows, columns)?;
        }
        rows.columns = columns;
        Ok(rows)
    }

    /// Rows joined with the values of the subqueries of some expressions, and the expressions over those.
    pub(super) fn with_values(
        &mut self,
        rows: Pending,
        exprs: Vec<Expr>,
        schema: &DFSchema,
    ) -> Result<(Pending, Vec<Expr>)> {
        self.with_values_for(Use::Column, rows, exprs, schema)
    }

    /// The same for expressions that are used so. Rows that no condition lets through without a value need not be kept for
    /// want of it.
    fn with_values_for(
        &mut self,
        used: Use,
        rows: Pending,
        mut exprs: Vec<Expr>,
        schema: &DFSchema,
    ) -> Result<(Pending, Vec<Expr>)> {
        let width = rows.columns.len();
        let (mut rows, schema) = self.with_reached(rows, &exprs, schema)?;
        let schema = &schema;
        while let Some(node) = innermost(&exprs)? {
            // The columns of a node move with the rows, so its value takes its place at the end.
            replace(&mut exprs, &node, &value_of_node())?;
            let value = match &node {
                Expr::ScalarSubquery(subquery) => {
                    let mut inner = self.correlated_rows(&subquery.subquery, &rows, schema)?;
                    let keys = correlated(&mut inner, &rows, schema)?;
                    let mut all = exprs.iter();
                    let is_needed = used == Use::Condition
                        && all.any(|expr| rejects_null(expr, &value_of_node()));
                    let of_one_atom = |(around, _): &(Expr, Expr)| atoms_of(around).len() == 1;
                    let is_joined = is_needed
                        && rows.windows.is_empty()
                        && !keys.is_empty()
                        && keys.iter().all(of_one_atom)
                        && self.is_one_row_a_key(&inner, &keys)
                        && is_null_of_nothing(&inner.columns[0]);
                    match is_joined {
                        true => self.joined_with_group(&mut rows, inner, keys)?,
                        false => self.scalar_value(&mut rows, &mut exprs, inner, keys, schema)?,
                    }
                }
                _ => self.truth(&mut rows, &mut exprs, &node, schema)?,
            };
            replace(&mut exprs, &value_of_node(), &value)?;
        }
        rows.columns.truncate(width);
        Ok((rows, exprs))
    }

    /// Each row with values of the one row of a block that has its keys; NULL where there is none.
    ///
    /// The rows may become those of a join, so expressions over them are brought along.
    pub(crate) fn looked_up(
        &mut self,
        rows: &mut Pending,
        exprs: &mut [Expr],
        block: Pending,
        keys: Vec<(Expr, Expr)>,
        values: Vec<Expr>,
    ) -> Result<Vec<Expr>> {
        if keys.is_empty() {
            let one = Pending {
                columns: values,
                ..block
            };
            let (name, stored) = self.single(one)?;
            rows.atoms.push(name);
            let atom = rows.atoms.len() - 1;
            return Ok(stored.iter().map(|name| of_atom(atom, name)).collect());
        }
        let read = |of: &[Expr]| -> Vec<Expr> {
            let columns = of.iter().flat_map(Expr::column_refs);
            let columns = columns.cloned().map(Expr::Column);
            columns
                .filter(|column| column_ref(column).is_some())
                .collect()
        };
        let width = rows.columns.len();
        // Columns that the expressions and the row around read are appended, so that the join keeps them.
        *rows = self.decorrelated(std::mem::take(rows))?;
        let outer = std::mem::take(&mut rows.outer);
        let (references, outer): (Vec<Expr>, Vec<Expr>) = outer.into_iter().unzip();
        let mut around = read(exprs);
        around.extend(read(&outer));
        rows.columns.extend(around.iter().cloned());
        let own = read(&values);
        let right = Pending {
            columns: own.clone(),
            ..block
        };
        let left = std::mem::take(rows);
        let mut joined = self.outer(left, right, keys, JoinType::Left, &Conditions::none())?;
        let mut found = joined.columns.split_off(width);
        let there = found.split_off(around.len());
        let replaced = |expr: Expr, by: &[Expr], with: &[Expr]| {
            renamed(expr, &|atom, name| {
                let at = by
                    .iter()
                    .position(|one| column_ref(one) == Some((atom, name)))?;
                Some(with[at].clone())
            })
        };
        *rows = joined;
        for expr in exprs.iter_mut() {
            *expr = replaced(std::mem::take(expr), &around, &found)?;
        }
        for (reference, key) in references.into_iter().zip(outer) {
            rows.outer
                .push((reference, replaced(key, &around, &found)?));
        }
        let values = values.into_iter();
        values.map(|value| replaced(value, &own, &there)).collect()
    }

    pub(crate) fn may_be_null(&self, expr: &Expr, rows: &Pending) -> Result<bool> {
        Ok(match column_ref(expr) {
            Some((atom, name)) => self.column(&rows.atoms[atom], name)?.1,
            None => true,
        })
    }
}

/// The equalities of a subquery with the query around, taken from it.
pub(crate) fn correlated(
    inner: &mut Pending,
    rows: &Pending,
    schema: &DFSchema,
) -> Result<Vec<(Expr, Expr)>> {
    let mut keys = Vec::new();
    for (around, key) in std::mem::take(&mut inner.outer) {
        keys.push((rows.meant(&inside(around)?, schema)?, key));
    }
    Ok(keys)
}

/// A subquery within some expressions that has none within its own operands.
fn innermost(exprs: &[Expr]) -> Result<Option<Expr>> {
    let mut last = None;
    for expr in exprs {
        expr.apply(|node| {
            if is_nested(node) {
                // Nodes are visited before their operands.
                last = Some(node.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .map_err(|problem| refusal(&problem))?;
    }
    Ok(last)
}

/// Placeholder of the value of a subquery, until that is computed.
fn value_of_node() -> Expr {
    Expr::Column(Column::new(Some(TableReference::bare("value")), "value"))
}

/// Puts an expression in the place of another.
fn replace(exprs: &mut [Expr], node: &Expr, by: &Expr) -> Result<()> {
    for expr in exprs {
        let made = std::mem::take(expr).transform_up(|other| {
            Ok(if other == *node {
                Transformed::yes(by.clone())
            } else {
                Transformed::no(other)
            })
        });
        *expr = made.map_err(|problem| refusal(&problem))?.data;
    }
    Ok(())
}

/// An equality whose left side is of one atom.
fn single_atom(one: Expr, other: Expr) -> Result<(Expr, Expr)> {
    if column_ref(&one).is_none() && atoms_of(&one).len() != 1 {
        return Err(unsupported(
            "a subquery compared with an expression over several tables is not kept here",
        ));
    }
    Ok((one, other))
}
