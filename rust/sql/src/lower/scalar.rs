//! The one value of a subquery: of a row that an aggregate makes, or of any row that is the only one.
//!
//! Invariant: a subquery of several rows has no value. Cost: that of a join with its groups; rows that are no groups are
//! counted by their keys.

use datafusion_common::DFSchema;
use datafusion_expr::{Expr, Operator, binary_expr};
use ringview_core::Result;
use ringview_expr::Functions;
use ringview_query::{Function, Rows};

use super::pending::{Pending, of_atom, renamed};
use super::state::Lowering;
use crate::error::unsupported;

impl Lowering<'_> {
    /// The one value of a subquery for each row; where it may have several, they are counted, and more than one fails.
    pub(super) fn scalar_value(
        &mut self,
        rows: &mut Pending,
        exprs: &mut [Expr],
        inner: Pending,
        keys: Vec<(Expr, Expr)>,
        schema: &DFSchema,
    ) -> Result<Expr> {
        let is_known = match keys.is_empty() {
            true => self.is_one_row(&inner),
            false => self.is_one_row_a_key(&inner),
        };
        let value = inner.columns[0].clone();
        if !is_known {
            let least = [(Function::Min, value)];
            let (block, keys, values) = self.counted(inner, &keys, &least, (rows, schema))?;
            let mut found = self.looked_up(rows, exprs, block, keys, values)?;
            found.reverse();
            return only(found);
        }
        let values = self.looked_up(rows, exprs, inner, keys, vec![value])?;
        Ok(values[0].clone())
    }

    /// The value of the group of each row; rows without a group are left out.
    pub(super) fn joined_with_group(
        &mut self,
        rows: &mut Pending,
        groups: Pending,
        keys: Vec<(Expr, Expr)>,
    ) -> Result<Expr> {
        let by = rows.atoms.len();
        let value = rows.join(groups)?.swap_remove(0);
        for (around, key) in keys {
            let key = renamed(key, &|atom, name| Some(of_atom(atom + by, name)))?;
            rows.restrict(binary_expr(around, Operator::Eq, key));
        }
        Ok(value)
    }

    /// Whether rows are those of an aggregate with groups.
    pub(super) fn is_one_row_a_key(&self, rows: &Pending) -> bool {
        matches!(&rows.atoms[..], [name] if rows.is_whole() && self.is_grouped(name))
    }

    /// Whether rows are those of an aggregate without groups.
    pub(super) fn is_one_row(&self, rows: &Pending) -> bool {
        let [name] = &rows.atoms[..] else {
            return false;
        };
        let block = self.blocks.iter().find(|block| block.name == *name);
        let is_ungrouped = block.is_some_and(|block| match &block.query.rows {
            Some(Rows::Parted(parted)) => parted.partition.is_empty(),
            _ => block.query.group_by.is_empty(),
        });
        is_ungrouped && rows.is_whole() && self.is_grouped(name)
    }

    /// Whether a block has groups, so that its keys tell its rows apart.
    pub(super) fn is_grouped(&self, name: &str) -> bool {
        let block = self.blocks.iter().find(|block| block.name == name);
        block.is_some_and(|block| match &block.query.rows {
            Some(Rows::Parted(parted)) => parted.grouped,
            Some(Rows::Ordered(first)) => first.keep == Some(1) && !first.partition.is_empty(),
            rows => rows.is_none() && block.query.bag.is_none(),
        })
    }
}

/// A value, where it is the only one: it stands before how many there are.
fn only(value_and_rows: Vec<Expr>) -> Result<Expr> {
    let only = Functions::default().get("only");
    let only = only.ok_or_else(|| unsupported("a subquery of several rows is no value"))?;
    Ok(only.call(value_and_rows))
}
