//! Binding of expressions: names to positions, types to kinds.
//!
//! Invariant: a bound expression mentions one atom. Cost: linear in the expression.

use ringview_core::{Error, Result, Schema, Type};

use crate::bind::expr::{Expr, Kind};
use crate::bind::literal;
use crate::graph::set::Set;
use crate::logical::{Literal, Scalar};

/// Names and types of one atom.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) atom: usize,
    pub(crate) table: &'a str,
    pub(crate) alias: &'a str,
    pub(crate) schema: &'a Schema,
    /// See `TableInfo`.
    pub(crate) cofactors: &'a [String],
}

/// What arithmetic is done for: it decides how a uint64 is read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Purpose {
    Filter,
    Sum,
}

impl<'a> Scope<'a> {
    pub(crate) fn position(&self, column: &str) -> Result<usize> {
        let position = self.schema.fields().iter().position(|f| f.name == column);
        if self.cofactors.iter().any(|name| name == column) {
            return Err(Error::Unsupported {
                what: format!(
                    "reading the COFACTOR column {column:?} of view {:?}",
                    self.table
                ),
                why: "it holds counts, sums and products of all its features, and is no value"
                    .to_owned(),
                instead:
                    "select what is needed of it as columns of their own, such as COUNT, SUM or \
                          COVAR_POP, or a COFACTOR here over what the view reads"
                        .to_owned(),
            });
        }
        position.ok_or_else(|| Error::UnknownColumn {
            table: self.table.to_owned(),
            column: column.to_owned(),
            known: self
                .schema
                .fields()
                .iter()
                .map(|f| f.name.clone())
                .collect(),
        })
    }

    /// The column that a reference of this atom names.
    pub(crate) fn own(&self, atom: usize, column: &str) -> Result<usize> {
        if atom == self.atom {
            return self.position(column);
        }
        Err(Error::Unsupported {
            what: format!("a filter on {:?} that reads another table", self.alias),
            why: "filters look at one row of one table".to_owned(),
            instead: "keep equalities as joins, and drop what else compares two tables".to_owned(),
        })
    }

    pub(crate) fn ty(&self, column: usize) -> &'a Type {
        &self.schema.fields()[column].ty
    }

    pub(crate) fn name(&self, column: usize) -> String {
        format!("{}.{}", self.alias, self.schema.fields()[column].name)
    }

    pub(crate) fn nullable(&self, column: usize) -> bool {
        self.schema.fields()[column].nullable
    }

    /// An arithmetic expression; `None` if it is NULL whatever the row.
    pub(crate) fn number(&self, scalar: &Scalar, purpose: Purpose) -> Result<Option<Expr>> {
        let both = |left: &Scalar, right: &Scalar| -> Result<Option<(Expr, Expr)>> {
            let (left, right) = (self.number(left, purpose)?, self.number(right, purpose)?);
            Ok(left.zip(right))
        };
        Ok(match scalar {
            Scalar::Column { atom, column } => {
                let column = self.own(*atom, column)?;
                let ty = self.ty(column);
                let kind = number_kind(ty, purpose).ok_or_else(|| Error::Type {
                    place: self.name(column),
                    expected: "a number".to_owned(),
                    found: ty.to_string(),
                })?;
                Some(Expr::column(column, ty.clone(), kind))
            }
            Scalar::Literal { value } => constant(value)?,
            Scalar::Add { left, right } => match both(left, right)? {
                Some((left, right)) => Some(left.add(right)?),
                None => None,
            },
            Scalar::Subtract { left, right } => match both(left, right)? {
                Some((left, right)) => Some(left.subtract(right)?),
                None => None,
            },
            Scalar::Multiply { left, right } => match both(left, right)? {
                Some((left, right)) => Some(left.multiply(right)?),
                None => None,
            },
            Scalar::Negate { operand } => match self.number(operand, purpose)? {
                Some(operand) => Some(operand.negate()?),
                None => None,
            },
        })
    }
}

/// A number; `None` is NULL.
pub(crate) fn constant(literal: &Literal) -> Result<Option<Expr>> {
    Ok(Some(match literal {
        Literal::Null => return Ok(None),
        Literal::Int(value) => Expr::int(*value),
        Literal::Float(value) if value.is_finite() => Expr::real(*value),
        Literal::Decimal(text) => {
            let (value, scale) = literal::decimal(text)?;
            Expr::decimal(value, scale)
        }
        other => {
            return Err(Error::Type {
                place: "a constant in arithmetic".to_owned(),
                expected: "a number".to_owned(),
                found: shown(other),
            });
        }
    }))
}

/// A constant for messages.
pub(crate) fn shown(literal: &Literal) -> String {
    match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => value.to_string(),
        Literal::Decimal(text) => text.clone(),
        Literal::Text(text) => format!("the string '{text}'"),
        Literal::Date(text) => format!("DATE '{text}'"),
        Literal::Timestamp(text) => format!("TIMESTAMP '{text}'"),
    }
}

/// The kind in which one calculates with values of a type; `None` if one does not.
pub(crate) fn number_kind(ty: &Type, purpose: Purpose) -> Option<Kind> {
    Some(match ty {
        Type::UInt64 if purpose == Purpose::Filter => Kind::Decimal { scale: 0 },
        Type::Decimal { scale, .. } => Kind::Decimal { scale: *scale },
        ty if ty.is_integer() => Kind::Int,
        ty if ty.is_float() => Kind::Real,
        _ => return None,
    })
}

/// Calls `see` with every column.
pub(crate) fn each_column(scalar: &Scalar, see: &mut impl FnMut(usize, &str)) {
    match scalar {
        Scalar::Column { atom, column } => see(*atom, column),
        Scalar::Literal { .. } => {}
        Scalar::Add { left, right }
        | Scalar::Subtract { left, right }
        | Scalar::Multiply { left, right } => {
            each_column(left, see);
            each_column(right, see);
        }
        Scalar::Negate { operand } => each_column(operand, see),
    }
}

/// The atoms that an expression mentions, all known to exist.
pub(crate) fn atoms(scalar: &Scalar) -> Set {
    let mut atoms = Set::default();
    each_column(scalar, &mut |atom, _| atoms.insert(atom));
    atoms
}
