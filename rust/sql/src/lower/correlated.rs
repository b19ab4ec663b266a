//! Conditions with subqueries in the form in which an engine keeps them: each subquery is one value of its own query.
//!
//! `x < (SELECT SUM(y) FROM s WHERE s.b = r.b)` compares x with a query whose condition names a column of the query
//! around. EXISTS is a count above 0; `x < ANY (SELECT y ..)` holds where some y is greater, else is unknown where NULL
//! is on a side, else false; ALL is NOT ANY of the opposite. Which engine keeps such a condition, or whether it becomes
//! joins with blocks, is the planner's choice. Invariant: columns of a subquery have depth 0 within it, those of the
//! query around depth 1, and so on. Cost: that of lowering each subquery once.

use datafusion_common::{Column, DFSchema};
use datafusion_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion_expr::{Aggregate, Expr, JoinType, LogicalPlan, Operator};
use ringview_query::{
    Comparison, Condition, Function, Literal, Measure, Output, Query, SubqueryExpr,
};

use super::kept::recognised_call;
use super::levels::deepened;
use super::pending::{Pending, any, is_nested, place, split};
use super::recognise::{Recognise, comparison, condition, constant, tree};
use super::settle::Wanted;
use super::state::Lowering;

/// The rows that a subquery stands in: an expression names columns of their plan's schema.
#[derive(Clone, Copy)]
struct Scope<'s> {
    rows: &'s Pending,
    schema: &'s DFSchema,
}

/// A condition under way, and the scopes that it may name, the innermost first.
struct Within<'w, 'c> {
    lowering: &'w mut Lowering<'c>,
    scopes: Vec<Scope<'w>>,
}

impl Lowering<'_> {
    /// A condition on some rows as an engine keeps it, if it has that form.
    pub(super) fn kept_condition(
        &mut self,
        rows: &Pending,
        of: &Expr,
        schema: &DFSchema,
    ) -> Option<Condition<SubqueryExpr>> {
        if !self.keeps_conditions || !rows.windows.is_empty() {
            return None;
        }
        let scopes = vec![Scope { rows, schema }];
        let mut within = Within {
            lowering: self,
            scopes,
        };
        condition(of, &mut within)
    }
}

impl Recognise<SubqueryExpr> for Within<'_, '_> {
    fn operand(&mut self, expr: &Expr) -> Option<SubqueryExpr> {
        match self.leaf(expr) {
            Some(found) => Some(found),
            None => tree(expr, &mut |node| {
                let found = self.leaf(node)?;
                self.is_number(&found).then_some(found)
            }),
        }
    }

    fn whole(&mut self, expr: &Expr) -> Option<Condition<SubqueryExpr>> {
        let negated = |of: Condition<SubqueryExpr>, is: bool| if is { not(of) } else { of };
        match expr {
            Expr::Exists(Exists {
                subquery,
                negated: is,
            }) => {
                let rows = self.rows(without_columns(&subquery.subquery))?;
                Some(negated(some(self.counted(rows, Vec::new())?), *is))
            }
            Expr::InSubquery(InSubquery {
                expr,
                subquery,
                negated: is,
            }) => {
                let any = self.any_of(Comparison::Eq, expr, &subquery.subquery)?;
                Some(negated(any, *is))
            }
            Expr::SetComparison(SetComparison {
                expr,
                subquery,
                op,
                quantifier,
            }) => {
                let op = comparison(*op)?;
                match quantifier {
                    SetQuantifier::Any => self.any_of(op, expr, &subquery.subquery),
                    SetQuantifier::All => {
                        self.any_of(opposite(op), expr, &subquery.subquery).map(not)
                    }
                }
            }
            _ => None,
        }
    }
}

