//! Sides of set operations as queries of their own.
//!
//! Passes that change a text visit queries whose body is a SELECT. Invariant: no side of a set operation is a SELECT
//! alone. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{Query, SetExpr, Values, VisitorMut};

/// Puts the sides of set operations in parentheses.
pub(crate) struct Branches;

impl VisitorMut for Branches {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        rewrite(&mut query.body);
        ControlFlow::Continue(())
    }
}

fn rewrite(body: &mut SetExpr) {
    let SetExpr::SetOperation { left, right, .. } = body else {
        return;
    };
    for side in [left, right] {
        match **side {
            SetExpr::Select(_) => {
                let nothing = SetExpr::Values(Values {
                    explicit_row: false,
                    value_keyword: false,
                    rows: Vec::new(),
                });
                let select = std::mem::replace(&mut **side, nothing);
                **side = SetExpr::Query(Box::new(alone(select)));
            }
            _ => rewrite(side),
        }
    }
}

/// A query that is its body alone.
fn alone(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}
