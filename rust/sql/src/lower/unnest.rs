//! UNNEST: a row for each value of a list.
//!
//! In FROM it reads the tables before it, as LATERAL does. Invariant: the lists are columns of a block below, or of the
//! rows around. Cost: that of the rows that are made; nothing is kept.

use datafusion_common::DFSchema;
use datafusion_expr::{Expr, LogicalPlan, Unnest};
use ringview_core::Result;
use ringview_query::Rows;

use super::domain::inside;
use super::pending::{Pending, of_atom};
use super::state::{Lowering, computing};
use super::union::branch;
use crate::error::unsupported;
use crate::unnested::EACH;

impl Lowering<'_> {
    /// The rows of a plan with those of its lists.
    pub(crate) fn unnest(&mut self, unnest: &Unnest) -> Result<Pending> {
        let rows = self.input(&unnest.input)?;
        if !unnest.struct_type_columns.is_empty() {
            return Err(unsupported(
                "UNNEST of a struct is not kept; name its fields",
            ));
        }
        let lists = unnest.list_type_columns.iter();
        if lists.clone().any(|(_, list)| list.depth != 1) {
            return Err(unsupported(
                "UNNEST of lists in lists takes one of them at a time",
            ));
        }
        let lists: Vec<usize> = lists.map(|(at, _)| *at).collect();
        let rows = self.keyed(rows, |lowering, rows| lowering.of_lists(rows, &lists))?;
        let columns = unnest.dependency_indices.iter();
        Ok(Pending {
            columns: columns.map(|&at| rows.columns[at].clone()).collect(),
            ..rows
        })
    }

    /// Rows of which some columns are lists, with a row for each value.
    pub(super) fn of_lists(&mut self, rows: Pending, lists: &[usize]) -> Result<Pending> {
        let rows = self.flat(rows)?;
        let (table, stored) = self.single(rows)?;
        let names: Vec<String> = (0..stored.len()).map(|at| format!("column {at}")).collect();
        let columns = stored.iter().map(|name| of_atom(0, name)).collect();
        let mut made = branch(&[], columns, false)?;
        made.unnested = lists.iter().map(|&at| names[at].clone()).collect();
        let rows = Rows::Map {
            names: names.clone(),
            branches: vec![made],
        };
        let name = self.emit("unnested", computing(&[table], rows))?;
        Ok(Pending::over(&name, &names))
    }

    /// Each row with what is computed of it: `LATERAL (SELECT ..)` without FROM, where a list makes as many rows as it has
    /// values.
    pub(crate) fn of_each(
        &mut self,
        mut left: Pending,
        schema: &DFSchema,
        exprs: &[Expr],
    ) -> Result<Pending> {
        let (exprs, lists) = lists_of(exprs);
        let before = left.columns.len();
        let lists: Vec<usize> = lists.into_iter().map(|at| before + at).collect();
        for expr in exprs {
            let expr = inside(expr)?;
            left.columns.push(left.meant(&expr, schema)?);
        }
        if lists.is_empty() {
            return Ok(left);
        }
        self.of_lists(left, &lists)
    }
}

/// Expressions with the lists themselves in the places of their values, and which ones are lists.
pub(super) fn lists_of(exprs: &[Expr]) -> (Vec<Expr>, Vec<usize>) {
    let mut lists = Vec::new();
    let one = |(at, expr): (usize, &Expr)| match expr.clone().unalias() {
        Expr::ScalarFunction(mut call) if call.name() == EACH => {
            lists.push(at);
            call.args.remove(0)
        }
        _ => expr.clone(),
    };
    let exprs = exprs.iter().enumerate().map(one).collect();
    (exprs, lists)
}

/// Expressions of a subquery without FROM.
pub(crate) fn without_from(plan: &LogicalPlan) -> Option<&[Expr]> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => without_from(&alias.input),
        LogicalPlan::Projection(projection) => match &*projection.input {
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => Some(&projection.expr),
            _ => None,
        },
        _ => None,
    }
}
