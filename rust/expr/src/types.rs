//! Types that meet: in a comparison, a sum, a CASE.
//!
//! A float32 with integers and decimals is computed as float32, any number with a double as a double. Compared values
//! are of one kind; a constant text takes the type of the other side. Invariant: values that meet have types that the
//! library brings together without loss. Cost: O(operands).

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion_expr::{Expr, ExprSchemable, cast, lit};

use crate::kernels;
use crate::kernels::time::{MOMENT, instant};
use crate::physical::evaluated;

/// A number as a double.
pub(crate) fn double(of: Expr) -> Expr {
    cast(of, DataType::Float64)
}

/// Whether structs of two types have the same fields in one order, which the library relies on; other types are alike.
#[must_use]
pub fn are_like_structs(one: &DataType, other: &DataType) -> bool {
    let (DataType::Struct(one), DataType::Struct(other)) = (one, other) else {
        return true;
    };
    let mut both = one.iter().zip(other);
    one.len() == other.len()
        && both.all(|(one, other)| one.name().eq_ignore_ascii_case(other.name()))
}

/// Operands of arithmetic, or of a choice among them.
pub(crate) fn alike(of: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let of = of_one_clock(of, schema)?;
    let types = types(&of, schema)?;
    let is_moment = |ty: &DataType| matches!(ty, DataType::Timestamp(_, None));
    if let Some(moment) = types.iter().find(|ty| is_moment(ty))
        && types.contains(&DataType::Date32)
    {
        let moment = |(expr, ty): (Expr, &DataType)| match ty {
            DataType::Date32 => cast(expr, moment.clone()),
            _ => expr,
        };
        return Ok(of.into_iter().zip(&types).map(moment).collect());
    }
    let is_float = |wanted: &DataType| types.iter().any(|ty| ty == wanted);
    let to = match (is_float(&DataType::Float64), is_float(&DataType::Float32)) {
        (true, _) => DataType::Float64,
        (false, true) => DataType::Float32,
        _ => return Ok(of),
    };
    let one = |(expr, ty): (Expr, &DataType)| {
        if ty.is_numeric() && *ty != to {
            cast(expr, to.clone())
        } else {
            expr
        }
    };
    Ok(of.into_iter().zip(&types).map(one).collect())
}

/// Dates and moments beside an instant are those of UTC.
fn of_one_clock(of: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let types = types(&of, schema)?;
    if !types.iter().any(|ty| kind(ty) == Kind::Zoned) {
        return Ok(of);
    }
    let one = |(expr, ty): (Expr, &DataType)| match kind(ty) {
        Kind::Moment => cast(cast(expr, MOMENT), instant()),
        _ => expr,
    };
    Ok(of.into_iter().zip(&types).map(one).collect())
}

/// A text that is written among values of another type is one of those, and one that cannot be is refused.
fn written_alike(mut of: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let types = types(&of, schema)?;
    let others = || {
        types
            .iter()
            .filter(|ty| !is_text(ty) && **ty != DataType::Null)
    };
    let Some(last) = others().next_back() else {
        return Ok(of);
    };
    for expr in &mut of {
        let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = &*expr else {
            continue;
        };
        let mut read = others().filter_map(|ty| written(text, ty).ok());
        match read.next() {
            Some(value) => *expr = lit(value),
            None => return plan_err!("Cannot cast '{text}' to {}", named(last)),
        }
    }
    Ok(of)
}

/// A text read as a date or a moment of a type; `None` for other types.
pub(crate) fn of_text(text: Expr, to: &DataType, is_tried: bool) -> Option<Expr> {
    let name = match (to, is_tried) {
        (DataType::Date32, false) => "day_of_text",
        (DataType::Date32, true) => "try_day_of_text",
        (DataType::Timestamp(_, None), false) => "moment_of_text",
        (DataType::Timestamp(_, None), true) => "try_moment_of_text",
        (DataType::Timestamp(_, Some(_)), false) => "instant_of_text",
        (DataType::Timestamp(_, Some(_)), true) => "try_instant_of_text",
        _ => return None,
    };
    Some(kernels::named(name).call(vec![text]))
}

/// The value of a type that a text is.
fn written(text: &str, ty: &DataType) -> Result<ScalarValue> {
    match of_text(lit(text), ty, false) {
        Some(read) => evaluated(&cast(read, ty.clone())),
        None => ScalarValue::try_from_string(text.to_owned(), ty),
    }
}

/// Results of a choice among them: decimals have one precision and scale, too.
pub(crate) fn unify_results(of: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let of = written_alike(of, schema)?;
    let of = alike(of, schema)?;
    let types = types(&of, schema)?;
    let decimals: Option<Vec<(u8, i8)>> = types
        .iter()
        .map(|ty| match ty {
            DataType::Decimal128(precision, scale) if *scale >= 0 => Some((*precision, *scale)),
            _ => None,
        })
        .collect();
    let Some(decimals) = decimals else {
        return Ok(of);
    };
    let scale = decimals.iter().map(|(_, scale)| *scale).max().unwrap_or(0);
    let whole = decimals.iter().map(|(all, scale)| *all as i8 - scale).max();
    let to = DataType::Decimal128((whole.unwrap_or(0) + scale).clamp(1, 38) as u8, scale);
    let one = |(expr, ty): (Expr, &DataType)| match ty {
        ty if *ty == to => expr,
        _ => cast(expr, to.clone()),
    };
    Ok(of.into_iter().zip(&types).map(one).collect())
}

