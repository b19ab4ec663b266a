//! Texts over the columns of some atoms as expressions.
//!
//! Invariant: each name is a column of one of the atoms. Cost: linear in the text and the columns of the tables.

use datafusion_common::TableReference;
use datafusion_expr::Expr;
use ringview_core::{Error, Result};

use crate::bind::names::{fields, schema};
use crate::bind::scalar::Scope;
use crate::bind::variables::resolve;
use crate::logical::{ColumnRef, Named};

/// Reads the text of an expression over the columns of some atoms.
pub(crate) fn read(text: &str, scopes: &[Scope<'_>]) -> Result<Expr> {
    for one in Named::all(text)? {
        check(&one, scopes)?;
    }
    let of = |scope: &Scope<'_>| {
        let of = TableReference::bare(scope.atom.to_string());
        fields(Some(of), scope.schema).collect::<Vec<_>>()
    };
    ringview_expr::read(text, &schema(scopes.iter().flat_map(of).collect())?)
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
