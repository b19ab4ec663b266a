//! Constants and outputs where the binder counts outputs: ORDER BY ALL, GROUP BY ALL, and integers that are no numbers of
//! outputs.
//!
//! Invariant: what is grouped and ordered by is what DuckDB groups and orders by. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArgumentClause, FunctionArguments, OrderByExpr,
    OrderByKind, Query, SelectItem, SetExpr, SetQuantifier, UnaryOperator, Value, Visit, Visitor,
};

/// A constant integer with a name, which the binder would take for the number of an output where it groups.
pub(crate) fn no_position(item: &mut SelectItem) {
    let SelectItem::ExprWithAlias { expr, .. } = item else {
        return;
    };
    if is_number(expr) {
        *expr = Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(expr.clone()),
            data_type: DataType::BigInt(None),
            array: false,
            format: None,
        };
    }
}

/// Whether GROUP BY ALL has nothing to group by: whatever reads a column is within an aggregate.
pub(crate) fn is_of_constants(items: &[SelectItem], is_aggregate: &dyn Fn(&str) -> bool) -> bool {
    items.iter().all(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            let mut read = Reads {
                is_aggregate,
                columns: false,
                aggregates: false,
            };
            let _ = Visit::visit(expr, &mut read);
            read.aggregates || !read.columns
        }
        _ => false,
    })
}

/// Kinds of values that an expression reads.
struct Reads<'a> {
    is_aggregate: &'a dyn Fn(&str) -> bool,
    columns: bool,
    aggregates: bool,
}

impl Visitor for Reads<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => self.columns = true,
            Expr::Function(function) => {
                self.aggregates |= (self.is_aggregate)(&function.name.to_string());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether an expression is a constant integer.
fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(digits, _) if digits.parse::<i64>().is_ok())
        }
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        }
        | Expr::Nested(expr) => is_number(expr),
        _ => false,
    }
}

/// An aggregate without constants among what orders its rows: the binder would take them for numbers of outputs.
pub(crate) fn no_constant_order(of: &mut Function) {
    if let FunctionArguments::List(list) = &mut of.args {
        list.clauses.retain_mut(|clause| match clause {
            FunctionArgumentClause::OrderBy(keys) => {
                keys.retain(|key| !is_number(&key.expr));
                !keys.is_empty()
            }
            _ => true,
        });
    }
}

/// Number of outputs of a query, if its text determines it.
pub(crate) fn counted_outputs(body: &SetExpr) -> Option<usize> {
    let is_counted = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    match body {
        SetExpr::Select(select) => select
            .projection
            .iter()
            .all(is_counted)
            .then_some(select.projection.len()),
        SetExpr::Query(query) => counted_outputs(&query.body),
        SetExpr::SetOperation {
            left,
            set_quantifier: SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None,
            ..
        } => counted_outputs(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    }
}

/// ORDER BY ALL as the numbers of the outputs, where those can be counted.
pub(crate) fn order_by_all(query: &mut Query) {
    let Some(outputs) = counted_outputs(&query.body) else {
        return;
    };
    if let Some(order) = &mut query.order_by
        && let OrderByKind::All(options) = &order.kind
    {
        let key = |number: usize| OrderByExpr {
            expr: Expr::value(Value::Number(number.to_string(), false)),
            options: *options,
            with_fill: None,
        };
        order.kind = OrderByKind::Expressions((1..=outputs).map(key).collect());
    }
}
