//! Aggregates of the right side of a LEFT JOIN, by columns of the left one: grouped before they are joined.
//!
//! Each row of the left side is joined with the one group of its key, where it has one, and the aggregates of the
//! groups are aggregated once more (eager aggregation, Yan and Larson 1995). So no pair of rows is ever listed.
//! Invariant: COUNT, SUM, MIN and MAX of all rows are those of the groups' COUNT, SUM, MIN and MAX; a row without a
//! partner counts once for COUNT(*), and as nothing otherwise. Cost: O(1) for each row of both sides. For queries that
//! are run once.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, NullEquality};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::{Aggregate, Expr, Join, JoinType, LogicalPlan, Operator, cast, lit};
use datafusion_functions::core;
use ringview_core::Result;
use ringview_query::Function;

use super::engine_calls::{Call, Calls};
use super::pairs::{Conditions, equality};
use super::pending::{Pending, any, column_ref, is_nested, split};
use super::state::Lowering;
use super::{asof, lateral};

impl Lowering<'_> {
    /// The groups of such an aggregation; nothing where it is another one.
    pub(super) fn grouped_before_join(&mut self, of: &Aggregate) -> Result<Option<Pending>> {
        let LogicalPlan::Join(join) = &*of.input else {
            return Ok(None);
        };
        // A view would hold half as much, but a changed row costs more: its group, and the row of that in the join.
        if !self.once {
            return Ok(None);
        }
        let mut conditions = Vec::new();
        if let Some(filter) = &join.filter {
            split(filter, Operator::And, &mut conditions);
        }
        if !is_grouped_by_left(of, join) || !is_joined_by_key(join, &conditions) {
            return Ok(None);
        }
        let (one, other) = (join.left.schema(), join.right.schema());
        let left = self.relation(&join.left)?;
        let mut left = self.flat(left)?;
        let right = self.relation(&join.right)?;
        let mut right = self.flat(right)?;
        if !left.outer.is_empty() || !right.outer.is_empty() {
            return Ok(None);
        }
        let aggregates = of.aggr_expr.iter().map(|expr| right.meant(expr, other));
        let Calls::Engine(calls) = Calls::new(&aggregates.collect::<Result<Vec<_>>>()?)? else {
            return Ok(None);
        };
        if !calls.iter().all(|call| self.is_of_groups(call, &right)) {
            return Ok(None);
        }
        let mut keys = Vec::with_capacity(join.on.len());
        for (key, partner) in &join.on {
            keys.push((left.meant(key, one)?, right.meant(partner, other)?));
        }
        for condition in &conditions {
            match equality(condition, (&left, &right), (one, other))? {
                Some(pair) => keys.push(pair),
                None => right.filters.push(right.meant(condition, other)?),
            }
        }
        let counts_rows = of
            .aggr_expr
            .iter()
            .map(|expr| expr.column_refs().is_empty());
        let functions = calls.iter().map(|call| call.function);
        let functions: Vec<(Function, bool)> = functions.zip(counts_rows).collect();
        let groups = of.group_expr.iter().map(|expr| left.meant(expr, one));
        left.columns = groups.collect::<Result<_>>()?;
        let (keys, partners): (Vec<Expr>, Vec<Expr>) = keys.into_iter().unzip();
        let mut right = self.groups(right, partners, &Calls::Engine(calls))?;
        let values = right.columns.split_off(keys.len());
        let partners = std::mem::replace(&mut right.columns, values);
        let keys = keys.into_iter().zip(partners).collect();
        let mut rows = self.outer(left, right, keys, JoinType::Left, &Conditions::none())?;
        let values = rows.columns.split_off(of.group_expr.len());
        let groups = std::mem::take(&mut rows.columns);
        self.groups_of_groups(rows, groups, (&functions, values))
            .map(Some)
    }

    /// The aggregates of aggregates. A flag beside a function marks COUNT(*).
    fn groups_of_groups(
        &mut self,
        rows: Pending,
        groups: Vec<Expr>,
        (functions, values): (&[(Function, bool)], Vec<Expr>),
    ) -> Result<Pending> {
        let calls = functions
            .iter()
            .zip(values)
            .map(|(&(function, all), value)| {
                let is_count = function == Function::Count;
                let value = match is_count {
                    true => core::coalesce().call(vec![value, lit(i64::from(all))]),
                    false => value,
                };
                Call {
                    function: if is_count { Function::Sum } else { function },
                    arguments: vec![value],
                    is_truth: false,
                }
            });
        let calls = Calls::Engine(calls.collect());
        let shown = groups.len();
        let mut found = self.groups(rows, groups, &calls)?;
        for (value, (function, _)) in found.columns[shown..].iter_mut().zip(functions) {
            if *function == Function::Count {
                let count = cast(std::mem::take(value), DataType::Int64);
                *value = core::coalesce().call(vec![count, lit(0i64)]);
            }
        }
        Ok(found)
    }

    /// Whether the aggregate of all rows is one of the aggregates of groups of them, of the same type.
    fn is_of_groups(&self, call: &Call, rows: &Pending) -> bool {
        let is_exact = |expr: &Expr| {
            let found =
                column_ref(expr).and_then(|(at, name)| self.column(&rows.atoms[at], name).ok());
            found.is_some_and(|(ty, _)| ty.is_integer() || ty.to_arrow().is_decimal())
        };
        !call.is_truth
            && match call.function {
                Function::Count | Function::Min | Function::Max => true,
                Function::Sum => call.arguments.iter().all(is_exact),
                _ => false,
            }
    }
}

