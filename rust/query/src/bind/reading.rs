//! Expressions over the columns of some atoms.
//!
//! Invariant: each name is a column of one of the atoms. Cost: linear in the expression and the columns of the tables.

use datafusion_common::TableReference;
use datafusion_expr::Expr;
use ringview_core::{Error, Result};
use ringview_expr::Scalar;

use crate::bind::names::{fields, schema};
use crate::bind::scalar::Scope;
use crate::bind::variables::resolve;
use crate::logical::{ColumnRef, Named};

/// An expression over the columns of some atoms.
pub(crate) fn read(of: &Scalar, scopes: &[Scope<'_>]) -> Result<Expr> {
    for one in Named::all(of)? {
        check(&one, scopes)?;
    }
    if let Some(expr) = of.decided() {
        return Ok(expr.clone());
    }
    let fields = |scope: &Scope<'_>| {
        let of = TableReference::bare(scope.atom.to_string());
        fields(Some(of), scope.schema).collect::<Vec<_>>()
    };
    of.over(&schema(scopes.iter().flat_map(fields).collect())?)
}

/// Refuses what names no column of some atoms.
fn check(named: &Named, scopes: &[Scope<'_>]) -> Result<()> {
    match named {
        Named::Column {
            depth: 0,
            atom,
            column,
        } => {
            let (atom, column) = (*atom, column.clone());
            resolve(scopes, &ColumnRef { atom, column }).map(|_| ())
        }
        other => Err(Error::Value {
            place: "the query".to_owned(),
            problem: format!("{} stands in its condition alone", other.text()),
        }),
    }
}
