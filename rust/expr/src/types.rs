//! Types that meet: in a comparison, a sum, a CASE.
//!
//! A float32 beside integers and decimals is computed as float32, whatever is beside a double as a double. What is
//! compared is of one kind; a constant text takes the type of what it is compared with. Invariant: values that meet
//! have types that the library brings together without loss. Cost: O(operands).

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion_expr::{Expr, ExprSchemable, cast, lit};

use crate::kernels;

/// Operands of arithmetic, or of a choice among them.
pub(crate) fn alike(of: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
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

/// Results of a choice among them: decimals have one precision and scale, too.
pub(crate) fn unify_results(of: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
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
pub(crate) fn unify_operands(mut of: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let types = types(&of, schema)?;
    let is_known = |ty: &&DataType| !matches!(ty, DataType::Null);
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
            match ScalarValue::try_from_string(text.clone(), first) {
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

fn types(of: &[Expr], schema: &DFSchema) -> Result<Vec<DataType>> {
    of.iter().map(|expr| expr.get_type(schema)).collect()
}

fn is_text(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// What is compared with each other: types of one kind.
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
