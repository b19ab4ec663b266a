//! Constants: the parts of an expression that read no row are evaluated once, by the kernels that evaluate rows.
//!
//! Invariant: nothing else is rewritten, but for two rules whose proofs are in their comments, so an expression keeps
//! its meaning. A constant without a value that every row would evaluate is refused here; one of a branch that may
//! never be taken (CASE, AND, OR) is left to the row that takes it. Cost: linear in the expression, one evaluation a
//! constant.
//!
//! | rule of DataFusion's | runs | why |
//! |---|---|---|
//! | `TypeCoercionRewriter` (by `ExprSimplifier::coerce`) | yes, behind `meaning` | it puts casts around operands alone, whose types `meaning` has made those of DuckDB |
//! | `ConstEvaluator` | no | its kernels wrap around; `constant` evaluates with those of rows, which are checked |
//! | `unwrap_cast` | no | a cast that rounds or fails is not undone by its inverse; `narrowed` undoes widenings of integers alone |
//! | rules of IN lists | no | they compare lists as sets, with no NULL among them |
//! | rules of regular expressions and LIKE | no | they implement other patterns than `like` and `patterns` |
//! | inverse functions (`preimage`) | no | functions that round have none |
//! | algebra of NULL, bits, `x = x`, `x / x` | no | they drop operands that fail; `simplest` has AND and OR with a constant alone |
//! | rules of plans (`Optimizer`, `Analyzer`) | no | plans are lowered as they are bound |

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::{BinaryExpr, Cast, ScalarFunction};
use datafusion_expr::{Expr, ExprSchemable, Operator, lit};

use crate::checks;
use crate::kernels;
use crate::physical::evaluated;
use crate::types::is_widened;

/// A typed expression with its constants evaluated.
///
/// # Errors
/// Those of a constant that has no value, and that each row evaluates.
pub(crate) fn folded(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let folded = expr
        .transform_up(|node| Ok(simplest(constant(node), schema)))?
        .data;
    if is_constant(&folded)? && !matches!(folded, Expr::Literal(..)) {
        evaluated(&folded)?;
    }
    check(&folded, schema)?;
    Ok(folded)
}

/// A node whose operands are constants as its value, if it has one.
fn constant(node: Expr) -> Expr {
    let is_known = match &node {
        Expr::Literal(..) => false,
        // A branch without a value may be one that is not taken.
        Expr::Case(_) => is_constant(&node).unwrap_or(false),
        Expr::ScalarFunction(call) if call.func.short_circuits() => {
            is_constant(&node).unwrap_or(false)
        }
        _ => is_call_of_constants(&node),
    };
    // Casts that the library puts around operands, too.
    if let Expr::Cast(Cast { expr, field }) = &node
        && let Expr::Literal(ScalarValue::Decimal128(..), _) = &**expr
        && *field.data_type() == DataType::Float64
    {
        let double = kernels::double_of_decimal().call(vec![(**expr).clone()]);
        return evaluated(&double).map_or(node, lit);
    }
    match is_known.then(|| evaluated(&node)) {
        Some(Ok(value)) => lit(value),
        _ => node,
    }
}

/// Refuses constants without a value in places that every row evaluates, and calls that fail for every row.
fn check(expr: &Expr, schema: &DFSchema) -> Result<()> {
    expr.apply(|node| {
        match node {
            Expr::Literal(..) => {}
            Expr::Case(case) => {
                if let Some(operand) = &case.expr {
                    check(operand, schema)?;
                }
                if let Some((first, _)) = case.when_then_expr.first() {
                    check(first, schema)?;
                }
                checks::each_call(node, schema)?;
                return Ok(TreeNodeRecursion::Jump);
            }
            Expr::ScalarFunction(ScalarFunction { func, args }) if func.short_circuits() => {
                let (always, at_times) = func.conditional_arguments(args).unwrap_or_default();
                always.into_iter().try_for_each(|of| check(of, schema))?;
                let mut rest = at_times.into_iter();
                rest.try_for_each(|of| checks::each_call(of, schema))?;
                return Ok(TreeNodeRecursion::Jump);
            }
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::And | Operator::Or,
                right,
            }) => {
                check(left, schema)?;
                checks::each_call(right, schema)?;
                return Ok(TreeNodeRecursion::Jump);
            }
            node if is_call_of_constants(node) => {
                evaluated(node)?;
            }
            node => checks::call(node, schema)?,
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Whether a node computes a value of literals alone.
fn is_call_of_constants(node: &Expr) -> bool {
    let mut are_literals = is_computed(node);
    let seen = node.apply_children(|operand| {
        are_literals &= matches!(operand, Expr::Literal(..));
        Ok(TreeNodeRecursion::Continue)
    });
    are_literals && seen.is_ok()
}

/// Whether an expression reads nothing of a row.
fn is_constant(expr: &Expr) -> Result<bool> {
    Ok(!expr.exists(|node| Ok(!matches!(node, Expr::Literal(..)) && !is_computed(node)))?)
}

/// Whether a node is computed of its operands alone.
fn is_computed(node: &Expr) -> bool {
    matches!(
        node,
        Expr::BinaryExpr(_)
            | Expr::Not(_)
            | Expr::IsNotNull(_)
            | Expr::IsNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_)
            | Expr::Negative(_)
            | Expr::Between(_)
            | Expr::Like(_)
            | Expr::SimilarTo(_)
            | Expr::Case(_)
            | Expr::InList(_)
            | Expr::Cast(_)
            | Expr::TryCast(_)
            | Expr::ScalarFunction(_)
    )
}

/// A node with fewer operands.
fn simplest(node: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = node else {
        return Transformed::yes(node);
    };
    // x AND TRUE and x OR FALSE are x, x AND FALSE is FALSE, x OR TRUE is TRUE, x NULL or not: the tables of three-valued
    // logic. Both operands are Booleans, for their types are coerced.
    if matches!(op, Operator::And | Operator::Or) {
        let of_left = truth(&left).map(|known| (known, &right));
        let known = of_left.or_else(|| truth(&right).map(|known| (known, &left)));
        if let Some((known, other)) = known {
            let is_other = known == (op == Operator::And);
            return Transformed::yes(if is_other {
                Expr::clone(other)
            } else {
                lit(known)
            });
        }
    }
    Transformed::yes(narrowed(*left, op, *right, schema))
}

fn truth(of: &Expr) -> Option<bool> {
    match of {
        Expr::Literal(ScalarValue::Boolean(known), _) => *known,
        _ => None,
    }
}

/// `CAST(x AS wide) op constant` as `x op constant`, where the cast only widens an integer and the constant is a value
/// of the narrow type. A widening of integers keeps order, equality and NULL, so both comparisons have one truth; no
/// other cast is removed.
fn narrowed(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Expr {
    let is_order = matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
    );
    let narrow = |of: &Expr, constant: &Expr| {
        let (Expr::Cast(Cast { expr, field }), Expr::Literal(value, _)) = (of, constant) else {
            return None;
        };
        let from = expr.get_type(schema).ok()?;
        let is_integer = from.is_integer() && field.data_type().is_integer();
        let is_exact = is_integer && is_widened(&from, field.data_type()) && !value.is_null();
        let value = is_exact.then(|| value.cast_to(&from).ok()).flatten()?;
        (!value.is_null()).then(|| ((**expr).clone(), lit(value)))
    };
    let binary =
        |left, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
    if is_order {
        if let Some((of, value)) = narrow(&left, &right) {
            return binary(of, value);
        }
        if let Some((of, value)) = narrow(&right, &left) {
            return binary(value, of);
        }
    }
    binary(left, right)
}
