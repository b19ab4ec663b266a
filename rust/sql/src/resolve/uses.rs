//! The names of a clause: which are written out, by the order of precedence of that clause.
//!
//! Invariant: names below a subquery are resolved with that query, not here. Cost: linear in the clause.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Function, GroupByExpr, Ident, Query, Select, SelectItem, Value, VisitorMut,
};
use ringview_core::{Error, Result};

use super::scope::{Alias, Around, Scope, ambiguous, merged_within};
use super::side::{Found, Side, column};

/// A clause, by the order in which the binder and DuckDB look for columns and outputs there.
#[derive(Clone, Copy)]
pub(super) enum Clause<'g> {
    /// ON, WHERE, outputs, windows: the binder sees no outputs; columns are before outputs.
    Row,
    /// GROUP BY: the binder sees outputs; columns are before outputs for both.
    Groups,
    /// Keys of ORDER BY that are no output, QUALIFY: the binder prefers outputs; columns are before them.
    OutputsSeen,
    /// HAVING: the binder sees outputs; grouped columns are before them, and in an aggregate all.
    Having(&'g [String]),
}

/// The resolver, as a clause needs it.
pub(super) trait Below {
    /// Resolves a query.
    fn query(&mut self, query: &mut Query, around: Around<'_>) -> Result<()>;

    /// Counts an expression that is put in for the name of an output.
    fn charge(&mut self, name: &Ident, alias: &Alias) -> Result<()>;

    /// Whether a name is that of an aggregate.
    fn is_aggregate(&self, name: &str) -> bool;
}

/// See the module.
pub(super) struct Uses<'u> {
    below: &'u mut dyn Below,
    scope: Around<'u>,
    /// None where the scope is of a query around.
    clause: Option<Clause<'u>>,
    /// Subqueries and aggregates around what is visited.
    subqueries: usize,
    aggregates: usize,
    /// Whether a name was written out.
    pub(super) any: bool,
}

impl<'u> Uses<'u> {
    pub(super) fn new(
        below: &'u mut dyn Below,
        scope: Around<'u>,
        clause: Option<Clause<'u>>,
    ) -> Self {
        Self {
            below,
            scope,
            clause,
            subqueries: 0,
            aggregates: 0,
            any: false,
        }
    }

    /// The expression that a name is written out as, if it is.
    fn written(&mut self, name: &Ident) -> Result<Option<Expr>> {
        let Some(scope) = self.scope else {
            return Ok(None);
        };
        let Some(clause) = self.clause else {
            return self.outwards(name, &mut Vec::new(), Some(scope));
        };
        let alias = scope.alias(name);
        let is_before = |clause: Clause<'_>| match clause {
            Clause::Having(grouped) => self.aggregates > 0 || grouped.contains(&name.value),
            Clause::Row | Clause::Groups | Clause::OutputsSeen => true,
        };
        match scope.side.find(&name.value) {
            Found::Merged(_) | Found::Column(_)
                if let Some(alias) = alias.filter(|_| !is_before(clause)) =>
            {
                self.below.charge(name, alias)?;
                Ok(Some(alias.expr.clone()))
            }
            Found::Merged(value) => Ok(Some(value.clone())),
            Found::Column(of) => Ok(match clause {
                Clause::Having(_) | Clause::OutputsSeen if alias.is_some() => {
                    Some(column(of, &name.value))
                }
                _ => None,
            }),
            // The binder would take an output, or a column of a query around.
            Found::Several(of) if alias.is_some() || scope.outer.is_some() => {
                Err(ambiguous(name, &of))
            }
            Found::Several(_) | Found::Perhaps | Found::Row => Ok(None),
            Found::Nothing => match (alias, clause) {
                (Some(alias), Clause::Row) => {
                    self.below.charge(name, alias)?;
                    Ok(Some(alias.expr.clone()))
                }
                (Some(_), _) => Ok(None),
                (None, _) => self.outwards(name, &mut vec![scope], scope.outer),
            },
        }
    }

    /// The same of a name that the scopes `between` do not have.
    fn outwards<'o>(
        &mut self,
        name: &Ident,
        between: &mut Vec<&'o Scope<'o>>,
        mut outer: Around<'o>,
    ) -> Result<Option<Expr>> {
        while let Some(scope) = outer {
            match scope.side.find(&name.value) {
                Found::Merged(value) => {
                    return merged_within(name, value, between).map(Some);
                }
                Found::Several(of) => return Err(ambiguous(name, &of)),
                Found::Column(_) | Found::Perhaps | Found::Row => return Ok(None),
                Found::Nothing => {
                    if let Some(alias) = scope.alias(name) {
                        self.below.charge(name, alias)?;
                        return scope.within(name, alias, between).map(Some);
                    }
                }
            }
            between.push(scope);
            outer = scope.outer;
        }
        Ok(None)
    }

    /// Whether all columns are before outputs in an expression.
    fn is_aggregate(&self, expr: &Expr) -> bool {
        matches!(self.clause, Some(Clause::Having(_)))
            && matches!(expr, Expr::Function(Function { name, over: None, .. })
                if self.below.is_aggregate(&name.to_string()))
    }
}

impl VisitorMut for Uses<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if self.subqueries == 0
            && let Err(refusal) = self.below.query(query, self.scope)
        {
            return ControlFlow::Break(refusal);
        }
        self.subqueries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Error> {
        self.subqueries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.subqueries == 0 && self.is_aggregate(expr) {
            self.aggregates += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.subqueries > 0 {
            return ControlFlow::Continue(());
        }
        if self.is_aggregate(expr) {
            self.aggregates -= 1;
        }
        if let Expr::Identifier(name) = expr {
            match self.written(name) {
                Ok(Some(by)) => {
                    *expr = by;
                    self.any = true;
                }
                Ok(None) => {}
                Err(refusal) => return ControlFlow::Break(refusal),
            }
        }
        ControlFlow::Continue(())
    }
}

/// Names of the columns that a SELECT groups by: as themselves, by the number of an output, or by its name.
pub(super) fn grouped(select: &Select, side: &Side) -> Vec<String> {
    let keys: Vec<&Expr> = match &select.group_by {
        GroupByExpr::All(_) => select.projection.iter().filter_map(computed).collect(),
        GroupByExpr::Expressions(keys, _) => keys.iter().flat_map(parts).collect(),
    };
    let of_output = |key: &Expr| match key {
        Expr::Identifier(name) if side.find(&name.value) == Found::Nothing => {
            let mut items = select.projection.iter();
            items.find(|item| matches!(item, SelectItem::ExprWithAlias { alias, .. } if alias.value == name.value))
        }
        Expr::Value(number) => match &number.value {
            Value::Number(digits, _) => {
                let at = digits.parse::<usize>().ok()?.checked_sub(1)?;
                select.projection.get(at)
            }
            _ => None,
        },
        _ => None,
    };
    let mut names = Vec::new();
    for key in keys {
        let key = of_output(key).and_then(computed).unwrap_or(key);
        match key {
            Expr::Identifier(name) => names.push(name.value.clone()),
            Expr::CompoundIdentifier(parts) => {
                names.extend(parts.last().map(|name| name.value.clone()));
            }
            _ => {}
        }
    }
    names
}

/// The keys within a key of GROUP BY.
fn parts(key: &Expr) -> Vec<&Expr> {
    match key {
        Expr::GroupingSets(sets) | Expr::Rollup(sets) | Expr::Cube(sets) => {
            sets.iter().flatten().collect()
        }
        Expr::Tuple(parts) => parts.iter().collect(),
        other => vec![other],
    }
}

fn computed(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}
