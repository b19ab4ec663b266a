//! Expressions of a query: over columns by their names, before they have types.
//!
//! The binder of SQL makes them; a text becomes one at a border, which is JSON, a saved definition or a test, and they
//! become texts there and in messages alone. Invariant: an expression has no aliases and no types that a text lacks, so
//! reading its text gives back one that means the same. Cost: O(nodes) an operation.

use std::fmt::{self, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, DataFusionError, ScalarValue};
use datafusion_expr::expr::{BinaryExpr, Cast, TryCast};
use datafusion_expr::{Expr, Operator, binary_expr, cast, lit};
use ringview_core::{Error, Result, Schema};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::balance::tree;
use crate::error::{broken, own};
use crate::facts::{Facts, Memo, frame};
use crate::parser::{known_columns, refusal, typed, untyped};
use crate::text::text;
use crate::untyped::typed_syntax;

/// See the module.
///
/// ```
/// use ringview_expr::Scalar;
/// let both = Scalar::read("a > 1 AND b IS NULL")?;
/// assert_eq!(both.columns().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(both.conjuncts()[1].to_string(), "\"b\" IS NULL");
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scalar {
    expr: Expr,
    /// Whether syntax of which the types of its operands decide has been decided. A text is read without types.
    is_decided: bool,
    facts: Memo,
}

impl Scalar {
    /// Reads the text of an expression, which may contain aggregates.
    ///
    /// # Errors
    /// `Value` for a text that is no expression; `Unsupported` for an unknown function.
    pub fn read(text: &str) -> Result<Self> {
        Ok(Self {
            expr: untyped(text)?,
            is_decided: false,
            facts: Memo::default(),
        })
    }

    /// A column by its plain name.
    #[must_use]
    pub fn column(name: &str) -> Self {
        Self {
            expr: Expr::Column(Column::new_unqualified(name)),
            is_decided: true,
            facts: Memo::default(),
        }
    }

    /// The expression, which `over` gives the rest of its meaning.
    #[must_use]
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// The expression, where its meaning does not depend on types that only a schema has.
    #[must_use]
    pub fn decided(&self) -> Option<&Expr> {
        self.is_decided.then_some(&self.expr)
    }

    /// Its text.
    ///
    /// # Errors
    /// `Unsupported` for what no text says.
    pub fn text(&self) -> Result<String> {
        text(&self.expr)
    }

    /// The expression over the columns of a schema.
    ///
    /// # Errors
    /// `UnknownColumn`; `Value` for syntax that the types of its operands do not have.
    pub fn over(&self, schema: &DFSchema) -> Result<Expr> {
        known_columns(&self.expr, schema)?;
        if self.is_decided {
            return Ok(self.expr.clone());
        }
        let made = typed_syntax(self.expr.clone(), schema);
        made.map_err(|problem| refusal(&self.place(), schema, problem))
    }