/// Whether all columns of an expression are of one schema, and it is of its row alone.
fn is_of(expr: &Expr, schema: &DFSchema) -> bool {
    let is_elsewhere =
        |node: &Expr| is_nested(node) || matches!(node, Expr::OuterReferenceColumn(..));
    let columns = expr.column_refs();
    columns.iter().all(|column| schema.has_column(column)) && !any(expr, is_elsewhere)
}

/// Whether groups are of the left side's columns, and each aggregate is of values that are NULL without a partner, or
/// COUNT(*).
fn is_grouped_by_left(of: &Aggregate, join: &Join) -> bool {
    let (left, right) = (join.left.schema(), join.right.schema());
    let is_sets = |expr: &Expr| matches!(expr, Expr::GroupingSet(_));
    let is_column =
        |expr: &Expr| !is_sets(expr) && !expr.column_refs().is_empty() && is_of(expr, left);
    let is_known = |expr: &Expr| {
        let Expr::AggregateFunction(AggregateFunction { func, params }) = expr else {
            return false;
        };
        let counts_rows = func.name() == "count"
            && params.filter.is_none()
            && !params.distinct
            && expr.column_refs().is_empty();
        let is_combined = matches!(func.name(), "count" | "sum" | "min" | "max");
        is_combined && is_of(expr, right) && (counts_rows || params.args.iter().all(is_strict))
    };
    let groups = &of.group_expr;
    let repeats = (1..groups.len()).any(|at| groups[..at].contains(&groups[at]));
    !groups.is_empty()
        && !repeats
        && groups.iter().all(is_column)
        && of.aggr_expr.iter().all(is_known)
}

/// Whether an expression is NULL where its columns are.
fn is_strict(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Cast(cast) => is_strict(&cast.expr),
        Expr::Negative(of) => is_strict(of),
        _ => false,
    }
}

/// Whether rows are joined by equalities alone, and all other conditions choose rows of the right side.
fn is_joined_by_key(join: &Join, conditions: &[Expr]) -> bool {
    let (left, right) = (join.left.schema(), join.right.schema());
    let is_key = |condition: &Expr| {
        let Expr::BinaryExpr(binary) = condition else {
            return false;
        };
        let is_own = |expr: &Expr, schema| !expr.column_refs().is_empty() && is_of(expr, schema);
        let (one, other) = (&*binary.left, &*binary.right);
        let is_across = (is_own(one, left) && is_own(other, right))
            || (is_own(one, right) && is_own(other, left));
        binary.op == Operator::Eq && is_across
    };
    let mut keys = conditions.iter().filter(|one| is_key(one));
    join.join_type == JoinType::Left
        && join.null_equality == NullEquality::NullEqualsNothing
        && lateral::subquery(&join.right).is_none()
        && !asof::is_asof(conditions)
        && (!join.on.is_empty() || keys.next().is_some())
        && conditions
            .iter()
            .all(|one| is_key(one) || is_of(one, right))
}
