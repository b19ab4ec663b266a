//! Functions of DuckDB that are said with other functions.
//!
//! Invariant: arguments are meant already, and their types known. Cost: O(1) a call.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::Like;
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast, lit, when};
use datafusion_functions::{datetime, math, string, unicode};

use crate::kernels;
use crate::renamed::INTERVALS;

const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// What a call means, if it is one of these; its arguments, if it is none.
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
        ("hex" | "bin" | "to_binary", 1) => {
            let of = args.remove(0);
            let kernel = match (name, of.get_type(schema)?.is_integer()) {
                ("hex", true) => "hex_of_number",
                ("hex", false) => "hex_of_text",
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
        ("yearweek", 1) => {
            let (year, week) = (
                part("isoyear", args[0].clone()),
                part("week", args.remove(0)),
            );
            let year = binary_expr(year, Operator::Multiply, lit(100i64));
            binary_expr(year, Operator::Plus, week)
        }
        ("era", 1) => {
            let year = part("year", args.remove(0));
            let is_ours = binary_expr(year.clone(), Operator::Gt, lit(0i64));
            when(is_ours, lit(1i64))
                .when(Expr::IsNotNull(Box::new(year)), lit(0i64))
                .end()?
        }
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
        ("unicode" | "ord", 1) => {
            let is_empty = binary_expr(args[0].clone(), Operator::Eq, lit(""));
            let first = cast(string::ascii().call(args), DataType::Int64);
            when(is_empty, lit(-1i64)).otherwise(first)?
        }
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
        ("to_hex", 1) => string::upper().call(vec![string::to_hex().call(args)]),
        ("lpad" | "rpad", 3) => {
            // No text is shorter than none.
            let length = cast(args[1].clone(), DataType::Int64);
            let below = binary_expr(length.clone(), Operator::Lt, lit(0i64));
            args[1] = when(below, lit(0i64)).otherwise(length)?;
            let function = if name == "lpad" {
                unicode::lpad()
            } else {
                unicode::rpad()
            };
            function.call(args)
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
        ("last_day", 1) => kernels::last_day().call(vec![cast(args.remove(0), DataType::Date32)]),
        ("decade", 1) => over(part("year", args.remove(0)), 0, 10, 0),
        ("century", 1) => over(part("year", args.remove(0)), 1, 100, 1),
        ("millennium", 1) => over(part("year", args.remove(0)), 1, 1000, 1),
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
        ("date_trunc", 2) => {
            let years = match text_of(&args[0]).map(str::to_lowercase).as_deref() {
                Some("decade") => 10,
                Some("century") => 100,
                Some("millennium") => 1000,
                _ => return Ok(Err(args)),
            };
            let year = part("year", args.remove(1));
            let first = binary_expr(over(year, 0, years, 0), Operator::Multiply, lit(years));
            let first = vec![cast(first, DataType::Int32), lit(1i32), lit(1i32)];
            cast(datetime::make_date().call(first), MOMENT)
        }
        ("millisecond", 1) => part("millisecond", args.remove(0)),
        ("microsecond", 1) => part("microsecond", args.remove(0)),
        ("epoch_us", 1) => cast(cast(args.remove(0), MOMENT), DataType::Int64),
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
            cast(
                ticks,
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            )
        }
        ("date_add", 2) => {
            let by = args.remove(1);
            binary_expr(cast(args.remove(0), MOMENT), Operator::Plus, by)
        }
        ("strftime", 2) => {
            // Either argument may be the format. `%f` are six digits.
            if text_of(&args[0]).is_some() && text_of(&args[1]).is_none() {
                args.swap(0, 1);
            }
            if let Some(format) = text_of(&args[1]) {
                args[1] = lit(format.replace("%f", "%6f"));
            }
            datetime::to_char().call(args)
        }
        ("iff", 3) => choice(args)?,
        _ => return Ok(Err(args)),
    }))
}

fn choice(mut args: Vec<Expr>) -> Result<Expr> {
    let otherwise = args.remove(2);
    let then = args.remove(1);
    when(args.remove(0), then).otherwise(otherwise)
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

/// `(of - less) / by + more`, of integers.
fn over(of: Expr, less: i64, by: i64, more: i64) -> Expr {
    let of = binary_expr(of, Operator::Minus, lit(less));
    binary_expr(
        binary_expr(of, Operator::Divide, lit(by)),
        Operator::Plus,
        lit(more),
    )
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
        DataType::Float32 | DataType::Float64 | DataType::Timestamp(_, None) => {
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
