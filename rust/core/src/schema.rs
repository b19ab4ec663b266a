//! Fields and schemas: the named, typed columns of a table or of a result.
//!
//! Invariant: the names of a schema's fields differ. Looking a column up by name is linear in the
//! number of columns; hot code keeps the index.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, Result, Type};

/// Bytes that a name of a table, a view or a column may have.
pub const LONGEST_NAME: usize = 1024;

/// Refuses a name that is empty or too long; `what` names its kind in the message.
///
/// # Errors
/// `Value`.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let problem = match name.len() {
        0 => "is empty, so no SQL could speak of it; give it one".to_owned(),
        1..=LONGEST_NAME => return Ok(()),
        bytes => {
            let start: String = name.chars().take(40).collect();
            format!(
                "{start:?}.. has {bytes} bytes; a name has at most {LONGEST_NAME}: give it a shorter one"
            )
        }
    };
    Err(Error::Value {
        place: format!("the name of {what}"),
        problem,
    })
}

/// A named, typed column.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// The name, unique in its schema; case matters.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub ty: Type,
    /// Whether the column may hold NULL.
    pub nullable: bool,
}

impl Field {
    /// A field.
    pub fn new(name: impl Into<String>, ty: Type, nullable: bool) -> Field {
        Field {
            name: name.into(),
            ty,
            nullable,
        }
    }
}

/// The columns of a table or of a result, in order. Names differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Vec<Field>", try_from = "Vec<Field>")]
pub struct Schema {
    fields: Vec<Field>,
}

impl Schema {
    /// A schema; `Error::Exists` if two fields share a name.
    pub fn new(fields: Vec<Field>) -> Result<Schema> {
        for (index, field) in fields.iter().enumerate() {
            if fields[..index]
                .iter()
                .any(|earlier| earlier.name == field.name)
            {
                return Err(Error::Exists {
                    kind: "column",
                    name: field.name.clone(),
                });
            }
        }
        Ok(Schema { fields })
    }

    /// The fields, in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The position of a column; `Error::UnknownColumn` (without a table) if there is none.
    pub fn index_of(&self, name: &str) -> Result<usize> {
        self.fields
            .iter()
            .position(|field| field.name == name)
            .ok_or_else(|| Error::UnknownColumn {
                table: String::new(),
                column: name.to_owned(),
                known: self.fields.iter().map(|field| field.name.clone()).collect(),
            })
    }

    /// The schema of an Arrow schema; metadata is dropped.
    pub fn from_arrow(arrow: &arrow_schema::Schema) -> Result<Schema> {
        let field = |field: &Arc<arrow_schema::Field>| {
            let name = field.name();
            let ty = Type::from_arrow(field.data_type()).map_err(|error| match error {
                Error::Unsupported { what, why, instead } => Error::Unsupported {
                    what: format!("{what} of column {name:?}"),
                    why,
                    instead,
                },
                other => other,
            })?;
            Ok(Field::new(name, ty, field.is_nullable()))
        };
        Schema::new(arrow.fields().iter().map(field).collect::<Result<_>>()?)
    }

    /// The Arrow schema in which rows of this schema are handed out.
    pub fn to_arrow(&self) -> arrow_schema::Schema {
        let field = |field: &Field| {
            arrow_schema::Field::new(&field.name, field.ty.to_arrow(), field.nullable)
        };
        arrow_schema::Schema::new(self.fields.iter().map(field).collect::<Vec<_>>())
    }
}

impl From<Schema> for Vec<Field> {
    fn from(schema: Schema) -> Vec<Field> {
        schema.fields
    }
}

impl TryFrom<Vec<Field>> for Schema {
    type Error = Error;

    fn try_from(fields: Vec<Field>) -> Result<Schema> {
        Schema::new(fields)
    }
}
