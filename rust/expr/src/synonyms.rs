//! Functions of DuckDB that are said with other functions.
//!
//! Invariant: arguments are meant already, and their types known. Cost: O(1) a call.

use arrow_schema::{DataType, IntervalUnit};
use datafusion_common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion_expr::expr::Like;
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast, lit, when};
use datafusion_functions::{core, datetime, math, string, unicode};
use datafusion_functions_nested::expr_fn::array_concat;
use datafusion_functions_nested::string::array_to_string_udf;

use crate::kernels;
use crate::kernels::time::{MOMENT, instant};
use crate::renamed::INTERVALS;
use crate::shared::shared;

/// Meaning of a call, if it is one of these; its arguments, if it is none.
pub(crate) fn of(
    name: &str,
    mut args: Vec<Expr>,
    schema: &DFSchema,
) -> Result<std::result::Result<Expr, Vec<Expr>>> {
    let part = |part: &str, of: Expr| {
        cast(
            datetime::date_part().call(vec![lit(part), of]),
            DataType::Int64,
        )
    };
    Ok(Ok(match (name, args.len()) {
        (name, 1) if INTERVALS.iter().any(|(known, _)| *known == name) => {
            let interval = INTERVALS.iter().find(|(known, _)| *known == name);
            let interval = interval.map_or("", |(_, interval)| interval);
            let interval = cast(
                lit(interval),
                DataType::Interval(IntervalUnit::MonthDayNano),
            );
            kernels::interval_times().call(vec![cast(args.remove(0), DataType::Int64), interval])
        }
        ("lcase", 1) => string::lower().call(args),
        ("ucase", 1) => string::upper().call(args),
        ("string_to_array", 2) => kernels::split().call(args),
        ("regexp_split_to_array" | "str_split_regex", 2) => {
            kernels::named("string_split_regex").call(args)
        }
        ("editdist3", 2) => kernels::named("levenshtein").call(args),
        ("mismatches", 2) => kernels::named("hamming").call(args),
        ("hex" | "to_hex" | "bin" | "to_binary", 1) => {
            let of = args.remove(0);
            let kernel = match (name, of.get_type(schema)?.is_integer()) {
                ("hex" | "to_hex", true) => "hex_of_number",
                ("hex" | "to_hex", false) => "hex_of_text",
                (_, true) => "bits_of_number",
                (_, false) => "bits_of_text",
            };
            let of = if kernel.ends_with("number") {
                cast(of, DataType::Int64)
            } else {
                of
            };
            kernels::named(kernel).call(vec![of])
        }
        ("format" | "printf", 1..) => {
            let rest = args.split_off(1).into_iter();
            let shown = rest.map(|of| match of.get_type(schema)? {
                DataType::Timestamp(..) => as_text(of, schema),
                _ => Ok(of),
            });
            args.extend(shown.collect::<Result<Vec<Expr>>>()?);
            kernels::named(name).call(args)
        }
        ("make_timestamp", 1) => cast(cast(args.remove(0), DataType::Int64), MOMENT),
        ("make_timestamptz", 6) => match of("make_timestamp", args, schema)? {
            Ok(made) => cast(made, instant()),
            Err(args) => return Ok(Err(args)),
        },
        ("make_timestamp", 6) => {
            let seconds = cast(args.remove(5), DataType::Float64);
            let whole = args.into_iter().map(|of| cast(of, DataType::Int64));
            let parts = whole.chain([seconds]).collect();
            kernels::named("moment_of_parts").call(parts)
        }
        ("date_sub" | "datesub", 3) => {
            let to = cast(args.remove(2), MOMENT);
            let from = cast(args.remove(1), MOMENT);
            kernels::named("whole_parts").call(vec![args.remove(0), from, to])
        }
        ("yearweek", 1) => shared(args, schema, |mut args| {
            let (year, week) = (
                part("isoyear", args[0].clone()),
                part("week", args.remove(0)),
            );
            let is_ours = binary_expr(year.clone(), Operator::Gt, lit(0i64));
            let week = when(is_ours, week.clone()).otherwise(Expr::Negative(Box::new(week)))?;
            let year = binary_expr(year, Operator::Multiply, lit(100i64));
            Ok(binary_expr(year, Operator::Plus, week))
        })?,
        ("era", 1) => shared(vec![part("year", args.remove(0))], schema, |mut args| {
            let year = args.remove(0);
            let is_ours = binary_expr(year.clone(), Operator::Gt, lit(0i64));
            when(is_ours, lit(1i64))
                .when(Expr::IsNotNull(Box::new(year)), lit(0i64))
                .end()
        })?,
        ("julian", 1) => {
            let ticks = cast(cast(args.remove(0), MOMENT), DataType::Int64);
            let days = binary_expr(
                cast(ticks, DataType::Float64),
                Operator::Divide,
                lit(86_400e6),
            );
            binary_expr(days, Operator::Plus, lit(2_440_588.0))
        }
        ("ceiling", 1) => of("ceil", args, schema)?.unwrap_or_else(|args| math::ceil().call(args)),
        ("ceil" | "floor", 1) => {
            let Some((wide, whole)) = wider(&args[0].get_type(schema)?) else {
                return Ok(Err(args));
            };
            let function = if name == "ceil" {
                math::ceil()
            } else {
                math::floor()
            };
            cast(function.call(vec![cast(args.remove(0), wide)]), whole)
        }
        ("suffix", 2) => string::ends_with().call(args),
        ("prefix", 2) => string::starts_with().call(args),
        ("unicode" | "ord", 1) => shared(args, schema, |args| {
            let is_empty = binary_expr(args[0].clone(), Operator::Eq, lit(""));
            let first = cast(string::ascii().call(args), DataType::Int64);
            when(is_empty, lit(-1i64)).otherwise(first)
        })?,
        (
            "acos" | "asin" | "atan" | "atan2" | "cbrt" | "cos" | "cot" | "degrees" | "exp" | "ln"
            | "log" | "log10" | "log2" | "pow" | "power" | "radians" | "sin" | "sqrt" | "tan",
            _,
        ) if any_single(&args, schema)? => {
            let doubles = args.into_iter().map(|of| cast(of, DataType::Float64));
            return Ok(Err(doubles.collect()));
        }
        ("strlen", 1) => cast(string::octet_length().call(args), DataType::Int64),
        ("isinf", 1) => {
            let of = math::abs().call(vec![cast(args.remove(0), DataType::Float64)]);
            binary_expr(of, Operator::Eq, lit(f64::INFINITY))
        }
        ("isfinite", 1) => {
            let of = math::abs().call(vec![cast(args.remove(0), DataType::Float64)]);
            binary_expr(of, Operator::Lt, lit(f64::INFINITY))
        }
        ("lpad" | "rpad", 3) => {
            let function = if name == "lpad" {
                unicode::lpad()
            } else {
                unicode::rpad()
            };
            shared(args, schema, |mut args| {
                // No text is shorter than none.
                let length = cast(args[1].clone(), DataType::Int64);
                let below = binary_expr(length.clone(), Operator::Lt, lit(0i64));
                let is_known = Expr::IsNotNull(Box::new(length.clone()));
                args[1] = when(below, lit(0i64)).otherwise(length)?;
                // The library pads to an unknown length as to none.
                when(is_known, function.call(args)).end()
            })?
        }
        ("overlay", 4) => shared(args, schema, |mut args| {
            let length = cast(args[3].clone(), DataType::Int64);
            args[3] = length.clone();
            let whole = core::overlay().call(args[..3].to_vec());
            // Below zero as many characters are replaced as are inserted.
            when(binary_expr(length, Operator::Lt, lit(0i64)), whole)
                .otherwise(core::overlay().call(args))
        })?,
        ("concat", 1..) if any_list(&args, schema)? => match args.len() {
            1 => args.remove(0),
            _ => array_concat(args),
        },
        ("concat_ws", 2) if any_list(&args[1..], schema)? => {
            args.swap(0, 1);
            array_to_string_udf().call(args)
        }
        ("concat_ws", _) if any_list(&args, schema)? => {
            return plan_err!("concat_ws takes texts, or one list of them; join lists with concat");
        }
        ("split_part", 3) => kernels::split_part().call(args),
        ("concat" | "concat_ws", _) => {
            let shown = args.into_iter().map(|of| as_text(of, schema));
            let shown = shown.collect::<Result<Vec<Expr>>>()?;
            let function = if name == "concat" {
                string::concat()
            } else {
                string::concat_ws()
            };
            function.call(shown)
        }
        ("last_day", 1) => {
            let moment = cast(args.remove(0), MOMENT);
            kernels::last_day().call(vec![cast(moment, DataType::Date32)])
        }
        ("decade", 1) => binary_expr(part("year", args.remove(0)), Operator::Divide, lit(10i64)),
        ("century", 1) => counted(part("year", args.remove(0)), 100, schema)?,
        ("millennium", 1) => counted(part("year", args.remove(0)), 1000, schema)?,
        ("date_part", 2) => {
            let unit = text_of(&args[0]).map(str::to_lowercase);
            match unit.as_deref() {
                Some("decade" | "decades") => return of("decade", args.split_off(1), schema),
                Some("century" | "centuries") => return of("century", args.split_off(1), schema),
                Some("millennium" | "millennia") => {
                    return of("millennium", args.split_off(1), schema);
                }
                _ => return Ok(Err(args)),
            }
        }
        ("millisecond", 1) => part("millisecond", args.remove(0)),
        ("microsecond", 1) => part("microsecond", args.remove(0)),
        ("epoch_us", 1) => cast(cast(args.remove(0), MOMENT), DataType::Int64),
        ("epoch_ms", 1) if args[0].get_type(schema)?.is_integer() => {
            let millis = cast(args.remove(0), DataType::Int64);
            let ticks = binary_expr(millis, Operator::Multiply, lit(1000i64));
            cast(ticks, MOMENT)
        }
        ("epoch_ms", 1) => {
            let ticks = cast(cast(args.remove(0), MOMENT), DataType::Int64);
            cast(
                math::round().call(vec![binary_expr(
                    cast(ticks, DataType::Decimal128(20, 0)),
                    Operator::Divide,
                    lit(ScalarValue::Decimal128(Some(1000), 20, 0)),
                )]),
                DataType::Int64,
            )
        }
        ("to_timestamp", 1) => {
            let seconds = cast(args.remove(0), DataType::Float64);
            let ticks = binary_expr(seconds, Operator::Multiply, lit(1e6));
            let ticks = cast(kernels::round_even().call(vec![ticks]), DataType::Int64);
            cast(ticks, instant())
        }
        ("date_add", 2) => {
            let by = args.remove(1);
            binary_expr(cast(args.remove(0), MOMENT), Operator::Plus, by)
        }
        _ => return Ok(Err(args)),
    }))
}

