//! Aggregates that an engine keeps, and the query of groups with them.
//!
//! Invariant: an aggregate that an engine does not support is expressed by those that it supports. Cost: O(aggregates).

use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::{Expr, lit, when};
use ringview_core::Result;
use ringview_expr::columns_of;
use ringview_query::{Function, Output, Query};

use super::call::aggregated;
use super::lowered::{Lowered, Wanted};
use super::pending::{self, integer};
use super::state::free;
use crate::error::{refusal, unsupported};
use crate::row_scalar::row_scalar;

/// An aggregate as an engine computes it.
pub(super) struct Call {
    pub(super) function: Function,
    pub(super) arguments: Vec<Expr>,
    /// Whether what it computes is 1 for TRUE.
    pub(super) is_truth: bool,
}

impl Call {
    /// Its arguments: columns where an engine keeps values, else sums of products.
    pub(super) fn wanted(&self) -> impl Iterator<Item = Wanted> + '_ {
        let is_sum = !matches!(
            self.function,
            Function::Min | Function::Max | Function::CountDistinct
        );
        self.arguments.iter().map(move |expr| Wanted {
            expr: expr.clone(),
            is_column: !is_sum,
        })
    }
}

/// The aggregates of a GROUP BY: all of them by an engine, or all of them of the rows of each group.
pub(super) enum Calls {
    Engine(Vec<Call>),
    PerGroup(Vec<pending::Function>),
}

impl Calls {
    /// Aggregates over expressions that are meant already.
    pub(super) fn new(exprs: &[Expr]) -> Result<Self> {
        let functions = exprs.iter().map(|expr| match expr {
            Expr::AggregateFunction(function) => Ok(function),
            _ => Err(unsupported("this aggregate is not kept")),
        });
        let functions = functions.collect::<Result<Vec<_>>>()?;
        Ok(match functions.iter().all(|one| is_supported(one)) {
            true => Self::Engine(functions.into_iter().map(call).collect::<Result<_>>()?),
            false => Self::PerGroup(
                functions
                    .into_iter()
                    .map(aggregated)
                    .collect::<Result<_>>()?,
            ),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Engine(calls) => calls.len(),
            Self::PerGroup(functions) => functions.len(),
        }
    }

    /// Whether what an engine computes is 1 for TRUE.
    pub(super) fn is_truth(&self, at: usize) -> bool {
        matches!(self, Self::Engine(calls) if calls[at].is_truth)
    }

    pub(super) fn counts(&self, at: usize) -> bool {
        match self {
            Self::Engine(calls) => matches!(
                calls[at].function,
                Function::Count | Function::CountDistinct | Function::RegrCount
            ),
            Self::PerGroup(functions) => matches!(
                functions[at].name.as_str(),
                "count" | "approx_count_distinct" | "regr_count"
            ),
        }
    }
}

/// Whether an engine keeps an aggregate, whatever the order of its rows.
fn is_supported(AggregateFunction { func, params }: &AggregateFunction) -> bool {
    let is_idempotent = matches!(
        function(func.name()),
        Some(Function::Min | Function::Max | Function::Count)
    );
    let takes_order = func.name() == "any_value" && !params.order_by.is_empty();
    // `max(x, 3)` is a list of three.
    let is_list = columns_of(func.name(), params.args.len()) < params.args.len();
    function(func.name()).is_some()
        && (is_idempotent || !params.distinct)
        && !takes_order
        && !is_list
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

/// The query of groups and aggregates, and the names of its columns.
pub(super) fn grouped(
    lowered: &Lowered,
    groups: usize,
    calls: &[Call],
) -> Result<(Query, Vec<String>)> {
    let mut names: Vec<String> = Vec::new();
    let (mut group_by, mut outputs) = (Vec::new(), Vec::new());
    for at in 0..groups {
        let column = lowered.column(at);
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
        let mut arguments = lowered.wanted[next..next + call.arguments.len()].to_vec();
        next += call.arguments.len();
        outputs.push(if arguments.len() < 2 {
            Output::Aggregate {
                name,
                function: call.function,
                argument: arguments.pop().map(row_scalar).transpose()?,
            }
        } else {
            let value = call.function.call(arguments);
            let value = value.ok_or_else(|| unsupported("this aggregate is not kept"))?;
            Output::Expression {
                name,
                value: row_scalar(value)?,
            }
        });
    }
    Ok((
        Query {
            group_by,
            outputs,
            ..lowered.query()
        },
        names,
    ))
}

/// An aggregate that the value of a subquery may be, and what it is of.
pub(super) fn recognised_call(expr: &Expr) -> Option<(Function, Vec<Expr>)> {
    let Expr::AggregateFunction(of) = expr else {
        return None;
    };
    let call = call(of)
        .ok()
        .filter(|call| is_supported(of) && !call.is_truth)?;
    let is_known = matches!(
        call.function,
        Function::Sum | Function::Count | Function::Avg | Function::Min | Function::Max
    );
    is_known.then_some((call.function, call.arguments))
}

/// An aggregate as an engine computes it.
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
