//! `WITH RECURSIVE` in the form in which the binder takes it.
//!
//! The keyword is of all names of a WITH, and the binder takes each UNION among them for a recursion. So a query that does
//! not read itself is put in parentheses, and of one that does, what the binder would leave out is refused, as DuckDB
//! refuses it. Invariant: a query that reads itself is a seed and a step, `SELECT .. UNION [ALL] SELECT ..`. Cost: linear
//! in the text, for each name of such a WITH.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Cte, ObjectName, Query, SetExpr, SetOperator, Visit, VisitorMut,
};
use ringview_core::{Error, SqlProblem};
use ringview_expr::walk_relations;

use crate::error::bare;
use crate::source_text::position;

/// See the module; `is_table` tests for names of tables and views.
pub(crate) struct Recursions<'t> {
    pub(crate) is_table: &'t dyn Fn(&str) -> bool,
}

impl VisitorMut for Recursions<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let Some(with) = query.with.as_mut().filter(|with| with.recursive) else {
            return ControlFlow::Continue(());
        };
        let mut is_recursive = false;
        for table in &mut with.cte_tables {
            match self.check(table) {
                Ok(reads_itself) => is_recursive |= reads_itself,
                Err(refusal) => return ControlFlow::Break(refusal),
            }
        }
        with.recursive = is_recursive;
        ControlFlow::Continue(())
    }
}

impl Recursions<'_> {
    /// Whether the query of a name is a recursion; it is put in parentheses if it is not.
    fn check(&self, table: &mut Cte) -> Result<bool, Error> {
        let name = table.alias.name.value.clone();
        let at = position(table.alias.name.span.start);
        let refused = |what: String| Err(bare(SqlProblem::Unsupported, at, what));
        while let SetExpr::Query(within) = &*table.query.body
            && is_bare(within)
            && is_bare_outer(&table.query)
        {
            table.query.body = within.body.clone();
        }
        let query = &table.query;
        if let SetExpr::SetOperation {
            op: SetOperator::Union,
            right,
            left,
            ..
        } = &*query.body
            && reads(&**right, &name)
        {
            if query.with.is_some() {
                return refused(format!(
                    "WITH stands within the recursion \"{name}\"; put its names before \"{name}\", into the WITH RECURSIVE \
                     that has it"
                ));
            }
            if !is_bare_outer(query) {
                return refused(format!(
                    "ORDER BY and LIMIT are of no recursion, whose rows come in rounds; write them into the SELECT that \
                     reads \"{name}\""
                ));
            }
            if reads(&**left, &name) && !(self.is_table)(&name) {
                return refused(format!(
                    "\"{name}\" is read by the SELECT before UNION, which is where it starts; only what follows UNION may \
                     read it: put the SELECT that starts the recursion first, and the others, in parentheses, behind it"
                ));
            }
            return Ok(true);
        }
        if reads(&**query, &name) && !(self.is_table)(&name) {
            return refused(format!(
                "\"{name}\" reads itself, and that is a recursion; write it as a start and a step: {name} AS (SELECT .. \
                 UNION SELECT .. FROM {name} ..)"
            ));
        }
        if matches!(&*query.body, SetExpr::SetOperation { .. }) {
            let whole = (*table.query).clone();
            table.query.with = None;
            table.query.order_by = None;
            table.query.limit_clause = None;
            table.query.fetch = None;
            *table.query.body = SetExpr::Query(Box::new(whole));
        }
        Ok(false)
    }
}

/// Whether a query is its body alone.
fn is_bare(query: &Query) -> bool {
    query.with.is_none() && is_bare_outer(query)
}

/// Whether nothing follows the body of a query.
fn is_bare_outer(query: &Query) -> bool {
    query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none()
}

/// Whether a part of a text reads a name.
fn reads<V: Visit>(part: &V, name: &str) -> bool {
    let is_it = |of: &ObjectName| match &of.0[..] {
        [one] => one.as_ident().is_some_and(|ident| ident.value == name),
        _ => false,
    };
    let found = walk_relations(part, |of| match is_it(of) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}
