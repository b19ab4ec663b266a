//! DuckDB's meaning, where DataFusion's is another.
//!
//! `/` is a double, `//` an integer, `^` a power; date - date is a number of days, date + interval a timestamp; a cast to
//! an integer rounds; a part of a date is a 64-bit integer; and DuckDB has names of its own. Invariant: a node is
//! rewritten once, its operands before it, so their types are known. Cost: O(1) a node.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion_expr::expr::{Case, Cast, InList, ScalarFunction, TryCast};
use datafusion_expr::{
    Between, Expr, ExprSchemable, Operator, binary_expr, cast, lit, try_cast, when,
};
use datafusion_functions::{datetime, math, regex};

use crate::conditions::condition;
use crate::first_known::first_known;
use crate::kernels;
use crate::kernels::time::MOMENT;
use crate::lists;
use crate::moments::{self, in_utc};
use crate::operators;
use crate::renamed::Renamed;
use crate::shared::shared;
use crate::synonyms;
use crate::types::{self, double};

/// Meaning of a node whose operands are rewritten already.
pub(crate) fn of(node: Expr, schema: &DFSchema) -> Result<Expr> {
    match node {
        Expr::BinaryExpr(mut binary) => {
            if matches!(binary.op, Operator::Plus | Operator::Minus) {
                binary.left = Box::new(in_utc(*binary.left, schema)?);
                binary.right = Box::new(in_utc(*binary.right, schema)?);
            }
            operators::operator(binary, schema)
        }
        Expr::Cast(Cast { expr, field }) => {
            let to = microseconds(field.data_type());
            let expr = Box::new(in_utc(*expr, schema)?);
            if matches!(to, DataType::Interval(_)) {
                return Ok(cast(interval_of(*expr, schema)?, to));
            }
            let from = expr.get_type(schema)?;
            if from == to {
                return Ok(*expr);
            }
            if !types::are_like_structs(&from, &to) {
                return plan_err!("a struct is cast to one of the same fields alone");
            }
            if to == DataType::Utf8 {
                return Ok(cast(synonyms::as_text(*expr, schema)?, to));
            }
            let is_narrower = to == DataType::Float32 && from == DataType::Float64;
            let of = if is_narrower {
                kernels::in_float32().call(vec![*expr])
            } else {
                read(*expr, &to, false, schema)?
            };
            Ok(cast(of, to))
        }
        Expr::TryCast(TryCast { expr, field }) => {
            let to = microseconds(field.data_type());
            let expr = in_utc(*expr, schema)?;
            Ok(try_cast(read(expr, &to, true, schema)?, to))
        }
        Expr::ScalarFunction(call) => function(call, schema),
        Expr::InList(of) => {
            let mut all = vec![*of.expr];
            all.extend(of.list);
            let mut all = types::unify_operands(all, schema)?;
            let expr = Box::new(all.remove(0));
            Ok(Expr::InList(InList {
                expr,
                list: all,
                ..of
            }))
        }
        Expr::Between(of) => {
            let [expr, low, high] = three(types::unify_operands(
                vec![*of.expr, *of.low, *of.high],
                schema,
            )?);
            Ok(Expr::Between(Between {
                expr,
                low,
                high,
                ..of
            }))
        }
        Expr::Not(of) => Ok(Expr::Not(Box::new(condition(*of, schema)?))),
        Expr::IsTrue(of) => Ok(Expr::IsTrue(Box::new(condition(*of, schema)?))),
        Expr::IsFalse(of) => Ok(Expr::IsFalse(Box::new(condition(*of, schema)?))),
        Expr::IsNotTrue(of) => Ok(Expr::IsNotTrue(Box::new(condition(*of, schema)?))),
        Expr::IsNotFalse(of) => Ok(Expr::IsNotFalse(Box::new(condition(*of, schema)?))),
        Expr::Case(of) => case(of, schema),
        Expr::Like(of) => synonyms::like(of, schema),
        other => Ok(other),
    }
}

