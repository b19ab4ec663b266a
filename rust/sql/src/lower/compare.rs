//! Comparisons of columns: equalities that join, and filters that an engine takes.
//!
//! Invariant: the two sides of an equality that joins have values of one encoding; a filter binds. Cost: that of binding
//! the expressions.

use datafusion_expr::Expr;
use ringview_core::{Error, Result, Type};
use ringview_expr::{RowTypes, Scalar, common_type};
use ringview_query::{Catalog, Function, Output, Query, join_type};

use super::lowered::{self, bare};
use super::pending::{atoms_of, column_ref};
use super::state::{Lowering, over};
use crate::error::unsupported;
use crate::row_scalar::row_scalar;

impl Lowering<'_> {
    /// Two sides of an equality that join: in a common type where their values are encoded differently.
    pub(super) fn comparable(
        &self,
        left: Expr,
        right: Expr,
        atoms: &[String],
    ) -> Result<(Expr, Expr)> {
        let (one, other) = (self.type_of(&left, atoms)?, self.type_of(&right, atoms)?);
        if join_type(&one, &other).is_some() {
            return Ok((left, right));
        }
        let is_either = |ty: &Type| one == *ty || other == *ty;
        let is_number = |ty: &Type| ty.to_arrow().is_numeric();
        let is_moment = |ty: &Type| ty.to_arrow().is_temporal();
        let common = match (&one, &other) {
            _ if is_number(&one) && is_number(&other) => {
                match (is_either(&Type::Float64), is_either(&Type::Float32)) {
                    (true, _) => Some(Type::Float64),
                    (false, true) => Some(Type::Float32),
                    _ => common_type(&one, &other),
                }
            }
            _ if is_moment(&one) && is_moment(&other) => common_type(&one, &other),
            _ => None,
        };
        let Some(common) = common else {
            return Err(Error::Type {
                place: format!("{left} = {right}"),
                expected: one.to_string(),
                found: other.to_string(),
            });
        };
        let to = |side: Expr, own: &Type| match *own == common {
            true => side,
            false => datafusion_expr::cast(side, common.to_arrow()),
        };
        Ok((to(left, &one), to(right, &other)))
    }

    /// The type of an expression over the columns of one atom.
    fn type_of(&self, expr: &Expr, atoms: &[String]) -> Result<Type> {
        if let Some((atom, name)) = column_ref(expr) {
            return Ok(self.column(&atoms[atom], name)?.0);
        }
        let atom = atoms_of(expr).first().copied().unwrap_or(0);
        let schema = self.table(&atoms[atom])?.schema;
        let key = row_scalar(bare(expr.clone())?)?;
        let found = RowTypes::bind(None, &[&key], &schema)?;
        found
            .types()
            .first()
            .cloned()
            .ok_or_else(|| unsupported("this key has no type"))
    }

    /// Conditions on the rows of an atom as an engine takes them, if it does.
    pub(super) fn filter(&self, atoms: &[String], conditions: &[Expr]) -> Option<Scalar> {
        let filter = lowered::filter(conditions).ok()??;
        // Conditions that do not bind as a filter are computed row by row, or refused there.
        let atom = conditions.iter().flat_map(atoms_of).next().unwrap_or(0);
        let mut probe = over(std::slice::from_ref(atoms.get(atom)?));
        probe.atoms[0].filter = Some(filter.clone());
        self.probed(probe).is_ok().then_some(filter)
    }

    /// Binds a query that counts its rows, to see whether its conditions are recognised.
    pub(super) fn probed(&self, mut query: Query) -> Result<()> {
        query.outputs = vec![Output::Aggregate {
            name: "rows".to_owned(),
            function: Function::Count,
            argument: None,
        }];
        self.bound(&query).map(|_| ())
    }
}
