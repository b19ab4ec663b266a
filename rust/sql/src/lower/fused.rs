//! Post-aggregation by the engine that keeps the groups of a block: HAVING, and expressions over aggregates.
//!
//! Invariant: a block with more outputs, or with fewer groups, is added next to the one that it is made of; unread
//! blocks are removed in the end. Expressions that an engine does not support are computed row by row above the groups.
//! Cost: O(expressions * outputs), and binding the new block.

use datafusion_expr::Expr;
use ringview_core::{Result, Type};
use ringview_expr::Scalar;
use ringview_query::{Block, ColumnRef, Output, Query};

use super::lowered::{Lowered, Wanted};
use super::pending::{Pending, column_ref, of_atom};
use super::state::{Lowering, free, named};
use crate::row_scalar::row_scalar;

impl Lowering<'_> {
    /// Rows of groups of which the engine of the groups computes what it can, and what is wanted of them.
    pub(super) fn fused(
        &mut self,
        mut rows: Pending,
        mut wanted: Vec<Wanted>,
    ) -> Result<(Pending, Vec<Wanted>)> {
        let is_alone = rows.nested.conditions.is_empty() && rows.equal.is_empty();
        let [name] = &rows.atoms[..] else {
            return Ok((rows, wanted));
        };
        let Some(block) = self.groups_of(name).filter(|_| is_alone) else {
            return Ok((rows, wanted));
        };
        let (name, mut query) = (block.name.clone(), block.query.clone());
        let known = query.outputs.clone();
        let having = rows.filters.iter().map(|one| over_groups(one, &known));
        let having: Option<Vec<Scalar>> = having.collect();
        let mut is_changed = false;
        if let Some(having) = having.filter(|having| !having.is_empty()) {
            query.having = Scalar::all_of(query.having.into_iter().chain(having));
            is_changed = true;
        }
        let is_whole = is_changed || rows.filters.is_empty();
        let mut computed = Vec::new();
        for (at, one) in wanted.iter().enumerate() {
            // An expression that is the same for all groups is no output of a block.
            let is_same = one.expr.column_refs().is_empty();
            if !is_whole
                || column_ref(&one.expr).is_some()
                || is_same
                || self.reads_single(&name, &one.expr)
            {
                continue;
            }
            let Some(value) = over_groups(&one.expr, &known) else {
                continue;
            };
            let is_taken = |name: &str| query.outputs.iter().any(|output| output.name() == name);
            let name = free(&format!("value {at}"), &is_taken);
            query.outputs.push(Output::Expression {
                name: name.clone(),
                value,
            });
            computed.push((at, name));
        }
        if !is_changed && computed.is_empty() {
            return Ok((rows, wanted));
        }
        // If the engine refuses the block after all, the rest is computed above it.
        let Ok(name) = self.emit(&name, query) else {
            return Ok((rows, wanted));
        };
        rows.atoms = vec![name];
        if is_changed {
            rows.filters.clear();
        }
        for (at, name) in computed {
            wanted[at].expr = of_atom(0, &name);
        }
        Ok((rows, wanted))
    }

    /// Whether an expression reads a float32 of a block: an engine would compute a double.
    fn reads_single(&self, block: &str, expr: &Expr) -> bool {
        let is_single = |name: &str| {
            let found = self.column(block, name);
            found.is_ok_and(|(ty, _)| ty == Type::Float32)
        };
        let columns = expr.column_refs();
        columns.iter().any(|column| is_single(&column.name))
    }

    /// A block that keeps groups.
    pub(super) fn groups_of(&self, name: &str) -> Option<&Block> {
        let block = self.blocks.iter().find(|block| block.name == name)?;
        let has_groups = block.query.rows.is_none() && block.query.bag.is_none();
        has_groups.then_some(block)
    }

    /// The query of a block under other names, where that is all that is shown.
    pub(super) fn inlined(&self, lowered: &Lowered, names: &[String]) -> Option<Query> {
        let whole = lowered.whole()?;
        let block = self.blocks.iter().find(|block| block.name == *whole)?;
        if block.query.rows.is_some() {
            return None;
        }
        let known = |column: &str| {
            let mut outputs = block.query.outputs.iter();
            outputs.find(|output| output.name() == column)
        };
        let output = |(at, name): (usize, &String)| {
            known(&lowered.column(at).column).map(|output| named(output.clone(), name))
        };
        let outputs = names.iter().enumerate().map(output);
        let outputs = outputs.collect::<Option<Vec<Output>>>()?;
        let mut group_by = block.query.group_by.clone();
        if let Some(bag) = block.query.bag {
            let shown = |column: &ColumnRef| {
                let is_it = |output: &Output| matches!(output, Output::Group { column: of, .. } if of == column);
                outputs.iter().any(is_it)
            };
            if bag.distinct && !group_by.iter().all(shown) {
                return None;
            }
            group_by.retain(shown);
        }
        Some(Query {
            outputs,
            group_by,
            ..block.query.clone()
        })
    }
}

/// An expression over the columns of a block, by what those are.
fn over_groups(expr: &Expr, outputs: &[Output]) -> Option<Scalar> {
    let mut is_known = true;
    let made = row_scalar(expr.clone()).ok()?.replaced(&mut |column| {
        let output = outputs.iter().find(|output| output.name() == column.name);
        let value = output.and_then(Output::expr);
        is_known &= value.is_some();
        Ok(value)
    });
    made.ok().filter(|_| is_known)
}