/// A text that is read as an interval: a number alone counts seconds.
fn interval_of(of: Expr, schema: &DFSchema) -> Result<Expr> {
    match (text_of(&of), of.get_type(schema)?) {
        (Some(text), _) if text.trim().parse::<i64>().is_ok() => {
            Ok(lit(format!("{} seconds", text.trim())))
        }
        (None, DataType::Utf8) => {
            plan_err!(
                "a column of texts is not read as intervals; multiply numbers: n * INTERVAL 1 DAY"
            )
        }
        _ => Ok(of),
    }
}

fn three(of: Vec<Expr>) -> [Box<Expr>; 3] {
    let mut of = of.into_iter().map(Box::new);
    std::array::from_fn(|_| {
        of.next()
            .unwrap_or_else(|| Box::new(lit(ScalarValue::Null)))
    })
}

fn case(of: Case, schema: &DFSchema) -> Result<Expr> {
    let (whens, thens): (Vec<Expr>, Vec<Expr>) = of
        .when_then_expr
        .into_iter()
        .map(|(when, then)| (*when, *then))
        .unzip();
    let (operand, whens) = match of.expr {
        Some(operand) => {
            let mut all = vec![*operand];
            all.extend(whens);
            let mut all = types::unify_operands(all, schema)?;
            (Some(Box::new(all.remove(0))), all)
        }
        None => {
            let whens = whens.into_iter().map(|when| condition(when, schema));
            (None, whens.collect::<Result<_>>()?)
        }
    };
    let mut results = thens;
    let has_else = of.else_expr.is_some();
    results.extend(of.else_expr.map(|otherwise| *otherwise));
    let mut results = types::unify_results(results, schema)?;
    let otherwise = has_else.then(|| results.pop().map(Box::new)).flatten();
    let arms = whens.into_iter().zip(results);
    let arms = arms.map(|(when, then)| (Box::new(when), Box::new(then)));
    Ok(Expr::Case(Case::new(operand, arms.collect(), otherwise)))
}

