//! Names of columns, resolved in scopes before anything is planned: DuckDB's order, in one walk over a text.
//!
//! The binder looks a name up among the columns of FROM, those of the queries around, and in some clauses the outputs'
//! names. It does not find an output in WHERE or in a later output, prefers outputs where DuckDB prefers columns, and
//! merges the columns of one join by name, not of several. So those names are written out here, and all others stay.
//!
//! A name is, in this order: a column of FROM (one that a join by name merges before the others), a relation's row, an
//! output of its SELECT, then the same of each query around. In HAVING, an output is before a column that is not grouped; in ORDER
//! BY, before all columns if it is the whole key. Invariant: behind this, each name that the binder finds is the one
//! that is meant. Cost: linear in the text, the columns of its tables, and what names of outputs are written out as,
//! times the depth of subqueries; what is written out is bounded.

mod by_name;
mod distinct;
mod scope;
mod side;
mod uses;

use datafusion_sql::sqlparser::ast::{
    Cte, Expr, GroupByExpr, Ident, Join, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr,
    SetQuantifier, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Value, VisitMut,
};
use ringview_core::{Result, SqlProblem};
use ringview_expr::walk_mut;

use crate::context::Context;
use crate::error::{bare, unsupported};
use crate::outputs::{distinct_names, output};
use crate::source_text::position;
use scope::{Alias, Around, Scope};
use side::{Columns, Side};
use uses::{Below, Clause, Uses};

/// Expressions that may be put in for names of outputs, in one text.
const MOST_PUT_IN: usize = 20_000;

/// Writes out the names that the binder would not find, or find elsewhere.
///
/// # Errors
/// `Sql` for a name that cannot be written out where it is used, and for joins by name of what has none.
pub(crate) fn resolve(query: &mut Query, context: &Context) -> Result<()> {
    let mut resolver = Resolver {
        context,
        given: Vec::new(),
        put_in: 0,
        unnamed: 0,
    };
    resolver.query(query, None).map(drop)
}

struct Resolver<'c> {
    context: &'c Context,
    /// Names of WITH that have a meaning, the innermost last.
    given: Vec<(String, Columns)>,
    /// Number of expressions that were put in.
    put_in: usize,
    /// Number of subqueries that got a name.
    unnamed: usize,
}

