//! Conditions with subqueries in the form in which an engine keeps them: each subquery is one value of its own query.
//!
//! `x < (SELECT SUM(y) FROM s WHERE s.b = r.b)` compares x with a query whose condition names a column of the query
//! around. EXISTS is a count above 0; `x < ANY (SELECT y ..)` holds where some y is greater, else is unknown where NULL
//! is on a side, else false; ALL is NOT ANY of the opposite. The planner chooses the engine for such a condition, or
//! joins with blocks instead. Invariant: columns of a subquery have depth 0 within it, those of the query around depth
//! 1, and so on. Cost: that of lowering each subquery once.

use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, ScalarValue};
use datafusion_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion_expr::{Aggregate, Expr, JoinType, LogicalPlan, Operator, binary_expr, lit};
use ringview_core::Error;
use ringview_expr::Scalar;
use ringview_query::{Function, Named, Output, Query};

use super::engine_calls::recognised_call;
use super::levels::NestedPredicate;
use super::lowered::Wanted;
use super::pending::{Pending, any, column_ref, is_nested, split, substituted};
use super::state::{Lowering, over};
use crate::row_scalar::row_scalar;

/// Levels of subqueries of one condition. ANY and ALL count the rows of theirs twice, with all that is nested in them, so
/// that a condition is up to twice as large with each level; a deeper one is made of blocks.
const MOST_NESTED: usize = 6;

/// The rows around a subquery: an expression names columns of their plan's schema.
#[derive(Clone, Copy)]
struct Scope<'s> {
    rows: &'s Pending,
    schema: &'s DFSchema,
}

/// A condition under way, and the scopes that it may name, the innermost first.
struct ConditionLowering<'w, 'c> {
    lowering: &'w mut Lowering<'c>,
    scopes: Vec<Scope<'w>>,
}

impl Lowering<'_> {
    /// A condition on some rows as an engine keeps it.
    ///
    /// # Errors
    /// Why none does; nothing where it is of another form.
    pub(super) fn nested_condition(
        &mut self,
        rows: &Pending,
        of: &Expr,
        schema: &DFSchema,
    ) -> Result<NestedPredicate, Option<Error>> {
        if !self.keeps_conditions || !rows.windows.is_empty() {
            return Err(None);
        }
        let scopes = vec![Scope { rows, schema }];
        let mut inner = ConditionLowering {
            lowering: self,
            scopes,
        };
        let nested = inner.condition(of).ok_or(None)?;
        let mut probe = over(&rows.atoms);
        probe.condition = Scalar::all_of(nested.conditions.iter().cloned());
        probe.subqueries.clone_from(&nested.subqueries);
        self.probed(probe).map_err(Some)?;
        Ok(nested)
    }
}