/// Whether a float32 is among some arguments.
fn any_single(of: &[Expr], schema: &DFSchema) -> Result<bool> {
    for expr in of {
        if expr.get_type(schema)? == DataType::Float32 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a list is among some arguments.
fn any_list(of: &[Expr], schema: &DFSchema) -> Result<bool> {
    for expr in of {
        if matches!(
            expr.get_type(schema)?,
            DataType::List(_) | DataType::FixedSizeList(..)
        ) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The number of the span of so many years that a year is in: there is none of number 0.
fn counted(year: Expr, by: i64, schema: &DFSchema) -> Result<Expr> {
    shared(vec![year], schema, |mut args| {
        let year = args.remove(0);
        let by = |year| binary_expr(year, Operator::Divide, lit(by));
        let is_ours = binary_expr(year.clone(), Operator::Gt, lit(0i64));
        let before = binary_expr(year.clone(), Operator::Minus, lit(1i64));
        let ours = binary_expr(by(before), Operator::Plus, lit(1i64));
        when(is_ours, ours).otherwise(binary_expr(by(year), Operator::Minus, lit(1i64)))
    })
}

/// A decimal that holds the next integer, and one that holds no more than it.
fn wider(of: &DataType) -> Option<(DataType, DataType)> {
    match of {
        DataType::Decimal128(precision, scale) if *scale > 0 && *precision < 38 => {
            let digits = precision.saturating_sub(scale.unsigned_abs()) + 1;
            let wide = DataType::Decimal128(precision + 1, *scale);
            Some((wide, DataType::Decimal128(digits, 0)))
        }
        _ => None,
    }
}

/// A value as DuckDB writes it.
pub(crate) fn as_text(of: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(match of.get_type(schema)? {
        DataType::Timestamp(_, Some(_)) => {
            let clock = kernels::as_text().call(vec![cast(of, MOMENT)]);
            binary_expr(clock, Operator::StringConcat, lit("+00"))
        }
        DataType::Date32
        | DataType::Float32
        | DataType::Float64
        | DataType::Interval(_)
        | DataType::Timestamp(_, None) => kernels::as_text().call(vec![of]),
        // DuckDB writes no zero before the point where the type has no place for one.
        DataType::Decimal128(precision, scale) if i16::from(precision) == i16::from(scale) => {
            kernels::as_text().call(vec![of])
        }
        _ => of,
    })
}

fn text_of(of: &Expr) -> Option<&str> {
    match of {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text),
        _ => None,
    }
}

/// An operand of `||` as text, if it is none.
pub(crate) fn joined(of: Expr, schema: &DFSchema) -> Result<Expr> {
    match of.get_type(schema)? {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => Ok(of),
        _ => {
            let shown = as_text(of, schema)?;
            Ok(cast(shown, DataType::Utf8))
        }
    }
}

/// DuckDB's LIKE has no escape character but the one that is written, and the library's has one: `\`.
pub(crate) fn like(of: Like, schema: &DFSchema) -> Result<Expr> {
    let is_plain = of.escape_char.is_none() && !of.case_insensitive;
    let has_escape = |pattern: &Expr| match pattern {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => text.contains('\\'),
        _ => true,
    };
    let are_texts = [&of.expr, &of.pattern]
        .into_iter()
        .all(|side| matches!(side.get_type(schema), Ok(DataType::Utf8)));
    if (is_plain && !has_escape(&of.pattern)) || !are_texts {
        return Ok(Expr::Like(of));
    }
    let escape = of.escape_char.map_or_else(String::new, String::from);
    let found = kernels::text_like().call(vec![
        *of.expr,
        *of.pattern,
        lit(escape),
        lit(of.case_insensitive),
    ]);
    Ok(if of.negated { !found } else { found })
}
