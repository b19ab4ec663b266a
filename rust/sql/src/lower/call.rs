//! Functions over the rows of a partition, as a plan has them: arguments, constants, an order and a frame.
//!
//! Invariant: constants follow the columns of a function, and are text; a frame is kept as the plan has it. Cost:
//! O(size of the expressions).

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, NullTreatment, WindowFunction};
use datafusion_expr::{
    Expr, ExprSchemable, SortExpr, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition, cast, lit, when,
};
use ringview_core::Result;
use ringview_expr::{Scalar, columns_of};
use ringview_query::{Edge, Frame, FrameUnit};

use super::order::keys;
use super::pending::{Function, Pending, Window, integer};
use crate::error::{refusal, unsupported};
use crate::row_scalar::row_scalar;

/// A window function of a plan over pending rows.
pub(crate) fn windowed(rows: &Pending, expr: &Expr, schema: &DFSchema) -> Result<Window> {
    let expr = match expr {
        Expr::Alias(alias) => &*alias.expr,
        other => other,
    };
    let Expr::WindowFunction(function) = expr else {
        return Err(unsupported("this window function is not kept"));
    };
    let WindowFunction { fun, params } = &**function;
    let name = match fun {
        WindowFunctionDefinition::AggregateUDF(aggregate) => aggregate.name(),
        WindowFunctionDefinition::WindowUDF(function) => function.name(),
    };
    let meant = |expr: &Expr| rows.meant(expr, schema);
    let partition = params.partition_by.iter().map(meant);
    let by = params
        .order_by
        .iter()
        .filter(|key| !matches!(key.expr, Expr::Literal(..)));
    let by: Vec<SortExpr> = by.cloned().collect();
    let frame = &params.window_frame;
    let mut order = keys(rows, &by, schema)?;
    let is_far = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by) => !by.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    let mut by_time = None;
    if frame.units == WindowFrameUnits::Range
        && (is_far(&frame.start_bound) || is_far(&frame.end_bound))
    {
        for (key, (expr, _, _)) in by.iter().zip(&mut order) {
            let ty = key
                .expr
                .get_type(schema)
                .map_err(|problem| refusal(&problem))?;
            match ty {
                // The distance of days may be hours.
                DataType::Date32 => {
                    let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
                    *expr = cast(expr.clone(), moment);
                    by_time = Some(ByTime::Days);
                }
                DataType::Timestamp(..) => by_time = Some(ByTime::Moments),
                _ => {}
            }
        }
    }
    let function = of_arguments(
        name,
        params.args.iter().map(meant).collect::<Result<_>>()?,
        params.filter.as_deref().map(meant).transpose()?,
    )?;
    Ok(Window {
        function: Function {
            distinct: params.distinct,
            ignore_nulls: params.null_treatment == Some(NullTreatment::IgnoreNulls),
            frame: Some(framed(frame, by_time)?),
            ..function
        },
        partition: partition.collect::<Result<_>>()?,
        order,
    })
}

/// An aggregate of a plan, over expressions that are meant already.
pub(crate) fn aggregated(
    AggregateFunction { func, params }: &AggregateFunction,
) -> Result<Function> {
    let filter = params.filter.as_deref().cloned();
    let function = of_arguments(func.name(), params.args.clone(), filter)?;
    let by = params.order_by.iter();
    Ok(Function {
        distinct: params.distinct,
        ignore_nulls: params.null_treatment == Some(NullTreatment::IgnoreNulls),
        order: by
            .map(|key| (key.expr.clone(), !key.asc, key.nulls_first))
            .collect(),
        ..function
    })
}

/// A function of arguments: columns, then constants.
fn of_arguments(name: &str, mut arguments: Vec<Expr>, filter: Option<Expr>) -> Result<Function> {
    #[expect(deprecated)]
    let is_star = |of: &Expr| matches!(of, Expr::Wildcard { .. }) || integer(of).is_some();
    let mut name = name;
    if name == "count" && arguments.iter().all(is_star) {
        arguments.clear();
    }
    if let ("count_if" | "countif", [condition]) = (name, &arguments[..]) {
        let is_not = Expr::Not(Box::new(condition.clone()));
        let counted = when(condition.clone(), lit(1i64))
            .when(is_not, lit(0i64))
            .end();
        (name, arguments) = ("sum", vec![counted.map_err(|problem| refusal(&problem))?]);
    }
    let columns = columns_of(name, arguments.len());
    let constants = arguments.split_off(columns.min(arguments.len()));
    if constants.iter().any(|one| !one.column_refs().is_empty()) {
        return Err(unsupported(&format!(
            "{name} takes constants behind its column; compute them into it, or write CASE"
        )));
    }
    let constants = constants.into_iter().map(|one| row_scalar(one)?.text());
    Ok(Function {
        name: name.to_owned(),
        arguments,
        constants: constants.collect::<Result<_>>()?,
        filter,
        ..Function::default()
    })
}

/// Kind of time by which a frame with a distance is ordered.
#[derive(Clone, Copy, PartialEq)]
enum ByTime {
    Days,
    Moments,
}

/// A frame as a definition keeps it. A number is a distance of days.
fn framed(frame: &WindowFrame, by_time: Option<ByTime>) -> Result<Frame> {
    let distance = |by: &ScalarValue| match by {
        by if by.is_null() => Ok(None),
        ScalarValue::Utf8(Some(text)) => {
            let is_number = by_time.is_some() && text.trim().parse::<f64>().is_ok();
            let is_days = by_time == Some(ByTime::Days) && text.trim().parse::<i64>().is_ok();
            match (is_number, is_days) {
                (_, true) => Ok(Some(format!("'{} days'", text.trim()))),
                (true, _) => Err(unsupported(
                    "the distance of a frame over moments is an INTERVAL, that of days may be a whole number",
                )),
                _ => Ok(Some(format!("'{}'", text.replace('\'', "''")))),
            }
        }
        other => Scalar::from(lit(other.clone())).text().map(Some),
    };
    let edge = |bound: &WindowFrameBound| {
        Ok(match bound {
            WindowFrameBound::CurrentRow => Edge::CurrentRow,
            WindowFrameBound::Preceding(by) => Edge::Preceding(distance(by)?),
            WindowFrameBound::Following(by) => Edge::Following(distance(by)?),
        })
    };
    Ok(Frame {
        unit: match frame.units {
            WindowFrameUnits::Rows => FrameUnit::Rows,
            WindowFrameUnits::Range => FrameUnit::Range,
            WindowFrameUnits::Groups => FrameUnit::Groups,
        },
        start: edge(&frame.start_bound)?,
        end: edge(&frame.end_bound)?,
    })
}
