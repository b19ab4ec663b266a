//! Domain of a correlated subquery: the different values that it reads of the query around, joined with the rows of the
//! subquery.
//!
//! The result for a row around depends only on these values of it, so an operator that reads the rows of a subquery
//! reads the pairs of rows and values instead, with the values as further keys (Neumann and Kemper, BTW 2015: the
//! domain D). Invariant: the references to the row around are equalities with keys of the rows then. Cost: the pairs of
//! values and rows that meet the conditions are kept.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema};
use datafusion_expr::{Expr, Operator, binary_expr};
use ringview_core::{Error, Result};

use super::pairs::null_safe;
use super::pending::{Pending, of_atom};
use super::state::Lowering;
use crate::error::{refusal, unsupported};

/// References to the row around, each with the column of the rows that has its value.
pub(super) struct Domain {
    pairs: Vec<(Expr, Expr)>,
    may_be_null: Vec<bool>,
}

impl Domain {
    /// The values, in the order of the references.
    pub(super) fn columns(&self) -> impl Iterator<Item = Expr> {
        self.pairs.iter().map(|(_, column)| column.clone())
    }

    /// Correlation of rows that have these columns in the place of the values.
    pub(super) fn keys(&self, columns: impl IntoIterator<Item = Expr>) -> Vec<(Expr, Expr)> {
        let mut keys = Vec::new();
        let pairs = self.pairs.iter().zip(&self.may_be_null);
        for (((reference, _), may_be_null), column) in pairs.zip(columns) {
            let mut key = vec![(reference.clone(), column)];
            if *may_be_null {
                null_safe(&mut key);
            }
            keys.append(&mut key);
        }
        keys
    }

    /// An expression over the values.
    fn over_values(&self, expr: Expr) -> Result<Expr> {
        let made = expr.transform_up(|node| {
            let found = self.pairs.iter().find(|(reference, _)| *reference == node);
            Ok(match found {
                Some((_, column)) => Transformed::yes(column.clone()),
                None => Transformed::no(node),
            })
        });
        Ok(made.map_err(|problem| refusal(&problem))?.data)
    }
}

/// The references of some rows to the row around.
pub(super) fn references<'p>(of: impl IntoIterator<Item = &'p Pending>) -> Result<Vec<Expr>> {
    let mut found = Vec::new();
    for rows in of {
        let pairs = rows.outer.iter().map(|(one, _)| one);
        for expr in rows.outer_conditions.iter().chain(pairs) {
            note(expr, &mut found)?;
        }
    }
    Ok(found)
}

fn note(expr: &Expr, found: &mut Vec<Expr>) -> Result<()> {
    let noted = expr.clone().transform_up(|node| {
        if is_reference(&node) && !found.contains(&node) {
            found.push(node.clone());
        }
        Ok(Transformed::no(node))
    });
    noted.map(drop).map_err(|problem| refusal(&problem))
}

