//! Calls whose constants say whether any row can be computed: the unit of a truncation, a pattern, a format, an interval.
//!
//! Invariant: a call that is refused here fails in every row whose values are not NULL. Cost: one evaluation a call.

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::{BinaryExpr, ScalarFunction};
use datafusion_expr::{Expr, ExprSchemable, Operator, lit};

use crate::kernels::time::signs;
use crate::physical::evaluated;

/// Functions, and which of their arguments decide alone whether a call has a value.
const DECIDING: &[(&str, &[usize])] = &[
    ("clock_in_zone", &[0]),
    ("date_diff", &[0]),
    ("date_part", &[0]),
    ("format", &[0]),
    ("instant_in_zone", &[0]),
    ("moment_bucket", &[0]),
    ("moment_text", &[1]),
    ("moment_trunc", &[0]),
    ("printf", &[0]),
    ("regexp_extract", &[1, 2]),
    ("regexp_extract_all", &[1, 2]),
    ("regexp_full_match", &[1, 2]),
    ("regexp_like", &[1, 2]),
    ("regexp_replace", &[1, 3]),
    ("string_split_regex", &[1, 2]),
    ("text_like", &[1, 2]),
    ("to_base", &[1, 2]),
    ("whole_parts", &[0]),
];

/// Refuses each call of an expression that no row computes.
pub(crate) fn each_call(expr: &Expr, schema: &DFSchema) -> Result<()> {
    expr.apply(|node| call(node, schema).map(|()| TreeNodeRecursion::Continue))?;
    Ok(())
}

/// Refuses a call that no row computes, as one value of each other argument shows.
pub(crate) fn call(node: &Expr, schema: &DFSchema) -> Result<()> {
    match node {
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            if func.name().ends_with("_by_format") {
                return moment_format(&args[1]);
            }
            let Some(deciding) = deciding(func.name()) else {
                return Ok(());
            };
            let is_known = |at: &usize| args.get(*at).is_none_or(is_value);
            if !deciding.iter().all(is_known) {
                return Ok(());
            }
            let sampled = args.iter().enumerate().map(|(at, arg)| {
                if deciding.contains(&at) {
                    Ok(arg.clone())
                } else {
                    sample(arg, schema)
                }
            });
            evaluated(&func.call(sampled.collect::<Result<_>>()?))?;
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_match(*op) && is_value(right) => {
            let left = Box::new(sample(left, schema)?);
            evaluated(&Expr::BinaryExpr(BinaryExpr::new(left, *op, right.clone())))?;
        }
        _ => {}
    }
    Ok(())
}

/// Whether an operator matches a regular expression.
pub(crate) fn is_match(op: Operator) -> bool {
    matches!(
        op,
        Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch
    )
}

/// The arguments that decide whether a call has a value, where there are such.
pub(crate) fn deciding(name: &str) -> Option<&'static [usize]> {
    let found = DECIDING.iter().find(|(known, _)| *known == name);
    found.map(|(_, deciding)| *deciding)
}

pub(crate) fn is_value(of: &Expr) -> bool {
    matches!(of, Expr::Literal(value, _) if !value.is_null())
}

/// A value of the type of an argument.
fn sample(of: &Expr, schema: &DFSchema) -> Result<Expr> {
    if let Expr::Literal(..) = of {
        return Ok(of.clone());
    }
    let ty = of.get_type(schema)?;
    let one = ScalarValue::new_one(&ty);
    Ok(lit(one.or_else(|_| ScalarValue::new_default(&ty))?))
}

/// A format of moments as texts, by which no text is read without one to read.
fn moment_format(of: &Expr) -> Result<()> {
    match of {
        Expr::Literal(ScalarValue::Utf8(Some(format)), _) => signs(format).map(drop),
        _ => Ok(()),
    }
}
