//! Unions: blocks that add up rows of several tables and blocks, or take some away.
//!
//! Invariant: a branch has the columns of the union, NULL where it has none. Cost: nothing is kept.

use arrow_schema::{DataType, Fields};
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, Union};
use ringview_core::Result;
use ringview_expr::are_like_structs;
use ringview_query::{Branch, Rows};

use super::domain::references;
use super::lowered::{bare, filter};
use super::pending::{Pending, of_atom};
use super::state::{Lowering, computing};
use crate::error::unsupported;
use crate::row_scalar::row_scalar;

impl Lowering<'_> {
    /// The union of several plans.
    pub(crate) fn union(&mut self, union: &Union) -> Result<Pending> {
        let mut plans = Vec::new();
        sides(union, &mut plans);
        let inputs = plans.iter().map(|input| self.input(input));
        let inputs = inputs.collect::<Result<Vec<Pending>>>()?;
        for input in plans {
            of_like_structs(union.schema.fields(), &types(input))?;
        }
        let read = references(&inputs)?;
        let (mut tables, mut branches, mut domain) = (Vec::new(), Vec::new(), None);
        for mut rows in inputs {
            if !read.is_empty() {
                let found;
                (rows, found) = self.over_domain(rows, read.clone())?;
                rows.columns.extend(found.columns());
                domain = Some(found);
            }
            let (table, branch) = self.branch_of(rows)?;
            tables.push(table);
            branches.push(branch);
        }
        let width = union.schema.fields().len();
        let mut rows = self.summed("union", &tables, branches, width + read.len())?;
        let values = rows.columns.split_off(width);
        rows.outer = domain.map_or_else(Vec::new, |domain| domain.keys(values));
        Ok(rows)
    }

    /// Rows as a branch, and the table or block that it is over.
    pub(super) fn branch_of(&mut self, rows: Pending) -> Result<(String, Branch)> {
        if rows.is_plain() {
            let branch = branch(&rows.filters, rows.columns, false)?;
            return Ok((rows.atoms[0].clone(), branch));
        }
        let (table, stored) = self.single(rows)?;
        let columns = stored.iter().map(|name| of_atom(0, name)).collect();
        Ok((table, branch(&[], columns, false)?))
    }

    /// A block that adds up branches, each over a table or block.
    pub(super) fn summed(
        &mut self,
        name: &str,
        tables: &[String],
        branches: Vec<Branch>,
        width: usize,
    ) -> Result<Pending> {
        let names: Vec<String> = (0..width).map(|at| format!("column {at}")).collect();
        let rows = Rows::Map {
            names: names.clone(),
            branches,
        };
        let name = self.emit(name, computing(tables, rows))?;
        Ok(Pending::over(&name, &names))
    }
}

/// The sides of a union, and of unions that are sides: NULL of one has the type of the others.
fn sides<'p>(union: &'p Union, into: &mut Vec<&'p LogicalPlan>) {
    for input in &union.inputs {
        match &**input {
            LogicalPlan::Union(inner) => sides(inner, into),
            other => into.push(other),
        }
    }
}

/// The types of a plan's columns; a union by name gives its own to whatever its sides show.
fn types(of: &LogicalPlan) -> Vec<DataType> {
    let schema = of.schema();
    let declared = schema
        .fields()
        .iter()
        .map(|field| field.data_type().clone());
    match of {
        LogicalPlan::Projection(of) => {
            let shown = of.expr.iter().map(|expr| expr.get_type(of.input.schema()));
            let shown = shown.zip(declared);
            shown
                .map(|(found, declared)| found.unwrap_or(declared))
                .collect()
        }
        _ => declared.collect(),
    }
}

/// Refuses a side whose structs have other fields than the union's: fields have names, and not places.
fn of_like_structs(wanted: &Fields, found: &[DataType]) -> Result<()> {
    let mut both = wanted.iter().zip(found);
    match both.all(|(wanted, found)| are_like_structs(wanted.data_type(), found)) {
        true => Ok(()),
        false => Err(unsupported(
            "a union of structs of different fields is not kept; give both the same fields, in one order",
        )),
    }
}

/// A branch over one table.
pub(super) fn branch(filters: &[Expr], columns: Vec<Expr>, minus: bool) -> Result<Branch> {
    let columns = columns.into_iter().map(|column| match &column {
        Expr::Literal(value, _) if value.is_null() && value.data_type() == DataType::Null => {
            Ok(None)
        }
        _ => row_scalar(bare(column)?).map(Some),
    });
    Ok(Branch {
        filter: filter(filters)?,
        columns: columns.collect::<Result<_>>()?,
        minus,
        unnested: Vec::new(),
    })
}