impl Resolver<'_> {
    /// Resolves a query; its columns.
    fn query(&mut self, query: &mut Query, outer: Around<'_>) -> Result<Columns> {
        let before = self.given.len();
        let is_recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            self.give(table, is_recursive, outer)?;
        }
        let columns = match &mut *query.body {
            SetExpr::Select(select) => {
                let scope = self.select(select, outer)?;
                if let Some(order) = &mut query.order_by {
                    self.order(order, &scope, &select.projection)?;
                }
                distinct::named_outputs(&mut select.projection, &scope.side)
            }
            other => {
                let columns = self.body(other, outer)?;
                self.subqueries(&mut query.order_by, outer)?;
                columns
            }
        };
        self.subqueries(&mut query.limit_clause, outer)?;
        self.given.truncate(before);
        Ok(columns)
    }

    /// Resolves the query of a name of WITH, which has a meaning from there on; in a recursion behind its start.
    fn give(&mut self, table: &mut Cte, is_recursive: bool, outer: Around<'_>) -> Result<()> {
        let name = table.alias.name.value.clone();
        if is_recursive
            && table.query.with.is_none()
            && let SetExpr::SetOperation { left, right, .. } = &mut *table.query.body
        {
            let columns = self.body(left, outer)?;
            let columns = named(&mut table.alias, columns);
            self.given.push((name, columns.clone()));
            self.body(right, outer)?;
            distinct::name_right(right, &columns);
            return Ok(());
        }
        let columns = self.query(&mut table.query, outer)?;
        let columns = named(&mut table.alias, columns);
        self.given.push((name, columns));
        Ok(())
    }

    fn body(&mut self, body: &mut SetExpr, outer: Around<'_>) -> Result<Columns> {
        match body {
            SetExpr::Select(select) => {
                let scope = self.select(select, outer)?;
                Ok(distinct::named_outputs(&mut select.projection, &scope.side))
            }
            SetExpr::Query(query) => self.query(query, outer),
            SetExpr::SetOperation {
                left,
                right,
                set_quantifier,
                ..
            } => {
                let columns = self.body(left, outer)?;
                self.body(right, outer)?;
                if !is_by_name(set_quantifier) {
                    distinct::name_right(right, &columns);
                }
                Ok(columns)
            }
            SetExpr::Values(values) => {
                let width = values.rows.first().map(|row| row.content.len());
                self.subqueries(values, outer)?;
                Ok(width.map(|width| (0..width).map(|at| format!("col{at}")).collect()))
            }
            _ => Ok(None),
        }
    }

    /// Resolves a SELECT clause by clause; its scope, with all of its outputs.
    fn select<'o>(&mut self, select: &mut Select, outer: Around<'o>) -> Result<Scope<'o>> {
        let mut scope = Scope::new(outer);
        for from in &mut select.from {
            let side = self.chain(from, outer, &scope)?;
            scope.side.add(side);
        }
        self.outputs(&mut select.projection, &mut scope)?;
        let grouped = uses::grouped(select, &scope.side);
        self.clause(&mut select.group_by, &scope, Clause::Groups)?;
        self.clause(&mut select.having, &scope, Clause::Having(&grouped))?;
        self.clause(&mut select.qualify, &scope, Clause::OutputsSeen)?;
        // All other clauses see outputs behind columns.
        let from = std::mem::take(&mut select.from);
        let projection = std::mem::take(&mut select.projection);
        let groups = GroupByExpr::Expressions(Vec::new(), Vec::new());
        let group_by = std::mem::replace(&mut select.group_by, groups);
        let having = select.having.take();
        let qualify = select.qualify.take();
        let resolved = self.clause(select, &scope, Clause::Row);
        select.from = from;
        select.projection = projection;
        select.group_by = group_by;
        select.having = having;
        select.qualify = qualify;
        resolved.map(|_| scope)
    }

    /// Resolves a chain of joins, whose LATERAL parts also see what FROM has before it; what the chain has.
    fn chain(
        &mut self,
        from: &mut TableWithJoins,
        outer: Around<'_>,
        before: &Scope<'_>,
    ) -> Result<Side> {
        let mut left = Scope::new(Some(before));
        left.side = self.factor(&mut from.relation, outer, &left)?;
        for join in &mut from.joins {
            let right = self.factor(&mut join.relation, outer, &left)?;
            let side = std::mem::take(&mut left.side);
            left.side = self.join(side, join, right, outer)?;
        }
        Ok(left.side)
    }

    /// Resolves a join; the columns of both sides, or of the one that it keeps rows of.
    fn join(
        &mut self,
        left: Side,
        join: &mut Join,
        right: Side,
        outer: Around<'_>,
    ) -> Result<Side> {
        if let Some(merged) = by_name::spelt_out(&left, join, &right)? {
            return Ok(merged);
        }
        let kept = by_name::keeps_left(join).then(|| left.clone());
        let mut scope = Scope::new(outer);
        scope.side = left;
        scope.side.add(right);
        self.clause(&mut join.join_operator, &scope, Clause::Row)?;
        Ok(kept.unwrap_or(scope.side))
    }

    /// Resolves a relation of FROM; its columns.
    fn factor(
        &mut self,
        factor: &mut TableFactor,
        outer: Around<'_>,
        around: &Scope<'_>,
    ) -> Result<Side> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let Some(table) = name.0.last().and_then(|part| part.as_ident()) else {
                    return Ok(Side::unknown(None));
                };
                let columns = self.columns(&table.value);
                Ok(match alias {
                    Some(alias) => {
                        let columns = named(alias, columns);
                        Side::of(alias.name.clone(), columns)
                    }
                    None => Side::of(table.clone(), columns),
                })
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                ..
            } => {
                let sees = if *lateral { Some(around) } else { outer };
                let columns = self.query(subquery, sees)?;
                let alias = alias.get_or_insert_with(|| self.unnamed());
                let columns = named(alias, columns);
                Ok(Side::of(alias.name.clone(), columns))
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                let side = self.chain(table_with_joins, outer, &Scope::new(outer))?;
                let Some(alias) = alias else {
                    return Ok(side);
                };
                let columns = named(alias, side.columns());
                let called = alias.name.clone();
                if let Some(found) = side.as_subquery(table_with_joins, alias) {
                    *factor = found;
                }
                Ok(Side::of(called, columns))
            }
            other => {
                self.clause(other, around, Clause::Row)?;
                Ok(Side::unknown(side::alias_of(other).cloned()))
            }
        }
    }

    /// The columns of a table, or of a name of WITH.
    fn columns(&self, name: &str) -> Columns {
        let mut given = self.given.iter().rev();
        if let Some((_, columns)) = given.find(|(other, _)| other == name) {
            return columns.clone();
        }
        let fields = self.context.tables.get(name)?.fields().iter();
        Some(fields.map(|field| field.name().clone()).collect())
    }

    /// A name for a subquery without one, as DuckDB gives it.
    fn unnamed(&mut self) -> TableAlias {
        self.unnamed += 1;
        let number = match self.unnamed {
            1 => String::new(),
            number => number.to_string(),
        };
        TableAlias {
            explicit: true,
            name: Ident::with_quote('"', format!("unnamed_subquery{number}")),
            columns: Vec::new(),
            at: None,
        }
    }

    /// Resolves the outputs from left to right: each sees those before it. A star is spelt out if a join merges
    /// columns.
    fn outputs(&mut self, projection: &mut Vec<SelectItem>, scope: &mut Scope<'_>) -> Result<()> {
        let mut made = Vec::with_capacity(projection.len());
        for item in std::mem::take(projection) {
            match item {
                SelectItem::Wildcard(options) if scope.side.is_merged() => {
                    let spelt = side::spelt(&options, scope.side.star());
                    for item in spelt.ok_or_else(no_star)? {
                        made.push(self.output(item, scope)?);
                    }
                }
                item => made.push(self.output(item, scope)?),
            }
        }
        *projection = made;
        Ok(())
    }

    fn output(&mut self, mut item: SelectItem, scope: &mut Scope<'_>) -> Result<SelectItem> {
        let said = match &item {
            SelectItem::UnnamedExpr(_) if scope.may_change() => output(&item),
            _ => None,
        };
        let is_changed = self.clause(&mut item, scope, Clause::Row)?;
        let item = match (item, said) {
            (SelectItem::UnnamedExpr(expr), Some(said)) if is_changed => {
                let alias = Ident::with_quote('"', said);
                SelectItem::ExprWithAlias { expr, alias }
            }
            (item, _) => item,
        };
        if let SelectItem::ExprWithAlias { expr, alias } = &item {
            scope.aliases.push(Alias::new(alias, expr));
        }
        Ok(item)
    }

    /// Resolves ORDER BY of a SELECT: a key that is the name of an output is that output.
    fn order(
        &mut self,
        order: &mut OrderBy,
        scope: &Scope<'_>,
        projection: &[SelectItem],
    ) -> Result<()> {
        let OrderByKind::Expressions(keys) = &mut order.kind else {
            return Ok(());
        };
        for key in keys {
            let Expr::Identifier(name) = &key.expr else {
                self.clause(key, scope, Clause::OutputsSeen)?;
                continue;
            };
            let is_called = |item: &SelectItem| matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias.value == name.value);
            let Some(at) = projection.iter().position(is_called) else {
                self.clause(key, scope, Clause::OutputsSeen)?;
                continue;
            };
            // The binder finds the first output of that name, which may be a column without AS.
            let mut before = projection[..at].iter();
            if before.any(|item| output(item).is_some_and(|other| other == name.value)) {
                key.expr = Expr::value(Value::Number((at + 1).to_string(), false));
            }
        }
        Ok(())
    }

    /// Resolves the subqueries of what has no columns of its own.
    fn subqueries(&mut self, part: &mut impl VisitMut, outer: Around<'_>) -> Result<()> {
        self.walk(part, outer, None).map(drop)
    }

    /// Resolves the names of a clause, and its subqueries; whether one was written out.
    fn clause(
        &mut self,
        part: &mut impl VisitMut,
        scope: &Scope<'_>,
        clause: Clause<'_>,
    ) -> Result<bool> {
        self.walk(part, Some(scope), Some(clause))
    }

    fn walk(
        &mut self,
        part: &mut impl VisitMut,
        around: Around<'_>,
        clause: Option<Clause<'_>>,
    ) -> Result<bool> {
        let mut uses = Uses::new(self, around, clause);
        match walk_mut(part, &mut uses).break_value() {
            Some(refusal) => Err(refusal),
            None => Ok(uses.any),
        }
    }
}

