//! The order of a subquery in FROM, where the query around depends on it: by LIMIT, by list() and its kin, by
//! row_number() OVER ().
//!
//! DuckDB reads the rows of `(SELECT .. ORDER BY ..)` in that order, and rows have no order here. So the keys become
//! those of whatever depends on them: `SELECT list(a) FROM (SELECT a FROM r ORDER BY b)` is `SELECT list(a ORDER BY
//! "order 0") FROM (SELECT a, b AS "order 0" FROM r)`. Invariant: the order of a query's one subquery has its effect, or
//! the query is refused; stars do not show keys. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Cte, ExcludeSelectItem, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr,
    Ident, ObjectName, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr,
    Spanned, TableAlias, TableFactor, Value, VisitorMut, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};
use ringview_core::{Error, SqlProblem};
use ringview_expr::walk_mut;

use crate::context::Context;
use crate::error::bare;
use crate::outputs::output;
use crate::source_text::position;

/// Aggregates that depend on the order of their rows.
const AGGREGATES: [&str; 9] = [
    "any_value",
    "arbitrary",
    "array_agg",
    "first",
    "group_concat",
    "last",
    "list",
    "listagg",
    "string_agg",
];

/// Functions of a row's place in a window, whatever the frame is.
const OF_PLACES: [&str; 4] = ["lag", "lead", "ntile", "row_number"];

/// Functions of the first and last rows of a frame.
const OF_FRAMES: [&str; 3] = ["first_value", "last_value", "nth_value"];

/// See the module.
pub(crate) struct InheritedOrder<'c> {
    context: &'c Context,
    /// Names of WITH in scope, innermost last, and the queries of those that have an order.
    scopes: Vec<Vec<(Ident, Option<TableFactor>)>>,
}

impl<'c> InheritedOrder<'c> {
    pub(crate) fn new(context: &'c Context) -> Self {
        Self {
            context,
            scopes: Vec::new(),
        }
    }
}

impl VisitorMut for InheritedOrder<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let with = query.with.as_ref();
        let is_recursive = with.is_some_and(|with| with.recursive);
        let ordered = |table: &Cte| {
            let is_ordered = table.query.order_by.is_some() && !is_recursive;
            let derived = is_ordered.then(|| TableFactor::Derived {
                lateral: false,
                subquery: table.query.clone(),
                alias: Some(table.alias.clone()),
                sample: None,
            });
            (table.alias.name.clone(), derived)
        };
        let tables = with.iter().flat_map(|with| &with.cte_tables);
        self.scopes.push(tables.map(ordered).collect());
        ControlFlow::Continue(())
    }

    /// Inner queries are handled first.
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let found = self.order(query);
        self.scopes.pop();
        match found {
            Ok(()) => ControlFlow::Continue(()),
            Err(refusal) => ControlFlow::Break(refusal),
        }
    }
}

impl InheritedOrder<'_> {
    /// Gives a query that depends on the order of its subquery that order.
    fn order(&self, query: &mut Query) -> Result<(), Error> {
        let is_limited = query.limit_clause.is_some() && query.order_by.is_none();
        let SetExpr::Select(select) = &mut *query.body else {
            return Ok(());
        };
        let limits = is_limited && self.keeps_rows(select);
        let mut look = Unordered::default();
        look.visit(select, &mut query.order_by);
        if !(limits || look.found) || !self.is_ordered(select) {
            return Ok(());
        }
        let keys = lifted(select)?;
        if look.found {
            let mut put = Unordered {
                keys: Some(&keys),
                ..Unordered::default()
            };
            put.visit(select, &mut query.order_by);
        }
        if limits {
            query.order_by = Some(by(keys));
        }
        Ok(())
    }

    /// Replaces a name of WITH by its query, if it is the only table and has an order.
    fn inline(&self, select: &mut Select) {
        let [from] = &mut select.from[..] else {
            return;
        };
        let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = &from.relation
        else {
            return;
        };
        let [part] = &name.0[..] else {
            return;
        };
        let Some(ident) = part.as_ident() else {
            return;
        };
        let mut tables = self
            .scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter().rev());
        let found = tables.find(|(name, _)| name.value.eq_ignore_ascii_case(&ident.value));
        let Some((_, Some(derived))) = found else {
            return;
        };
        let mut derived = derived.clone();
        if let TableFactor::Derived {
            alias: Some(own), ..
        } = &mut derived
        {
            let renamed = alias.as_ref().unwrap_or(own).clone();
            own.name = renamed.name;
            if !renamed.columns.is_empty() {
                own.columns = renamed.columns;
            }
        }
        from.relation = derived;
    }

    /// Whether the rows of a SELECT are those of its FROM, in their order.
    fn keeps_rows(&self, select: &Select) -> bool {
        let is_grouped = match &select.group_by {
            GroupByExpr::All(_) => true,
            GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        };
        if is_grouped || select.distinct.is_some() || select.having.is_some() {
            return false;
        }
        let is_aggregate = |expr: &Expr| match expr {
            Expr::Function(of) if of.over.is_none() => {
                self.context.is_aggregate(&of.name.to_string())
            }
            _ => false,
        };
        let found =
            ringview_expr::walk_expressions(&select.projection, |expr| match is_aggregate(expr) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
        found.is_continue()
    }

    /// Whether the one table of a SELECT is a subquery with an order, which it may have of its own subquery.
    fn is_ordered(&self, select: &mut Select) -> bool {
        self.inline(select);
        let Some((subquery, _)) = only_subquery(select) else {
            return false;
        };
        if subquery.order_by.is_some() {
            return true;
        }
        let SetExpr::Select(inner) = &mut *subquery.body else {
            return false;
        };
        if !self.keeps_rows(inner) || !self.is_ordered(inner) {
            return false;
        }
        let keys = lifted(inner);
        subquery.order_by = keys.ok().map(by);
        subquery.order_by.is_some()
    }
}

