//! GROUP BY and DISTINCT.
//!
//! Invariant: an aggregate that an engine does not know is written with those that it knows. Cost: O(aggregates).

use datafusion_common::ScalarValue;
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::{Aggregate, Expr, Operator, binary_expr, lit, when};
use datafusion_functions::core;
use ringview_core::Result;
use ringview_query::{Bag, Function, Measure, Output, Query, Rows};

use super::call::aggregated;
use super::cofactor;
use super::pending::{self, Pending, integer, of_atom};
use super::settle::{Settled, Wanted, branch, scalar};
use super::state::{Lowering, computing, free};
use crate::error::{refusal, unsupported};

/// An aggregate as an engine computes it.
struct Call {
    function: Function,
    arguments: Vec<Expr>,
    /// Whether what it computes is 1 for TRUE.
    is_truth: bool,
}

impl Call {
    /// Its arguments: of sums, sums of products; else columns.
    fn wanted(&self) -> impl Iterator<Item = Wanted> + '_ {
        let is_sum = matches!(self.function, Function::Sum | Function::Avg);
        self.arguments.iter().map(move |expr| Wanted {
            expr: expr.clone(),
            is_column: !is_sum,
        })
    }
}

/// The aggregates of a GROUP BY: all of them by an engine, or all of them of the rows of each group.
enum Calls {
    Kept(Vec<Call>),
    OfParts(Vec<pending::Function>),
}

impl Calls {
    /// Aggregates over expressions that are meant already.
    fn new(exprs: &[Expr]) -> Result<Self> {
        let functions = exprs.iter().map(|expr| match expr {
            Expr::AggregateFunction(function) => Ok(function),
            _ => Err(unsupported("this aggregate is not kept")),
        });
        let functions = functions.collect::<Result<Vec<_>>>()?;
        Ok(match functions.iter().all(|one| is_kept(one)) {
            true => Self::Kept(functions.into_iter().map(call).collect::<Result<_>>()?),
            false => Self::OfParts(
                functions
                    .into_iter()
                    .map(aggregated)
                    .collect::<Result<_>>()?,
            ),
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Kept(calls) => calls.len(),
            Self::OfParts(functions) => functions.len(),
        }
    }

    /// Whether what an engine computes is 1 for TRUE.
    fn is_truth(&self, at: usize) -> bool {
        matches!(self, Self::Kept(calls) if calls[at].is_truth)
    }

    fn counts(&self, at: usize) -> bool {
        match self {
            Self::Kept(calls) => matches!(
                calls[at].function,
                Function::Count | Function::CountDistinct | Function::RegrCount
            ),
            Self::OfParts(functions) => matches!(
                functions[at].name.as_str(),
                "count" | "approx_count_distinct" | "regr_count"
            ),
        }
    }
}

/// Whether an engine keeps an aggregate, whatever the order of its rows.
fn is_kept(AggregateFunction { func, params }: &AggregateFunction) -> bool {
    let is_idempotent = matches!(
        function(func.name()),
        Some(Function::Min | Function::Max | Function::Count)
    );
    let takes_order = func.name() == "any_value" && !params.order_by.is_empty();
    function(func.name()).is_some() && (is_idempotent || !params.distinct) && !takes_order
}

/// The function of an engine.
fn function(name: &str) -> Option<Function> {
    Some(match name {
        "sum" | "count_if" | "countif" => Function::Sum,
        "count" => Function::Count,
        "avg" | "mean" => Function::Avg,
        "min" | "bool_and" | "any_value" => Function::Min,
        "max" | "bool_or" => Function::Max,
        "var_pop" => Function::VarPop,
        "var_samp" | "variance" => Function::VarSamp,
        "stddev_pop" => Function::StddevPop,
        "stddev" | "stddev_samp" => Function::StddevSamp,
        "covar_pop" => Function::CovarPop,
        "covar_samp" => Function::CovarSamp,
        "corr" => Function::Corr,
        "regr_slope" => Function::RegrSlope,
        "regr_intercept" => Function::RegrIntercept,
        "regr_r2" => Function::RegrR2,
        "regr_count" => Function::RegrCount,
        _ => return None,
    })
}

impl Lowering<'_> {
    /// The groups of an aggregation.
    pub(crate) fn aggregate(&mut self, aggregate: &Aggregate) -> Result<Pending> {
        let rows = self.relation(&aggregate.input)?;
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
        let exprs = exprs
            .filter(|(_, grouping)| grouping.is_none())
            .map(|(expr, _)| rows.meant(expr, schema));
        let calls = Calls::new(&exprs.collect::<Result<Vec<Expr>>>()?)?;
        if let [Expr::GroupingSet(sets)] = &aggregate.group_expr[..] {
            return self.grouping_sets(&rows, sets, (&calls, &groupings), aggregate);
        }
        // The binder's schema has an expression once that groups twice.
        let mut sets: Vec<Expr> = Vec::new();
        for expr in &aggregate.group_expr {
            if !sets.contains(expr) {
                sets.push(expr.clone());
            }
        }
        let groups = sets.iter().map(|expr| rows.meant(expr, schema));
        let groups = groups.collect::<Result<Vec<Expr>>>()?;
        let mut found = self.groups(rows, groups, &calls)?;
        let values = found.columns.split_off(sets.len());
        found
            .columns
            .extend(with_groupings(values, &groupings, &sets));
        Ok(found)
    }

