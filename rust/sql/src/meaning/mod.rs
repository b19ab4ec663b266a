//! Translation of a dialect's text into DuckDB's, in which blocks are kept.
//!
//! Division, powers, texts that are put together, days of the week, patterns and names of types differ among dialects;
//! blocks keep expressions as text of DuckDB's. Invariant: the changed text means to DuckDB the same as the text to its
//! dialect. Cost: linear in the text.

mod functions;
mod terms;

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, CharacterLength, DataType, ExactNumberInfo, Expr, Ident, ObjectName, Spanned,
    Statement, TimezoneInfo, VisitorMut,
};
use datafusion_sql::sqlparser::tokenizer::Span;
use ringview_core::{Result, SqlProblem, TimeUnit, Type};
use ringview_expr::{call, walk_mut};

use crate::dialect::Dialect;
use crate::source_text::{Text, position};
use crate::statement::column_type;
use terms::{SPARK, nested, number, text};

/// Changes a text of a dialect.
///
/// # Errors
/// `Sql` at a function that means in the dialect what no function of DuckDB's does.
pub(crate) fn of_dialect(
    statement: &mut Statement,
    dialect: Dialect,
    text: Text<'_>,
) -> Result<()> {
    match walk_mut(statement, &mut Meaning(dialect)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((span, what)) => {
            Err(text.refused(SqlProblem::Unsupported, position(span.start), &what))
        }
    }
}

struct Meaning(Dialect);

impl VisitorMut for Meaning {
    type Break = (Span, String);

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::BinaryOp { left, op, right } => {
                let (left, right) = (&mut **left, &mut **right);
                if let Some(meant) = self.operator(left, op, right) {
                    *expr = meant;
                }
            }
            Expr::Function(function) => match functions::meant(function, self.0) {
                Ok(Some(meant)) => *expr = meant,
                Ok(None) => {}
                Err(why) => {
                    let what = format!("{} here {why}", function.name);
                    return ControlFlow::Break((function.name.span(), what));
                }
            },
            Expr::Extract {
                field, expr: of, ..
            } => match functions::part(field, of, self.0) {
                Ok(Some(meant)) => *expr = meant,
                Ok(None) => {}
                Err(why) => {
                    let what = format!("EXTRACT({field} ..) here {why}");
                    return ControlFlow::Break((of.span(), what));
                }
            },
            Expr::Substring {
                substring_from: Some(from),
                substring_for,
                ..
            } => functions::substring(from, substring_for, self.0),
            Expr::Cast {
                data_type,
                expr: of,
                ..
            } => {
                let length = longest(data_type, self.0);
                if is_integer(data_type, self.0) && SPARK.contains(&self.0) {
                    **of = call("whole_part", vec![(**of).clone()]);
                }
                if let Some((meant, unit)) = cast_to(data_type, self.0) {
                    *data_type = meant;
                    if let Some(unit) = unit {
                        *expr = call("date_trunc", vec![text(unit), expr.clone()]);
                    }
                } else if let Some(length) = length {
                    *expr = call("left", vec![expr.clone(), number(&length.to_string())]);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Meaning {
    /// Translation of an operator whose meaning differs from DuckDB's.
    fn operator(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Expr> {
        if self.0 == Dialect::DuckDb {
            return None;
        }
        let (left, right) = (left.clone(), right.clone());
        let binary = |left: Expr, op: BinaryOperator, right: Expr| {
            nested(Expr::BinaryOp {
                left: Box::new(left),
                op,
                right: Box::new(right),
            })
        };
        let zero = number("0");
        match (op, self.0) {
            (BinaryOperator::Divide, Dialect::Postgres | Dialect::Ansi) => {
                Some(call("divide_integers", vec![left, right]))
            }
            (BinaryOperator::Divide, Dialect::Snowflake | Dialect::BigQuery) => {
                Some(call("divide_checked", vec![left, right]))
            }
            (
                BinaryOperator::Divide | BinaryOperator::Modulo,
                Dialect::Spark | Dialect::Databricks | Dialect::MySql,
            ) => Some(binary(left, op.clone(), call("nullif", vec![right, zero]))),
            (BinaryOperator::MyIntegerDivide | BinaryOperator::DuckIntegerDivide, _) => {
                Some(binary(
                    left,
                    BinaryOperator::DuckIntegerDivide,
                    call("nullif", vec![right, zero]),
                ))
            }
            (BinaryOperator::StringConcat, Dialect::MySql) => {
                Some(binary(left, BinaryOperator::Or, right))
            }
            (BinaryOperator::PGBitwiseXor, _) => Some(call("xor", vec![left, right])),
            (
                BinaryOperator::BitwiseXor,
                Dialect::Spark | Dialect::Databricks | Dialect::MySql | Dialect::BigQuery,
            ) => Some(call("xor", vec![left, right])),
            _ => None,
        }
    }
}

/// Number of characters that a cast to a text keeps, where the dialect truncates it.
fn longest(of: &DataType, dialect: Dialect) -> Option<u64> {
    let (DataType::Varchar(Some(length))
    | DataType::CharVarying(Some(length))
    | DataType::CharacterVarying(Some(length))
    | DataType::Char(Some(length))) = of
    else {
        return None;
    };
    let is_char = matches!(of, DataType::Char(_));
    let cuts = match dialect {
        Dialect::Postgres | Dialect::Ansi => !is_char,
        Dialect::MySql => is_char,
        _ => false,
    };
    match length {
        CharacterLength::IntegerLength { length, .. } if cuts => Some(*length),
        _ => None,
    }
}

fn is_integer(of: &DataType, dialect: Dialect) -> bool {
    let integers = [Type::Int8, Type::Int16, Type::Int32, Type::Int64];
    column_type(of, dialect).is_ok_and(|ty| integers.contains(&ty))
}

/// The type that a cast is to, where the binder takes its name for another; the unit of its moments, where they are cut.
fn cast_to(of: &DataType, dialect: Dialect) -> Option<(DataType, Option<&'static str>)> {
    let is_taken_otherwise = match of {
        DataType::Decimal(digits) | DataType::Numeric(digits) => *digits == ExactNumberInfo::None,
        DataType::Dec(_) | DataType::Float(_) => true,
        DataType::Timestamp(digits, _) => digits.is_some(),
        DataType::Datetime(_) | DataType::TimestampNtz(_) => true,
        _ => false,
    };
    if !is_taken_otherwise {
        return None;
    }
    Some(match column_type(of, dialect).ok()? {
        Type::Decimal { precision, scale } => {
            let digits = ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into());
            (DataType::Decimal(digits), None)
        }
        Type::Float32 => (DataType::Real, None),
        Type::Float64 => (DataType::DoublePrecision, None),
        Type::Timestamp { unit, timezone } => {
            let zone = match timezone {
                Some(_) => TimezoneInfo::WithTimeZone,
                None => TimezoneInfo::None,
            };
            if unit == TimeUnit::Nanosecond {
                // The binder would cut them to microseconds.
                let name = ObjectName::from(vec![Ident::new("TIMESTAMP_NS")]);
                return Some((DataType::Custom(name, Vec::new()), None));
            }
            let unit = match unit {
                TimeUnit::Second => Some("second"),
                TimeUnit::Millisecond => Some("millisecond"),
                _ => None,
            };
            (DataType::Timestamp(None, zone), unit)
        }
        _ => return None,
    })
}
