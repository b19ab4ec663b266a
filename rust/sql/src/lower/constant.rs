//! VALUES, and a SELECT without FROM: rows of constants.
//!
//! A block computes rows from rows, so they are computed from one row that never changes: the count of no rows of some
//! table. Invariant: each row of the text is there once, whatever is inserted. Cost: nothing a change.

use datafusion_expr::{Expr, lit};
use ringview_core::Result;
use ringview_query::{Function, Output, Query, Rows};

use super::pending::Pending;
use super::state::{Lowering, computing, over};
use super::union::branch;
use crate::error::unsupported;

impl Lowering<'_> {
    /// Rows of constants.
    pub(crate) fn values(&mut self, rows: &[Vec<Expr>]) -> Result<Pending> {
        let one = self.one_row()?;
        let width = rows.first().map_or(0, Vec::len);
        if width == 0 {
            return Ok(Pending::over(&one, &[]));
        }
        let branches = rows.iter().map(|row| branch(&[], row.clone(), false));
        let branches = branches.collect::<Result<_>>()?;
        let tables: Vec<String> = rows.iter().map(|_| one.clone()).collect();
        self.summed("values", &tables, branches, width)
    }

    /// A block that has one row, always the same.
    fn one_row(&mut self) -> Result<String> {
        let refused = || unsupported("constant rows beside no table are not kept");
        let table = self.known.first().ok_or_else(refused)?.clone();
        let none = Rows::Map {
            names: vec!["row".to_owned()],
            branches: vec![branch(&[lit(false)], vec![lit(1i64)], false)?],
        };
        let none = self.emit("none", computing(&[table], none))?;
        let count = Output::Aggregate {
            name: "rows".to_owned(),
            function: Function::Count,
            argument: None,
        };
        let query = Query {
            outputs: vec![count],
            ..over(&[none])
        };
        self.emit("one", query)
    }
}
