//! Filters of atoms as Spark's conditions, so that rows that no view takes do not move.
//!
//! Invariant: what is pushed holds for every row that the filter takes; the engine filters again, so that what Spark may
//! mean otherwise is left out and nothing is lost. Cost: O(length of the filter).

use arrow_schema::DataType;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, ExprSchemable, Operator};
use ringview_core::{Error, Result, Schema};
use ringview_expr::{Scalar, value};

/// Decimals of more digits Spark would round as it compares them.
const DIGITS: usize = 18;

/// The part of a filter over columns of a schema that Spark can evaluate, as its SQL; nothing if there is none.
///
/// # Errors
/// Those of the text.
pub fn pushed(filter: &str, schema: &Schema) -> Result<Option<String>> {
    let schema = DFSchema::try_from(schema.to_arrow()).map_err(|problem| Error::Value {
        place: "the columns of a filter".to_owned(),
        problem: problem.strip_backtrace(),
    })?;
    let filter = Scalar::read(filter)?.over(&schema)?;
    Ok(condition(&filter, &schema))
}

fn condition(of: &Expr, schema: &DFSchema) -> Option<String> {
    match of {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let sides = (condition(left, schema), condition(right, schema));
            match (op, sides) {
                (Operator::And, (Some(left), Some(right))) => {
                    Some(format!("({left}) AND ({right})"))
                }
                (Operator::And, (left, right)) => left.or(right),
                (Operator::Or, (left, right)) => Some(format!("({}) OR ({})", left?, right?)),
                _ => comparison(left, *op, right, schema),
            }
        }
        Expr::IsNull(of) => Some(format!("{} IS NULL", column(of)?)),
        Expr::IsNotNull(of) => Some(format!("{} IS NOT NULL", column(of)?)),
        Expr::Not(of) => match &**of {
            Expr::IsNull(of) => Some(format!("{} IS NOT NULL", column(of)?)),
            _ => None,
        },
        Expr::Between(between) if !between.negated => {
            let least = comparison(&between.expr, Operator::GtEq, &between.low, schema);
            let most = comparison(&between.expr, Operator::LtEq, &between.high, schema);
            match (least, most) {
                (Some(least), Some(most)) => Some(format!("({least}) AND ({most})")),
                (least, most) => least.or(most),
            }
        }
        Expr::InList(within) if !within.negated => {
            let (tested, ty) = operand(&within.expr, schema)?;
            let values = within.list.iter().map(|one| constant(one, &ty));
            let values = values.collect::<Option<Vec<String>>>()?;
            Some(format!("{tested} IN ({})", values.join(", ")))
        }
        Expr::Like(like) if like.escape_char.is_none() && !like.case_insensitive => {
            let (tested, ty) = operand(&like.expr, schema)?;
            let pattern = constant(&like.pattern, &ty).filter(|_| ty == DataType::Utf8)?;
            let not = if like.negated { "NOT " } else { "" };
            // Spark has another rule for the characters after a backslash.
            (!pattern.contains('\\')).then(|| format!("{tested} {not}LIKE {pattern}"))
        }
        _ => None,
    }
}

fn comparison(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<String> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    if !matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return None;
    }
    let Some((tested, ty)) = operand(left, schema) else {
        operand(right, schema)?;
        return comparison(right, op.swap()?, left, schema);
    };
    let other = match operand(right, schema) {
        Some((other, own)) => (own == ty && is_compared_alike(&ty)).then_some(other),
        None => constant(right, &ty),
    };
    let op = if op == NotEq {
        "<>".to_owned()
    } else {
        op.to_string()
    };
    Some(format!("{tested} {op} {}", other?))
}

/// Whether Spark compares values of a type as the engine does.
fn is_compared_alike(ty: &DataType) -> bool {
    ty.is_integer()
        || matches!(
            ty,
            DataType::Decimal128(..) | DataType::Date32 | DataType::Utf8
        )
}

/// A side of a comparison with its type: a column, or a part of a text.
fn operand(of: &Expr, schema: &DFSchema) -> Option<(String, DataType)> {
    if let Some(name) = column(of) {
        return Some((name, of.get_type(schema).ok()?));
    }
    let Expr::ScalarFunction(call) = of else {
        return None;
    };
    let [text, bounds @ ..] = &call.args[..] else {
        return None;
    };
    let is_text = call.name() == "substr" && text.get_type(schema).ok()? == DataType::Utf8;
    let bounds = bounds.iter().map(|bound| match bound {
        Expr::Literal(ScalarValue::Int64(Some(bound @ 1..)), _) => Some(bound.to_string()),
        _ => None,
    });
    let bounds = bounds.collect::<Option<Vec<String>>>()?.join(", ");
    is_text.then_some(())?;
    Some((
        format!("substring({}, {bounds})", column(text)?),
        DataType::Utf8,
    ))
}

