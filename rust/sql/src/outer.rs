//! RIGHT and FULL joins by name: the merged column is that of the side that is there.
//!
//! The binder would show the left one, which is NULL where only the right side has a row. So the join gets ON, and each
//! name without a table in front becomes the right column, or COALESCE of both. Invariant: names with a table in front
//! mean that table's column, which may be NULL. Cost: linear in the text and the columns of its tables.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem,
    SetExpr, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};
use ringview_core::Error;

use crate::context::Context;
use crate::error::unsupported;
use crate::meaning::call;

/// See the module.
pub(crate) struct Outer<'c>(pub(crate) &'c Context);

/// A table of FROM: what the text calls it, and its columns.
struct Known {
    alias: Ident,
    columns: Vec<String>,
}

/// A merged column, and what it is.
struct Merged {
    name: String,
    value: Expr,
}

impl VisitorMut for Outer<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let SetExpr::Select(select) = &mut *query.body else {
            return ControlFlow::Continue(());
        };
        for at in 0..select.from.len() {
            while let Some(join) = select.from[at].joins.iter().position(is_outer_by_name) {
                let merged = match self.spelt_out(&mut select.from[at], join) {
                    Ok(merged) => merged,
                    Err(refusal) => return ControlFlow::Break(refusal),
                };
                if let Err(refusal) = self.name(select, &merged) {
                    return ControlFlow::Break(refusal);
                }
                let mut names = Names {
                    merged: &merged,
                    depth: 0,
                };
                let from = std::mem::take(&mut select.from);
                let _ = VisitMut::visit(&mut **select, &mut names);
                let _ = VisitMut::visit(&mut query.order_by, &mut names);
                select.from = from;
            }
        }
        ControlFlow::Continue(())
    }
}

