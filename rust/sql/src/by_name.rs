//! NATURAL JOIN and USING spelt out: ON, and the merged column of the side that is there.
//!
//! The binder keeps one of the merged columns by the names of the tables, which may be the one that is NULL where its
//! side has no row. So a join by name gets ON, and each unqualified name becomes the left column, of RIGHT JOIN the
//! right one, of FULL JOIN COALESCE of both. If the columns of a side are unknown, inner and left joins are left to the
//! binder, others are refused. Invariant: names with a table in front mean that table's column. Cost: linear in the
//! text and the columns of its tables.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem,
    SetExpr, TableFactor, TableWithJoins, VisitorMut,
};
use ringview_core::{Error, SqlProblem};
use ringview_expr::{call, walk_mut};

use crate::asof;
use crate::columns::{Columns, ScopedTable};
use crate::context::Context;
use crate::error::{bare, unsupported};
use crate::join_kind::{constraint, is_by_name, joins_by_name};
use crate::short::Short;
use crate::wildcard;

/// See the module.
pub(crate) struct ByName<'c>(Columns<'c>);

impl<'c> ByName<'c> {
    pub(crate) fn new(context: &'c Context) -> Self {
        Self(Columns::new(context))
    }
}

/// A merged column, what it is, and of how many tables of which chain of FROM.
struct Merged {
    chain: usize,
    name: String,
    value: Expr,
    tables: usize,
}

impl VisitorMut for ByName<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.0.enter(query);
        let found = self.spell_out(query);
        self.0.forget_names();
        found
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Error> {
        self.0.leave();
        ControlFlow::Continue(())
    }
}

impl ByName<'_> {
    fn spell_out(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let SetExpr::Select(select) = &mut *query.body else {
            return ControlFlow::Continue(());
        };
        if !joins_by_name(select) {
            return ControlFlow::Continue(());
        }
        let mut merged = Vec::new();
        for (chain, from) in select.from.iter_mut().enumerate() {
            open(from);
            if self.shares_nothing(from) {
                return ControlFlow::Break(bare(
                    SqlProblem::Query,
                    None,
                    "NATURAL JOIN: there is no column on both sides; write ON, or CROSS JOIN"
                        .to_owned(),
                ));
            }
            match self.spelt_out(chain, from) {
                Some(found) => merged.extend(found),
                None if from.joins.iter().any(is_right) => return ControlFlow::Break(refused()),
                None => {}
            }
        }
        if merged.is_empty() {
            return ControlFlow::Continue(());
        }
        if !self.name(select, &merged) {
            return ControlFlow::Break(unsupported(
                "* over joins by name of tables and subqueries is not kept; name the columns",
            ));
        }
        // If a table that is not merged has the column too, its name is ambiguous: the binder refuses it.
        let from = &select.from;
        merged.retain(|one| self.tables_with(from, &one.name) == one.tables);
        let value = |ident: &Ident| value_of(&merged, ident);
        let mut names = Short::new(&value);
        let from = std::mem::take(&mut select.from);
        let _ = walk_mut(&mut **select, &mut names);
        select.from = from;
        // ORDER BY looks up the names of the outputs first.
        let shown = |one: &Merged| {
            let mut items = select.projection.iter();
            items.any(|item| matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias.value == one.name))
        };
        merged.retain(|one| !shown(one));
        let value = |ident: &Ident| value_of(&merged, ident);
        let mut names = Short::new(&value);
        let _ = walk_mut(&mut query.order_by, &mut names);
        ControlFlow::Continue(())
    }
}

impl ByName<'_> {
    /// Gives the joins by name of a chain ON; the columns that they merge. None, and the chain as it was, where a side
    /// has columns that are not known, or a name twice.
    fn spelt_out(&self, of: usize, from: &mut TableWithJoins) -> Option<Vec<Merged>> {
        let mut chain = from.clone();
        let mut tables = vec![self.0.scoped_table(&chain.relation)?];
        let mut merged: Vec<Merged> = Vec::new();
        for join in &mut chain.joins {
            let right = self.0.scoped_table(&join.relation)?;
            if is_by_name(join) {
                merge((of, join), &tables, &right, &mut merged)?;
            }
            tables.push(right);
        }
        *from = chain;
        Some(merged)
    }

    /// Whether a NATURAL JOIN of a chain has no column on both sides, as far as columns are known.
    fn shares_nothing(&self, from: &TableWithJoins) -> bool {
        let mut left = vec![self.0.scoped_table(&from.relation)];
        from.joins.iter().any(|join| {
            let right = self.0.scoped_table(&join.relation);
            let mut operator = join.join_operator.clone();
            let is_natural =
                constraint(&mut operator).is_some_and(|by| matches!(by, JoinConstraint::Natural));
            let shared = |known: &Option<ScopedTable>| match (known, &right) {
                (Some(known), Some(right)) => {
                    let mut columns = known.columns.iter();
                    columns.any(|name| right.columns.contains(name))
                }
                _ => true,
            };
            let has_none = is_natural && !left.iter().any(shared);
            left.push(right);
            has_none
        })
    }

    /// Names the outputs that are merged columns, and spells a star out; whether it could.
    fn name(&self, select: &mut Select, merged: &[Merged]) -> bool {
        let find = |name: &str| merged.iter().find(|one| one.name == name);
        let mut shown = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::UnnamedExpr(Expr::Identifier(ident))
                    if find(&ident.value).is_some() =>
                {
                    shown.push(SelectItem::ExprWithAlias {
                        expr: Expr::Identifier(ident.clone()),
                        alias: ident,
                    });
                }
                SelectItem::Wildcard(options) => {
                    let all = self.all(&select.from, merged);
                    let replaced = |name: &str, expr: &Expr| SelectItem::ExprWithAlias {
                        expr: expr.clone(),
                        alias: Ident::with_quote('"', name),
                    };
                    match all.and_then(|all| wildcard::shown(&options, all, replaced)) {
                        Some(all) => shown.extend(all.into_iter().map(|(_, item)| item)),
                        None => return false,
                    }
                }
                other => shown.push(other),
            }
        }
        select.projection = shown;
        true
    }

    /// All columns of FROM by name, those that a chain merges once.
    fn all(&self, from: &[TableWithJoins], merged: &[Merged]) -> Option<Vec<(String, SelectItem)>> {
        let mut shown: Vec<(String, SelectItem)> = Vec::new();
        for (of, chain) in from.iter().enumerate() {
            let mut seen: Vec<String> = Vec::new();
            let own = merged.iter().filter(|one| one.chain == of);
            let joined = chain.joins.iter().map(|join| &join.relation);
            for factor in std::iter::once(&chain.relation).chain(joined) {
                let known = self.0.scoped_table(factor)?;
                for name in known.columns {
                    let ident = Ident::with_quote('"', name.clone());
                    match own.clone().find(|one| one.name == name) {
                        Some(_) if seen.contains(&name) => {}
                        Some(merged) => {
                            seen.push(name.clone());
                            let item = SelectItem::ExprWithAlias {
                                expr: merged.value.clone(),
                                alias: ident,
                            };
                            shown.push((name, item));
                        }
                        None => {
                            let parts = vec![known.alias.clone(), ident];
                            let item = SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts));
                            shown.push((name, item));
                        }
                    }
                }
            }
        }
        Some(shown)
    }

    /// Number of tables of FROM with a column, among those whose columns are available.
    fn tables_with(&self, from: &[TableWithJoins], name: &str) -> usize {
        let factors = from.iter().flat_map(|chain| {
            let joined = chain.joins.iter().map(|join| &join.relation);
            std::iter::once(&chain.relation).chain(joined)
        });
        let known = factors.filter_map(|factor| self.0.scoped_table(factor));
        known
            .filter(|known| known.columns.iter().any(|column| column == name))
            .count()
    }
}