impl<'w> Within<'w, '_> {
    /// A column, of here or around, or the value of a subquery.
    fn leaf(&mut self, expr: &Expr) -> Option<SubqueryExpr> {
        match expr {
            Expr::Alias(alias) => self.leaf(&alias.expr),
            Expr::Column(_) => {
                let (atom, column) = place(expr)?;
                let column = column.to_owned();
                Some(SubqueryExpr::Column {
                    depth: 0,
                    atom,
                    column,
                })
            }
            Expr::OuterReferenceColumn(_, column) => self.around(column),
            Expr::ScalarSubquery(subquery) => self.value(&subquery.subquery),
            // An engine makes NULL of a division by zero, as NULLIF does.
            Expr::BinaryExpr(binary) if binary.op == Operator::Divide => {
                let divisor = not_zero(&binary.right)?;
                let left = self.operand(&binary.left)?;
                let right = self.operand(divisor)?;
                Some(SubqueryExpr::Divide {
                    left: Box::new(left),
                    right: Box::new(right),
                })
            }
            _ => None,
        }
    }

    /// A column of a query around.
    fn around(&self, column: &Column) -> Option<SubqueryExpr> {
        let mut scopes = self.scopes.iter().enumerate().skip(1);
        let (depth, meant) = scopes.find_map(|(depth, scope)| {
            let at = scope.schema.index_of_column(column).ok()?;
            Some((depth, scope.rows.columns.get(at)?))
        })?;
        let (atom, column) = place(meant)?;
        let column = column.to_owned();
        Some(SubqueryExpr::Column {
            depth,
            atom,
            column,
        })
    }

    /// Whether a leaf takes part in arithmetic.
    fn is_number(&self, leaf: &SubqueryExpr) -> bool {
        let SubqueryExpr::Column {
            depth,
            atom,
            column,
        } = leaf
        else {
            return true;
        };
        let table = &self.scopes[*depth].rows.atoms[*atom];
        let found = self.lowering.column(table, column);
        found.is_ok_and(|(ty, _)| ty.to_arrow().is_numeric())
    }

    /// The one value of a subquery: an aggregate, or an expression over aggregates, of its rows.
    fn value(&mut self, plan: &LogicalPlan) -> Option<SubqueryExpr> {
        let (shown, aggregate) = aggregation(plan)?;
        let rows = self.rows(&aggregate.input)?;
        let schema = aggregate.input.schema();
        let mut calls = Vec::with_capacity(aggregate.aggr_expr.len());
        for expr in &aggregate.aggr_expr {
            calls.push(recognised_call(&rows.meant(expr, schema).ok()?)?);
        }
        let wanted = calls.iter().flat_map(|(function, arguments)| {
            let is_sum = matches!(function, Function::Sum | Function::Avg | Function::Count);
            arguments.iter().map(move |expr| Wanted {
                expr: expr.clone(),
                is_column: !is_sum,
            })
        });
        let settled = self.lowering.settle(rows, wanted.collect()).ok()?;
        let mut arguments = settled.wanted.iter();
        let mut measures = Vec::with_capacity(calls.len());
        for (function, own) in &calls {
            let own = arguments.by_ref().take(own.len());
            measures.push(Measure::Aggregate {
                function: *function,
                arguments: own
                    .map(super::settle::scalar)
                    .collect::<Result<_, _>>()
                    .ok()?,
            });
        }
        let value = match shown {
            None => measures.pop()?,
            Some(shown) => tree(shown, &mut |node| match node {
                Expr::Column(column) => {
                    let at = aggregate.schema.index_of_column(column).ok()?;
                    measures.get(at).cloned()
                }
                _ => None,
            })?,
        };
        let name = "value".to_owned();
        let outputs = vec![match value {
            Measure::Aggregate {
                function,
                mut arguments,
            } if arguments.len() < 2 => Output::Aggregate {
                name,
                function,
                argument: arguments.pop(),
            },
            value => Output::Expression { name, value },
        }];
        Some(query(Query {
            outputs,
            ..settled.query()
        }))
    }

    /// The rows of a subquery; its conditions may name what is around.
    fn rows(&mut self, plan: &LogicalPlan) -> Option<Pending> {
        match plan {
            LogicalPlan::SubqueryAlias(alias) => {
                let rows = self.rows(&alias.input)?;
                Some(rows.called(alias.alias.table()))
            }
            LogicalPlan::Projection(projection)
                if !projection.expr.iter().any(|expr| any(expr, is_nested)) =>
            {
                let mut rows = self.rows(&projection.input)?;
                let schema = projection.input.schema();
                let columns = projection.expr.iter().map(|expr| rows.meant(expr, schema));
                rows.columns = columns.collect::<Result<_, _>>().ok()?;
                Some(rows)
            }
            LogicalPlan::Filter(filter) => {
                let rows = self.rows(&filter.input)?;
                self.restricted(rows, [&filter.predicate], filter.input.schema())
            }
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
                let mut left = self.rows(&join.left)?;
                let right = self.rows(&join.right)?;
                let columns = left.join(right).ok()?;
                left.columns.extend(columns);
                for (one, other) in &join.on {
                    let one = left.meant(one, &join.schema).ok()?;
                    let other = left.meant(other, &join.schema).ok()?;
                    left.restrict(datafusion_expr::binary_expr(one, Operator::Eq, other));
                }
                self.restricted(left, join.filter.iter(), &join.schema)
            }
            LogicalPlan::Subquery(subquery) => self.rows(&subquery.subquery),
            other if reaches(other) => None,
            other => {
                let rows = self.lowering.relation(other).ok()?;
                self.lowering.flat(rows).ok()
            }
        }
    }

    /// Rows that meet further conditions.
    fn restricted<'e>(
        &mut self,
        mut rows: Pending,
        conditions: impl IntoIterator<Item = &'e Expr>,
        schema: &DFSchema,
    ) -> Option<Pending> {
        let mut conjuncts = Vec::new();
        for one in conditions {
            split(one, Operator::And, &mut conjuncts);
        }
        for conjunct in conjuncts {
            let meant = rows.meant(&conjunct, schema).ok()?;
            if any(&meant, |node| {
                is_nested(node) || matches!(node, Expr::OuterReferenceColumn(..))
            }) {
                let kept = self.inside(&rows, schema, |within| condition(&meant, within))?;
                rows.conditions.push(kept);
            } else {
                rows.restrict(meant);
            }
        }
        Some(rows)
    }

    /// Does something one query further in, where some rows are those of here.
    fn inside<T>(
        &mut self,
        rows: &Pending,
        schema: &DFSchema,
        what: impl FnOnce(&mut Within<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let here = Scope { rows, schema };
        let scopes = std::iter::once(here).chain(self.scopes.iter().copied());
        let scopes = scopes.collect();
        what(&mut Within {
            lowering: self.lowering,
            scopes,
        })
    }

    /// How many rows there are that meet further conditions.
    fn counted(
        &mut self,
        mut rows: Pending,
        conditions: Vec<Condition<SubqueryExpr>>,
    ) -> Option<SubqueryExpr> {
        rows.columns.clear();
        rows.conditions.extend(conditions);
        let settled = self.lowering.settle(rows, Vec::new()).ok()?;
        Some(query(Query {
            outputs: vec![Output::Aggregate {
                name: "count".to_owned(),
                function: Function::Count,
                argument: None,
            }],
            ..settled.query()
        }))
    }

    /// Whether a value compares so with one of those that a subquery has.
    fn any_of(
        &mut self,
        comparison: Comparison,
        looked: &Expr,
        plan: &LogicalPlan,
    ) -> Option<Condition<SubqueryExpr>> {
        let looked = self.operand(looked)?;
        let rows = self.rows(plan)?;
        let schema = DFSchema::empty();
        let there = rows.columns.first()?.clone();
        let there = self.inside(&rows, &schema, |within| within.operand(&there))?;
        let sought = deepened(&looked, 0);
        let holds = Condition::Compare {
            comparison: mirrored(comparison),
            left: there.clone(),
            right: sought.clone(),
        };
        let is_certain = !self.may_be_null(&looked, None) && !self.may_be_null(&there, Some(&rows));
        let found = some(self.counted(rows.clone(), vec![holds])?);
        if is_certain {
            return Some(found);
        }
        let nulls = [there, sought].map(|operand| Condition::IsNull { operand });
        let nulls = Condition::Or {
            operands: nulls.into(),
        };
        let may_be = some(self.counted(rows, vec![nulls])?);
        let unknown = Condition::Compare {
            comparison: Comparison::Eq,
            left: SubqueryExpr::Literal {
                value: Literal::Null,
            },
            right: zero(),
        };
        let unknown = Condition::And {
            operands: vec![may_be, unknown],
        };
        Some(Condition::Or {
            operands: vec![found, unknown],
        })
    }

    /// Whether a value may be NULL; a column is one of some rows, or of those here.
    fn may_be_null(&self, of: &SubqueryExpr, rows: Option<&Pending>) -> bool {
        match of {
            SubqueryExpr::Column {
                depth: 0,
                atom,
                column,
            } => {
                let rows = rows.unwrap_or(self.scopes[0].rows);
                let found = self.lowering.column(&rows.atoms[*atom], column);
                found.map_or(true, |(_, nullable)| nullable)
            }
            SubqueryExpr::Literal { value } => *value == Literal::Null,
            _ => true,
        }
    }
}

