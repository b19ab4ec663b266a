//! Functions by what a dialect means by their names.
//!
//! Invariant: a call without an entry here means what DuckDB means by it; one with other meaning is said in DuckDB's
//! functions, or refused. Cost: O(arguments) a call.

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, Value,
};
use ringview_expr::call;

use super::terms::{SPARK, nested, number, text};
use crate::dialect::Dialect;

/// Dialects whose texts mean what DuckDB's do: concat() passes over NULL, regexp_replace() changes the first match.
const AS_DUCKDB: [Dialect; 3] = [Dialect::DuckDb, Dialect::Postgres, Dialect::Ansi];

const WEEKS: &str = "counts weeks from Sunday; write weekofyear(..), or compute it into a column";

/// A call said in DuckDB's functions, where the dialect means another by its name; why it is refused.
pub(super) fn meant(function: &Function, dialect: Dialect) -> Result<Option<Expr>, &'static str> {
    let name = function.name.to_string().to_lowercase();
    let Some(arguments) = arguments(function) else {
        return Ok(None);
    };
    let found = match name.as_str() {
        "array" | "array_contains" | "array_has" | "array_position" | "array_sort"
        | "array_slice" | "list_has" | "split" => of_list(&name, arguments, dialect)?,
        "stddev" | "std" | "variance" | "kurtosis" | "skewness" | "listagg" => {
            return of_aggregate(&name, function, dialect);
        }
        "weekday" | "dayofweek" | "week" | "yearweek" | "date_part" | "datepart" | "dayname"
        | "monthname" => of_day(&name, arguments, dialect)?,
        "log" | "greatest" | "least" => of_numbers(&name, arguments, dialect),
        _ => of_text(&name, arguments, dialect)?,
    };
    Ok(found)
}

fn of_list(
    name: &str,
    arguments: Vec<Expr>,
    dialect: Dialect,
) -> Result<Option<Expr>, &'static str> {
    let is_spark = SPARK.contains(&dialect);
    Ok(match (name, arguments.len()) {
        ("array", _) if is_spark => Some(call("make_array", arguments)),
        // A NULL in the list makes it unknown whether the list has a value that is not found.
        ("array_contains", _) if is_spark => Some(call("array_has", arguments)),
        ("array_contains" | "array_has" | "list_has", _) => Some(call("list_contains", arguments)),
        ("array_position", 2) if is_spark => {
            let (list, value) = (arguments[0].clone(), arguments[1].clone());
            let is_null = either_null(&list, &value);
            let found = call("array_position", vec![list, value]);
            let found = call("coalesce", vec![found, number("0")]);
            Some(case(is_null, null(), found))
        }
        ("array_position" | "array_slice", _) if dialect == Dialect::Snowflake => {
            return Err("counts from 0; write list_position(..) or list_slice(..), from 1");
        }
        ("array_sort", 1) if is_spark => {
            let order = [text("ASC"), text("NULLS LAST")];
            Some(call(
                "array_sort",
                arguments.into_iter().chain(order).collect(),
            ))
        }
        ("split", 2) if is_spark => Some(call("string_split_regex", arguments)),
        _ => None,
    })
}

/// Aggregates keep the clauses after their arguments.
fn of_aggregate(
    name: &str,
    function: &Function,
    dialect: Dialect,
) -> Result<Option<Expr>, &'static str> {
    let is_spark = SPARK.contains(&dialect);
    let other = match (name, dialect) {
        ("stddev" | "std", Dialect::MySql) => "stddev_pop",
        ("variance", Dialect::MySql) => "var_pop",
        ("kurtosis", _) if is_spark => "kurtosis_pop",
        ("skewness", _) if is_spark => {
            return Err(
                "is of a population, and the one here of a sample; compute it of power sums",
            );
        }
        ("listagg", _) if is_spark || dialect == Dialect::Snowflake => "listagg",
        _ => return Ok(None),
    };
    let mut meant = function.clone();
    meant.name = ObjectName::from(vec![Ident {
        value: other.to_owned(),
        ..first(function)
    }]);
    if other == "listagg"
        && let FunctionArguments::List(list) = &mut meant.args
    {
        if list.args.len() > 1 {
            return Ok(None);
        }
        let between = FunctionArgExpr::Expr(text(""));
        list.args.push(FunctionArg::Unnamed(between));
    } else if other == name {
        return Ok(None);
    }
    Ok(Some(Expr::Function(meant)))
}