/// Takes the brackets off the first tables of a chain, which are joined first anyway.
fn open(from: &mut TableWithJoins) {
    while let TableFactor::NestedJoin {
        table_with_joins,
        alias: None,
    } = &mut from.relation
    {
        let first = TableWithJoins {
            relation: table_with_joins.relation.clone(),
            joins: std::mem::take(&mut table_with_joins.joins),
        };
        let behind = std::mem::replace(from, first).joins;
        from.joins.extend(behind);
    }
}

/// Gives one join ON; adds the columns that it merges, or says what they are now.
fn merge(
    (chain, join): (usize, &mut Join),
    left: &[ScopedTable],
    right: &ScopedTable,
    merged: &mut Vec<Merged>,
) -> Option<()> {
    let kind = join.join_operator.clone();
    let constraint = constraint(&mut join.join_operator)?;
    let names: Vec<String> = match constraint {
        JoinConstraint::Using(names) => {
            let last = names.iter().filter_map(|name| name.0.last()?.as_ident());
            last.map(|ident| ident.value.clone()).collect()
        }
        _ => {
            let mut names: Vec<String> = Vec::new();
            for name in left.iter().flat_map(|known| &known.columns) {
                if right.columns.contains(name) && !names.contains(name) {
                    names.push(name.clone());
                }
            }
            names
        }
    };
    let (names, is_asof) = asof::unmarked(names);
    let last = names.len() - usize::from(is_asof);
    let mut condition: Option<Expr> = None;
    for (at, name) in names.into_iter().enumerate() {
        let column = |known: &ScopedTable| {
            let name = Ident::with_quote('"', name.clone());
            Expr::CompoundIdentifier(vec![known.alias.clone(), name])
        };
        let before = merged.iter().position(|one| one.name == name);
        let one = match before {
            Some(at) => merged[at].value.clone(),
            None => {
                let mut with = left.iter().filter(|known| known.columns.contains(&name));
                let only = with.next()?;
                with.next().is_none().then(|| column(only))?
            }
        };
        let other = right.columns.contains(&name).then(|| column(right))?;
        let compared = |op| Expr::BinaryOp {
            left: Box::new(one.clone()),
            op,
            right: Box::new(other.clone()),
        };
        let equal = match at < last {
            true => compared(BinaryOperator::Eq),
            false => call(asof::MATCH, vec![compared(BinaryOperator::GtEq)]),
        };
        condition = Some(match condition {
            Some(before) => Expr::BinaryOp {
                left: Box::new(before),
                op: BinaryOperator::And,
                right: Box::new(equal),
            },
            None => equal,
        });
        let value = match kind {
            JoinOperator::FullOuter(_) => call("coalesce", vec![one, other]),
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => other,
            _ => one,
        };
        match before {
            Some(at) => {
                merged[at].value = value;
                merged[at].tables += 1;
            }
            None => merged.push(Merged {
                chain,
                name,
                value,
                tables: 2,
            }),
        }
    }
    *constraint = JoinConstraint::On(condition?);
    Some(())
}

fn refused() -> Error {
    unsupported(
        "RIGHT and FULL JOIN by name are of tables here, and of subqueries that name their columns; write ON, and \
         COALESCE(l.k, r.k) for what both sides have",
    )
}

/// Whether a join by name keeps all rows of its right side.
fn is_right(join: &Join) -> bool {
    let is_right = matches!(
        join.join_operator,
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_)
    );
    is_right && is_by_name(join)
}

/// Value of a name that joins have merged.
fn value_of(merged: &[Merged], name: &Ident) -> Option<Expr> {
    let found = merged.iter().find(|one| one.name == name.value);
    found.map(|one| one.value.clone())
}