/// Operands of a comparison.
pub(crate) fn unify_operands(of: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let mut of = of_one_clock(of, schema)?;
    let types = types(&of, schema)?;
    let is_known = |ty: &&DataType| !matches!(ty, DataType::Null);
    let is_interval = |ty: &DataType| matches!(ty, DataType::Interval(_));
    if types.iter().filter(is_known).all(is_interval) {
        let length = |(expr, ty): (Expr, &DataType)| match is_interval(ty) {
            true => kernels::interval_length().call(vec![expr]),
            false => expr,
        };
        return Ok(of.into_iter().zip(&types).map(length).collect());
    }
    let Some(first) = types.iter().filter(is_known).find(|ty| !is_text(ty)) else {
        return Ok(of);
    };
    for (expr, ty) in of.iter_mut().zip(&types).filter(|(_, ty)| is_known(ty)) {
        if is_text(ty) {
            let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = expr else {
                return plan_err!(
                    "a text is not compared with {}: write CAST(.. AS ..)",
                    named(first)
                );
            };
            match written(text, first) {
                Ok(value) => *expr = lit(value),
                Err(_) => return plan_err!("'{text}' is not {}", named(first)),
            }
        } else if kind(ty) != kind(first) {
            return plan_err!(
                "{} is not compared with {}: write CAST(.. AS ..)",
                named(ty),
                named(first)
            );
        }
    }
    let of = alike(of, schema)?;
    let is_float = |ty: &DataType| matches!(ty, DataType::Float32 | DataType::Float64);
    let one = |expr: Expr| {
        Ok(match expr {
            Expr::Literal(..) => expr,
            expr if is_float(&expr.get_type(schema)?) => kernels::ordered().call(vec![expr]),
            expr => expr,
        })
    };
    of.into_iter().map(one).collect()
}

/// Whether each value of a type of exact numbers is one of another.
pub(crate) fn is_widened(from: &DataType, to: &DataType) -> bool {
    let digits = |of: &DataType| match of {
        DataType::Decimal128(precision, scale) => Some((*precision as i8 - scale, *scale)),
        DataType::Int8 | DataType::UInt8 => Some((3, 0)),
        DataType::Int16 | DataType::UInt16 => Some((5, 0)),
        DataType::Int32 | DataType::UInt32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        DataType::UInt64 => Some((20, 0)),
        _ => None,
    };
    let bits = |of: &DataType| of.primitive_width().unwrap_or_default();
    match (from, to) {
        _ if from == to => true,
        (from, to) if from.is_integer() && to.is_integer() => {
            let keeps_sign = from.is_unsigned_integer() || to.is_signed_integer();
            keeps_sign && bits(from) < bits(to)
        }
        (from, DataType::Decimal128(..)) => match (digits(from), digits(to)) {
            (Some((whole, part)), Some((wide, long))) => whole <= wide && part <= long,
            _ => false,
        },
        _ => false,
    }
}

/// Whether a cast has a value in each row.
pub(crate) fn never_fails(from: &DataType, to: &DataType) -> bool {
    let is_number = from.is_numeric() || matches!(from, DataType::Boolean | DataType::Null);
    is_number && matches!(to, DataType::Float64 | DataType::Boolean) || is_widened(from, to)
}

fn types(of: &[Expr], schema: &DFSchema) -> Result<Vec<DataType>> {
    of.iter().map(|expr| expr.get_type(schema)).collect()
}

fn is_text(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// Kinds of types: values of one kind can be compared.
#[derive(PartialEq, Eq)]
enum Kind {
    Number,
    Moment,
    /// A moment whose day depends on a zone.
    Zoned,
    Other(DataType),
}

fn kind(ty: &DataType) -> Kind {
    match ty {
        _ if ty.is_numeric() => Kind::Number,
        DataType::Timestamp(_, Some(_)) => Kind::Zoned,
        DataType::Date32 | DataType::Timestamp(_, None) => Kind::Moment,
        DataType::Interval(_) => Kind::Other(DataType::Null),
        other => Kind::Other(other.clone()),
    }
}

fn named(ty: &DataType) -> &'static str {
    match ty {
        _ if ty.is_numeric() => "a number",
        DataType::Boolean => "a bool",
        DataType::Date32 => "a date",
        DataType::Timestamp(_, Some(_)) => "a timestamp with a time zone",
        DataType::Timestamp(_, None) => "a timestamp",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "a text",
        DataType::Interval(_) => "an interval",
        _ => "another type",
    }
}