/// The columns of queries around that the subqueries of some expressions name.
fn reached(exprs: &[Expr]) -> Result<Vec<Column>> {
    let mut found: Vec<Column> = Vec::new();
    let mut note = |node: &Expr| {
        if let Expr::OuterReferenceColumn(_, column) = node
            && !found.contains(column)
        {
            found.push(column.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    };
    for expr in exprs {
        let walked = expr.apply(|node| {
            let plan = match node {
                Expr::ScalarSubquery(of) => &of.subquery,
                Expr::Exists(of) => &of.subquery.subquery,
                Expr::InSubquery(of) => &of.subquery.subquery,
                Expr::SetComparison(of) => &of.subquery.subquery,
                _ => return Ok(TreeNodeRecursion::Continue),
            };
            plan.apply_with_subqueries(|node| {
                node.apply_expressions(|expr| expr.apply(&mut note))?;
                Ok(TreeNodeRecursion::Continue)
            })?;
            Ok(TreeNodeRecursion::Continue)
        });
        walked.map_err(|problem| refusal(&problem))?;
    }
    Ok(found)
}

pub(super) fn is_reference(node: &Expr) -> bool {
    matches!(node, Expr::OuterReferenceColumn(..))
}

impl Lowering<'_> {
    /// Rows whose conditions on the row around them are equalities.
    pub(crate) fn decorrelated(&mut self, rows: Pending) -> Result<Pending> {
        if rows.outer_conditions.is_empty() {
            return Ok(rows);
        }
        let read = references([&rows])?;
        let (mut rows, domain) = self.over_domain(rows, read)?;
        rows.outer = domain.keys(domain.columns());
        Ok(rows)
    }

    /// Rows whose columns name the row around, and those columns over the rows.
    pub(super) fn with_references(
        &mut self,
        rows: Pending,
        columns: Vec<Expr>,
    ) -> Result<(Pending, Vec<Expr>)> {
        let mut read = references([&rows])?;
        for column in &columns {
            note(column, &mut read)?;
        }
        let (mut rows, domain) = self.over_domain(rows, read)?;
        rows.outer = domain.keys(domain.columns());
        let columns = columns.into_iter().map(|one| domain.over_values(one));
        Ok((rows, columns.collect::<Result<_>>()?))
    }

    /// Rows beside the values of these references, among which are those of their conditions.
    pub(super) fn over_domain(
        &mut self,
        mut rows: Pending,
        read: Vec<Expr>,
    ) -> Result<(Pending, Domain)> {
        if !rows.windows.is_empty() {
            return Err(misplaced());
        }
        let (name, stored, may_be_null) = self.values_around(&read)?;
        let atom = rows.atoms.len();
        rows.atoms.push(name);
        let own = stored.iter().map(|name| of_atom(atom, name));
        let domain = Domain {
            pairs: read.into_iter().zip(own).collect(),
            may_be_null,
        };
        for (one, other) in std::mem::take(&mut rows.outer) {
            rows.restrict(binary_expr(domain.over_values(one)?, Operator::Eq, other));
        }
        for condition in std::mem::take(&mut rows.outer_conditions) {
            rows.restrict(domain.over_values(condition)?);
        }
        Ok((rows, domain))
    }

    /// Rows, and beside their columns what subqueries of some expressions read of the row around these rows; the schema of
    /// all columns.
    pub(super) fn with_reached(
        &mut self,
        rows: Pending,
        exprs: &[Expr],
        schema: &DFSchema,
    ) -> Result<(Pending, DFSchema)> {
        let mut read = Vec::new();
        let mut fields = Vec::new();
        if let Some((_, around)) = self.scopes.last() {
            for column in reached(exprs)? {
                if schema.has_column(&column) || !around.has_column(&column) {
                    continue;
                }
                let found = around.qualified_field_from_column(&column);
                let (qualifier, field) = found.map_err(|problem| refusal(&problem))?;
                fields.push((qualifier.cloned(), Arc::clone(field)));
                read.push(Expr::OuterReferenceColumn(Arc::clone(field), column));
            }
        }
        if read.is_empty() {
            return Ok((rows, schema.clone()));
        }
        let (mut rows, columns) = {
            let rows = self.flat(rows)?;
            self.with_references(rows, read)?
        };
        rows.columns.extend(columns);
        let reached = DFSchema::new_with_metadata(fields, schema.metadata().clone());
        let all = reached.and_then(|reached| schema.join(&reached));
        Ok((rows, all.map_err(|problem| refusal(&problem))?))
    }

    /// The different values that the row around has in some expressions: a block, its columns, and whether each may be NULL.
    pub(super) fn values_around(
        &mut self,
        of: &[Expr],
    ) -> Result<(String, Vec<String>, Vec<bool>)> {
        let (scope, schema) = self.scopes.last().cloned().ok_or_else(misplaced)?;
        if !scope.windows.is_empty() {
            return Err(misplaced());
        }
        let values = of.iter().map(|one| {
            let one = inside(one.clone())?;
            scope.meant(&one, &schema)
        });
        let values = values.collect::<Result<Vec<Expr>>>()?;
        let may_be_null = values.iter().map(|one| self.may_be_null(one, &scope));
        let may_be_null = may_be_null.collect::<Result<Vec<bool>>>()?;
        // Rows that are chosen by the subquery are among them.
        let of_scope = Pending {
            columns: values,
            outer: Vec::new(),
            outer_conditions: Vec::new(),
            ..scope
        };
        let (name, stored) = self.distinct(of_scope)?;
        Ok((name, stored, may_be_null))
    }

    /// Rows by an operator that makes others of them, and leaves the last columns as they are.
    pub(super) fn keyed(
        &mut self,
        rows: Pending,
        make: impl FnOnce(&mut Self, Pending) -> Result<Pending>,
    ) -> Result<Pending> {
        let mut rows = self.decorrelated(rows)?;
        let outer = std::mem::take(&mut rows.outer);
        let (around, keys): (Vec<Expr>, Vec<Expr>) = outer.into_iter().unzip();
        rows.columns.extend(keys);
        let mut made = make(self, rows)?;
        let keys = made.columns.split_off(made.columns.len() - around.len());
        made.outer = around.into_iter().zip(keys).collect();
        Ok(made)
    }
}

/// The refusal of a reference to the row around where its values are not known.
pub(super) fn misplaced() -> Error {
    unsupported("a subquery that is correlated in this place is not kept")
}

/// An expression with references to the query around as columns of it.
pub(crate) fn inside(expr: Expr) -> Result<Expr> {
    let made = expr.transform_up(|node| match node {
        Expr::OuterReferenceColumn(_, column) => Ok(Transformed::yes(Expr::Column(column))),
        other => Ok(Transformed::no(other)),
    });
    Ok(made.map_err(|problem| refusal(&problem))?.data)
}
