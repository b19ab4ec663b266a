//! The one value of a subquery: of a row that an aggregate makes, or of any row that is the only one.
//!
//! Invariant: a subquery of several rows has no value. Cost: that of a join with its groups; rows that are no groups are
//! counted by their keys.

use datafusion_common::DFSchema;
use datafusion_common::tree_node::TreeNode;
use datafusion_expr::{Expr, Operator, binary_expr};
use ringview_core::Result;
use ringview_expr::Functions;
use ringview_query::{ColumnRef, Function, Output, Rows};

use super::pending::{Pending, column_ref, of_atom, renamed};
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
            false => self.is_one_row_a_key(&inner, &keys),
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

    /// Whether rows are groups, of which these keys identify one.
    pub(super) fn is_one_row_a_key(&self, rows: &Pending, keys: &[(Expr, Expr)]) -> bool {
        let [name] = &rows.atoms[..] else {
            return false;
        };
        let known: Vec<&str> = keys.iter().filter_map(|(_, key)| told(key, keys)).collect();
        rows.is_whole()
            && self.keys_of_rows(name).is_some_and(|groups| {
                groups.iter().all(|group| {
                    let mut names = group.iter();
                    names.any(|name| known.contains(&&**name))
                })
            })
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

    /// Whether a block has groups, so that its keys identify its rows.
    pub(super) fn is_grouped(&self, name: &str) -> bool {
        self.keys_of_rows(name).is_some()
    }

    /// The columns that identify the rows of a block, each by the names of its outputs; `None` without groups.
    fn keys_of_rows(&self, name: &str) -> Option<Vec<Vec<String>>> {
        let block = self.blocks.iter().find(|block| block.name == name)?;
        let alone = |names: &[String]| names.iter().map(|name| vec![name.clone()]).collect();
        let query = &block.query;
        match &query.rows {
            Some(Rows::Parted(parted)) => parted.grouped.then(|| alone(&parted.partition)),
            Some(Rows::Ordered(first)) => {
                let is_one = first.keep == Some(1) && !first.partition.is_empty();
                is_one.then(|| alone(&first.partition))
            }
            None if query.bag.is_none() => {
                let shown = |of: &ColumnRef| {
                    let is_it = |output: &Output| match output {
                        Output::Group { name, column } => (column == of).then(|| name.clone()),
                        _ => None,
                    };
                    query.outputs.iter().filter_map(is_it).collect()
                };
                Some(query.group_by.iter().map(shown).collect())
            }
            _ => None,
        }
    }
}

/// The column that a key determines: itself, or one whose NULL has a key of its own (`pairs::null_safe`).
fn told<'k>(key: &'k Expr, keys: &[(Expr, Expr)]) -> Option<&'k str> {
    let Expr::IsNull(of) = key else {
        return column_ref(key).map(|(_, name)| name);
    };
    let is_value = |(_, other): &(Expr, Expr)| {
        let columns = other.column_refs();
        matches!(other, Expr::Case(_))
            && columns.len() == 1
            && other.exists(|node| Ok(node == &**of)).unwrap_or(false)
    };
    let (_, name) = column_ref(of)?;
    keys.iter().any(is_value).then_some(name)
}

/// A value, if it is the only one: the arguments are the value and the number of rows.
fn only(value_and_rows: Vec<Expr>) -> Result<Expr> {
    let only = Functions::default().get("only");
    let only = only.ok_or_else(|| unsupported("a subquery of several rows is no value"))?;
    Ok(only.call(value_and_rows))
}