fn function(ScalarFunction { func, args }: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    let args = args.into_iter().map(|of| in_utc(of, schema));
    let mut args = args.collect::<Result<Vec<Expr>>>()?;
    for known in [synonyms::of, moments::of, lists::of] {
        match known(func.name(), args, schema)? {
            Ok(found) => return Ok(found),
            Err(left) => args = left,
        }
    }
    let part = |part: &str, of: Expr| datetime::date_part().call(vec![lit(part), of]);
    let counted = |of: Expr| cast(of, DataType::Int64);
    let name = func.name().to_owned();
    Ok(match (name.as_str(), args.len()) {
        ("date_part", 2) => {
            let is_epoch = text_of(&args[0]).is_some_and(|part| part.eq_ignore_ascii_case("epoch"));
            let found = func.call(args);
            if is_epoch {
                double(found)
            } else {
                counted(found)
            }
        }
        ("epoch", 1) => double(part("epoch", args.remove(0))),
        ("dayofmonth", 1) => counted(part("day", args.remove(0))),
        ("dayofweek" | "weekday", 1) => counted(part("dow", args.remove(0))),
        ("dayofyear", 1) => counted(part("doy", args.remove(0))),
        ("weekofyear", 1) => counted(part("week", args.remove(0))),
        (
            "day" | "hour" | "isodow" | "isoyear" | "minute" | "month" | "quarter" | "second"
            | "week" | "year",
            1,
        ) => counted(part(&name, args.remove(0))),
        ("date_diff" | "datediff", 3) => {
            let from = cast(args[1].clone(), MOMENT);
            kernels::date_diff().call(vec![args[0].clone(), from, cast(args[2].clone(), MOMENT)])
        }
        (
            "character_length" | "strpos" | "ascii" | "levenshtein" | "octet_length" | "bit_length",
            _,
        ) => counted(func.call(args)),
        ("len", 1) => counted(datafusion_functions::unicode::character_length().call(args)),
        ("substr" | "substring", 2 | 3) if !args[1..].iter().all(is_positive) => {
            kernels::substring().call(args)
        }
        ("regexp_matches", 2 | 3) => regex::regexp_like().call(args),
        ("ifnull" | "nvl", 2) | ("coalesce", 1..) => {
            first_known(types::unify_results(args, schema)?)
        }
        ("nvl2", 3) => {
            let results = types::unify_results(args.split_off(1), schema)?;
            let is_known = Expr::IsNotNull(Box::new(args.remove(0)));
            chosen(is_known, results)?
        }
        ("greatest" | "least" | "nullif", _) => func.call(types::unify_results(args, schema)?),
        ("if" | "iff", 3) => {
            let results = types::unify_results(args.split_off(1), schema)?;
            chosen(condition(args.remove(0), schema)?, results)?
        }
        ("round", 1 | 2) => {
            let places = args.get(1).map_or(Some(0), integer_of);
            match (args[0].get_type(schema)?, places) {
                // Its type is set explicitly, since the library derives it from the arguments before and after
                // coercion.
                (DataType::Decimal128(precision, scale), Some(places))
                    if (0..scale).contains(&places) =>
                {
                    let digits = precision
                        .saturating_sub((scale - places) as u8)
                        .saturating_add(1);
                    cast(
                        func.call(args),
                        DataType::Decimal128(digits.min(38), places),
                    )
                }
                (float @ (DataType::Float64 | DataType::Float32), _) if args.len() == 2 => {
                    let places = cast(args.remove(1), DataType::Int64);
                    let args = vec![double(args.remove(0)), places];
                    cast(kernels::round_places().call(args), float)
                }
                _ => func.call(args),
            }
        }
        ("divide_integers", 2) if are_integers(&args, schema)? => {
            let right = args.remove(1);
            binary_expr(args.remove(0), Operator::Divide, right)
        }
        ("divide_integers" | "divide_checked", 2) => {
            let by = kernels::nonzero().call(vec![double(args.remove(1))]);
            binary_expr(double(args.remove(0)), Operator::Divide, by)
        }
        ("int_divide", 2) if are_whole(&args, schema)? => whole_quotient(args, 38, schema)?,
        ("int_divide", 2) if !are_integers(&args, schema)? => {
            let by = kernels::nonzero().call(vec![double(args.remove(1))]);
            binary_expr(double(args.remove(0)), Operator::Divide, by)
        }
        // Together they are decimals, whose quotient has a fraction.
        ("int_divide", 2) if are_unlike(&args, schema)? => whole_quotient(args, 20, schema)?,
        ("int_divide", 2) => {
            let right = args.remove(1);
            binary_expr(args.remove(0), Operator::Divide, right)
        }
        ("whole_part", 1) => match args[0].get_type(schema)? {
            DataType::Float32 | DataType::Float64 => {
                math::trunc().call(vec![double(args.remove(0))])
            }
            DataType::Decimal128(_, scale) if scale > 0 => math::trunc().call(args),
            _ => args.remove(0),
        },
        ("mod", 2) => {
            let right = args.remove(1);
            binary_expr(args.remove(0), Operator::Modulo, right)
        }
        ("sign", 1) => cast(
            math::signum().call(vec![double(args.remove(0))]),
            DataType::Int8,
        ),
        _ => match func.inner().downcast_ref::<Renamed>() {
            Some(renamed) => return Err(renamed.unmeant()),
            None => func.call(args),
        },
    })
}

/// The first of two results where a condition holds, else the other.
fn chosen(condition: Expr, results: Vec<Expr>) -> Result<Expr> {
    let mut results = results.into_iter();
    let mut next = || results.next().unwrap_or_else(|| lit(ScalarValue::Null));
    let then = next();
    when(condition, then).otherwise(next())
}

