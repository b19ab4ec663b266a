//! Functions of moments, by the kernels of `kernels::time`.
//!
//! Invariant: a moment with a time zone is computed with as the instant that it is, in UTC; where DuckDB's result has a zone,
//! so has this. Cost: O(1) a call.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast, lit};

use crate::kernels::time::{MOMENT, instant};
use crate::kernels::{self, time};
use crate::shared::shared;

/// A call's meaning, if it is of one of these; its arguments, if it is none.
pub(crate) fn of(
    name: &str,
    mut args: Vec<Expr>,
    schema: &DFSchema,
) -> Result<std::result::Result<Expr, Vec<Expr>>> {
    Ok(Ok(match (name, args.len()) {
        ("date_trunc", 2) => {
            let of = args.remove(1);
            let is_zoned = is_zoned(&of, schema)?;
            let begin = kernel("moment_trunc", vec![args.remove(0), cast(of, MOMENT)]);
            cast(begin, if is_zoned { instant() } else { MOMENT })
        }
        ("time_bucket", 2 | 3) => bucket(args, schema)?,
        ("tumble", 2) => {
            args.swap(0, 1);
            bucket(args, schema)?
        }
        ("timezone", 2) => {
            let of = args.remove(1);
            let (name, to) = match is_zoned(&of, schema)? {
                true => ("clock_in_zone", instant()),
                false => ("instant_in_zone", MOMENT),
            };
            kernel(name, vec![args.remove(0), cast(of, to)])
        }
        ("strftime", 2) => {
            // Either argument may be the format.
            if matches!(args[0].get_type(schema)?, DataType::Utf8) {
                args.swap(0, 1);
            }
            let zone = if is_zoned(&args[0], schema)? {
                "UTC"
            } else {
                ""
            };
            written(args.remove(0), args.remove(0), zone)
        }
        ("monthname", 1) => written(args.remove(0), lit("%B"), ""),
        ("dayname", 1) => written(args.remove(0), lit("%A"), ""),
        ("strptime" | "try_strptime", 2)
            if matches!(args[1].get_type(schema)?, DataType::List(_)) =>
        {
            let kernel = kernels::named(match name {
                "strptime" => "moment_by_formats",
                _ => "try_moment_by_formats",
            });
            kernel.call(args)
        }
        ("strptime" | "try_strptime", 2) => {
            let is_zoned = match &args[1] {
                Expr::Literal(ScalarValue::Utf8(Some(format)), _) => time::is_zoned(format)?,
                _ => false,
            };
            let is_tried = name == "try_strptime";
            match (is_zoned, is_tried) {
                (true, false) => kernel("instant_by_format", args),
                (false, false) => kernel("moment_by_format", args),
                (true, true) => cast(kernel("try_moment_by_format", args), instant()),
                (false, true) => kernel("try_moment_by_format", args),
            }
        }
        _ => return Ok(Err(args)),
    }))
}

/// An instant whose column names another zone than UTC, as one of UTC.
pub(crate) fn in_utc(of: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(match of.get_type(schema)? {
        DataType::Timestamp(unit, Some(zone)) if &*zone != "UTC" => {
            cast(of, DataType::Timestamp(unit, Some("UTC".into())))
        }
        _ => of,
    })
}

fn kernel(name: &str, args: Vec<Expr>) -> Expr {
    kernels::named(name).call(args)
}

fn is_zoned(of: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(matches!(
        of.get_type(schema)?,
        DataType::Timestamp(_, Some(_))
    ))
}

fn written(moment: Expr, format: Expr, zone: &str) -> Expr {
    kernel("moment_text", vec![cast(moment, MOMENT), format, lit(zone)])
}

/// A bucket of days is a day; an interval in the place of an origin moves all buckets by it.
fn bucket(mut args: Vec<Expr>, schema: &DFSchema) -> Result<Expr> {
    let ty = match args[1].get_type(schema)? {
        DataType::Date32 => DataType::Date32,
        DataType::Timestamp(_, Some(_)) => instant(),
        _ => MOMENT,
    };
    args[1] = cast(args[1].clone(), MOMENT);
    let by = match args.get(2).map(|of| of.get_type(schema)).transpose()? {
        Some(DataType::Interval(_)) => args.pop(),
        Some(_) => {
            args[2] = cast(args[2].clone(), MOMENT);
            None
        }
        None => None,
    };
    let begin = match by {
        Some(by) => {
            args.push(by);
            shared(args, schema, |mut args| {
                let (by, moment) = (args.remove(2), args.remove(1));
                args.push(binary_expr(moment, Operator::Minus, by.clone()));
                let begin = kernel("moment_bucket", args);
                Ok(binary_expr(begin, Operator::Plus, by))
            })?
        }
        None => kernel("moment_bucket", args),
    };
    Ok(cast(begin, ty))
}