/// What a subquery shows of its aggregates, and those; all of an aggregate where nothing is computed of it.
fn aggregation(plan: &LogicalPlan) -> Option<(Option<&Expr>, &Aggregate)> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => aggregation(&alias.input),
        LogicalPlan::Subquery(subquery) => aggregation(&subquery.subquery),
        LogicalPlan::Projection(projection) => match (&projection.expr[..], &*projection.input) {
            ([shown], LogicalPlan::Aggregate(of)) if of.group_expr.is_empty() => {
                Some((Some(shown), of))
            }
            _ => None,
        },
        LogicalPlan::Aggregate(of) if of.group_expr.is_empty() && of.aggr_expr.len() == 1 => {
            Some((None, of))
        }
        _ => None,
    }
}

/// What `NULLIF(x, 0)` is of.
fn not_zero(of: &Expr) -> Option<&Expr> {
    match of {
        Expr::Alias(alias) => not_zero(&alias.expr),
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => match &call.args[..] {
            [value, zero] if constant(zero) == Some(Literal::Int(0)) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// A plan whose rows are as many.
fn without_columns(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Projection(projection) => without_columns(&projection.input),
        LogicalPlan::Subquery(subquery) => without_columns(&subquery.subquery),
        other => other,
    }
}

/// Whether a plan names columns of queries around it.
fn reaches(plan: &LogicalPlan) -> bool {
    use datafusion_common::tree_node::TreeNodeRecursion;
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        found |= node.contains_outer_reference();
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_err() || found
}

fn query(query: Query) -> SubqueryExpr {
    SubqueryExpr::Query {
        query: Box::new(query),
    }
}

fn zero() -> SubqueryExpr {
    SubqueryExpr::Literal {
        value: Literal::Int(0),
    }
}

/// Whether there are any.
fn some(count: SubqueryExpr) -> Condition<SubqueryExpr> {
    Condition::Compare {
        comparison: Comparison::Gt,
        left: count,
        right: zero(),
    }
}

fn not(of: Condition<SubqueryExpr>) -> Condition<SubqueryExpr> {
    Condition::Not {
        operand: Box::new(of),
    }
}

/// With the sides exchanged.
const fn mirrored(of: Comparison) -> Comparison {
    match of {
        Comparison::Eq => Comparison::Eq,
        Comparison::Ne => Comparison::Ne,
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
    }
}

/// What holds of two known values where a comparison does not.
const fn opposite(of: Comparison) -> Comparison {
    match of {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Ge,
        Comparison::Le => Comparison::Gt,
        Comparison::Gt => Comparison::Le,
        Comparison::Ge => Comparison::Lt,
    }
}
