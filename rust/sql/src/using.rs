//! Chains of joins by name: NATURAL JOIN and USING, more than one in a row.
//!
//! The binder merges the columns of one such join, not of several: a name that three tables share would be ambiguous. So
//! what stands left of the second join becomes a subquery, which has each merged column once. Invariant: the rows are
//! the same, and so are the names of columns without a table in front. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::parser::{DFParserBuilder, Statement as Parsed};
use datafusion_sql::sqlparser::ast::{
    JoinConstraint, JoinOperator, Query, SetExpr, Statement, TableFactor,
    TableWithJoins, VisitorMut,
};

/// See the module.
pub(crate) struct Using;

impl VisitorMut for Using {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = &mut *query.body {
            select.from.iter_mut().for_each(nest);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            nest(table_with_joins);
        }
        ControlFlow::Continue(())
    }
}

/// Puts what stands left of each join by name but the first into a subquery.
fn nest(from: &mut TableWithJoins) {
    let by_name = |at: &usize| is_by_name(&from.joins[*at].join_operator);
    let Some(last) = (0..from.joins.len()).filter(by_name).nth(1) else {
        return;
    };
    let rest = from.joins.split_off(last);
    let Some(all) = everything() else {
        from.joins.extend(rest);
        return;
    };
    let left = std::mem::replace(
        from,
        TableWithJoins {
            relation: all,
            joins: rest,
        },
    );
    if let TableFactor::Derived { subquery, .. } = &mut from.relation
        && let SetExpr::Select(select) = &mut *subquery.body
    {
        select.from = vec![left];
    }
    nest(from);
}

fn is_by_name(operator: &JoinOperator) -> bool {
    let (JoinOperator::Join(by)
    | JoinOperator::Inner(by)
    | JoinOperator::Left(by)
    | JoinOperator::LeftOuter(by)
    | JoinOperator::Right(by)
    | JoinOperator::RightOuter(by)
    | JoinOperator::FullOuter(by)) = operator
    else {
        return false;
    };
    matches!(by, JoinConstraint::Using(_) | JoinConstraint::Natural)
}

/// `(SELECT * FROM t)`, without a name.
fn everything() -> Option<TableFactor> {
    let mut parser = DFParserBuilder::new("SELECT * FROM t").build().ok()?;
    let Parsed::Statement(statement) = parser.parse_statements().ok()?.pop_front()? else {
        return None;
    };
    let Statement::Query(subquery) = *statement else {
        return None;
    };
    Some(TableFactor::Derived {
        lateral: false,
        subquery,
        alias: None,
        sample: None,
    })
}
