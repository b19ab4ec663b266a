//! The names in expressions, and the schemas that have them.
//!
//! Invariant: an expression is as it was written, without coercion of types: engines recognise its form from that.
//! Cost: linear in the expression; a schema, in the columns of the tables.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Field, FieldRef};
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, ScalarValue, TableReference};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator};
use ringview_core::{Error, Result, Schema};
use ringview_expr::value;

use crate::graph::set::Set;
use crate::logical::Named;
pub(crate) use crate::logical::named;

/// Calls `see` with every column of the query's own atoms.
pub(crate) fn each_column(expr: &Expr, see: &mut dyn FnMut(usize, &str)) {
    let walked = expr.apply(|node| {
        if let Expr::Column(column) = node {
            match Named::meant(column) {
                Some(Named::Column {
                    depth: 0,
                    atom,
                    column,
                }) => see(atom, &column),
                _ => see(usize::MAX, &column.name),
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(walked.is_ok(), "a walk that never fails");
}

/// The atoms that an expression mentions, all known to exist.
pub(crate) fn atoms(expr: &Expr) -> Set {
    let mut atoms = Set::default();
    each_column(expr, &mut |atom, _| {
        if atom < Set::CAPACITY {
            atoms.insert(atom);
        }
    });
    atoms
}

/// The constant that an expression is, if it reads nothing.
pub(crate) fn constant(expr: &Expr) -> Result<Option<ScalarValue>> {
    if let Expr::Literal(value, _) = expr {
        return Ok(Some(value.clone()));
    }
    let reads = |node: &Expr| matches!(node, Expr::Column(_) | Expr::AggregateFunction(_));
    match expr.exists(|node| Ok(reads(node))).unwrap_or(true) {
        true => Ok(None),
        false => value(expr),
    }
}

/// The operands of a chain of one operator.
pub(crate) fn split<'e>(expr: &'e Expr, by: Operator, into: &mut Vec<&'e Expr>) {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == by => {
            split(left, by, into);
            split(right, by, into);
        }
        Expr::Alias(alias) => split(&alias.expr, by, into),
        other => into.push(other),
    }
}

/// A chain of more operands is balanced, so that it is as deep as its logarithm; of fewer, it stays as it is written.
const LONG: usize = 32;

/// The sum or the product of several operands; none where there is none of two of them.
pub(crate) fn joined<T>(
    mut parts: Vec<T>,
    join: &mut dyn FnMut(T, T) -> Result<Option<T>>,
) -> Result<Option<T>> {
    while parts.len() > LONG {
        let mut pairs = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => match join(left, right)? {
                    Some(both) => both,
                    None => return Ok(None),
                },
                None => left,
            });
        }
        parts = pairs;
    }
    let mut parts = parts.into_iter();
    let Some(mut all) = parts.next() else {
        return Ok(None);
    };
    for part in parts {
        match join(all, part)? {
            Some(both) => all = both,
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// The fields of a table under a qualifier.
pub(crate) fn fields(
    of: Option<TableReference>,
    schema: &Schema,
) -> impl Iterator<Item = (Option<TableReference>, FieldRef)> {
    let arrow = schema.to_arrow();
    let fields: Vec<FieldRef> = arrow.fields().iter().cloned().collect();
    fields.into_iter().map(move |field| (of.clone(), field))
}

/// A field that something named has.
pub(crate) fn field(
    named: &Named,
    ty: arrow_schema::DataType,
) -> (Option<TableReference>, FieldRef) {
    let column = named.column();
    let field = Arc::new(Field::new(column.name, ty, true));
    (column.relation, field)
}

/// A schema of fields.
pub(crate) fn schema(of: Vec<(Option<TableReference>, FieldRef)>) -> Result<DFSchema> {
    DFSchema::new_with_metadata(of, HashMap::new()).map_err(|problem| Error::Value {
        place: "the columns of the query".to_owned(),
        problem: problem.strip_backtrace(),
    })
}