fn of_day(
    name: &str,
    mut arguments: Vec<Expr>,
    dialect: Dialect,
) -> Result<Option<Expr>, &'static str> {
    let is_spark = SPARK.contains(&dialect);
    let is_mysql = dialect == Dialect::MySql;
    Ok(match (name, arguments.len()) {
        ("weekday", 1) if is_spark || is_mysql => {
            let of = call("isodow", arguments);
            Some(binary(of, BinaryOperator::Minus, number("1")))
        }
        ("dayofweek", 1) if is_spark || is_mysql => Some(from_sunday(arguments.remove(0))),
        ("week" | "yearweek", _) if is_mysql => return Err(WEEKS),
        ("date_part" | "datepart", 2) if is_spark => {
            let part = text_of(&arguments[0]).map(str::to_lowercase);
            match part.as_deref() {
                Some("dow" | "dayofweek") => Some(from_sunday(arguments.remove(1))),
                _ => None,
            }
        }
        ("dayname" | "monthname", 1) if is_spark || dialect == Dialect::Snowflake => {
            let whole = call(name, arguments);
            Some(call("left", vec![whole, number("3")]))
        }
        _ => None,
    })
}

/// A part of a moment.
pub(super) fn part(
    field: &DateTimeField,
    of: &Expr,
    dialect: Dialect,
) -> Result<Option<Expr>, &'static str> {
    let is_week = matches!(field, DateTimeField::Week(_) | DateTimeField::Weeks);
    let is_day = matches!(field, DateTimeField::DayOfWeek | DateTimeField::Dow);
    match dialect {
        Dialect::MySql | Dialect::BigQuery if is_week => Err(WEEKS),
        Dialect::Spark | Dialect::Databricks | Dialect::BigQuery if is_day => {
            Ok(Some(from_sunday(of.clone())))
        }
        Dialect::BigQuery if *field == DateTimeField::IsoWeek => {
            Ok(Some(call("week", vec![of.clone()])))
        }
        _ => Ok(None),
    }
}

/// The day of a week that begins with Sunday, which is 1.
fn from_sunday(of: Expr) -> Expr {
    let day = call("dayofweek", vec![of]);
    binary(day, BinaryOperator::Plus, number("1"))
}

fn of_numbers(name: &str, mut arguments: Vec<Expr>, dialect: Dialect) -> Option<Expr> {
    let is_spark = SPARK.contains(&dialect);
    match (name, arguments.len()) {
        ("log", 2) if dialect == Dialect::BigQuery => {
            arguments.swap(0, 1);
            Some(call("log", arguments))
        }
        ("log", 1) if is_spark || [Dialect::MySql, Dialect::BigQuery].contains(&dialect) => {
            Some(call("ln", arguments))
        }
        ("greatest" | "least", 1..)
            if [Dialect::Snowflake, Dialect::BigQuery, Dialect::MySql].contains(&dialect) =>
        {
            let nulls = arguments
                .iter()
                .map(|of| Expr::IsNull(Box::new(nested(of.clone()))));
            let any = nulls.reduce(|one, other| binary(one, BinaryOperator::Or, other));
            let found = call(name, arguments);
            any.map(|any| case(any, null(), found))
        }
        _ => None,
    }
}

