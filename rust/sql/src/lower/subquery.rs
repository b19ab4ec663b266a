//! Subqueries in conditions: EXISTS and IN as joins with different keys, one value as a join with its block.
//!
//! Invariant: a subquery is correlated by equalities alone. NOT IN is kept where neither side may be NULL. Cost: that of
//! the joins.

use datafusion_common::DFSchema;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::{Expr, Operator};
use ringview_core::Result;

use super::Lowering;
use super::pending::{Pending, any, of_atom, place};
use crate::{refusal, unsupported};

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

    /// A comparison with values of subqueries.
    fn compared(
        &mut self,
        mut rows: Pending,
        condition: Expr,
        schema: &DFSchema,
    ) -> Result<Pending> {
        let mut subqueries = Vec::new();
        condition
            .apply(|node| {
                if let Expr::ScalarSubquery(subquery) = node {
                    subqueries.push(subquery.clone());
                }
                Ok(datafusion_common::tree_node::TreeNodeRecursion::Continue)
            })
            .map_err(|problem| refusal(&problem))?;
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
        let mut values = Vec::new();
        for subquery in &subqueries {
            let mut inner = self.relation(&subquery.subquery)?;
            let keys = correlated(&mut inner, &rows, schema)?;
            let mut value = inner.clone();
            value.columns.truncate(1);
            value
                .columns
                .extend(keys.iter().map(|(_, key)| key.clone()));
            let (name, stored) = self.single(value)?;
            let atom = rows.atoms.len();
            rows.atoms.push(name);
            for ((around, _), key) in keys.into_iter().zip(&stored[1..]) {
                rows.equal.push((around, of_atom(atom, key)));
            }
            values.push(of_atom(atom, &stored[0]));
        }
        let mut values = values.into_iter();
        let compared = condition.transform_up(|node| match node {
            Expr::ScalarSubquery(_) => Ok(values
                .next()
                .map_or(Transformed::no(node), Transformed::yes)),
            other => Ok(Transformed::no(other)),
        });
        rows.restrict(compared.map_err(|problem| refusal(&problem))?.data);
        Ok(rows)
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
