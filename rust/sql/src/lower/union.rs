//! Unions: blocks that add up rows of several tables and blocks, or take some away.
//!
//! Invariant: a branch has the columns of the union, NULL where it has none. Cost: nothing is kept.

use arrow_schema::DataType;
use datafusion_expr::Expr;
use ringview_core::Result;
use ringview_query::{Branch, Rows};

use super::lowered::{bare, filter_text};
use super::pending::{Pending, of_atom};
use super::state::{Lowering, computing};
use crate::text::text;

impl Lowering<'_> {
    /// The union of several plans.
    pub(crate) fn union(&mut self, union: &datafusion_expr::Union) -> Result<Pending> {
        let (mut tables, mut branches) = (Vec::new(), Vec::new());
        for input in &union.inputs {
            let rows = self.relation(input)?;
            let (table, branch) = self.branch_of(rows)?;
            tables.push(table);
            branches.push(branch);
        }
        self.summed("union", &tables, branches, union.schema.fields().len())
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

/// A branch over one table.
pub(super) fn branch(filters: &[Expr], columns: Vec<Expr>, minus: bool) -> Result<Branch> {
    let columns = columns.into_iter().map(|column| match &column {
        Expr::Literal(value, _) if value.is_null() && value.data_type() == DataType::Null => {
            Ok(None)
        }
        _ => text(&bare(column)?).map(Some),
    });
    Ok(Branch {
        filter: filter_text(filters)?,
        columns: columns.collect::<Result<_>>()?,
        minus,
        unnested: Vec::new(),
    })
}
