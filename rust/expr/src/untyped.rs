//! The syntax whose meaning depends on the types of its operands: AND of numbers, `||` of lists, days and integers.
//!
//! A text at a border is read before its columns have types: such syntax is planned unresolved, and resolved once there
//! is a schema. Invariant: the result is that of the planners of `lists` and `operators`, given the same text and
//! schema. Cost: O(1) a node, and the types of the operands of operators.

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result, internal_err};
use datafusion_expr::expr::{BinaryExpr, Case, Cast, ScalarFunction};
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion_sql::sqlparser::ast::{self, UnaryOperator, VisitorMut};

use crate::conditions::condition;
use crate::lists::{access, accessed};
use crate::operators::{decided_by_types, of_text};
use crate::text::call;

/// Names that no text contains, for operators whose operand types the planner would need.
const NOT: &str = "\u{1}not";
const NEGATIVE: &str = "\u{1}negative";

/// Plans operators and accesses unresolved.
#[derive(Debug)]
pub(crate) struct Undecided;

impl ExprPlanner for Undecided {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let Some(op) = decided_by_types(&raw.op) else {
            return Ok(PlannerResult::Original(raw));
        };
        let binary = BinaryExpr::new(Box::new(raw.left), op, Box::new(raw.right));
        Ok(PlannerResult::Planned(Expr::BinaryExpr(binary)))
    }

    fn plan_field_access(
        &self,
        raw: RawFieldAccessExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        Ok(PlannerResult::Planned(access(raw)))
    }
}

/// Replaces syntax for which the planner would need types by calls: NOT, signs, casts of integers to moments.
pub(crate) struct Signs;

impl VisitorMut for Signs {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let nothing = || ast::Expr::value(ast::Value::Null);
        match expr {
            ast::Expr::UnaryOp { op, expr: of } => {
                let is_constant = match &**of {
                    ast::Expr::Value(value) => {
                        matches!(value.value, ast::Value::Number(..))
                    }
                    of => matches!(of, ast::Expr::Interval(_)),
                };
                let made = match op {
                    UnaryOperator::Not => call(NOT, vec![std::mem::replace(of, nothing())]),
                    UnaryOperator::Minus if !is_constant => {
                        call(NEGATIVE, vec![std::mem::replace(of, nothing())])
                    }
                    UnaryOperator::Plus => std::mem::replace(&mut **of, nothing()),
                    _ => return ControlFlow::Continue(()),
                };
                *expr = made;
            }
            ast::Expr::Cast {
                data_type: ast::DataType::Timestamp(digits, _),
                ..
            } if digits.is_none_or(|digits| digits == 9) => *digits = Some(6),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The calls that represent signs.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sign {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Sign {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match (self.name, types) {
            (NEGATIVE, [of]) => of.clone(),
            _ => DataType::Boolean,
        })
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("a sign is no call once a text has been read")
    }
}

static SIGNS: LazyLock<[Arc<ScalarUDF>; 2]> = LazyLock::new(|| {
    [NOT, NEGATIVE].map(|name| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Sign { name, signature }))
    })
});

/// The call that represents a sign.
pub(crate) fn sign(name: &str) -> Option<Arc<ScalarUDF>> {
    SIGNS.iter().find(|one| one.name() == name).cloned()
}

/// An expression with calls replaced by the signs that they represent.
pub(crate) fn signed(expr: Expr) -> Result<Expr> {
    let made = expr.transform_up(|node| {
        let Expr::ScalarFunction(ScalarFunction { func, mut args }) = node else {
            return Ok(Transformed::no(node));
        };
        Ok(match (func.name(), args.pop()) {
            (NOT, Some(of)) => Transformed::yes(Expr::Not(Box::new(of))),
            (NEGATIVE, Some(of)) => Transformed::yes(Expr::Negative(Box::new(of))),
            (_, last) => {
                args.extend(last);
                Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args }))
            }
        })
    });
    Ok(made?.data)
}

/// An expression of a text over a schema, its syntax decided by types.
pub(crate) fn typed_syntax(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let holds = |of: Box<Expr>| -> Result<Box<Expr>> { Ok(Box::new(condition(*of, schema)?)) };
    let made = expr.transform_up(|node| {
        Ok(Transformed::yes(match node {
            Expr::BinaryExpr(binary) => of_text(binary, schema)?,
            call @ Expr::ScalarFunction(_) => accessed(call, schema)?,
            Expr::Not(of) => Expr::Not(holds(of)?),
            Expr::IsTrue(of) => Expr::IsTrue(holds(of)?),
            Expr::IsFalse(of) => Expr::IsFalse(holds(of)?),
            Expr::IsNotTrue(of) => Expr::IsNotTrue(holds(of)?),
            Expr::IsNotFalse(of) => Expr::IsNotFalse(holds(of)?),
            Expr::Case(of) if of.expr.is_none() => {
                let arms = of.when_then_expr.into_iter();
                let arms = arms.map(|(when, then)| Ok((holds(when)?, then)));
                let arms = arms.collect::<Result<_>>()?;
                Expr::Case(Case::new(None, arms, of.else_expr))
            }
            Expr::Cast(Cast { expr, field }) => match field.data_type() {
                // Integers count seconds.
                DataType::Timestamp(TimeUnit::Microsecond, zone)
                    if expr.get_type(schema)? == DataType::Int64 =>
                {
                    let seconds = DataType::Timestamp(TimeUnit::Second, zone.clone());
                    let expr = Box::new(Expr::Cast(Cast::new(expr, seconds)));
                    Expr::Cast(Cast { expr, field })
                }
                _ => Expr::Cast(Cast { expr, field }),
            },
            other => other,
        }))
    });
    Ok(made?.data)
}