impl Below for Resolver<'_> {
    fn query(&mut self, query: &mut Query, around: Around<'_>) -> Result<()> {
        Resolver::query(self, query, around).map(drop)
    }

    fn charge(&mut self, name: &Ident, alias: &Alias) -> Result<()> {
        self.put_in += alias.size;
        if self.put_in <= MOST_PUT_IN && !alias.is_deep() {
            return Ok(());
        }
        let message = format!(
            "the output \"{}\" is computed from other outputs, which makes its expression too large; compute them in a \
             subquery",
            name.value
        );
        Err(bare(
            SqlProblem::Unsupported,
            position(name.span.start),
            message,
        ))
    }

    fn is_aggregate(&self, name: &str) -> bool {
        self.context.is_aggregate(name)
    }
}

/// Whether the columns of a set operation's sides meet by their names.
fn is_by_name(quantifier: &SetQuantifier) -> bool {
    matches!(
        quantifier,
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
    )
}

fn no_star() -> ringview_core::Error {
    unsupported("* over joins by name of tables and subqueries is not kept; name the columns")
}

/// The columns of what has an alias, which may name some of them; made distinct. The binder requires a name for each if
/// there is one, so the others are added to the alias.
fn named(alias: &mut TableAlias, columns: Columns) -> Columns {
    let given = alias.columns.iter();
    let mut names: Vec<String> = given.map(|column| column.name.value.clone()).collect();
    let count = names.len();
    if let Some(columns) = columns {
        names.extend(columns.into_iter().skip(count));
    } else if count == 0 {
        return None;
    }
    let names = distinct_names(&names);
    if count > 0 {
        let rest = names.iter().skip(count);
        alias.columns.extend(rest.map(|name| TableAliasColumnDef {
            name: Ident::with_quote('"', name.clone()),
            data_type: None,
        }));
    }
    Some(names)
}
