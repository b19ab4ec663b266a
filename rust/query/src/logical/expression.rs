//! Names in expressions: columns, aggregates, subqueries.
//!
//! An expression is a `Scalar`. A filter of an atom is over the plain names of its table's columns. All others name a
//! column with the number of its atom in front, `"0"."price"`; one of a query around with how far out that is, too,
//! `"outer 1.0"."price"`; and the value of the query's subquery of a number as `"subquery 0"."value"`. Invariant: a name
//! that is made here is recognised as the same. Cost: O(nodes).

use std::cmp::Ordering;

use datafusion_common::{Column, TableReference};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::{Expr, Operator};
use ringview_core::{Error, Result};
use ringview_expr::{Scalar, aggregate, quoted};
use serde::{Deserialize, Serialize};

const OUTER: &str = "outer ";
const SUBQUERY: &str = "subquery ";
const VALUE: &str = "value";

/// An aggregate function. Those of two arguments take y, then x, and the rows where neither is
/// NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// The sum of the values that are not NULL.
    Sum,
    /// The exact sum of floats less its rounding to a double, as a double; 0 where the sum is
    /// exact. Used to add up sums that were computed separately.
    SumRest,
    /// Number of rows, or of values that are not NULL.
    Count,
    /// The mean of the values that are not NULL.
    Avg,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// Number of different values that are not NULL.
    CountDistinct,
    /// The variance of a population.
    VarPop,
    /// The variance as estimated from a sample.
    VarSamp,
    /// The square root of `VarPop`.
    StddevPop,
    /// The square root of `VarSamp`.
    StddevSamp,
    /// The covariance of a population.
    CovarPop,
    /// The covariance as estimated from a sample.
    CovarSamp,
    /// Pearson's correlation.
    Corr,
    /// The slope of the least-squares line.
    RegrSlope,
    /// The value of that line at x = 0.
    RegrIntercept,
    /// Share of the variance of y that the line explains.
    RegrR2,
    /// Number of pairs.
    RegrCount,
}

impl Function {
    const ALL: [(Function, &'static str); 18] = [
        (Function::Sum, "sum"),
        (Function::SumRest, "sum_rest"),
        (Function::Count, "count"),
        (Function::Avg, "avg"),
        (Function::Min, "min"),
        (Function::Max, "max"),
        (Function::CountDistinct, "count"),
        (Function::VarPop, "var_pop"),
        (Function::VarSamp, "var_samp"),
        (Function::StddevPop, "stddev_pop"),
        (Function::StddevSamp, "stddev_samp"),
        (Function::CovarPop, "covar_pop"),
        (Function::CovarSamp, "covar_samp"),
        (Function::Corr, "corr"),
        (Function::RegrSlope, "regr_slope"),
        (Function::RegrIntercept, "regr_intercept"),
        (Function::RegrR2, "regr_r2"),
        (Function::RegrCount, "regr_count"),
    ];

    /// The function that a text calls so, of values that are different or of all.
    #[must_use]
    pub fn named(name: &str, distinct: bool) -> Option<Self> {
        let all = Self::ALL.into_iter();
        let found = all.filter(|(of, _)| (*of == Function::CountDistinct) == distinct);
        let mut found = found.filter(|(_, called)| *called == name);
        found.next().map(|(function, _)| function)
    }

    /// A call of it; `COUNT(*)` has no arguments.
    #[must_use]
    pub fn call(self, mut arguments: Vec<Expr>) -> Option<Expr> {
        let found = Self::ALL.iter().find(|(of, _)| *of == self);
        let name = found.map_or("count", |(_, name)| name);
        if arguments.is_empty() {
            #[expect(deprecated, reason = "the binder makes one of COUNT(*)")]
            arguments.push(Expr::Wildcard {
                qualifier: None,
                options: Box::default(),
            });
        }
        let is_distinct = self == Function::CountDistinct;
        let call = AggregateFunction::new_udf(
            aggregate(name)?,
            arguments,
            is_distinct,
            None,
            Vec::new(),
            None,
        );
        Some(Expr::AggregateFunction(call))
    }
}

/// Comparison operator of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A column of an atom.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnRef {
    /// Position among the query's atoms.
    pub atom: usize,
    /// The column's name in the atom's table.
    pub column: String,
}

/// Meaning of a name in the text of a query's expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A column.
    Column {
        /// Of the query so many further out; 0 is the one whose expression this is.
        depth: usize,
        /// Position among that query's atoms.
        atom: usize,
        /// The column's name in the atom's table.
        column: String,
    },
    /// The one value of a subquery, by its number in the query.
    Subquery(usize),
}

impl Comparison {
    /// The comparison that an operator is.
    pub(crate) fn of(op: Operator) -> Option<Self> {
        Some(match op {
            Operator::Eq => Comparison::Eq,
            Operator::NotEq => Comparison::Ne,
            Operator::Lt => Comparison::Lt,
            Operator::LtEq => Comparison::Le,
            Operator::Gt => Comparison::Gt,
            Operator::GtEq => Comparison::Ge,
            _ => return None,
        })
    }

