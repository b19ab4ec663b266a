//! Sums of products of one atom's columns, recognised in expressions: names to positions, types to kinds.
//!
//! Invariant: a bound expression mentions one atom. Cost: linear in the expression.

use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator};
use ringview_core::{Error, Result, Schema, Type};

use crate::bind::literal::{Literal, literal};
use crate::bind::names::{constant, joined, named, split};
use crate::bind::polynomial::{Kind, Polynomial};
use crate::logical::Named;

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

    /// The column of this atom that an expression is: by its plain name, or with the atom in front.
    pub(crate) fn column_of(&self, expr: &Expr) -> Result<Option<usize>> {
        match (expr, named(expr)) {
            (
                _,
                Some(Named::Column {
                    depth: 0,
                    atom,
                    column,
                }),
            ) => self.own(atom, &column).map(Some),
            (Expr::Column(column), None) => self.position(&column.name).map(Some),
            _ => Ok(None),
        }
    }

    /// A sum of products; `None` if it is NULL whatever the row.
    ///
    /// # Errors
    /// `Unsupported` for what is none; `Type` for what is no number.
    pub(crate) fn number(&self, expr: &Expr) -> Result<Option<Polynomial>> {
        if let Some(column) = self.column_of(expr)? {
            let ty = self.ty(column);
            let kind = number_kind(ty).ok_or_else(|| Error::Type {
                place: self.name(column),
                expected: "a number".to_owned(),
                found: ty.to_string(),
            })?;
            return Ok(Some(Polynomial::column(column, ty.clone(), kind)));
        }
        if let Some(value) = constant(expr)? {
            return number_of(literal(&value)?);
        }
        match expr {
            Expr::Alias(alias) => self.number(&alias.expr),
            Expr::Negative(of) => match self.number(of)? {
                Some(operand) => Some(operand.negate()).transpose(),
                None => Ok(None),
            },
            Expr::BinaryExpr(BinaryExpr { op, .. })
                if matches!(op, Operator::Plus | Operator::Multiply) =>
            {
                let mut parts = Vec::new();
                split(expr, *op, &mut parts);
                let parts = parts.into_iter().map(|part| self.number(part));
                let Some(parts) = parts.collect::<Result<Option<Vec<Polynomial>>>>()? else {
                    return Ok(None);
                };
                joined(parts, &mut |left, right| match op {
                    Operator::Plus => left.add(right).map(Some),
                    _ => left.multiply(right).map(Some),
                })
            }
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Minus,
                right,
            }) => {
                let sides = (self.number(left)?, self.number(right)?);
                match sides.0.zip(sides.1) {
                    Some((left, right)) => left.subtract(right).map(Some),
                    None => Ok(None),
                }
            }
            other => Err(no_polynomial(other)),
        }
    }
}

/// Engines multiply and add numbers only.
pub(crate) fn no_polynomial(of: &Expr) -> Error {
    Error::Unsupported {
        what: format!("{of} in an aggregate or a comparison of an engine"),
        why: "it is no sum of products of columns and constants".to_owned(),
        instead: "compute it in a subquery in FROM, as a column".to_owned(),
    }
}

/// A number; `None` is NULL.
pub(crate) fn number_of(literal: Literal) -> Result<Option<Polynomial>> {
    match literal {
        Literal::Null => Ok(None),
        Literal::Number(number) => Ok(Some(number)),
        other => Err(Error::Type {
            place: "a constant in arithmetic".to_owned(),
            expected: "a number".to_owned(),
            found: other.description(),
        }),
    }
}

/// The kind in which one calculates with values of a type; `None` if one does not.
pub(crate) fn number_kind(ty: &Type) -> Option<Kind> {
    Some(match ty {
        // No integer of 64 bits with a sign holds all of them.
        Type::UInt64 => Kind::Decimal { scale: 0 },
        Type::Decimal { scale, .. } => Kind::Decimal { scale: *scale },
        ty if ty.is_integer() => Kind::Int,
        ty if ty.is_float() => Kind::Real,
        _ => return None,
    })
}
