//! Scopes for the names of a subquery, and the results that binding it collects.
//!
//! Invariant: a name says how far out its query is. Cost: O(depth) a name.

use arrow_schema::{DataType, FieldRef};
use datafusion_common::TableReference;
use datafusion_expr::Expr;
use ringview_core::{Error, Result};
use ringview_expr::Scalar;

use super::side::Side;
use crate::bind::bound::{Catalog, PlanAtom};
use crate::bind::domain::Domain;
use crate::bind::names;
use crate::bind::scalar::Scope;
use crate::bind::variables::resolve;
use crate::logical::{ColumnRef, Named};

/// A query and those around it.
#[derive(Clone, Copy)]
pub(crate) struct OuterScope<'a> {
    pub(super) scopes: &'a [Scope<'a>],
    /// The values of its subqueries, as far as they are bound.
    pub(super) values: &'a [Side],
    pub(super) outer: Option<&'a OuterScope<'a>>,
}

type Field = (Option<TableReference>, FieldRef);

impl<'a> OuterScope<'a> {
    /// The query so many further out.
    pub(super) fn out(&self, depth: usize) -> Option<&Self> {
        (0..depth).try_fold(self, |query, _| query.outer)
    }

    /// A condition over its columns and those around.
    pub(super) fn read(&self, of: &Scalar) -> Result<Expr> {
        for one in Named::all(of)? {
            self.check(&one)?;
        }
        if let Some(expr) = of.decided() {
            return Ok(expr.clone());
        }
        let mut fields: Vec<Field> = Vec::new();
        let mut query = Some(self);
        let mut depth = 0;
        while let Some(here) = query {
            for scope in here.scopes {
                let named = Named::Column {
                    depth,
                    atom: scope.atom,
                    column: String::new(),
                };
                fields.extend(names::fields(named.column().relation, scope.schema));
            }
            query = here.outer;
            depth += 1;
        }
        let values = self.values.iter().enumerate();
        fields.extend(values.map(|(at, side)| names::field(&Named::Subquery(at), type_of(side))));
        of.over(&names::schema(fields)?)
    }

    /// Refuses what names nothing.
    fn check(&self, named: &Named) -> Result<()> {
        let wrong = |problem: String| {
            Err(Error::Value {
                place: "the query".to_owned(),
                problem,
            })
        };
        match named {
            Named::Column {
                depth,
                atom,
                column,
            } => {
                let Some(query) = self.out(*depth) else {
                    return wrong(format!(
                        "column {column:?} is of a query {depth} further out, and there is none so far out"
                    ));
                };
                let (atom, column) = (*atom, column.clone());
                resolve(query.scopes, &ColumnRef { atom, column }).map(|_| ())
            }
            Named::Subquery(number) if *number < self.values.len() => Ok(()),
            Named::Subquery(number) => wrong(format!(
                "its condition names the subquery {number}, but there are {} (counted from 0)",
                self.values.len()
            )),
        }
    }
}

/// About the type of a value: it is recognised by its domain.
fn type_of(side: &Side) -> DataType {
    match side {
        Side::Null => DataType::Null,
        Side::Quoted(_) => DataType::Utf8,
        Side::TypedValue(known) => match known.domain {
            None => DataType::Utf8,
            Some(Domain::Bool) => DataType::Boolean,
            Some(Domain::Date) => DataType::Date32,
            Some(Domain::Number | Domain::Timestamp { .. }) => DataType::Float64,
        },
    }
}

/// The subqueries of a query, while they are bound.
pub(crate) struct Subqueries<'c> {
    pub(super) catalog: &'c dyn Catalog,
    /// Atoms of the outermost query.
    pub(super) outer: usize,
    /// Those of the queries within.
    pub(crate) atoms: Vec<PlanAtom>,
}
