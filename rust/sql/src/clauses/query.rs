//! Clauses of a query: WITH, set operations, VALUES, ORDER BY, LIMIT.
//!
//! Invariant and cost: those of the folder.

use datafusion_sql::sqlparser::ast::{
    Cte, Interpolate, LimitClause, Offset, OrderBy, OrderByExpr, OrderByKind, OrderByOptions,
    Query, SetExpr, SetOperator, SetQuantifier, Spanned, Table, Values, With,
};

use super::from;
use super::unread::{Checked, LEAVE_OUT, READ, none_of, unread};
use crate::positions::counted_outputs;

pub(super) fn check(query: &Query) -> Checked {
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    let clauses = [
        (fetch.is_some(), "FETCH", "write LIMIT"),
        (
            !locks.is_empty(),
            "FOR",
            "rows are not locked; leave it out",
        ),
        (for_clause.is_some(), "FOR", LEAVE_OUT),
        (settings.is_some(), "SETTINGS", LEAVE_OUT),
        (format_clause.is_some(), "FORMAT", LEAVE_OUT),
        (!pipe_operators.is_empty(), "|>", "write SELECT .. FROM .."),
    ];
    none_of(&clauses, || query.span())?;
    if let Some(with) = with {
        of_with(with)?;
    }
    of_body(body)?;
    if let Some(order_by) = order_by {
        of_order(order_by, body)?;
    }
    match limit_clause {
        None => READ,
        Some(LimitClause::LimitOffset {
            limit: _,
            offset,
            limit_by,
        }) => {
            if let Some(Offset { value: _, rows: _ }) = offset {}
            let by = (
                !limit_by.is_empty(),
                "BY",
                "write QUALIFY row_number() OVER (PARTITION BY .. ORDER BY ..) <= n",
            );
            none_of(&[by], || query.span())
        }
        Some(LimitClause::OffsetCommaLimit {
            offset: _,
            limit: _,
        }) => READ,
    }
}

fn of_with(with: &With) -> Checked {
    let With {
        with_token: _,
        recursive: _,
        cte_tables,
    } = with;
    for table in cte_tables {
        // The planner chooses whether to materialise a name of WITH.
        let Cte {
            alias,
            query: _,
            from: from_table,
            materialized: _,
            closing_paren_token: _,
        } = table;
        if let Some(ident) = from_table {
            return unread("FROM", LEAVE_OUT, ident.span);
        }
        from::of_alias(alias)?;
    }
    READ
}

fn of_body(body: &SetExpr) -> Checked {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) => READ,
        SetExpr::SetOperation {
            left,
            op,
            set_quantifier,
            right,
        } => {
            match op {
                SetOperator::Union | SetOperator::Except | SetOperator::Intersect => {}
                SetOperator::Minus => return unread("MINUS", "write EXCEPT", left.span()),
            }
            match set_quantifier {
                SetQuantifier::All
                | SetQuantifier::Distinct
                | SetQuantifier::ByName
                | SetQuantifier::AllByName
                | SetQuantifier::DistinctByName
                | SetQuantifier::None => {}
            }
            of_body(left)?;
            of_body(right)
        }
        SetExpr::Values(Values {
            explicit_row: _,
            value_keyword,
            rows,
        }) => {
            let value = (*value_keyword, "VALUE", "write VALUES");
            none_of(&[value], || rows.first().map_or(body.span(), Spanned::span))
        }
        SetExpr::Insert(_) => unread("INSERT", "write it by itself", body.span()),
        SetExpr::Update(_) => unread("UPDATE", "write it by itself", body.span()),
        SetExpr::Delete(_) => unread("DELETE", "write it by itself", body.span()),
        SetExpr::Merge(_) => unread("MERGE", "write it by itself", body.span()),
        SetExpr::Table(table) => {
            let Table {
                table_name: _,
                schema_name: _,
            } = &**table;
            unread("TABLE", "write SELECT * FROM", body.span())
        }
    }
}

fn of_order(order_by: &OrderBy, body: &SetExpr) -> Checked {
    let OrderBy { kind, interpolate } = order_by;
    if let Some(Interpolate { exprs: _ }) = interpolate {
        return unread("INTERPOLATE", LEAVE_OUT, order_by.span());
    }
    match kind {
        OrderByKind::All(OrderByOptions {
            asc: _,
            nulls_first: _,
        }) => {
            let is_select = match body {
                SetExpr::Select(_) => true,
                SetExpr::Query(_)
                | SetExpr::SetOperation {
                    left: _,
                    op: _,
                    set_quantifier: _,
                    right: _,
                }
                | SetExpr::Values(_)
                | SetExpr::Insert(_)
                | SetExpr::Update(_)
                | SetExpr::Delete(_)
                | SetExpr::Merge(_)
                | SetExpr::Table(_) => false,
            };
            let is_unread = !is_select && counted_outputs(body).is_none();
            let all = (
                is_unread,
                "ORDER BY ALL",
                "number the outputs: ORDER BY 1, 2",
            );
            none_of(&[all], || order_by.span())
        }
        OrderByKind::Expressions(keys) => of_keys(keys),
    }
}

/// Keys of an order, in any clause.
pub(super) fn of_keys(keys: &[OrderByExpr]) -> Checked {
    for key in keys {
        let OrderByExpr {
            expr,
            options:
                OrderByOptions {
                    asc: _,
                    nulls_first: _,
                },
            with_fill,
        } = key;
        let fill = (
            with_fill.is_some(),
            "WITH FILL",
            "join a series of the values",
        );
        none_of(&[fill], || expr.span())?;
    }
    READ
}