    /// Groups with a COFACTOR, which a view shows beside other aggregates.
    fn with_cofactor(&mut self, rows: Pending, aggregate: &Aggregate) -> Result<Pending> {
        let schema = aggregate.input.schema();
        let meant = |expr: &Expr| rows.meant(expr, schema);
        let groups = aggregate.group_expr.iter().map(meant);
        let groups = groups.collect::<Result<Vec<Expr>>>()?;
        let mut features = Vec::new();
        let mut others = Vec::new();
        for (at, expr) in aggregate.aggr_expr.iter().enumerate() {
            match cofactor::arguments(expr) {
                Some(arguments) => {
                    features.push((at, self.features(&rows, arguments, &groups, aggregate)?));
                }
                None => others.push(meant(expr)?),
            }
        }
        let Calls::Kept(calls) = Calls::new(&others)? else {
            return Err(unsupported(
                "COFACTOR beside aggregates that need all rows of a group is not kept; make a view of each",
            ));
        };
        let mut wanted = Wanted::columns(&groups);
        wanted.extend(calls.iter().flat_map(Call::wanted));
        let read = features.iter().flat_map(|(_, features)| features.read());
        wanted.extend(Wanted::columns(&read.collect::<Vec<Expr>>()));
        let settled = self.settle(rows, wanted)?;
        let (mut query, mut names) = grouped(&settled, groups.len(), &calls)?;
        for (at, features) in features {
            let name = free("cofactor", &|name| names.iter().any(|other| other == name));
            names.insert(groups.len() + at, name.clone());
            query
                .outputs
                .insert(groups.len() + at, features.output(name));
        }
        let name = self.emit("groups", query)?;
        Ok(Pending::over(&name, &names))
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
        self.groups(rows, keys, &Calls::Kept(calls))
    }

