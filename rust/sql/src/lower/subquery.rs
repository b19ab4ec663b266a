//! Subqueries in conditions: EXISTS and IN as joins with different keys, one value as a join with its block.
//!
//! Invariant: a subquery is correlated by equalities alone. NOT IN is kept where neither side may be NULL. Cost: that of
//! the joins.

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, JoinType};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::{Expr, Operator};
use ringview_core::Result;
use ringview_query::Rows;

use super::pending::{Pending, any, of_atom, place, renamed};
use super::state::Lowering;
use crate::error::{refusal, unsupported};

/// What of the query around equals what of this one.
pub(crate) fn correlation(condition: &Expr) -> Result<(Expr, Expr)> {
    let refused =
        || unsupported("a subquery that is correlated otherwise than by equality is not kept here");
    let Expr::BinaryExpr(binary) = condition else {
        return Err(refused());
    };
    let is_outer = |expr: &Expr| any(expr, |node| matches!(node, Expr::OuterReferenceColumn(..)));
    let (one, other) = ((*binary.left).clone(), (*binary.right).clone());
    match (binary.op, is_outer(&one), is_outer(&other)) {
        (Operator::Eq, true, false) if one.column_refs().is_empty() => Ok((one, other)),
        (Operator::Eq, false, true) if other.column_refs().is_empty() => Ok((other, one)),
        _ => Err(refused()),
    }
}

