//! Positions of the names of a text.
//!
//! Invariant: only what the text itself names is found, before any pass changes it; an unquoted name is found in any
//! case. Cost: linear in the text, only for a message.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem, SetExpr,
    Statement, TableFactor, TableWithJoins, Visit, Visitor,
};
use ringview_core::Position;
use ringview_expr::{AGGREGATES, walk};

use crate::source_text::position;

/// Kind of the object of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// A column.
    Column,
    /// The table before the dot of a column.
    Qualifier,
    /// A function.
    Function,
    /// A table or view in FROM.
    Table,
    /// An alias of a table, or a name of WITH.
    TableAlias,
    /// An alias of an output.
    Output,
}

/// A name in a text.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) of: Of,
    pub(crate) name: String,
    pub(crate) is_quoted: bool,
    pub(crate) at: Position,
    /// The table before the dot.
    pub(crate) qualifier: Option<String>,
}

impl Named {
    /// Whether this is the name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == name || (!self.is_quoted && self.name.eq_ignore_ascii_case(name))
    }
}

/// All names of a text, in the order in which they are visited.
pub(crate) fn names(statement: &Statement) -> Vec<Named> {
    let mut names = Names(Vec::new());
    let _ = walk(statement, &mut names);
    names.0
}

struct Names(Vec<Named>);

impl Names {
    fn note(&mut self, of: Of, ident: &Ident, qualifier: Option<&Ident>) {
        if let Some(at) = position(ident.span.start) {
            self.0.push(Named {
                of,
                name: ident.value.clone(),
                is_quoted: ident.quote_style.is_some(),
                at,
                qualifier: qualifier.map(|table| table.value.clone()),
            });
        }
    }

    fn last(&mut self, of: Of, name: &ObjectName) {
        if let Some(ident) = name.0.last().and_then(|part| part.as_ident()) {
            self.note(of, ident, None);
        }
    }
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.note(Of::TableAlias, &table.alias.name, None);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.note(Of::Output, alias, None);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } = factor
        {
            self.note(Of::TableAlias, &alias.name, None);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.last(Of::Table, name);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => self.note(Of::Column, ident, None),
            Expr::CompoundIdentifier(idents) => {
                if let [.., table, column] = idents.as_slice() {
                    self.note(Of::Qualifier, table, None);
                    self.note(Of::Column, column, Some(table));
                }
            }
            Expr::Function(function) => self.last(Of::Function, &function.name),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The names of all tables, views and names of WITH that a text reads, each once.
pub(crate) fn tables(statement: &Statement) -> BTreeSet<String> {
    let names = names(statement).into_iter();
    let tables = names.filter(|named| named.of == Of::Table);
    tables.map(|named| named.name).collect()
}

/// The names of all functions that a text calls, each once.
pub(crate) fn functions(statement: &Statement) -> BTreeSet<String> {
    let names = names(statement).into_iter();
    let functions = names.filter(|named| named.of == Of::Function);
    functions.map(|named| named.name).collect()
}

/// The first aggregate in a WHERE, of the text or of a subquery.
pub(crate) fn aggregate_in_where(statement: &Statement) -> Option<Position> {
    let mut search = InWhere(None);
    let _ = walk(statement, &mut search);
    search.0
}

struct InWhere(Option<Position>);

impl Visitor for InWhere {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let found = select.selection.as_ref().and_then(aggregate);
        match found {
            Some(at) => {
                self.0 = Some(at);
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }
}

/// The first aggregate among the arguments of another.
pub(crate) fn nested_aggregate(statement: &Statement) -> Option<Position> {
    let mut search = Nested(None);
    let _ = walk(statement, &mut search);
    search.0
}

struct Nested(Option<Position>);

impl Visitor for Nested {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && is_aggregate(expr)
        {
            let mut within = Aggregates { depth: 0, at: None };
            let _ = walk(&function.args, &mut within);
            if within.at.is_some() {
                self.0 = within.at;
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_aggregate(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else {
        return false;
    };
    let name = function.name.to_string().to_lowercase();
    function.over.is_none() && AGGREGATES.contains(&name.as_str())
}

/// The first aggregate of an expression that is of no subquery in it.
pub(crate) fn aggregate(expr: &Expr) -> Option<Position> {
    let mut within = Aggregates { depth: 0, at: None };
    let _ = walk(expr, &mut within);
    within.at
}

/// The first aggregate that is of no subquery.
struct Aggregates {
    depth: usize,
    at: Option<Position>,
}

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && self.depth == 0
            && is_aggregate(expr)
        {
            let first = function.name.0.first().and_then(|part| part.as_ident());
            self.at = first.and_then(|ident| position(ident.span.start));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The outputs of the outermost SELECT.
pub(crate) fn outputs(statement: &Statement) -> &[SelectItem] {
    match statement {
        Statement::Query(query) => match &*query.body {
            SetExpr::Select(select) => &select.projection,
            _ => &[],
        },
        _ => &[],
    }
}

/// The place of the first JOIN that does not say by what, if there is one; none where its table has no name.
pub(crate) fn join_without_condition(statement: &Statement) -> Option<Option<Position>> {
    match Visit::visit(statement, &mut Unconditional) {
        ControlFlow::Break(at) => Some(at),
        ControlFlow::Continue(()) => None,
    }
}

struct Unconditional;

impl Unconditional {
    fn look(from: &TableWithJoins) -> ControlFlow<Option<Position>> {
        let without = from.joins.iter().find(|join| {
            matches!(
                join.join_operator,
                JoinOperator::Join(JoinConstraint::None)
                    | JoinOperator::Inner(JoinConstraint::None)
                    | JoinOperator::Left(JoinConstraint::None)
                    | JoinOperator::LeftOuter(JoinConstraint::None)
                    | JoinOperator::Right(JoinConstraint::None)
                    | JoinOperator::RightOuter(JoinConstraint::None)
                    | JoinOperator::FullOuter(JoinConstraint::None)
            )
        });
        let Some(join) = without else {
            return ControlFlow::Continue(());
        };
        let name = match &join.relation {
            TableFactor::Table { name, .. } => name.0.first().and_then(|part| part.as_ident()),
            TableFactor::Derived { alias, .. } => alias.as_ref().map(|alias| &alias.name),
            _ => None,
        };
        ControlFlow::Break(name.and_then(|name| position(name.span.start)))
    }
}

impl Visitor for Unconditional {
    type Break = Option<Position>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        if let SetExpr::Select(select) = &*query.body {
            for from in &select.from {
                Self::look(from)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => Self::look(table_with_joins),
            _ => ControlFlow::Continue(()),
        }
    }
}