    fn groups(
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
            Calls::Kept(calls) => self.grouped_by_engine(rows, &groups, calls)?,
            Calls::OfParts(functions) => self.grouped_by_parts(rows, &groups, functions)?,
        };
        let column = |at: usize| of_atom(0, &names[at]);
        let mut columns: Vec<Expr> = (0..shown).map(column).collect();
        for at in 0..calls.len() {
            let value = column(groups.len() + at);
            columns.push(
                match (calls.is_truth(at), calls.counts(at) && !outer.is_empty()) {
                    (true, _) => binary_expr(value, Operator::Eq, lit(1i64)),
                    // Where no row is correlated there is no group, and the count is 0.
                    (_, true) => core::coalesce().call(vec![value, lit(0i64)]),
                    _ => value,
                },
            );
        }
        let keys = (shown..).map(column);
        let outer = outer
            .into_iter()
            .zip(keys)
            .map(|((around, _), key)| (around, key));
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
        let settled = self.settle(rows, wanted)?;
        let (query, names) = grouped(&settled, groups.len(), calls)?;
        Ok((self.emit("groups", query)?, names))
    }

    /// One block for each set of groups, and their union.
    fn grouping_sets(
        &mut self,
        rows: &Pending,
        sets: &datafusion_expr::expr::GroupingSet,
        (calls, groupings): (&Calls, &[Option<&[Expr]>]),
        aggregate: &Aggregate,
    ) -> Result<Pending> {
        use datafusion_expr::expr::GroupingSet;
        let subsets: Vec<Vec<Expr>> = match sets {
            GroupingSet::GroupingSets(sets) => sets.clone(),
            GroupingSet::Rollup(all) => {
                (0..=all.len()).rev().map(|to| all[..to].to_vec()).collect()
            }
            GroupingSet::Cube(all) if all.len() < 8 => (0..1u32 << all.len())
                .map(|set| {
                    let in_set = all.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
                    in_set.map(|(_, expr)| expr.clone()).collect()
                })
                .collect(),
            GroupingSet::Cube(_) => {
                return Err(unsupported("a CUBE of so many columns is not kept"));
            }
        };
        let all: Vec<Expr> = sets.distinct_expr().into_iter().cloned().collect();
        let schema = aggregate.input.schema();
        let (mut tables, mut branches) = (Vec::new(), Vec::new());
        for subset in subsets {
            let groups = subset
                .iter()
                .map(|expr| rows.meant(expr, schema))
                .collect::<Result<Vec<_>>>()?;
            let found = self.groups(rows.clone(), groups, calls)?;
            let mut columns: Vec<Expr> = Vec::new();
            for expr in &all {
                let at = subset.iter().position(|other| other == expr);
                columns.push(at.map_or(Expr::Literal(ScalarValue::Null, None), |at| {
                    found.columns[at].clone()
                }));
            }
            let values = found.columns[subset.len()..].to_vec();
            columns.extend(with_groupings(values, groupings, &subset));
            tables.push(found.atoms[0].clone());
            branches.push(branch(&[], columns, false)?);
        }
        let names: Vec<String> = (0..all.len() + groupings.len())
            .map(|at| format!("column {at}"))
            .collect();
        let name = self.emit(
            "sets",
            computing(
                &tables,
                Rows::Map {
                    names: names.clone(),
                    branches,
                },
            ),
        )?;
        let mut rows = Pending::over(&name, &names);
        // Behind the groups, the binder has a column for the number of the set.
        rows.columns
            .insert(all.len(), Expr::Literal(ScalarValue::Null, None));
        Ok(rows)
    }

    /// The different rows, as a block; and what it calls the columns.
    pub(crate) fn distinct(&mut self, mut rows: Pending) -> Result<(String, Vec<String>)> {
        let wanted = Wanted::columns(&std::mem::take(&mut rows.columns));
        let settled = self.settle(rows, wanted)?;
        let (query, names) = grouped(&settled, settled.wanted.len(), &[])?;
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

/// The columns of GROUPING(..), if that is what is computed.
fn grouping(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Alias(alias) => grouping(&alias.expr),
        Expr::AggregateFunction(of) if of.func.name() == "grouping" => Some(&of.params.args),
        _ => None,
    }
}

/// Aggregates, and among them for each GROUPING(..) which of its columns a set of groups lacks, the first the highest bit.
fn with_groupings(values: Vec<Expr>, groupings: &[Option<&[Expr]>], set: &[Expr]) -> Vec<Expr> {
    let mut values = values.into_iter();
    let one = |grouping: &Option<&[Expr]>| match grouping {
        Some(of) => Some(lit(of.iter().fold(0i64, |bits, column| {
            bits * 2 + i64::from(!set.contains(column))
        }))),
        None => values.next(),
    };
    groupings.iter().filter_map(one).collect()
}

