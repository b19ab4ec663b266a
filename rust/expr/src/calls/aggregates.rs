//! The aggregates: what each takes, the type of its result, and how it is computed.
//!
//! Invariant: the declared type of a function is that of its values. Cost: that of each.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::Accumulator;
use datafusion_functions_aggregate::{bit_and_or_xor, bool_and_or, count, min_max};

use super::aggregate::{Accumulation, Aggregate};
use super::exact::{Doubles, Exact};
use super::lists;
use super::ordered_set::{self, Share, WHOLE};
use super::ranked::{first_of, quantile, quantiles, share};
use super::statistics::statistic;

/// The names of all aggregates.
pub const AGGREGATES: &[&str] = &[
    "any_value",
    "approx_count_distinct",
    "arbitrary",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "count_if",
    "countif",
    "covar_pop",
    "covar_samp",
    "entropy",
    "favg",
    "first",
    "fsum",
    "geomean",
    "geometric_mean",
    "group_concat",
    "histogram",
    "kahan_sum",
    "kurtosis",
    "kurtosis_pop",
    "last",
    "list",
    "listagg",
    "mad",
    "max",
    "max_by",
    "mean",
    "median",
    "min",
    "min_by",
    "mode",
    "product",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "sem",
    "skewness",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "sumkahan",
    "var_pop",
    "var_samp",
    "variance",
    "wavg",
    "weighted_avg",
];

/// The aggregate of a name over arguments of some types, and with some constants behind them.
pub(super) fn aggregate(
    name: &str,
    types: &[DataType],
    constants: &[ScalarValue],
) -> Result<Aggregate> {
    let refusal = || plan_err!("{name} does not take these arguments");
    if let Some(found) = statistic(name, types)? {
        return Ok(found);
    }
    let Some(first) = types.first() else {
        return match name {
            "count" => counted(DataType::Boolean),
            _ => refusal(),
        };
    };
    let own = || vec![first.clone()];
    let at = |at: usize| move |values: &[ArrayRef]| ScalarValue::try_from_array(&values[0], at);
    Ok(match (name, types.len(), constants) {
        ("count", 1, []) => counted(first.clone())?,
        ("approx_count_distinct", 1, []) => Aggregate {
            distinct: true,
            ..counted(first.clone())?
        },
        ("sum", 1, []) => sum(first, false)?,
        ("avg" | "mean", 1, []) => sum(first, true)?,
        ("min" | "max", 1, []) => {
            let function = if name == "min" {
                min_max::min_udaf()
            } else {
                min_max::max_udaf()
            };
            Aggregate {
                is_invertible: true,
                ..Aggregate::of_library(function, own())?
            }
        }
        ("bit_and" | "bit_or" | "bit_xor", 1, []) if first.is_integer() => {
            let function = match name {
                "bit_and" => bit_and_or_xor::bit_and_udaf(),
                "bit_or" => bit_and_or_xor::bit_or_udaf(),
                _ => bit_and_or_xor::bit_xor_udaf(),
            };
            Aggregate::of_library(function, own())?
        }
        ("bool_and" | "bool_or", 1, []) if *first == DataType::Boolean => {
            let function = match name {
                "bool_and" => bool_and_or::bool_and_udaf(),
                _ => bool_and_or::bool_or_udaf(),
            };
            Aggregate::of_library(function, own())?
        }
        ("array_agg" | "list", 1, []) => Aggregate {
            skips_nulls: false,
            ..Aggregate::whole(lists::list_type(first), own(), |values| {
                lists::list(&values[0])
            })
        },
        ("histogram", 1, []) => Aggregate {
            ordered_by: Some((0, false)),
            ..Aggregate::whole(lists::histogram_type(first), own(), |values| {
                lists::histogram(&values[0])
            })
        },
        ("any_value", 1, []) => Aggregate::whole(first.clone(), own(), at(0)),
        ("first" | "arbitrary", 1, []) => Aggregate {
            skips_nulls: false,
            ..Aggregate::whole(first.clone(), own(), at(0))
        },
        ("last", 1, []) => Aggregate {
            skips_nulls: false,
            ..Aggregate::whole(first.clone(), own(), |values| {
                ScalarValue::try_from_array(&values[0], values[0].len() - 1)
            })
        },
        ("min" | "max", 1, [many]) => first_of(0, name == "max", types, many)?,
        ("arg_min" | "argmin" | "min_by" | "arg_max" | "argmax" | "max_by", 2, [many]) => {
            first_of(1, name.contains("max"), types, many)?
        }
        ("arg_min" | "argmin" | "min_by" | "arg_max" | "argmax" | "max_by", 2, []) => Aggregate {
            ordered_by: Some((1, name.contains("max"))),
            ..Aggregate::whole(first.clone(), types.to_vec(), at(0))
        },
        ("median", 1, []) if ordered_set::dense(first).is_some() => {
            quantile(first, Share(WHOLE / 2), true)
        }
        ("median", 1, []) => quantile(first, Share(WHOLE / 2), false),
        ("quantile" | "quantile_cont" | "quantile_disc", 1, [ScalarValue::List(shares)]) => {
            let is_dense = name == "quantile_cont" && ordered_set::dense(first).is_some();
            quantiles(first, &shares.value(0), is_dense)?
        }
        ("quantile_cont", 1, [of]) if ordered_set::dense(first).is_some() => {
            quantile(first, share(of)?, true)
        }
        ("quantile" | "quantile_disc", 1, [of]) => quantile(first, share(of)?, false),
        ("mode", 1, []) => Aggregate {
            ordered_by: Some((0, false)),
            ..Aggregate::whole(first.clone(), own(), |values| ordered_set::mode(&values[0]))
        },
        ("product", 1, []) if first.is_numeric() => {
            let takes = vec![DataType::Float64];
            Aggregate::whole(DataType::Float64, takes, |values| {
                Ok(ordered_set::product(&values[0]))
            })
        }
        ("string_agg" | "listagg" | "group_concat", 1, between) => {
            let between = match between {
                [] => ",".to_owned(),
                [ScalarValue::Utf8(Some(text))] => text.clone(),
                _ => return refusal(),
            };
            Aggregate::whole(DataType::Utf8, vec![DataType::Utf8], move |values| {
                Ok(ordered_set::joined(&values[0], &between))
            })
        }
        _ => return refusal(),
    })
}