impl Outer<'_> {
    /// Gives a join by name ON; the columns that it merges.
    fn spelt_out(&self, from: &mut TableWithJoins, at: usize) -> Result<Vec<Merged>, Error> {
        let refused = || {
            unsupported(
                "RIGHT and FULL JOIN by name are of tables, and the first joins by name here; write ON, and \
                 COALESCE(l.k, r.k) for what both sides have",
            )
        };
        let earlier = std::iter::once(&from.relation).chain(from.joins[..at].iter().map(of_join));
        let left = earlier.map(|factor| self.known(factor));
        let left = left.collect::<Option<Vec<Known>>>().ok_or_else(refused)?;
        let right = self.known(&from.joins[at].relation).ok_or_else(refused)?;
        if from.joins[..at].iter().any(is_by_name) {
            return Err(refused());
        }
        let join = &mut from.joins[at];
        let is_full = matches!(join.join_operator, JoinOperator::FullOuter(_));
        let constraint = constraint(&mut join.join_operator).ok_or_else(refused)?;
        let names: Vec<String> = match constraint {
            JoinConstraint::Using(names) => {
                let last = names.iter().filter_map(|name| name.0.last()?.as_ident());
                last.map(|ident| ident.value.clone()).collect()
            }
            _ => {
                let all = left.iter().flat_map(|known| &known.columns);
                all.filter(|name| right.columns.contains(name))
                    .cloned()
                    .collect()
            }
        };
        let mut merged = Vec::with_capacity(names.len());
        let mut condition: Option<Expr> = None;
        for name in names {
            let mut with = left.iter().filter(|known| known.columns.contains(&name));
            let (Some(one), None) = (with.next(), with.next()) else {
                return Err(refused());
            };
            let column = |known: &Known| {
                let name = Ident::with_quote('"', name.clone());
                Expr::CompoundIdentifier(vec![known.alias.clone(), name])
            };
            let (one, other) = (column(one), column(&right));
            let equal = Expr::BinaryOp {
                left: Box::new(one.clone()),
                op: BinaryOperator::Eq,
                right: Box::new(other.clone()),
            };
            condition = Some(match condition {
                Some(before) => Expr::BinaryOp {
                    left: Box::new(before),
                    op: BinaryOperator::And,
                    right: Box::new(equal),
                },
                None => equal,
            });
            let value = if is_full {
                call("coalesce", vec![one, other])
            } else {
                other
            };
            merged.push(Merged { name, value });
        }
        *constraint = JoinConstraint::On(condition.ok_or_else(refused)?);
        Ok(merged)
    }

    /// Names the outputs that are merged columns, and spells a star out.
    fn name(&self, select: &mut Select, merged: &[Merged]) -> Result<(), Error> {
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
                SelectItem::Wildcard(options)
                    if options.opt_exclude.is_none() && options.opt_replace.is_none() =>
                {
                    shown.extend(self.all(&select.from, &find)?);
                }
                SelectItem::Wildcard(_) => {
                    return Err(unsupported(
                        "* with EXCLUDE or REPLACE over a RIGHT or FULL JOIN by name is not kept; name the columns",
                    ));
                }
                other => shown.push(other),
            }
        }
        select.projection = shown;
        Ok(())
    }

    /// All columns of FROM, the merged ones once.
    fn all<'m>(
        &self,
        from: &[TableWithJoins],
        find: &dyn Fn(&str) -> Option<&'m Merged>,
    ) -> Result<Vec<SelectItem>, Error> {
        let mut shown: Vec<SelectItem> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for chain in from {
            for factor in std::iter::once(&chain.relation).chain(chain.joins.iter().map(of_join)) {
                let known = self.known(factor).ok_or_else(|| {
                    unsupported(
                        "* over a RIGHT or FULL JOIN by name is of tables; name the columns",
                    )
                })?;
                for name in known.columns {
                    let ident = Ident::with_quote('"', name.clone());
                    match find(&name) {
                        Some(_) if seen.contains(&name) => {}
                        Some(merged) => {
                            seen.push(name);
                            shown.push(SelectItem::ExprWithAlias {
                                expr: merged.value.clone(),
                                alias: ident,
                            });
                        }
                        None => {
                            shown.push(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(vec![
                                known.alias.clone(),
                                ident,
                            ])))
                        }
                    }
                }
            }
        }
        Ok(shown)
    }

    fn known(&self, factor: &TableFactor) -> Option<Known> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return None;
        };
        let last = name.0.last()?.as_ident()?;
        let fields = self.0.tables.get(&last.value)?.fields();
        if alias
            .as_ref()
            .is_some_and(|alias| !alias.columns.is_empty())
        {
            return None;
        }
        Some(Known {
            alias: alias.as_ref().map_or(last, |alias| &alias.name).clone(),
            columns: fields.iter().map(|field| field.name().clone()).collect(),
        })
    }
}

fn of_join(join: &Join) -> &TableFactor {
    &join.relation
}

/// What a join asks for, of the kinds that may be by name.
fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(by)
        | JoinOperator::Inner(by)
        | JoinOperator::Left(by)
        | JoinOperator::LeftOuter(by)
        | JoinOperator::Right(by)
        | JoinOperator::RightOuter(by)
        | JoinOperator::FullOuter(by) => Some(by),
        _ => None,
    }
}

fn is_by_name(join: &Join) -> bool {
    let mut operator = join.join_operator.clone();
    let by = constraint(&mut operator);
    by.is_some_and(|by| matches!(by, JoinConstraint::Using(_) | JoinConstraint::Natural))
}

fn is_outer_by_name(join: &Join) -> bool {
    let is_outer = matches!(
        join.join_operator,
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_)
    );
    is_outer && is_by_name(join)
}

/// Puts what merged columns are in the place of their names.
struct Names<'m> {
    merged: &'m [Merged],
    depth: usize,
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(ident) = expr
            && self.depth == 0
            && let Some(merged) = self.merged.iter().find(|one| one.name == ident.value)
        {
            *expr = Expr::Nested(Box::new(merged.value.clone()));
        }
        ControlFlow::Continue(())
    }
}
