//! Declared arguments and result of a user's function.
//!
//! Invariant: a declared function has a name that a text can call, and one argument at least. An argument is brought to its
//! declared type where that keeps every value, or fails: no value is rounded on the way. Cost: O(arguments).

use arrow_schema::DataType;
use ringview_core::{Error, Result, Type};
use serde::{Deserialize, Serialize};

/// Kind of a function: its value is one of a row or of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Of each row.
    Scalar,
    /// Of all rows of a group.
    Aggregate,
}

/// Handling of rows with NULL among the arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nulls {
    /// The function does not see them: NULL is the value of such a row, and an aggregate leaves it out.
    #[default]
    Default,
    /// The function is given them as they are.
    Special,
}

/// See the module. It is kept with each view that calls the function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The name in texts of SQL, found in any case.
    pub name: String,
    /// Of a row, or of a group.
    pub kind: Kind,
    /// The types of its arguments.
    pub takes: Vec<Type>,
    /// The type of its values.
    pub returns: Type,
    /// Rows with NULL.
    #[serde(default)]
    pub nulls: Nulls,
}

impl Signature {
    /// Refuses what cannot be declared.
    ///
    /// # Errors
    /// `Value` for a name that no text can call, and for a function without arguments; `Unsupported` for lists.
    pub fn check(&self) -> Result<()> {
        let name = &self.name;
        let refused = |problem: &str| {
            Err(Error::Value {
                place: format!("the function {name:?}"),
                problem: problem.to_owned(),
            })
        };
        let mut letters = name.chars();
        let begins = letters
            .next()
            .is_some_and(|one| one.is_ascii_alphabetic() || one == '_');
        if !begins || !letters.all(|one| one.is_ascii_alphanumeric() || one == '_') {
            return refused(
                "a name of letters, digits and underscores is needed, which begins with a letter",
            );
        }
        if self.takes.is_empty() {
            return refused(
                "it takes no argument, and a function of nothing is a constant: write its value into the query, or pass \
                 it as a parameter",
            );
        }
        match self
            .takes
            .iter()
            .chain([&self.returns])
            .find(|ty| ty.is_nested())
        {
            Some(ty) => Err(Error::Unsupported {
                what: format!("{ty} as a type of the function {name:?}"),
                why: "functions take and return plain values".to_owned(),
                instead: "give it parts of the list, or a text of them, as STRING_AGG makes"
                    .to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Whether this is its name.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The type of its values over arguments of these types.
    ///
    /// # Errors
    /// `Type` for arguments that it does not take.
    pub(crate) fn over(&self, types: &[DataType]) -> Result<DataType> {
        let listed = |types: &mut dyn Iterator<Item = String>| types.collect::<Vec<_>>().join(", ");
        let refused = |place: String, expected: String, found: String| Error::Type {
            place,
            expected,
            found,
        };
        if types.len() != self.takes.len() {
            return Err(refused(
                format!("the arguments of \"{}\"", self.name),
                listed(&mut self.takes.iter().map(Type::to_string)),
                listed(&mut types.iter().map(type_text)),
            ));
        }
        let mut pairs = types.iter().zip(&self.takes).enumerate();
        match pairs.find(|(_, (given, takes))| !is_exact_in(given, takes)) {
            Some((at, (given, takes))) => Err(refused(
                format!("argument {} of \"{}\"", at + 1, self.name),
                takes.to_string(),
                type_text(given),
            )),
            None => Ok(self.returns.to_arrow()),
        }
    }
}

/// A type as users write it.
fn type_text(ty: &DataType) -> String {
    Type::from_arrow(ty).map_or_else(|_| ty.to_string(), |ty| ty.to_string())
}

/// Whether values of a type become those of another without being rounded: they may be out of its range, which is found
/// row by row.
fn is_exact_in(from: &DataType, to: &Type) -> bool {
    let scale = |ty: &DataType| match ty {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => Some(*scale),
        ty if ty.is_integer() => Some(0),
        _ => None,
    };
    if *from == DataType::Null || to.to_arrow() == *from {
        return true;
    }
    match to {
        Type::Float32 | Type::Float64 => from.is_numeric(),
        Type::Utf8 => Type::from_arrow(from).is_ok_and(|from| from == Type::Utf8),
        Type::Timestamp { timezone: None, .. } => {
            matches!(from, DataType::Date32 | DataType::Timestamp(_, None))
        }
        Type::Timestamp { .. } => matches!(from, DataType::Timestamp(_, Some(_))),
        to => match (scale(from), scale(&to.to_arrow())) {
            (Some(from), Some(to)) => from <= to,
            _ => false,
        },
    }
}