fn counted(of: DataType) -> Result<Aggregate> {
    Ok(Aggregate {
        counts: true,
        is_invertible: true,
        ..Aggregate::of_library(count::count_udaf(), vec![of])?
    })
}

/// A sum or an average.
fn sum(of: &DataType, is_average: bool) -> Result<Aggregate> {
    let scale = match of {
        DataType::Boolean => 0,
        other if other.is_integer() => 0,
        DataType::Decimal128(_, scale) => *scale,
        DataType::Float32 | DataType::Float64 => {
            let accumulation =
                Accumulation::Streamed(Arc::new(move || Ok(Box::new(Doubles::new(is_average)))));
            return Ok(Aggregate::new(
                DataType::Float64,
                vec![DataType::Float64],
                accumulation,
            ));
        }
        other => {
            let found = match other {
                DataType::Utf8 => "a text",
                DataType::Date32 => "a date",
                DataType::Timestamp(..) => "a timestamp",
                DataType::Interval(_) | DataType::Duration(_) => "an interval",
                DataType::Null => "null",
                _ => return plan_err!("a sum needs numbers, not the type {other}"),
            };
            return plan_err!("a sum needs numbers, this is {found}");
        }
    };
    let decimal = DataType::Decimal128(38, scale);
    let ty = if is_average {
        DataType::Float64
    } else {
        decimal.clone()
    };
    let make = move || {
        Ok(Box::new(Exact {
            scale,
            is_average,
            sum: 0,
            rows: 0,
        }) as Box<dyn Accumulator>)
    };
    Ok(Aggregate {
        is_invertible: true,
        ..Aggregate::new(ty, vec![decimal], Accumulation::Streamed(Arc::new(make)))
    })
}

/// Number of arguments of a function that are columns; those behind them are constants.
#[must_use]
pub fn columns_of(name: &str, arguments: usize) -> usize {
    match (name, arguments) {
        ("ntile", _) => 0,
        ("lag" | "lead" | "nth_value" | "string_agg" | "listagg" | "group_concat", _) => 1,
        ("quantile" | "quantile_cont" | "quantile_disc", _) => 1,
        ("min" | "max", 2) => 1,
        ("arg_min" | "argmin" | "min_by" | "arg_max" | "argmax" | "max_by", 3) => 2,
        _ => arguments,
    }
}

/// The type of an aggregate over arguments of these types, as far as it follows from types.
///
/// # Errors
/// For arguments that it does not take.
pub fn aggregate_type(name: &str, types: &[DataType]) -> Result<DataType> {
    let columns = columns_of(name, types.len()).min(types.len());
    // Values of constants do not affect the type, only whether one is a list.
    let constant = |ty: &DataType| match ty {
        DataType::Utf8 => ScalarValue::from(""),
        DataType::List(of) => {
            ScalarValue::List(ScalarValue::new_list_nullable(&[], of.data_type()))
        }
        _ => ScalarValue::Int64(Some(1)),
    };
    let constants = types[columns..].iter().map(constant);
    match name {
        "count" | "count_if" | "countif" => Ok(DataType::Int64),
        _ => Ok(aggregate(name, &types[..columns], &constants.collect::<Vec<_>>())?.ty),
    }
}
