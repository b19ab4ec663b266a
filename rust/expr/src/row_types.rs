//! A filter and columns over a row before they are compiled: their types, what they read, and whether they may fail.
//!
//! That is all that a binder needs, and it binds an expression several times: where it looks for a form that an engine
//! keeps, where it names the columns of a block, and where the engine is made. Invariant: the facts about a scalar over
//! columns of certain types are found once for all its copies. Cost: O(nodes) the first time, then O(columns read).

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use datafusion_expr::Expr;
use ringview_core::{Error, Result, Schema, Type};

use crate::conditions::condition;
use crate::facts::{Facts, frame};
use crate::parser::typed as meant;
use crate::scalar::Scalar;

/// The types of columns that are computed from a row, for the rows that a filter passes.
///
/// ```
/// use ringview_core::{Field, Schema, Type};
/// use ringview_expr::{RowTypes, Scalar};
/// let sales = Schema::new(vec![Field::new("day", Type::Date32, true), Field::new("price", Type::Int64, true)])?;
/// let half = Scalar::read("price / 2")?;
/// let of = RowTypes::bind(None, &[&half], &sales)?;
/// assert_eq!((of.types(), of.inputs()), (&[Type::Float64][..], &[1][..]));
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Debug)]
pub struct RowTypes {
    pub(crate) inputs: Vec<usize>,
    pub(crate) types: Vec<Type>,
    nullable: Vec<bool>,
    /// Columns that may have a value that does not fit; whether the filter may, if there is one.
    fallible: Vec<bool>,
    decides: Option<bool>,
}

impl RowTypes {
    /// Binds a filter and columns over the rows of a schema. O(nodes).
    ///
    /// # Errors
    /// As [`Projection::bind`](crate::Projection::bind).
    pub fn bind(filter: Option<&Scalar>, columns: &[&Scalar], schema: &Schema) -> Result<Self> {
        Ok(Typed::bind(filter, columns, schema)?.row)
    }

    /// The columns of the row that are read, ascending.
    #[must_use]
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The types of the columns.
    #[must_use]
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// Whether each column may be NULL.
    #[must_use]
    pub fn nullable(&self) -> &[bool] {
        &self.nullable
    }

    /// Whether each column may have no value in a row: a sum that does not fit its type, a cast that fails.
    #[must_use]
    pub fn fallible(&self) -> &[bool] {
        &self.fallible
    }

    /// The same of the filter.
    #[must_use]
    pub fn has_fallible_filter(&self) -> bool {
        self.decides == Some(true)
    }

    /// Whether there is a filter.
    #[must_use]
    pub fn has_filter(&self) -> bool {
        self.decides.is_some()
    }
}

/// A filter and columns with their types, to be compiled.
pub(crate) struct Typed {
    pub(crate) row: RowTypes,
    /// The columns that are read.
    pub(crate) schema: ArrowSchema,
    pub(crate) condition: Option<Expr>,
    pub(crate) columns: Vec<Expr>,
    pub(crate) places: Vec<Place>,
}

/// Description of a column in messages.
#[derive(Debug)]
pub(crate) enum Place {
    Called(String),
    /// Its text, which is made where there is a message.
    Of(Scalar),
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Called(place) => f.write_str(place),
            Self::Of(scalar) => f.write_str(&scalar.place()),
        }
    }
}

impl Typed {
    /// See `RowTypes::bind`.
    pub(crate) fn bind(
        filter: Option<&Scalar>,
        columns: &[&Scalar],
        schema: &Schema,
    ) -> Result<Self> {
        let of = |scalar: &Scalar| {
            let place = Place::Of(scalar.clone());
            Ok((scalar.facts(schema, &place)?, place))
        };
        let columns = columns.iter().map(|scalar| of(scalar));
        let columns = columns.collect::<Result<_>>()?;
        Self::of_facts(filter.map(of).transpose()?, columns, schema)
    }

    /// The same of expressions, each with its name in messages.
    pub(crate) fn of(
        filter: Option<(Expr, String)>,
        columns: Vec<(Expr, String)>,
        schema: &Schema,
    ) -> Result<Self> {
        let all = frame(&schema.to_arrow())?;
        let of = |(expr, place): (Expr, String)| {
            let place = Place::Called(place);
            let facts = Facts::new(meant(expr, &all, &place)?, &all)?;
            Ok((Arc::new(facts), place))
        };
        let columns = columns.into_iter().map(of).collect::<Result<_>>()?;
        Self::of_facts(filter.map(of).transpose()?, columns, schema)
    }

    fn of_facts(
        filter: Option<(Arc<Facts>, Place)>,
        columns: Vec<(Arc<Facts>, Place)>,
        whole: &Schema,
    ) -> Result<Self> {
        let decides = filter.as_ref().map(|(facts, _)| facts.may_fail);
        let truth = |(facts, place): (Arc<Facts>, Place)| match facts.field.data_type() {
            DataType::Boolean => Ok(facts.expr.clone()),
            ty => {
                condition(facts.expr.clone(), &frame(&whole.to_arrow())?).map_err(|_| Error::Type {
                    place: place.to_string(),
                    expected: "bool".to_owned(),
                    found: ty.to_string(),
                })
            }
        };
        let condition = filter.map(truth).transpose()?;
        let mut exprs = Vec::with_capacity(columns.len());
        let mut places = Vec::with_capacity(columns.len());
        let (mut types, mut nullable, mut fallible) = (Vec::new(), Vec::new(), Vec::new());
        for (facts, place) in columns {
            types.push(column_type(facts.field.data_type(), &place)?);
            nullable.push(facts.field.is_nullable());
            fallible.push(facts.may_fail);
            exprs.push(facts.expr.clone());
            places.push(place);
        }
        let mut read = vec![false; whole.fields().len()];
        for column in exprs.iter().chain(&condition).flat_map(Expr::column_refs) {
            read[whole.index_of(&column.name)?] = true;
        }
        let inputs: Vec<usize> = (0..read.len()).filter(|&at| read[at]).collect();
        let narrow = inputs.iter().map(|&at| {
            let field = &whole.fields()[at];
            ArrowField::new(&field.name, field.ty.to_arrow(), field.nullable)
        });
        Ok(Self {
            schema: ArrowSchema::new(narrow.collect::<Vec<_>>()),
            row: RowTypes {
                inputs,
                types,
                nullable,
                fallible,
                decides,
            },
            condition,
            columns: exprs,
            places,
        })
    }
}

/// The type of the column that an expression of a type makes.
fn column_type(of: &DataType, place: &Place) -> Result<Type> {
    let ty = match of {
        DataType::Utf8View | DataType::LargeUtf8 => &DataType::Utf8,
        other => other,
    };
    Type::from_arrow(ty).map_err(|_| Error::Unsupported {
        what: format!("a column of type {ty} ({place})"),
        why: "no column of a view holds such values".to_owned(),
        instead: "cast it to a number, a date, a timestamp or a text".to_owned(),
    })
}