impl Lowering<'_> {
    /// Rows that meet a condition with subqueries.
    pub(crate) fn nested(
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
                    self.within(rows, &InSubquery { negated, ..within }, schema)
                }
                _ => Err(unsupported("NOT before this subquery is not kept")),
            },
            Expr::Exists(exists) => self.exists(rows, &exists, schema),
            Expr::InSubquery(within) => self.within(rows, &within, schema),
            other => self.compared(rows, other, schema),
        }
    }

    fn exists(&mut self, rows: Pending, exists: &Exists, schema: &DFSchema) -> Result<Pending> {
        let mut inner = self.relation(&exists.subquery.subquery)?;
        let keys = correlated(&mut inner, &rows, schema)?;
        if exists.negated {
            self.anti(rows, inner, keys)
        } else {
            self.semi(rows, inner, keys)
        }
    }

    fn within(&mut self, rows: Pending, within: &InSubquery, schema: &DFSchema) -> Result<Pending> {
        let mut inner = self.relation(&within.subquery.subquery)?;
        let mut keys = correlated(&mut inner, &rows, schema)?;
        let looked = (*within.expr).clone();
        let there = inner.columns[0].clone();
        if within.negated {
            for (expr, of) in [(&looked, &rows), (&there, &inner)] {
                if self.may_be_null(expr, of)? {
                    return Err(unsupported(
                        "NOT IN with a side that may be NULL is not kept here: NULL among the values makes it unknown for all rows; write NOT EXISTS",
                    ));
                }
            }
        }
        keys.push((looked, there));
        if within.negated {
            self.anti(rows, inner, keys)
        } else {
            self.semi(rows, inner, keys)
        }
    }

    /// A condition with values of subqueries.
    fn compared(&mut self, rows: Pending, condition: Expr, schema: &DFSchema) -> Result<Pending> {
        if any(&condition, |node| {
            matches!(
                node,
                Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)
            )
        }) {
            return Err(unsupported(
                "EXISTS, IN, ANY or ALL within a condition is not kept here",
            ));
        }
        let (mut rows, mut conditions) = self.with_values(rows, vec![condition], schema)?;
        conditions
            .drain(..)
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
        let is_value = |node: &Expr| matches!(node, Expr::ScalarSubquery(_));
        if exprs.iter().any(|expr| any(expr, is_value)) {
            rows = self.flat(rows)?;
        }
        let columns = exprs.iter().map(|expr| rows.meant(expr, schema));
        let columns = columns.collect::<Result<Vec<Expr>>>()?;
        let (mut rows, columns) = self.with_values(rows, columns, schema)?;
        rows.columns = columns;
        Ok(rows)
    }

    /// Rows joined with the values of the subqueries of some expressions, and the expressions over those.
    fn with_values(
        &mut self,
        mut rows: Pending,
        mut exprs: Vec<Expr>,
        schema: &DFSchema,
    ) -> Result<(Pending, Vec<Expr>)> {
        let mut subqueries = Vec::new();
        for expr in &exprs {
            expr.apply(|node| {
                if let Expr::ScalarSubquery(subquery) = node {
                    subqueries.push(subquery.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
            .map_err(|problem| refusal(&problem))?;
        }
        for subquery in &subqueries {
            let mut inner = self.relation(&subquery.subquery)?;
            let keys = correlated(&mut inner, &rows, schema)?;
            let value = if keys.is_empty() {
                if !self.is_one_row(&inner) {
                    return Err(unsupported(
                        "a subquery that is compared is one row: aggregate it",
                    ));
                }
                let value = Pending {
                    columns: vec![inner.columns[0].clone()],
                    ..inner
                };
                let (name, stored) = self.single(value)?;
                rows.atoms.push(name);
                of_atom(rows.atoms.len() - 1, &stored[0])
            } else {
                let width = rows.columns.len();
                // What the expressions read stands behind the columns, so that it comes through the join.
                let read: Vec<Expr> = exprs
                    .iter()
                    .flat_map(Expr::column_refs)
                    .cloned()
                    .map(Expr::Column)
                    .collect();
                rows.columns.extend(read.iter().cloned());
                let (joined, value) = self.looked_up(rows, inner, keys)?;
                rows = joined;
                let moved = |expr: Expr| {
                    renamed(expr, &|atom, name| {
                        let at = read
                            .iter()
                            .position(|one| place(one) == Some((atom, name)))?;
                        Some(rows.columns[width + at].clone())
                    })
                };
                exprs = exprs.into_iter().map(moved).collect::<Result<_>>()?;
                rows.columns.truncate(width);
                value
            };
            for expr in &mut exprs {
                let made = std::mem::take(expr).transform_up(|node| match &node {
                    Expr::ScalarSubquery(other) if other == subquery => {
                        Ok(Transformed::yes(value.clone()))
                    }
                    _ => Ok(Transformed::no(node)),
                });
                *expr = made.map_err(|problem| refusal(&problem))?.data;
            }
        }
        Ok((rows, exprs))
    }

    /// Each row with the value that a correlated subquery has for it: a left join with its groups.
    fn looked_up(
        &mut self,
        rows: Pending,
        inner: Pending,
        keys: Vec<(Expr, Expr)>,
    ) -> Result<(Pending, Expr)> {
        let groups = match &inner.atoms[..] {
            [name]
                if inner.filters.is_empty()
                    && inner.windows.is_empty()
                    && self.is_grouped(name) =>
            {
                name.clone()
            }
            _ => {
                return Err(unsupported(
                    "a correlated subquery is one row: aggregate it",
                ));
            }
        };
        let value = inner.columns[0].clone();
        let read: Vec<String> = value
            .column_refs()
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let width = rows.columns.len();
        let right = Pending::over(&groups, &read);
        let mut joined = self.outer(rows, right, keys, JoinType::Left)?;
        let values = joined.columns.split_off(width);
        let value = renamed(value, &|_, name| {
            let at = read.iter().position(|one| one == name)?;
            Some(values[at].clone())
        })?;
        Ok((joined, value))
    }

    /// Whether rows are those of an aggregate without groups.
    fn is_one_row(&self, rows: &Pending) -> bool {
        let [name] = &rows.atoms[..] else {
            return false;
        };
        let block = self.blocks.iter().find(|block| block.name == *name);
        let is_ungrouped = block.is_some_and(|block| match &block.query.rows {
            Some(Rows::Parted(parted)) => parted.partition.is_empty(),
            _ => block.query.group_by.is_empty(),
        });
        is_ungrouped && rows.filters.is_empty() && self.is_grouped(name)
    }

    /// Whether a block has groups, so that its keys tell its rows apart.
    fn is_grouped(&self, name: &str) -> bool {
        let block = self.blocks.iter().find(|block| block.name == name);
        block.is_some_and(|block| match &block.query.rows {
            Some(Rows::Parted(parted)) => parted.grouped,
            rows => rows.is_none() && block.query.bag.is_none(),
        })
    }

    fn may_be_null(&self, expr: &Expr, rows: &Pending) -> Result<bool> {
        Ok(match place(expr) {
            Some((atom, name)) => self.column(&rows.atoms[atom], name)?.1,
            None => true,
        })
    }
}

/// The equalities of a subquery with the query around, taken from it.
fn correlated(inner: &mut Pending, rows: &Pending, schema: &DFSchema) -> Result<Vec<(Expr, Expr)>> {
    let mut keys = Vec::new();
    for (around, key) in std::mem::take(&mut inner.outer) {
        let around = around.transform_up(|node| match node {
            Expr::OuterReferenceColumn(_, column) => Ok(Transformed::yes(Expr::Column(column))),
            other => Ok(Transformed::no(other)),
        });
        let around = around.map_err(|problem| refusal(&problem))?.data;
        keys.push((rows.meant(&around, schema)?, key));
    }
    Ok(keys)
}