fn column(of: &Expr) -> Option<String> {
    match of {
        Expr::Column(column) => Some(format!("`{}`", column.name.replace('`', "``"))),
        _ => None,
    }
}

/// A constant that Spark compares with values of a type as the engine does.
fn constant(of: &Expr, ty: &DataType) -> Option<String> {
    if !of.column_refs().is_empty() {
        return None;
    }
    let is_exact = ty.is_integer() || matches!(ty, DataType::Decimal128(..));
    let found = value(of).ok()??;
    match &found {
        ScalarValue::Utf8(Some(text)) if *ty == DataType::Utf8 => {
            let text = text.replace('\\', "\\\\").replace('\'', "\\'");
            Some(format!("'{text}'"))
        }
        ScalarValue::Date32(Some(_)) if *ty == DataType::Date32 => Some(format!("DATE '{found}'")),
        moment if *ty == DataType::Date32 => midnight(moment),
        ScalarValue::Decimal128(Some(_), _, scale) if is_exact => {
            let digits = found.cast_to(&DataType::Utf8).ok()?.to_string();
            let many = digits.bytes().filter(u8::is_ascii_digit).count();
            let precision = many.max(usize::try_from(*scale).ok()?).max(1);
            (many <= DIGITS).then(|| format!("CAST('{digits}' AS DECIMAL({precision}, {scale}))"))
        }
        value if value.data_type().is_integer() && !value.is_null() && is_exact => {
            Some(value.to_string())
        }
        _ => None,
    }
}

/// The date of a moment at which a day begins.
fn midnight(moment: &ScalarValue) -> Option<String> {
    let (time, a_second) = match *moment {
        ScalarValue::TimestampSecond(time, None) => (time?, 1),
        ScalarValue::TimestampMillisecond(time, None) => (time?, 1_000),
        ScalarValue::TimestampMicrosecond(time, None) => (time?, 1_000_000),
        ScalarValue::TimestampNanosecond(time, None) => (time?, 1_000_000_000),
        _ => return None,
    };
    let a_day = 86_400 * a_second;
    let day = ScalarValue::Date32(Some(i32::try_from(time.div_euclid(a_day)).ok()?));
    (time.rem_euclid(a_day) == 0).then(|| format!("DATE '{day}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringview_core::{Field, Type};

    #[test]
    fn what_spark_compares_alike_is_pushed() -> Result<()> {
        let decimal = Type::Decimal {
            precision: 12,
            scale: 2,
        };
        let fields = [
            ("n", Type::Int64),
            ("p", decimal),
            ("s", Type::Utf8),
            ("d", Type::Date32),
            ("e", Type::Date32),
            ("f", Type::Float32),
        ];
        let fields = fields.map(|(name, ty)| Field::new(name, ty, true));
        let schema = Schema::new(fields.to_vec())?;
        for (filter, expected) in [
            ("n > 3", Some("`n` > 3")),
            ("3 >= n AND f > 0.1", Some("`n` <= 3")),
            ("n = 1 OR f = 0.1", None),
            ("n = 1 OR n IS NULL", Some("(`n` = 1) OR (`n` IS NULL)")),
            ("NOT n IS NULL", Some("`n` IS NOT NULL")),
            (
                "p BETWEEN 1.5 AND 2",
                Some("(`p` >= CAST('1.5' AS DECIMAL(2, 1))) AND (`p` <= 2)"),
            ),
            ("s <> 'it''s'", Some("`s` <> 'it\\'s'")),
            ("s <> 'a!=b'", Some("`s` <> 'a!=b'")),
            ("s IN ('a', 'b')", Some("`s` IN ('a', 'b')")),
            ("s IN ('a', NULL)", None),
            ("d < DATE '1995-03-15'", Some("`d` < DATE '1995-03-15'")),
            ("d < '1995-03-15'", None),
            (
                "d < DATE '1995-03-15' + INTERVAL '1 month'",
                Some("`d` < DATE '1995-04-15'"),
            ),
            ("d < TIMESTAMP '1995-03-15 00:00:01'", None),
            ("d < e AND d <> d", Some("(`d` < `e`) AND (`d` <> `d`)")),
            ("n < p", None),
            ("f = f", None),
            (
                "s LIKE '%a_b%' OR s NOT LIKE 'x%'",
                Some("(`s` LIKE '%a_b%') OR (`s` NOT LIKE 'x%')"),
            ),
            ("s ILIKE 'a%' OR n = 1", None),
            (r"s LIKE 'a\%'", None),
            (
                "substr(s, 1, 2) IN ('13', '31')",
                Some("substring(`s`, 1, 2) IN ('13', '31')"),
            ),
            ("'b' < substr(s, 3)", Some("substring(`s`, 3) > 'b'")),
            ("substr(s, 0, 2) = 'a'", None),
            ("length(s) > 3", None),
            ("n + 1 > 3", None),
        ] {
            assert_eq!(pushed(filter, &schema)?.as_deref(), expected, "{filter}");
        }
        Ok(())
    }
}