    /// The expression with DuckDB's types; messages call it `place`.
    ///
    /// # Errors
    /// `UnknownColumn`; `Value` for an aggregate, and for what the types do not allow; `Type`.
    pub(crate) fn typed(&self, schema: &DFSchema, place: &dyn Display) -> Result<Expr> {
        let expr = self.over(schema)?;
        let mut problem = None;
        let walked = expr.apply(|node| {
            if let Expr::AggregateFunction(call) = node {
                let name = call.func.name();
                let is = "is an aggregate, and this is computed of one row";
                problem = Some(format!("{name} {is}"));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "a walk that never fails");
        match problem {
            Some(problem) => Err(Error::Value {
                place: place.to_string(),
                problem,
            }),
            None => typed(expr, schema, place),
        }
    }

    /// The same with facts about it: found once for columns of the same types. O(columns read) if it is.
    ///
    /// # Errors
    /// As `typed`.
    pub(crate) fn facts(&self, schema: &Schema, place: &dyn Display) -> Result<Arc<Facts>> {
        if let Some(facts) = self.facts.over(schema) {
            return Ok(facts);
        }
        let all = frame(&schema.to_arrow())?;
        let facts = Arc::new(Facts::new(self.typed(&all, place)?, &all)?);
        self.facts.note(self.columns(), schema, &facts);
        Ok(facts)
    }

    /// A description, for messages.
    pub(crate) fn place(&self) -> String {
        format!("the expression {self}")
    }

    /// The columns that are read, from left to right, with repetitions.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        let mut found = Vec::new();
        let walked = self.expr.apply(|node| {
            if let Expr::Column(column) = node {
                found.push(column);
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "a walk that never fails");
        found.into_iter()
    }

    /// The same with something else in the place of columns.
    ///
    /// # Errors
    /// Those of `by`.
    pub fn replaced(self, by: &mut dyn FnMut(&Column) -> Result<Option<Expr>>) -> Result<Self> {
        let failed = |problem: Error| DataFusionError::External(Box::new(problem));
        let made = self.expr.transform_up(|node| {
            let Expr::Column(column) = &node else {
                return Ok(Transformed::no(node));
            };
            let found = by(column).map_err(failed)?;
            Ok(found.map_or_else(|| Transformed::no(node), Transformed::yes))
        });
        let made = made
            .map_err(|problem| own(&problem).unwrap_or_else(|| broken(&problem.strip_backtrace())));
        Ok(Self {
            expr: made?.data,
            is_decided: self.is_decided,
            facts: Memo::default(),
        })
    }

    /// The conditions of which all must hold, one by one.
    #[must_use]
    pub fn conjuncts(&self) -> Vec<Self> {
        let (mut found, mut open) = (Vec::new(), vec![&self.expr]);
        while let Some(one) = open.pop() {
            match one {
                Expr::BinaryExpr(BinaryExpr {
                    left,
                    op: Operator::And,
                    right,
                }) => open.extend([&**right, &**left]),
                other => found.push(Self {
                    expr: other.clone(),
                    is_decided: self.is_decided,
                    facts: Memo::default(),
                }),
            }
        }
        found
    }

    /// The conditions of which all must hold, as one; none where there is none. Many make a tree as deep as their
    /// logarithm.
    #[must_use]
    pub fn all_of(conditions: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut is_decided = true;
        let exprs = conditions.into_iter().map(|one| {
            is_decided &= one.is_decided;
            one.expr
        });
        let exprs: Vec<Expr> = exprs.collect();
        let both = &mut |left, right| binary_expr(left, Operator::And, right);
        let expr = tree(exprs, both)?;
        Some(Self {
            expr,
            is_decided,
            facts: Memo::default(),
        })
    }
}

/// An expression whose names and types a binder has found.
impl From<Expr> for Scalar {
    fn from(expr: Expr) -> Self {
        let is_other = expr.exists(|node| Ok(!is_plain(node))).unwrap_or(true);
        let expr = match is_other {
            true => plain(expr),
            false => expr,
        };
        Self {
            expr,
            is_decided: true,
            facts: Memo::default(),
        }
    }
}

/// Whether a text says a node as it is.
fn is_plain(node: &Expr) -> bool {
    match node {
        Expr::Alias(_) => false,
        Expr::Cast(Cast { field, .. }) | Expr::TryCast(TryCast { field, .. }) => {
            plain_type(field.data_type()).is_none()
        }
        Expr::Literal(value, _) => plain_value(value).is_none(),
        _ => true,
    }
}

/// An expression as its text would be read.
fn plain(expr: Expr) -> Expr {
    let made = expr.clone().transform_up(|node| {
        Ok(match node {
            Expr::Alias(alias) => Transformed::yes(*alias.expr),
            Expr::Literal(value, metadata) => match plain_value(&value) {
                Some(made) => Transformed::yes(made),
                None => Transformed::no(Expr::Literal(value, metadata)),
            },
            Expr::Cast(Cast { expr, field }) => match plain_type(field.data_type()) {
                Some(ty) => Transformed::yes(Expr::Cast(Cast::new(expr, ty))),
                None => Transformed::no(Expr::Cast(Cast { expr, field })),
            },
            Expr::TryCast(TryCast { expr, field }) => match plain_type(field.data_type()) {
                Some(ty) => Transformed::yes(Expr::TryCast(TryCast::new(expr, ty))),
                None => Transformed::no(Expr::TryCast(TryCast { expr, field })),
            },
            other => Transformed::no(other),
        })
    });
    made.map_or(expr, |made| made.data)
}

/// The type that a text has for another one.
fn plain_type(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Dictionary(_, values) => {
            Some(plain_type(values).unwrap_or_else(|| (**values).clone()))
        }
        DataType::LargeUtf8 | DataType::Utf8View => Some(DataType::Utf8),
        _ => None,
    }
}

/// The constant that a text has for another one: NULL has no type there, an integer 64 bits, and a double is a cast.
fn plain_value(of: &ScalarValue) -> Option<Expr> {
    let double = |digits: String| Some(cast(lit(digits), DataType::Float64));
    match of {
        ScalarValue::Null | ScalarValue::Int64(Some(_)) => None,
        of if of.is_null() => Some(lit(ScalarValue::Null)),
        ScalarValue::Float64(Some(value)) => double(format!("{value:?}")),
        ScalarValue::Float32(Some(value)) => double(format!("{:?}", f64::from(*value))),
        ScalarValue::Int8(_)
        | ScalarValue::Int16(_)
        | ScalarValue::Int32(_)
        | ScalarValue::UInt8(_)
        | ScalarValue::UInt16(_)
        | ScalarValue::UInt32(_)
        | ScalarValue::UInt64(_) => {
            let value = of.cast_to(&DataType::Int64).ok()?;
            (!value.is_null()).then(|| lit(value))
        }
        _ => None,
    }
}

/// Expressions are equal where their nodes are, whoever made them.
impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.expr == other.expr
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expr.hash(state);
    }
}

impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.text() {
            Ok(text) => f.write_str(&text),
            Err(_) => self.expr.fmt(f),
        }
    }
}

impl FromStr for Scalar {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::read(text)
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let text = self.text().map_err(S::Error::custom)?;
        to.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::read(&text).map_err(D::Error::custom)
    }
}