/// The query of groups and aggregates, and the names of its columns.
fn grouped(settled: &Settled, groups: usize, calls: &[Call]) -> Result<(Query, Vec<String>)> {
    let mut names: Vec<String> = Vec::new();
    let (mut group_by, mut outputs) = (Vec::new(), Vec::new());
    for at in 0..groups {
        let column = settled.column(at);
        let name = free(&column.column, &|name| {
            names.iter().any(|other| other == name)
        });
        names.push(name.clone());
        if !group_by.contains(&column) {
            group_by.push(column.clone());
        }
        outputs.push(Output::Group { name, column });
    }
    let mut next = groups;
    for (at, call) in calls.iter().enumerate() {
        let name = free(&format!("aggregate {at}"), &|name| {
            names.iter().any(|other| other == name)
        });
        names.push(name.clone());
        let arguments = settled.wanted[next..next + call.arguments.len()]
            .iter()
            .map(scalar);
        let mut arguments = arguments.collect::<Result<Vec<_>>>()?;
        next += call.arguments.len();
        outputs.push(if arguments.len() < 2 {
            Output::Aggregate {
                name,
                function: call.function,
                argument: arguments.pop(),
            }
        } else {
            Output::Expression {
                name,
                value: Measure::Aggregate {
                    function: call.function,
                    arguments,
                },
            }
        });
    }
    Ok((
        Query {
            group_by,
            outputs,
            ..settled.query()
        },
        names,
    ))
}

/// An aggregate that the value of a subquery may be, and what it is of.
pub(super) fn recognised_call(expr: &Expr) -> Option<(Function, Vec<Expr>)> {
    let Expr::AggregateFunction(of) = expr else {
        return None;
    };
    let call = call(of).ok().filter(|call| is_kept(of) && !call.is_truth)?;
    let is_known = matches!(
        call.function,
        Function::Sum | Function::Count | Function::Avg | Function::Min | Function::Max
    );
    is_known.then_some((call.function, call.arguments))
}

/// What an aggregate is to an engine.
fn call(AggregateFunction { func, params }: &AggregateFunction) -> Result<Call> {
    let name = func.name();
    let mut arguments = params.args.clone();
    let truth = |condition: &Expr, otherwise: Option<Expr>| {
        let mut of = when(condition.clone(), lit(1i64));
        match otherwise {
            Some(otherwise) => of
                .when(Expr::Not(Box::new(condition.clone())), otherwise)
                .end(),
            None => of.end(),
        }
    };
    #[expect(deprecated)]
    let is_star = |of: &Expr| matches!(of, Expr::Wildcard { .. }) || integer(of).is_some();
    if name == "count" && !params.distinct && arguments.iter().all(is_star) {
        arguments.clear();
    }
    if let ("count_if" | "countif", [condition]) = (name, &arguments[..]) {
        // NULL where no condition is known.
        arguments = vec![truth(condition, Some(lit(0i64))).map_err(|problem| refusal(&problem))?];
    }
    if let ("bool_and" | "bool_or", [condition]) = (name, &arguments[..]) {
        arguments = vec![truth(condition, Some(lit(0i64))).map_err(|problem| refusal(&problem))?];
    }
    if let Some(filter) = &params.filter {
        if arguments.is_empty() {
            arguments.push(lit(1i64));
        }
        for argument in &mut arguments {
            let chosen = when(*filter.clone(), argument.clone()).end();
            *argument = chosen.map_err(|problem| refusal(&problem))?;
        }
    }
    let function = match function(name) {
        Some(Function::Count) if params.distinct => Function::CountDistinct,
        Some(function) => function,
        None => return Err(unsupported(&format!("the aggregate {name} is not kept"))),
    };
    Ok(Call {
        function,
        arguments,
        is_truth: name.starts_with("bool_"),
    })
}
