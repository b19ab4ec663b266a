//! The argument of an aggregate as a sum of terms, a term being a coefficient times one factor an
//! atom: what distributes over the join (paper, section 2).
//!
//! Invariant: products of sums are expanded only where they cross atoms; what lies within one atom
//! stays one expression. All terms are brought to one kind, so that their sums can be added.
//! Cost: exponential in the depth of nested products of sums, and refused beyond [`MAX_TERMS`].

use std::collections::BTreeMap;

use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator};
use ringview_core::{Error, Result};

use crate::bind::arithmetic::too_many_digits;
use crate::bind::names::{atoms, split};
use crate::bind::polynomial::{Kind, Polynomial};
use crate::bind::scalar::{Scope, no_polynomial};

const MAX_TERMS: usize = 256;

/// A coefficient (a constant) times factors, by atom.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) coefficient: Polynomial,
    pub(crate) factors: BTreeMap<usize, Polynomial>,
}

impl Product {
    fn constant(coefficient: Polynomial) -> Product {
        let factors = BTreeMap::new();
        Product {
            coefficient,
            factors,
        }
    }

    pub(crate) fn kind(&self) -> Result<Kind> {
        self.factors
            .values()
            .try_fold(self.coefficient.kind, |kind, f| kind.product(f.kind))
    }

    fn times(&self, other: &Product) -> Result<Product> {
        let mut product = self.clone();
        product.coefficient = product.coefficient.multiply(other.coefficient.clone())?;
        for (atom, factor) in &other.factors {
            let factor = match product.factors.remove(atom) {
                Some(own) => own.multiply(factor.clone())?,
                None => factor.clone(),
            };
            product.factors.insert(*atom, factor);
        }
        Ok(product)
    }

    /// The same value in another kind: a decimal of a larger scale, or all factors real, which is
    /// more than that their product is.
    fn convert(mut self, kind: Kind) -> Result<Product> {
        if kind == Kind::Real {
            self.coefficient = self.coefficient.convert(kind)?;
            for factor in self.factors.values_mut() {
                *factor = factor.clone().convert(kind)?;
            }
            return Ok(self);
        }
        let own = self.kind()?;
        if own == kind {
            return Ok(self);
        }
        // The coefficient takes the digits that the factors lack.
        let lacking = kind.scale().checked_sub(own.scale());
        let scale = lacking.and_then(|digits| digits.checked_add(self.coefficient.kind.scale()));
        let scale = scale.ok_or_else(too_many_digits)?;
        self.coefficient = self.coefficient.convert(Kind::Decimal { scale })?;
        Ok(self)
    }
}

/// The terms, all of one kind; `None` if the argument is NULL whatever the rows.
pub(crate) fn expand(expr: &Expr, scopes: &[Scope<'_>]) -> Result<Option<Vec<Product>>> {
    let Some(terms) = sum(expr, scopes)? else {
        return Ok(None);
    };
    let mut kind = Kind::Int;
    for term in &terms {
        kind = kind.common(term.kind()?);
    }
    let terms: Result<Vec<Product>> = terms.into_iter().map(|t| t.convert(kind)).collect();
    terms.map(Some)
}

fn sum(expr: &Expr, scopes: &[Scope<'_>]) -> Result<Option<Vec<Product>>> {
    let within = atoms(expr);
    if within.len() < 2 {
        let atom = within.iter().next();
        let number = scopes[atom.unwrap_or(0)].number(expr)?;
        return Ok(number.map(|expr| match atom {
            None => vec![Product::constant(expr)],
            Some(atom) => vec![Product {
                coefficient: Polynomial::int(1),
                factors: BTreeMap::from([(atom, expr)]),
            }],
        }));
    }
    let terms = match expr {
        Expr::Alias(alias) => sum(&alias.expr, scopes)?,
        Expr::Negative(of) => sum(of, scopes)?.map(negated).transpose()?,
        Expr::BinaryExpr(BinaryExpr {
            op: op @ (Operator::Plus | Operator::Multiply),
            ..
        }) => {
            let mut parts = Vec::new();
            split(expr, *op, &mut parts);
            let mut all: Option<Vec<Product>> = None;
            for part in parts {
                let Some(part) = sum(part, scopes)? else {
                    return Ok(None);
                };
                all = Some(match (all, op) {
                    (None, _) => part,
                    (Some(mut all), Operator::Plus) => {
                        all.extend(part);
                        all
                    }
                    (Some(all), _) => multiplied(&all, &part)?,
                });
            }
            all
        }
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Minus,
            right,
        }) => match sum(left, scopes)?.zip(sum(right, scopes)?) {
            Some((mut left, right)) => {
                left.extend(negated(right)?);
                Some(left)
            }
            None => None,
        },
        other => return Err(no_polynomial(other)),
    };
    match terms {
        Some(terms) if terms.len() > MAX_TERMS => Err(too_many_terms()),
        terms => Ok(terms),
    }
}

fn negated(terms: Vec<Product>) -> Result<Vec<Product>> {
    let negate = |mut term: Product| {
        term.coefficient = term.coefficient.negate()?;
        Ok(term)
    };
    terms.into_iter().map(negate).collect()
}

fn multiplied(left: &[Product], right: &[Product]) -> Result<Vec<Product>> {
    if left.len() * right.len() > MAX_TERMS {
        return Err(too_many_terms());
    }
    left.iter()
        .flat_map(|l| right.iter().map(move |r| l.times(r)))
        .collect()
}

fn too_many_terms() -> Error {
    Error::Unsupported {
        what: format!("an aggregate with more than {MAX_TERMS} terms"),
        why: "a product of sums over several tables is kept term by term".to_owned(),
        instead: "split it into several aggregates".to_owned(),
    }
}
