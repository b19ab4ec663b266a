//! Parameters of a text: `$1`, `?`, `$name` and `:name`, to be replaced by constants.
//!
//! Invariant: each name in the text has a value, and each value is used. Cost: linear in the text, once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Statement, TimezoneInfo, UnaryOperator, Value,
    VisitorMut,
};
use ringview_core::{Error, Position, Result, SqlProblem};
use ringview_expr::walk_mut;
use serde::{Deserialize, Serialize};

use crate::source_text::{Text, position};

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A double.
    Float(#[serde(with = "digits")] f64),
    /// A decimal, as digits with a point.
    Decimal(String),
    /// A text.
    Text(String),
    /// A day, as `2024-02-29`.
    Date(String),
    /// A moment, as `2024-02-29 10:00:00`.
    Timestamp(String),
}

/// The values of a text's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// By number, from `$1`; the n-th `?` is `$n`.
    pub positional: Vec<Parameter>,
    /// By name, without `$` or `:`.
    pub named: BTreeMap<String, Parameter>,
}

/// A double as the shortest digits that are read as it, for JSON has no infinities and rounds.
mod digits {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&number.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Puts values in the places of their names.
///
/// # Errors
/// `Sql` for a name without a value, at its place in the text; `Value` for a value that is not used.
pub(crate) fn substitute(
    statement: &mut Statement,
    parameters: &Parameters,
    text: Text<'_>,
) -> Result<()> {
    let mut used = BTreeSet::new();
    put(statement, parameters, text, &mut used)?;
    check_used(parameters, &used)
}

/// The same for one statement of several; `used` are the names found so far.
///
/// # Errors
/// `Sql` for a name without a value.
pub(crate) fn put(
    statement: &mut Statement,
    parameters: &Parameters,
    text: Text<'_>,
    used: &mut BTreeSet<String>,
) -> Result<()> {
    let mut given = Given { parameters, used };
    if let ControlFlow::Break((name, at)) = walk_mut(statement, &mut given) {
        let what = format!("the parameters: {name} has no value; pass parameters=..");
        return Err(text.refused(SqlProblem::Value, at, &what));
    }
    Ok(())
}

/// Whether each value was used.
///
/// # Errors
/// `Value` for one that was not.
pub(crate) fn check_used(parameters: &Parameters, used: &BTreeSet<String>) -> Result<()> {
    let numbers = (1..=parameters.positional.len()).map(|number| number.to_string());
    let all = numbers.chain(parameters.named.keys().cloned());
    match all.into_iter().find(|name| !used.contains(name)) {
        Some(name) => Err(Error::Value {
            place: "the parameters".to_owned(),
            problem: format!("the text has no parameter ${name}"),
        }),
        None => Ok(()),
    }
}

struct Given<'p> {
    parameters: &'p Parameters,
    used: &'p mut BTreeSet<String>,
}

impl VisitorMut for Given<'_> {
    type Break = (String, Option<Position>);

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Expr::Value(value) = expr else {
            return ControlFlow::Continue(());
        };
        let Value::Placeholder(name) = &value.value else {
            return ControlFlow::Continue(());
        };
        let key = bare(name);
        let found = match key.parse::<usize>() {
            Ok(number) => self.parameters.positional.get(number.wrapping_sub(1)),
            Err(_) => self.parameters.named.get(key),
        };
        let Some(found) = found else {
            return ControlFlow::Break((name.clone(), position(value.span.start)));
        };
        self.used.insert(key.to_owned());
        *expr = constant(found);
        ControlFlow::Continue(())
    }
}

/// The name of a placeholder: a number, or a word.
pub(crate) fn bare(placeholder: &str) -> &str {
    placeholder.trim_start_matches(['$', ':', '?', '@'])
}

/// A value as a constant of a text.
fn constant(of: &Parameter) -> Expr {
    let text = |text: &str| Expr::value(Value::SingleQuotedString(text.to_owned()));
    let cast = |of: &str, data_type: DataType| Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(text(of)),
        data_type,
        array: false,
        format: None,
    };
    match of {
        Parameter::Null => Expr::value(Value::Null),
        Parameter::Bool(truth) => Expr::value(Value::Boolean(*truth)),
        Parameter::Int(number) => signed(&number.to_string()),
        Parameter::Decimal(digits) => signed(digits),
        Parameter::Float(number) => {
            cast(&number.to_string(), DataType::Double(ExactNumberInfo::None))
        }
        Parameter::Text(of) => text(of),
        Parameter::Date(day) => cast(day, DataType::Date),
        Parameter::Timestamp(moment) => cast(moment, DataType::Timestamp(None, TimezoneInfo::None)),
    }
}

fn signed(digits: &str) -> Expr {
    let number = |digits: &str| Expr::value(Value::Number(digits.to_owned(), false));
    match digits.strip_prefix('-') {
        Some(digits) => Expr::Nested(Box::new(Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(number(digits)),
        })),
        None => number(digits),
    }
}
