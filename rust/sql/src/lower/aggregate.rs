//! GROUP BY and DISTINCT.
//!
//! Invariant: the columns are those of the plan: groups first, then aggregates. Cost: O(aggregates).

use datafusion_expr::{Aggregate, Expr, Operator, binary_expr, lit};
use datafusion_functions::core;
use ringview_core::{Result, SqlProblem};
use ringview_query::{Bag, Function, Query};

use super::cofactor;
use super::domain::is_reference;
use super::engine_calls::{Call, Calls, grouped};
use super::lowered::Wanted;
use super::pending::{Pending, any, is_nested, of_atom};
use super::sets::{grouping, with_groupings};
use super::shown::is_wide;
use super::state::Lowering;
use crate::error::bare;

impl Lowering<'_> {
    /// The groups of an aggregation.
    pub(crate) fn aggregate(&mut self, aggregate: &Aggregate) -> Result<Pending> {
        if let Some(found) = self.grouped_before_join(aggregate)? {
            return Ok(found);
        }
        let mut rows = self.input(&aggregate.input)?;
        let schema = aggregate.input.schema();
        if aggregate
            .aggr_expr
            .iter()
            .any(|expr| cofactor::arguments(expr).is_some())
        {
            return self.with_cofactor(rows, aggregate);
        }
        let groupings: Vec<Option<&[Expr]>> = aggregate.aggr_expr.iter().map(grouping).collect();
        let exprs = aggregate.aggr_expr.iter().zip(&groupings);
        let exprs: Vec<&Expr> = exprs
            .filter(|(_, grouping)| grouping.is_none())
            .map(|(expr, _)| expr)
            .collect();
        // The binder's schema has an expression once that groups twice.
        let mut sets: Vec<Expr> = Vec::new();
        let of_sets = matches!(aggregate.group_expr[..], [Expr::GroupingSet(_)]);
        for expr in aggregate.group_expr.iter().filter(|_| !of_sets) {
            if !sets.contains(expr) {
                sets.push(expr.clone());
            }
        }
        let is_aggregate = |node: &Expr| matches!(node, Expr::AggregateFunction(_));
        if sets.iter().any(|expr| any(expr, is_aggregate)) {
            let what = "GROUP BY holds no aggregate, for groups come before it; group a subquery that computes it";
            return Err(bare(SqlProblem::Query, None, what.to_owned()));
        }
        let mut all = exprs.iter().copied().chain(&sets);
        let is_within = all.any(|expr| any(expr, is_nested));
        if is_within {
            rows = self.flat(rows)?;
        }
        let all = exprs.iter().copied().chain(&sets);
        let all = all.map(|expr| rows.meant(expr, schema));
        let mut all = all.collect::<Result<Vec<Expr>>>()?;
        if is_within {
            (rows, all) = self.with_values(rows, all, schema)?;
        }
        if all.iter().any(|expr| any(expr, is_reference)) {
            rows = self.flat(rows)?;
            (rows, all) = self.with_references(rows, all)?;
        }
        let groups = all.split_off(exprs.len());
        let calls = Calls::new(&all)?;
        if let [Expr::GroupingSet(sets)] = &aggregate.group_expr[..] {
            return self.grouping_sets(&rows, sets, (&calls, &groupings), aggregate);
        }
        let mut found = self.groups(rows, groups, &calls)?;
        let values = found.columns.split_off(sets.len());
        found
            .columns
            .extend(with_groupings(values, &groupings, &sets)?);
        Ok(found)
    }

    /// The groups of rows by keys: the keys, how many rows there are, and other aggregates.
    pub(crate) fn tallied(
        &mut self,
        rows: Pending,
        keys: Vec<Expr>,
        others: &[(Function, Expr)],
    ) -> Result<Pending> {
        let call = |function, arguments| Call {
            function,
            arguments,
            is_truth: false,
        };
        let mut calls = vec![call(Function::Count, Vec::new())];
        calls.extend(
            others
                .iter()
                .map(|(of, value)| call(*of, vec![value.clone()])),
        );
        self.groups(rows, keys, &Calls::Engine(calls))
    }

    pub(super) fn groups(
        &mut self,
        mut rows: Pending,
        mut groups: Vec<Expr>,
        calls: &Calls,
    ) -> Result<Pending> {
        rows = self.decorrelated(rows)?;
        let shown = groups.len();
        let outer = std::mem::take(&mut rows.outer);
        groups.extend(outer.iter().map(|(_, inner)| inner.clone()));
        rows.columns = Vec::new();
        let (name, names) = match calls {
            Calls::Engine(calls) => self.grouped_by_engine(rows, &groups, calls)?,
            Calls::PerGroup(functions) => {
                match self.grouped_by_first(&rows, &groups, functions)? {
                    Some(found) => found,
                    None => self.grouped_per_group(rows, &groups, functions)?,
                }
            }
        };
        let column = |at: usize| of_atom(0, &names[at]);
        let mut columns: Vec<Expr> = (0..shown).map(column).collect();
        for at in 0..calls.len() {
            let value = column(groups.len() + at);
            columns.push(
                match (calls.is_truth(at), calls.counts(at) && !outer.is_empty()) {
                    (true, _) => binary_expr(value, Operator::Eq, lit(1i64)),
                    // Without a correlated row there is no group, and the count is 0.
                    (_, true) => core::coalesce().call(vec![value, lit(0i64)]),
                    _ => value,
                },
            );
        }
        let keys = (shown..).map(column);
        let outer = outer
            .into_iter()
            .zip(keys)
            .map(|((outer, _), key)| (outer, key));
        Ok(Pending {
            atoms: vec![name],
            columns,
            outer: outer.collect(),
            ..Pending::default()
        })
    }

    /// Groups that an engine keeps: a block, and its columns by group and aggregate.
    fn grouped_by_engine(
        &mut self,
        rows: Pending,
        groups: &[Expr],
        calls: &[Call],
    ) -> Result<(String, Vec<String>)> {
        let mut wanted = Wanted::columns(groups);
        for one in calls.iter().flat_map(Call::wanted) {
            let expr = match one.is_column {
                true => one.expr,
                false => self.as_products(one.expr, &rows.atoms)?,
            };
            wanted.push(Wanted { expr, ..one });
        }
        let lowered = self.lower(rows, wanted)?;
        let (query, names) = grouped(&lowered, groups.len(), calls)?;
        Ok((self.emit("groups", query)?, names))
    }

    /// The different rows, as a block; and what it calls the columns.
    pub(crate) fn distinct(&mut self, mut rows: Pending) -> Result<(String, Vec<String>)> {
        if is_wide(&rows) {
            let width = rows.columns.len();
            let names: Vec<String> = (0..width).map(|at| format!("column {at}")).collect();
            let query = self.unordered(rows, &names, true)?;
            return Ok((self.emit("distinct", query)?, names));
        }
        let wanted = Wanted::columns(&std::mem::take(&mut rows.columns));
        let lowered = self.lower(rows, wanted)?;
        let (query, names) = grouped(&lowered, lowered.wanted.len(), &[])?;
        let query = Query {
            bag: Some(Bag {
                representation: None,
                distinct: true,
            }),
            ..query
        };
        Ok((self.emit("distinct", query)?, names))
    }
}