    /// Whether it is true of two values in this order.
    #[must_use]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Eq => order.is_eq(),
            Comparison::Ne => order.is_ne(),
            Comparison::Lt => order.is_lt(),
            Comparison::Le => order.is_le(),
            Comparison::Gt => order.is_gt(),
            Comparison::Ge => order.is_ge(),
        }
    }

    /// The same with its sides exchanged.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::Le => Comparison::Ge,
            Comparison::Gt => Comparison::Lt,
            Comparison::Ge => Comparison::Le,
            Comparison::Eq | Comparison::Ne => self,
        }
    }

    /// The same, or its opposite.
    pub(crate) fn unless(self, negated: bool) -> Self {
        match (self, negated) {
            (same, false) => same,
            (Comparison::Eq, true) => Comparison::Ne,
            (Comparison::Ne, true) => Comparison::Eq,
            (Comparison::Lt, true) => Comparison::Ge,
            (Comparison::Ge, true) => Comparison::Lt,
            (Comparison::Gt, true) => Comparison::Le,
            (Comparison::Le, true) => Comparison::Gt,
        }
    }
}

/// Meaning of a column of an expression; none for a plain name, and for an expression that is no
/// column.
pub(crate) fn named(expr: &Expr) -> Option<Named> {
    match expr {
        Expr::Column(column) => Named::meant(column),
        Expr::Alias(alias) => named(&alias.expr),
        _ => None,
    }
}

impl Named {
    /// Meaning of a column of an expression; none for a plain name.
    #[must_use]
    pub fn meant(column: &Column) -> Option<Self> {
        let (of, name) = (column.relation.as_ref()?.table(), &column.name);
        if let Some(number) = of.strip_prefix(SUBQUERY).filter(|_| name == VALUE) {
            return Some(Named::Subquery(number.parse().ok()?));
        }
        let (depth, atom) = match of.strip_prefix(OUTER) {
            Some(of) => of.split_once('.')?,
            None => ("0", of),
        };
        Some(Named::Column {
            depth: depth.parse().ok()?,
            atom: atom.parse().ok()?,
            column: name.clone(),
        })
    }

    /// The column that represents it in an expression.
    #[must_use]
    pub fn column(&self) -> Column {
        let (of, name) = match self {
            Named::Column {
                depth: 0,
                atom,
                column,
            } => (atom.to_string(), column.clone()),
            Named::Column {
                depth,
                atom,
                column,
            } => (format!("{OUTER}{depth}.{atom}"), column.clone()),
            Named::Subquery(number) => (format!("{SUBQUERY}{number}"), VALUE.to_owned()),
        };
        Column::new(Some(TableReference::bare(of)), name)
    }

    /// The same as an expression.
    #[must_use]
    pub fn expr(&self) -> Expr {
        Expr::Column(self.column())
    }

    /// As a text spells it.
    #[must_use]
    pub fn text(&self) -> String {
        let column = self.column();
        let of = column.relation.as_ref().map_or("", TableReference::table);
        format!("{}.{}", quoted(of), quoted(&column.name))
    }

    /// The columns and subqueries that an expression names, from left to right.
    ///
    /// # Errors
    /// `Value` for one that names something else.
    pub fn all(of: &Scalar) -> Result<Vec<Self>> {
        of.columns()
            .map(|column| Self::of_column(of, column))
            .collect()
    }

    /// The meaning of a column of an expression.
    fn of_column(of: &Scalar, column: &Column) -> Result<Self> {
        Self::meant(column).ok_or_else(|| Error::Value {
            place: format!("the expression {of}"),
            problem: format!(
                "{} is no column of a query: its qualifier is the number of an atom",
                column.flat_name()
            ),
        })
    }

    /// The two columns that a condition says to be equal, if it says that and no more.
    #[must_use]
    pub fn equality(of: &Scalar) -> Option<(Self, Self)> {
        let Expr::BinaryExpr(binary) = of.expr() else {
            return None;
        };
        let sides = named(&binary.left).zip(named(&binary.right));
        let is_column = |of: &Self| matches!(of, Named::Column { .. });
        let columns = sides.filter(|(left, right)| is_column(left) && is_column(right));
        columns.filter(|_| binary.op == Operator::Eq)
    }

    /// The expression with something else in the place of what it names.
    ///
    /// # Errors
    /// As `all`.
    pub fn renamed(of: &Scalar, by: &mut dyn FnMut(Named) -> Option<Expr>) -> Result<Scalar> {
        let replaced = |column: &Column| Ok(by(Self::of_column(of, column)?));
        let mut replaced = replaced;
        of.clone().replaced(&mut replaced)
    }
}

impl ColumnRef {
    /// As a text spells it.
    #[must_use]
    pub fn text(&self) -> String {
        Scalar::from(self.expr()).to_string()
    }

    /// The column as an expression.
    #[must_use]
    pub fn expr(&self) -> Expr {
        let named = Named::Column {
            depth: 0,
            atom: self.atom,
            column: self.column.clone(),
        };
        named.expr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelt_is_read_back() -> Result<()> {
        let column = |depth, atom, column: &str| Named::Column {
            depth,
            atom,
            column: column.to_owned(),
        };
        let all = [
            column(0, 3, "a \"b\".c"),
            column(2, 0, "x"),
            Named::Subquery(7),
        ];
        let texts: Vec<String> = all.iter().map(Named::text).collect();
        assert_eq!(Named::all(&texts.join(" + ").parse()?)?, all);
        assert!(Named::all(&"\"x\"".parse()?).is_err());
        let x = column(0, 0, "x").expr();
        let call = Function::CountDistinct.call(vec![x]).map(Scalar::from);
        let text = call.map(|call| call.to_string());
        assert_eq!(text.as_deref(), Some("count(DISTINCT \"0\".\"x\")"));
        let count = Function::Count.call(Vec::new()).map(Scalar::from);
        assert_eq!(
            count.map(|call| call.to_string()).as_deref(),
            Some("count(*)")
        );
        assert_eq!(
            Function::named("count", true),
            Some(Function::CountDistinct)
        );
        Ok(())
    }
}
