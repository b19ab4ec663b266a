//! Sums of what one table chooses and another has: `SUM(CASE WHEN a.kind = 'x' THEN b.price ELSE 0 END)`.
//!
//! Such a choice is a product of an indicator, computed of one table's row, and a value, so an engine sums it without the
//! rows of the join. Invariant: the product equals the choice, as the value is exact and never NULL. Cost: O(expression).

use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::expr::Case;
use datafusion_expr::{Expr, Operator, binary_expr, lit, when};
use ringview_core::Result;

use super::pending::{any, atoms_of, column_ref, integer, is_nested};
use super::state::Lowering;
use crate::error::refusal;

impl Lowering<'_> {
    /// An expression that is summed, with products in the place of choices across tables.
    pub(super) fn as_products(&self, expr: Expr, atoms: &[String]) -> Result<Expr> {
        if atoms_of(&expr).len() < 2 {
            return Ok(expr);
        }
        let made = expr.transform_down(|node| {
            let Some((condition, value)) = self.choice(&node, atoms) else {
                return Ok(Transformed::no(node));
            };
            let indicator = when(condition, lit(1i64)).otherwise(lit(0i64))?;
            let product = binary_expr(indicator, Operator::Multiply, value);
            Ok(Transformed::yes(product))
        });
        Ok(made.map_err(|problem| refusal(&problem))?.data)
    }

    /// The condition on one table and the exact value of others that such a choice is made of.
    fn choice(&self, node: &Expr, atoms: &[String]) -> Option<(Expr, Expr)> {
        let Expr::Case(Case {
            expr: None,
            when_then_expr,
            else_expr: Some(otherwise),
        }) = node
        else {
            return None;
        };
        let [(condition, value)] = &when_then_expr[..] else {
            return None;
        };
        let is_exact = |column: &datafusion_common::Column| {
            let column = Expr::Column(column.clone());
            let known =
                column_ref(&column).and_then(|(at, name)| self.column(&atoms[at], name).ok());
            known.is_some_and(|(ty, is_nullable)| {
                let ty = ty.to_arrow();
                !is_nullable && (ty.is_integer() || ty.is_decimal())
            })
        };
        let is_choice = integer(otherwise) == Some(0)
            && atoms_of(node).len() > 1
            && atoms_of(condition).len() == 1
            && !any(node, is_nested)
            && self.is_polynomial(value, atoms).unwrap_or(false)
            && value.column_refs().into_iter().all(is_exact);
        is_choice.then(|| ((**condition).clone(), (**value).clone()))
    }
}