fn of_text(
    name: &str,
    mut arguments: Vec<Expr>,
    dialect: Dialect,
) -> Result<Option<Expr>, &'static str> {
    let is_spark = SPARK.contains(&dialect);
    Ok(match (name, arguments.len()) {
        // All matches.
        ("regexp_replace", 3) if !AS_DUCKDB.contains(&dialect) => {
            arguments.push(text("g"));
            Some(call("regexp_replace", arguments))
        }
        ("regexp_extract", 2) if is_spark => {
            arguments.push(number("1"));
            Some(call("regexp_extract", arguments))
        }
        ("regexp_extract", 2) if dialect == Dialect::BigQuery => match text_of(&arguments[1]) {
            Some(pattern) if !pattern.contains('(') => None,
            _ => return Err("gives the group of the pattern; write substr(..) or split_part(..)"),
        },
        ("regexp_matches", _) if dialect == Dialect::Postgres => {
            return Err(
                "gives rows of lists; write ~ for a condition, or regexp_extract(..) for a match",
            );
        }
        // NULL among the texts makes the whole NULL.
        ("concat", 1..) if !AS_DUCKDB.contains(&dialect) => {
            let texts = arguments.into_iter();
            texts.reduce(|left, right| binary(left, BinaryOperator::StringConcat, right))
        }
        ("left" | "right", 2) if is_spark || dialect == Dialect::MySql => {
            let below = binary(arguments[1].clone(), BinaryOperator::Lt, number("0"));
            let found = call(name, arguments);
            Some(case(below, text(""), found))
        }
        ("position", 2) if is_spark => {
            arguments.swap(0, 1);
            Some(call("strpos", arguments))
        }
        ("length", 1) if dialect == Dialect::MySql => Some(call("strlen", arguments)),
        ("initcap", _) if is_spark => {
            return Err("begins words at blanks alone; compute it into a column");
        }
        ("to_hex", 1) if [Dialect::Postgres, Dialect::BigQuery].contains(&dialect) => {
            Some(call("lower", vec![call("to_hex", arguments)]))
        }
        ("format", 1..) if dialect == Dialect::BigQuery => Some(call("printf", arguments)),
        ("format", _) if dialect != Dialect::DuckDb => {
            return Err("is not DuckDB's, whose places are {}; write concat(..) or printf(..)");
        }
        ("substr", _) => {
            let mut rest = arguments.split_off(1).into_iter();
            let Some(mut from) = rest.next() else {
                return Ok(None);
            };
            let before = from.clone();
            let mut length = rest.next().map(Box::new);
            substring(&mut from, &mut length, dialect);
            arguments.push(from.clone());
            arguments.extend(length.map(|of| *of));
            (from != before).then(|| call("substr", arguments))
        }
        _ => None,
    })
}

/// Start and length of a part of a text, where the dialect handles positions from 0 down differently.
pub(super) fn substring(from: &mut Expr, length: &mut Option<Box<Expr>>, dialect: Dialect) {
    if is_positive(from) {
        return;
    }
    let begin = from.clone();
    let compared = |op, with: &str| binary(begin.clone(), op, number(with));
    match dialect {
        Dialect::Spark | Dialect::Databricks | Dialect::BigQuery | Dialect::Snowflake => {
            *from = case(
                compared(BinaryOperator::Eq, "0"),
                number("1"),
                begin.clone(),
            );
        }
        // Places before the text are counted, and empty.
        Dialect::Postgres | Dialect::Ansi => {
            let is_before = compared(BinaryOperator::Lt, "1");
            if let Some(length) = length {
                let before = compared(BinaryOperator::Minus, "1");
                let rest = binary((**length).clone(), BinaryOperator::Plus, before);
                let is_none = binary(rest.clone(), BinaryOperator::Lt, number("0"));
                let rest = case(is_none, number("0"), rest);
                **length = case(is_before.clone(), rest, (**length).clone());
            }
            *from = case(is_before, number("1"), begin.clone());
        }
        Dialect::DuckDb | Dialect::MySql => {}
    }
}

fn is_positive(of: &Expr) -> bool {
    match of {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse::<u64>().is_ok_and(|number| number > 0),
            _ => false,
        },
        _ => false,
    }
}

fn first(of: &Function) -> Ident {
    let part = of.name.0.first().and_then(|part| part.as_ident());
    part.cloned().unwrap_or_else(|| Ident::new(""))
}

fn null() -> Expr {
    Expr::value(Value::Null)
}

fn either_null(one: &Expr, other: &Expr) -> Expr {
    let is_null = |of: &Expr| Expr::IsNull(Box::new(nested(of.clone())));
    binary(is_null(one), BinaryOperator::Or, is_null(other))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    nested(Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    })
}

fn case(condition: Expr, result: Expr, otherwise: Expr) -> Expr {
    nested(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result }],
        else_result: Some(Box::new(otherwise)),
    })
}

fn text_of(of: &Expr) -> Option<&str> {
    match of {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn arguments(of: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &of.args else {
        return None;
    };
    let expr = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().map(expr).collect()
}
