//! Places of problems that are of a part of the text, and of more than one name or none: an aggregate among the arguments
//! of another, a subquery that has several rows, a `*` that shows what is not grouped.
//!
//! Invariant: where several parts may be meant there is no place rather than a wrong one. Cost: linear in the text, only for
//! an error.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    Statement, TableFactor, Visit, Visitor,
};
use datafusion_sql::sqlparser::tokenizer::Location;
use ringview_core::Position;

use crate::find::{Named, Of, aggregate, aggregate_in_where, nested_aggregate, outputs};
use crate::place::position;

/// Where such a problem is; none for other problems.
pub(crate) fn special(what: &str, statement: &Statement, names: &[Named]) -> Option<Position> {
    if what.starts_with("an aggregate is among the arguments") {
        return nested_aggregate(statement);
    }
    if what.starts_with("an aggregate is not known in WHERE") {
        return aggregate_in_where(statement);
    }
    let only = |is: fn(&Part) -> bool| {
        let parts = Parts::of(statement);
        let mut found = parts.iter().filter(|(part, _)| is(part));
        let (_, at) = found.next()?;
        found.next().is_none().then(|| position(*at))?
    };
    if what.contains("stands for a value is one row") {
        return only(|part| matches!(part, Part::Value { is_one_row, .. } if !is_one_row))
            .or_else(|| only(|part| matches!(part, Part::Value { .. })));
    }
    if what.starts_with("a subquery that is compared has one column") {
        return only(|part| matches!(part, Part::Value { columns, .. } if *columns != 1));
    }
    if what.contains("is not Struct") {
        return only(|part| matches!(part, Part::Dotted));
    }
    if what.contains("Table Functions") {
        return only(|part| matches!(part, Part::TableFunction));
    }
    if what.contains("is neither in GROUP BY") {
        return asterisk(what, statement, names);
    }
    let of: &[Of] = if what.contains("is read twice") {
        &[Of::Table, Of::TableAlias]
    } else if what.starts_with("two queries of WITH") {
        &[Of::TableAlias]
    } else if what.starts_with("two outputs") || what.starts_with("two columns") {
        &[Of::Output]
    } else {
        return None;
    };
    let name = in_quotes(what).next()?;
    let mut last = names.iter().rev();
    let found = last.find(|named| of.contains(&named.of) && named.is(name))?;
    Some(found.at)
}

/// The one `*` among the outputs, if it is what shows a column that the text does not name.
fn asterisk(what: &str, statement: &Statement, names: &[Named]) -> Option<Position> {
    let name = in_quotes(what).next()?;
    if names
        .iter()
        .any(|named| named.of == Of::Column && named.is(name))
    {
        return None;
    }
    let mut all = outputs(statement).iter().filter_map(|item| match item {
        SelectItem::Wildcard(all) => Some(all.wildcard_token.0.span.start),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), _) => {
            let first = table.0.first()?.as_ident()?;
            Some(first.span.start)
        }
        _ => None,
    });
    let at = all.next()?;
    all.next().is_none().then(|| position(at))?
}

/// A part of a text that a problem may be of.
enum Part {
    /// A subquery that stands for a value.
    Value {
        columns: usize,
        /// Whether it is known to have one row.
        is_one_row: bool,
    },
    /// A name of three parts.
    Dotted,
    /// A function in FROM.
    TableFunction,
}

/// All such parts, with where they begin.
#[derive(Default)]
struct Parts(Vec<(Part, Location)>);

impl Parts {
    fn of(statement: &Statement) -> Vec<(Part, Location)> {
        let mut parts = Self::default();
        let _ = statement.visit(&mut parts);
        parts.0
    }
}

impl Visitor for Parts {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Subquery(query) => {
                if let SetExpr::Select(select) = &*query.body {
                    let value = Part::Value {
                        columns: select.projection.len(),
                        is_one_row: is_one_row(query, select),
                    };
                    self.0.push((value, select.select_token.0.span.start));
                }
            }
            Expr::CompoundIdentifier(idents) if idents.len() > 2 => {
                self.0.push((Part::Dotted, idents[0].span.start));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            args: Some(_),
            ..
        } = factor
            && let Some(ident) = name.0.first().and_then(|part| part.as_ident())
        {
            self.0.push((Part::TableFunction, ident.span.start));
        }
        ControlFlow::Continue(())
    }
}

/// Whether a subquery is an aggregate of all its rows.
fn is_one_row(query: &Query, select: &Select) -> bool {
    let is_ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(keys, more) if keys.is_empty() && more.is_empty());
    let is_aggregate = select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            aggregate(expr).is_some()
        }
        _ => false,
    });
    is_ungrouped && is_aggregate && query.limit_clause.is_none()
}

/// What stands in quotes of either kind.
pub(crate) fn in_quotes(what: &str) -> impl Iterator<Item = &str> {
    let mut rest = what;
    std::iter::from_fn(move || {
        let open = rest.find(['\'', '"'])?;
        let mark = &rest[open..=open];
        let from = open + 1;
        let length = rest[from..].find(mark)?;
        let found = &rest[from..from + length];
        rest = &rest[from + length + 1..];
        Some(found)
    })
}