impl<'w> ConditionLowering<'w, '_> {
    /// A condition, and the subqueries in it.
    fn condition(&mut self, of: &Expr) -> Option<NestedPredicate> {
        let mut subqueries = Vec::new();
        let condition = self.nested_expr(of, &mut subqueries)?;
        Some(NestedPredicate {
            conditions: vec![row_scalar(condition).ok()?],
            subqueries,
        })
    }

    /// An expression that names its subqueries, which are appended to `subqueries`, and columns of queries around.
    fn nested_expr(&mut self, of: &Expr, subqueries: &mut Vec<Query>) -> Option<Expr> {
        let mut is_supported = true;
        let made = of.clone().transform_down(|node| {
            let found = match &node {
                Expr::Alias(alias) => self.nested_expr(&alias.expr, subqueries),
                Expr::OuterReferenceColumn(_, column) => self.outer_column(column),
                node if is_nested(node) => self.subquery(node, subqueries),
                _ => return Ok(Transformed::no(node)),
            };
            is_supported &= found.is_some();
            Ok(match found {
                Some(found) => Transformed::new(found, true, TreeNodeRecursion::Jump),
                None => Transformed::new(node, false, TreeNodeRecursion::Stop),
            })
        });
        made.ok().filter(|_| is_supported).map(|made| made.data)
    }

    /// A subquery, or a comparison with one, as an expression over the values of subqueries.
    fn subquery(&mut self, node: &Expr, subqueries: &mut Vec<Query>) -> Option<Expr> {
        if self.scopes.len() > MOST_NESTED {
            return None;
        }
        Some(match node {
            Expr::ScalarSubquery(subquery) => {
                let query = self.value(&subquery.subquery)?;
                added(query, subqueries)
            }
            Expr::Exists(Exists {
                subquery,
                negated: is,
            }) => {
                let rows = self.rows(without_columns(&subquery.subquery))?;
                let count = self.counted(rows, NestedPredicate::default())?;
                negated(some(added(count, subqueries)), *is)
            }
            Expr::InSubquery(InSubquery {
                expr,
                subquery,
                negated: is,
            }) => {
                let any = self.any_of(Operator::Eq, expr, &subquery.subquery, subqueries)?;
                negated(any, *is)
            }
            Expr::SetComparison(SetComparison {
                expr,
                subquery,
                op,
                quantifier,
            }) => match quantifier {
                SetQuantifier::Any => self.any_of(*op, expr, &subquery.subquery, subqueries)?,
                SetQuantifier::All => {
                    let opposite = op.negate()?;
                    let any = self.any_of(opposite, expr, &subquery.subquery, subqueries)?;
                    negated(any, true)
                }
            },
            _ => return None,
        })
    }

    /// A column of a query around.
    fn outer_column(&self, column: &Column) -> Option<Expr> {
        let mut scopes = self.scopes.iter().enumerate().skip(1);
        let (depth, meant) = scopes.find_map(|(depth, scope)| {
            let at = scope.schema.index_of_column(column).ok()?;
            Some((depth, scope.rows.columns.get(at)?))
        })?;
        let (atom, column) = column_ref(meant)?;
        let column = column.to_owned();
        let named = Named::Column {
            depth,
            atom,
            column,
        };
        Some(named.expr())
    }

    /// The one value of a subquery: an aggregate, or an expression over aggregates, of its rows.
    fn value(&mut self, plan: &LogicalPlan) -> Option<Query> {
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
        let lowered = self.lowering.lower(rows, wanted.collect()).ok()?;
        let mut arguments = lowered.wanted.iter();
        let mut measures = Vec::with_capacity(calls.len());
        for (function, own) in &calls {
            let own = arguments.by_ref().take(own.len()).cloned();
            measures.push(function.call(own.collect())?);
        }
        let value = match shown {
            None => measures.pop()?,
            Some(shown) => {
                // Each column of an aggregate is replaced by the aggregate.
                substituted(shown, &aggregate.schema, &measures).ok()?
            }
        };
        Some(Query {
            outputs: vec![Output::Expression {
                name: "value".to_owned(),
                value: row_scalar(value).ok()?,
            }],
            ..lowered.query()
        })
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
                let nested = self.inside(&rows, schema, |inner| inner.condition(&meant))?;
                rows.nested.append(nested).ok()?;
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
        what: impl FnOnce(&mut ConditionLowering<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let here = Scope { rows, schema };
        let scopes = std::iter::once(here).chain(self.scopes.iter().copied());
        let scopes = scopes.collect();
        what(&mut ConditionLowering {
            lowering: self.lowering,
            scopes,
        })
    }

    /// A query that counts the rows that meet further conditions.
    fn counted(&mut self, mut rows: Pending, nested: NestedPredicate) -> Option<Query> {
        rows.columns.clear();
        rows.nested.append(nested).ok()?;
        let lowered = self.lowering.lower(rows, Vec::new()).ok()?;
        Some(Query {
            outputs: vec![Output::Aggregate {
                name: "count".to_owned(),
                function: Function::Count,
                argument: None,
            }],
            ..lowered.query()
        })
    }

    /// Whether a value compares so with one of those that a subquery has.
    fn any_of(
        &mut self,
        comparison: Operator,
        looked: &Expr,
        plan: &LogicalPlan,
        subqueries: &mut Vec<Query>,
    ) -> Option<Expr> {
        let rows = self.rows(plan)?;
        let there = rows.columns.first()?.clone();
        let may_be_null =
            self.may_be_null(looked, self.scopes[0].rows) || self.may_be_null(&there, &rows);
        let schema = DFSchema::empty();
        let there = self.inside(&rows, &schema, |inner| inner.condition(&there))?;
        let sought = self.condition(looked)?.deepened().ok()?;
        // Both values first, then the conditions on them.
        let mut both = there;
        both.append(sought).ok()?;
        let mut sides = std::mem::take(&mut both.conditions).into_iter();
        let (there, sought) = (sides.next()?, sides.next()?);
        let (there, sought) = (there.expr(), sought.expr());
        let asked = |condition: Expr| NestedPredicate {
            conditions: vec![condition.into()],
            ..both.clone()
        };
        let compared = binary_expr(there.clone(), comparison.swap()?, sought.clone());
        let holds = asked(compared);
        let found = some(added(self.counted(rows.clone(), holds)?, subqueries));
        if !may_be_null {
            return Some(found);
        }
        let nulls = asked(there.clone().is_null().or(sought.clone().is_null()));
        let may_be = some(added(self.counted(rows, nulls)?, subqueries));
        let unknown = binary_expr(lit(ScalarValue::Null), Operator::Eq, lit(0i64));
        Some(found.or(may_be.and(unknown)))
    }

    /// Whether a value over some rows may be NULL.
    fn may_be_null(&self, of: &Expr, rows: &Pending) -> bool {
        match (of, column_ref(of)) {
            (Expr::Alias(alias), _) => self.may_be_null(&alias.expr, rows),
            (_, Some((atom, column))) => {
                let found = self.lowering.column(&rows.atoms[atom], column);
                found.map_or(true, |(_, nullable)| nullable)
            }
            (Expr::Literal(value, _), None) => value.is_null(),
            _ => true,
        }
    }
}

/// The value of one more subquery.
fn added(query: Query, subqueries: &mut Vec<Query>) -> Expr {
    subqueries.push(query);
    Named::Subquery(subqueries.len() - 1).expr()
}

/// The output of a subquery over its aggregates, and these; no expression where it outputs an aggregate directly.
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

/// A plan whose rows are as many.
pub(super) fn without_columns(plan: &LogicalPlan) -> &LogicalPlan {
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

/// Whether there are any.
fn some(count: Expr) -> Expr {
    binary_expr(count, Operator::Gt, lit(0i64))
}

fn negated(of: Expr, is: bool) -> Expr {
    if is { Expr::Not(Box::new(of)) } else { of }
}