/// The operand of a cast: a text that is read as a moment, or what `rounded` gives.
fn read(of: Expr, to: &DataType, is_tried: bool, schema: &DFSchema) -> Result<Expr> {
    if of.get_type(schema)? == DataType::Utf8
        && let Some(read) = types::of_text(of.clone(), to, is_tried)
    {
        return Ok(read);
    }
    rounded(of, to, schema)
}

/// Rounding before a cast to integers: doubles round to the nearest, ties to the even; decimals and texts away from
/// zero.
fn rounded(of: Expr, to: &DataType, schema: &DFSchema) -> Result<Expr> {
    let from = of.get_type(schema)?;
    let is_decimal = matches!(to, DataType::Decimal128(..));
    // HUGEINT.
    if *to == DataType::Decimal128(38, 0) && from.is_floating() {
        return Ok(kernels::round_even().call(vec![double(of)]));
    }
    if is_decimal && from == DataType::Utf8 {
        return Ok(kernels::plain_number().call(vec![of]));
    }
    if let DataType::Decimal128(precision, _) = from
        && to.is_floating()
        && !kernels::decimals::is_cast(precision)
    {
        return Ok(kernels::double_of_decimal().call(vec![of]));
    }
    if !to.is_integer() {
        return Ok(of);
    }
    Ok(match from {
        DataType::Utf8 if to.is_unsigned_integer() => kernels::natural_number().call(vec![of]),
        DataType::Utf8 => kernels::whole_number().call(vec![of]),
        DataType::Float32 | DataType::Float64 => kernels::round_even().call(vec![double(of)]),
        DataType::Decimal128(_, scale) if scale > 0 => math::round().call(vec![of]),
        _ => of,
    })
}

/// TIMESTAMP counts microseconds.
fn microseconds(of: &DataType) -> DataType {
    match of {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        other => other.clone(),
    }
}

fn are_integers(of: &[Expr], schema: &DFSchema) -> Result<bool> {
    for expr in of {
        let ty = expr.get_type(schema)?;
        if !ty.is_integer() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether all are integers or HUGEINT, which is a decimal here, and one is that.
fn are_whole(of: &[Expr], schema: &DFSchema) -> Result<bool> {
    let mut is_huge = false;
    for expr in of {
        match expr.get_type(schema)? {
            DataType::Decimal128(38, 0) => is_huge = true,
            ty if ty.is_integer() => {}
            _ => return Ok(false),
        }
    }
    Ok(is_huge)
}

/// The quotient of two integers that are decimals together, whose quotient has a fraction.
fn whole_quotient(of: Vec<Expr>, digits: u8, schema: &DFSchema) -> Result<Expr> {
    shared(of, schema, |mut of| {
        let (right, left) = (of.remove(1), of.remove(0));
        let rest = binary_expr(left.clone(), Operator::Modulo, right.clone());
        let whole = binary_expr(left, Operator::Minus, rest);
        let quotient = binary_expr(whole, Operator::Divide, right);
        Ok(cast(quotient, DataType::Decimal128(digits, 0)))
    })
}

/// Whether no integer type holds the values of both: one is uint64, the other has a sign.
fn are_unlike(of: &[Expr], schema: &DFSchema) -> Result<bool> {
    let (mut is_long, mut is_signed) = (false, false);
    for expr in of {
        let ty = expr.get_type(schema)?;
        is_long |= ty == DataType::UInt64;
        is_signed |= ty.is_signed_integer();
    }
    Ok(is_long && is_signed)
}

fn text_of(of: &Expr) -> Option<&str> {
    match of {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text),
        _ => None,
    }
}

fn is_positive(of: &Expr) -> bool {
    matches!(of, Expr::Literal(ScalarValue::Int64(Some(value)), _) if *value > 0)
}

fn integer_of(of: &Expr) -> Option<i8> {
    match of {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => i8::try_from(*value).ok(),
        _ => None,
    }
}
