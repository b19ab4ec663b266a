//! Rows of constants, as VALUES lists them, without binding a query.
//!
//! Invariant: what is read here is what the query would give: the constants of a column are of one kind. All else, such as a
//! number among texts or an expression, is left to the query. Cost: linear in the constants.

use datafusion_sql::sqlparser::ast::{Expr, SetExpr, Statement, UnaryOperator, Value, Values};

use super::select::Select;

/// A column of constants; `None` is NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum Constants {
    /// Only NULL, so many times.
    Null(usize),
    /// TRUE and FALSE.
    Bool(Vec<Option<bool>>),
    /// Integers.
    Int(Vec<Option<i64>>),
    /// Decimals, in units of so many digits behind the point.
    Decimal(Vec<Option<i128>>, i8),
    /// Texts.
    Text(Vec<Option<String>>),
}

/// The most digits of a decimal.
const DIGITS: usize = 38;

impl Constants {
    /// One more; false where it is of another kind.
    fn push(&mut self, value: &Expr) -> bool {
        let Some(one) = Self::of(value, false) else {
            return false;
        };
        match (&mut *self, one) {
            (Self::Null(times), Self::Null(_)) => *times += 1,
            (Self::Null(times), other) => *self = other.behind(*times),
            (Self::Bool(all), Self::Null(_)) => all.push(None),
            (Self::Int(all), Self::Null(_)) => all.push(None),
            (Self::Decimal(all, _), Self::Null(_)) => all.push(None),
            (Self::Text(all), Self::Null(_)) => all.push(None),
            (Self::Bool(all), Self::Bool(one)) => all.extend(one),
            (Self::Int(all), Self::Int(one)) => all.extend(one),
            (Self::Decimal(all, scale), Self::Decimal(one, other)) if *scale == other => {
                all.extend(one)
            }
            (Self::Text(all), Self::Text(one)) => all.extend(one),
            _ => return false,
        }
        true
    }

    /// A single value.
    fn of(value: &Expr, is_negative: bool) -> Option<Self> {
        match value {
            Expr::Nested(within) => Self::of(within, is_negative),
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } if !is_negative => match Self::of(expr, true)? {
                number @ (Self::Int(_) | Self::Decimal(..)) => Some(number),
                _ => None,
            },
            Expr::Value(value) => match &value.value {
                Value::Null => Some(Self::Null(1)),
                Value::Boolean(truth) => Some(Self::Bool(vec![Some(*truth)])),
                Value::SingleQuotedString(text) => Some(Self::Text(vec![Some(text.clone())])),
                Value::Number(digits, false) => number(digits, is_negative),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same behind so many NULLs.
    fn behind(self, nulls: usize) -> Self {
        fn behind<T: Clone>(all: Vec<Option<T>>, nulls: usize) -> Vec<Option<T>> {
            std::iter::repeat_n(None, nulls).chain(all).collect()
        }
        match self {
            Self::Null(times) => Self::Null(nulls + times),
            Self::Bool(all) => Self::Bool(behind(all, nulls)),
            Self::Int(all) => Self::Int(behind(all, nulls)),
            Self::Decimal(all, scale) => Self::Decimal(behind(all, nulls), scale),
            Self::Text(all) => Self::Text(behind(all, nulls)),
        }
    }
}

fn number(digits: &str, is_negative: bool) -> Option<Constants> {
    let sign = if is_negative { "-" } else { "" };
    if !digits.contains('.') {
        return Some(Constants::Int(vec![Some(
            format!("{sign}{digits}").parse().ok()?,
        )]));
    }
    let (whole, behind) = digits.split_once('.')?;
    if whole.len() + behind.len() > DIGITS {
        return None;
    }
    let units = format!("{sign}{whole}{behind}").parse().ok()?;
    Some(Constants::Decimal(
        vec![Some(units)],
        i8::try_from(behind.len()).ok()?,
    ))
}

impl Select {
    /// The rows of VALUES, each by itself: as those of an INSERT are, whose values take the types of their columns and not
    /// those of each other. None of another query, or one that orders its rows or leaves some out.
    #[must_use]
    pub fn each_row(&self) -> Option<Vec<Self>> {
        fn rows_of(of: &mut Select) -> Option<&mut Values> {
            let Statement::Query(query) = &mut *of.statement else {
                return None;
            };
            match &mut *query.body {
                SetExpr::Values(values) => Some(values),
                _ => None,
            }
        }
        self.values()?;
        let mut none = self.clone();
        let rows = std::mem::take(&mut rows_of(&mut none)?.rows);
        let each = rows.into_iter().map(|row| {
            let mut one = none.clone();
            rows_of(&mut one)?.rows.push(row);
            Some(one)
        });
        each.collect()
    }

    /// The VALUES of a statement, if it does nothing else.
    fn values(&self) -> Option<&Values> {
        let Statement::Query(query) = &*self.statement else {
            return None;
        };
        let is_whole = query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
            && query.fetch.is_none();
        match &*query.body {
            SetExpr::Values(values) if is_whole => Some(values),
            _ => None,
        }
    }

    /// The columns of the constants that it lists, if it does nothing else.
    #[must_use]
    pub fn constants(&self) -> Option<Vec<Constants>> {
        let values = self.values()?;
        let width = values.rows.first()?.content.len();
        let mut columns = vec![Constants::Null(0); width];
        for row in &values.rows {
            let is_read = row.content.len() == width
                && row
                    .content
                    .iter()
                    .zip(&mut columns)
                    .all(|(value, column)| column.push(value));
            if !is_read {
                return None;
            }
        }
        Some(columns)
    }
}