fn by(keys: Vec<OrderByExpr>) -> OrderBy {
    OrderBy {
        kind: OrderByKind::Expressions(keys),
        interpolate: None,
    }
}

/// The one table of a FROM, where that is a subquery.
fn only_subquery(select: &mut Select) -> Option<(&mut Query, &mut Option<TableAlias>)> {
    let [from] = &mut select.from[..] else {
        return None;
    };
    match &mut from.relation {
        TableFactor::Derived {
            lateral: false,
            subquery,
            alias,
            ..
        } if from.joins.is_empty() => Some((subquery, alias)),
        _ => None,
    }
}

/// The keys of the order of the one subquery of a SELECT, as columns of that subquery.
fn lifted(select: &mut Select) -> Result<Vec<OrderByExpr>, Error> {
    let items = select.projection.clone();
    let Some((subquery, alias)) = only_subquery(select) else {
        return Ok(Vec::new());
    };
    let keys = match &subquery.order_by {
        Some(order) => match &order.kind {
            OrderByKind::Expressions(keys) => keys.clone(),
            OrderByKind::All(_) => return Err(refused(order)),
        },
        None => Vec::new(),
    };
    let alias = alias.get_or_insert_with(|| TableAlias {
        explicit: true,
        name: Ident::with_quote('"', "ordered rows"),
        columns: Vec::new(),
        at: None,
    });
    // A name of an output is not that of a column beside it.
    let taken: Vec<&Ident> = items.iter().filter_map(alias_of).collect();
    let mut hidden = Vec::new();
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(name) = shown(&key.expr, subquery, (alias, &taken), &mut hidden) else {
            return Err(subquery
                .order_by
                .as_ref()
                .map_or_else(|| refused(&key), refused));
        };
        let column = vec![alias.name.clone(), name];
        found.push(OrderByExpr {
            expr: Expr::CompoundIdentifier(column),
            ..key
        });
    }
    leave_out(select, &hidden);
    Ok(found)
}

fn refused(order: &impl Spanned) -> Error {
    let what = "the order of a subquery has no effect on the query around here; write ORDER BY there: beside LIMIT, \
                among the arguments, in OVER";
    bare(
        SqlProblem::Unsupported,
        position(order.span().start),
        what.to_owned(),
    )
}

/// The name that an output gets by AS.
fn alias_of(item: &SelectItem) -> Option<&Ident> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias),
        _ => None,
    }
}

