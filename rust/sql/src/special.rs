//! Places of problems that are of a part of the text, and of more than one name or none: an aggregate among the arguments
//! of another, a subquery that has several columns, a `*` that shows what is not grouped.
//!
//! Invariant: where several parts may be meant there is no place rather than a wrong one. Cost: linear in the text, only for
//! an error.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement,
    TableAlias, TableFactor, Visitor,
};
use datafusion_sql::sqlparser::tokenizer::Location;
use ringview_core::Position;
use ringview_expr::walk;

use crate::find::{Named, Of, aggregate_in_where, nested_aggregate, outputs};
use crate::source_text::position;

/// Position of such a problem; none for other problems.
pub(crate) fn special(what: &str, statement: &Statement, names: &[Named]) -> Option<Position> {
    if what.starts_with("an aggregate is among the arguments") {
        return nested_aggregate(statement);
    }
    if what.starts_with("an aggregate is not known in WHERE") {
        return aggregate_in_where(statement);
    }
    if what.starts_with("a subquery that is compared has one column") {
        return one(statement, |part| match part {
            Construct::Value { columns, at } if *columns != 1 => Some(*at),
            _ => None,
        });
    }
    if what.contains("is not Struct") {
        return one(statement, |part| match part {
            Construct::Dotted(at) => Some(*at),
            _ => None,
        });
    }
    if what.contains("Table Functions") {
        return one(statement, |part| match part {
            Construct::TableFunction(at) => Some(*at),
            _ => None,
        });
    }
    if what.contains("is neither in GROUP BY") {
        return asterisk(what, statement, names);
    }
    if let Some(rest) = what.strip_prefix("an alias gives ") {
        let number: usize = rest.split(' ').next()?.parse().ok()?;
        return one(statement, |part| match part {
            Construct::Names(names) if names.len() == number => Some(names[0].1),
            _ => None,
        });
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
    let found = last.find(|named| of.contains(&named.of) && named.is(name));
    let twice = || {
        one(statement, |part| {
            let (Construct::Names(all) | Construct::Outputs(all)) = part else {
                return None;
            };
            let mut same = all.iter().filter(|(one, _)| one.eq_ignore_ascii_case(name));
            same.nth(1).map(|(_, at)| *at)
        })
    };
    found.map(|found| found.at).or_else(twice)
}

/// The place that just one part of a text has.
fn one(statement: &Statement, place: impl Fn(&Construct) -> Option<Location>) -> Option<Position> {
    let mut parts = Constructs::default();
    let _ = walk(statement, &mut parts);
    let mut found = parts.0.iter().filter_map(place);
    let at = found.next()?;
    found.next().is_none().then(|| position(at))?
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

/// A construct of a text that a problem may be about.
enum Construct {
    /// A subquery used as a value.
    Value { columns: usize, at: Location },
    /// A name of three parts.
    Dotted(Location),
    /// A function in FROM.
    TableFunction(Location),
    /// The names that an alias gives to columns.
    Names(Vec<(String, Location)>),
    /// The names of the outputs of a SELECT, as far as they have any.
    Outputs(Vec<(String, Location)>),
}

#[derive(Default)]
struct Constructs(Vec<Construct>);

impl Constructs {
    fn alias(&mut self, alias: &TableAlias) {
        if !alias.columns.is_empty() {
            let names = alias.columns.iter().map(|column| located(&column.name));
            self.0.push(Construct::Names(names.collect()));
        }
    }
}

fn located(ident: &Ident) -> (String, Location) {
    (ident.value.clone(), ident.span.start)
}

impl Visitor for Constructs {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.alias(&table.alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let name = |item: &SelectItem| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(located(alias)),
            SelectItem::UnnamedExpr(Expr::Identifier(column)) => Some(located(column)),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(located),
            _ => None,
        };
        let names = select.projection.iter().filter_map(name).collect();
        self.0.push(Construct::Outputs(names));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Subquery(query) => {
                if let SetExpr::Select(select) = &*query.body {
                    self.0.push(Construct::Value {
                        columns: select.projection.len(),
                        at: select.select_token.0.span.start,
                    });
                }
            }
            Expr::CompoundIdentifier(idents) if idents.len() > 2 => {
                self.0.push(Construct::Dotted(idents[0].span.start));
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
            self.0.push(Construct::TableFunction(ident.span.start));
        }
        if let TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } = factor
        {
            self.alias(alias);
        }
        ControlFlow::Continue(())
    }
}

/// Texts in quotes of either kind.
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
