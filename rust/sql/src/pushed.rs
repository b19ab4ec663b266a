//! Filters of atoms as Spark's conditions, so that rows that no view takes do not move.
//!
//! Invariant: what is pushed holds for every row that the filter takes; the engine filters again, so that what Spark may
//! mean otherwise is left out and nothing is lost. Cost: O(length of the filter).

use arrow_schema::DataType;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, ExprSchemable, Operator};
use ringview_core::{Error, Result, Schema};
use ringview_expr::{read, value};

/// Decimals of more digits Spark would round as it compares them.
const DIGITS: usize = 18;

/// What Spark can tell of a filter over columns of a schema, as its SQL; nothing where it can tell nothing.
///
/// # Errors
/// Those of the text.
pub fn pushed(filter: &str, schema: &Schema) -> Result<Option<String>> {
    let schema = DFSchema::try_from(schema.to_arrow()).map_err(|problem| Error::Value {
        place: "the columns of a filter".to_owned(),
        problem: problem.strip_backtrace(),
    })?;
    Ok(condition(&read(filter, &schema)?, &schema))
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
            let values = within.list.iter();
            let values = values.map(|one| constant(one, &within.expr, schema));
            let values = values.collect::<Option<Vec<String>>>()?;
            Some(format!(
                "{} IN ({})",
                column(&within.expr)?,
                values.join(", ")
            ))
        }
        _ => None,
    }
}

fn comparison(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<String> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    if !matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return None;
    }
    if let Some(column) = column(left) {
        return Some(
            format!("{column} {op} {}", constant(right, left, schema)?).replace("!=", "<>"),
        );
    }
    column(right)?;
    comparison(right, op.swap()?, left, schema)
}

fn column(of: &Expr) -> Option<String> {
    match of {
        Expr::Column(column) => Some(format!("`{}`", column.name.replace('`', "``"))),
        _ => None,
    }
}

/// A constant that Spark compares with the column as the engine does.
fn constant(of: &Expr, column: &Expr, schema: &DFSchema) -> Option<String> {
    if !of.column_refs().is_empty() {
        return None;
    }
    let ty = column.get_type(schema).ok()?;
    let is_exact = ty.is_integer() || matches!(ty, DataType::Decimal128(..));
    let found = value(of).ok()??;
    match &found {
        ScalarValue::Utf8(Some(text)) if ty == DataType::Utf8 => {
            let text = text.replace('\\', "\\\\").replace('\'', "\\'");
            Some(format!("'{text}'"))
        }
        ScalarValue::Date32(Some(_)) if ty == DataType::Date32 => Some(format!("DATE '{found}'")),
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
            ("s IN ('a', 'b')", Some("`s` IN ('a', 'b')")),
            ("s IN ('a', NULL)", None),
            ("d < DATE '1995-03-15'", Some("`d` < DATE '1995-03-15'")),
            ("d < '1995-03-15'", None),
            ("length(s) > 3", None),
            ("n + 1 > 3", None),
        ] {
            assert_eq!(pushed(filter, &schema)?.as_deref(), expected, "{filter}");
        }
        Ok(())
    }
}