/// The name of a key among the columns of a subquery, which gets an output for it if it has none.
fn shown(
    key: &Expr,
    subquery: &mut Query,
    (alias, taken): (&TableAlias, &[&Ident]),
    hidden: &mut Vec<Ident>,
) -> Option<Ident> {
    let is_free = |name: &Ident| {
        !taken
            .iter()
            .any(|of| of.value.eq_ignore_ascii_case(&name.value))
    };
    let number = match key {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(digits.parse::<usize>().ok()?.checked_sub(1)?),
            _ => None,
        },
        _ => None,
    };
    let named = |at: usize, name: String| match alias.columns.get(at) {
        Some(column) => column.name.clone(),
        None => Ident::with_quote('"', name),
    };
    let select = match &mut *subquery.body {
        SetExpr::Select(select) => select,
        _ => {
            // The outputs of a set operation are those of its first side.
            let names = crate::outputs::outputs(subquery)?;
            let at = match (number, key) {
                (Some(at), _) => at,
                (None, Expr::Identifier(of)) => names
                    .iter()
                    .position(|name| name.eq_ignore_ascii_case(&of.value))?,
                _ => return None,
            };
            return names.get(at).cloned().map(|name| named(at, name));
        }
    };
    let is_star = |item: &SelectItem| output(item).is_none();
    let stars = select.projection.iter().any(is_star);
    let expr = match number {
        Some(_) if stars => return None,
        Some(at) => match select.projection.get(at)? {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr.clone(),
            _ => return None,
        },
        None => key.clone(),
    };
    let last = match &expr {
        Expr::Identifier(ident) => Some(ident),
        Expr::CompoundIdentifier(idents) => idents.last(),
        _ => None,
    };
    if let Some(ident) = last {
        let is_it = |item: &SelectItem| match item {
            SelectItem::ExprWithAlias { expr: of, alias } => {
                *of == expr || number.is_none() && alias.value.eq_ignore_ascii_case(&ident.value)
            }
            SelectItem::UnnamedExpr(Expr::Identifier(of)) => {
                of.value.eq_ignore_ascii_case(&ident.value)
            }
            SelectItem::UnnamedExpr(of) => *of == expr,
            _ => false,
        };
        if let Some(at) = select.projection.iter().position(is_it) {
            let name = output(&select.projection[at])?;
            let name = if stars {
                Ident::with_quote('"', name)
            } else {
                named(at, name)
            };
            if is_free(&name) {
                return Some(name);
            }
        } else if stars && alias.columns.is_empty() && is_free(ident) {
            return Some(ident.clone());
        }
    }
    if select.distinct.is_some() {
        return None;
    }
    let name = Ident::with_quote('"', format!("order {}", hidden.len()));
    select.projection.push(SelectItem::ExprWithAlias {
        expr,
        alias: name.clone(),
    });
    hidden.push(name.clone());
    Some(name)
}

/// Takes columns out of the stars of a SELECT.
fn leave_out(select: &mut Select, hidden: &[Ident]) {
    if hidden.is_empty() {
        return;
    }
    for item in &mut select.projection {
        if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = item {
            let mut names = match options.opt_exclude.take() {
                Some(ExcludeSelectItem::Single(name)) => vec![name],
                Some(ExcludeSelectItem::Multiple(names)) => names,
                None => Vec::new(),
            };
            names.extend(hidden.iter().cloned().map(ObjectName::from));
            options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
        }
    }
}

/// Calls of a SELECT that depend on an order and name none; they get these keys, if there are any.
#[derive(Default)]
struct Unordered<'k> {
    keys: Option<&'k [OrderByExpr]>,
    found: bool,
    depth: usize,
}

impl Unordered<'_> {
    fn visit(&mut self, select: &mut Select, order: &mut Option<OrderBy>) {
        let _ = walk_mut(&mut select.projection, self);
        let _ = walk_mut(&mut select.having, self);
        let _ = walk_mut(&mut select.qualify, self);
        let _ = walk_mut(order, self);
    }

    fn aggregate(&mut self, function: &mut Function) {
        let FunctionArguments::List(list) = &mut function.args else {
            return;
        };
        if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
            return;
        }
        self.found = true;
        if let Some(keys) = self.keys {
            let clause = FunctionArgumentClause::OrderBy(keys.to_vec());
            list.clauses.push(clause);
        }
    }

    /// A window without an order: all rows are peers, but `ROWS` and functions of positions distinguish them.
    fn window(&mut self, name: &str, spec: &mut WindowSpec) {
        let of_frames = OF_FRAMES.contains(&name) || AGGREGATES.contains(&name);
        let depends = match &spec.window_frame {
            Some(frame) => frame.units == WindowFrameUnits::Rows,
            None => of_frames,
        };
        if !(depends || OF_PLACES.contains(&name)) {
            return;
        }
        self.found = true;
        let Some(keys) = self.keys else {
            return;
        };
        spec.order_by = keys.to_vec();
        if spec.window_frame.is_none() && of_frames {
            spec.window_frame = Some(WindowFrame {
                units: WindowFrameUnits::Rows,
                start_bound: WindowFrameBound::Preceding(None),
                end_bound: Some(WindowFrameBound::Following(None)),
            });
        }
    }
}

impl VisitorMut for Unordered<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        if let Expr::Function(function) = expr {
            let name = function.name.to_string().to_lowercase();
            match &mut function.over {
                Some(WindowType::WindowSpec(spec)) if spec.order_by.is_empty() => {
                    self.window(&name, spec);
                }
                Some(_) => {}
                None if AGGREGATES.contains(&name.as_str()) => self.aggregate(function),
                None => {}
            }
        }
        ControlFlow::Continue(())
    }
}
