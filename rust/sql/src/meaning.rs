//! What another dialect means by a text, said in DuckDB's words.
//!
//! Division, powers, texts that are put together, and days of the week differ among dialects; blocks keep expressions as
//! text of DuckDB's. Invariant: what DuckDB means by the changed text is what the dialect means by the text. Cost:
//! linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement,
    Value, VisitMut, VisitorMut,
};
use ringview_expr::call;

use crate::dialect::Dialect;

/// Changes a text of a dialect.
pub(crate) fn of_dialect(statement: &mut Statement, dialect: Dialect) {
    if dialect != Dialect::DuckDb {
        let _ = VisitMut::visit(statement, &mut Meaning(dialect));
    }
}

struct Meaning(Dialect);

impl VisitorMut for Meaning {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } => {
                let (left, right) = (&mut **left, &mut **right);
                if let Some(meant) = self.operator(left, op, right) {
                    *expr = meant;
                }
            }
            Expr::Function(function) => {
                if let Some(meant) = self.function(function) {
                    *expr = meant;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Meaning {
    /// What an operator means, where that is not DuckDB's.
    fn operator(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Expr> {
        let (left, right) = (left.clone(), right.clone());
        let binary = |left: Expr, op: BinaryOperator, right: Expr| {
            nested(Expr::BinaryOp {
                left: Box::new(left),
                op,
                right: Box::new(right),
            })
        };
        let zero = Expr::value(Value::Number("0".to_owned(), false));
        match (op, self.0) {
            (BinaryOperator::Divide, Dialect::Postgres | Dialect::Ansi) => {
                Some(call("divide_integers", vec![left, right]))
            }
            (BinaryOperator::Divide, Dialect::Snowflake | Dialect::BigQuery) => {
                Some(call("divide_checked", vec![left, right]))
            }
            (
                BinaryOperator::Divide | BinaryOperator::Modulo,
                Dialect::Spark | Dialect::Databricks | Dialect::MySql,
            ) => Some(binary(left, op.clone(), call("nullif", vec![right, zero]))),
            (BinaryOperator::MyIntegerDivide | BinaryOperator::DuckIntegerDivide, _) => {
                Some(binary(
                    left,
                    BinaryOperator::DuckIntegerDivide,
                    call("nullif", vec![right, zero]),
                ))
            }
            (BinaryOperator::StringConcat, Dialect::MySql) => {
                Some(binary(left, BinaryOperator::Or, right))
            }
            (BinaryOperator::PGBitwiseXor, _) => Some(call("xor", vec![left, right])),
            (
                BinaryOperator::BitwiseXor,
                Dialect::Spark | Dialect::Databricks | Dialect::MySql | Dialect::BigQuery,
            ) => Some(call("xor", vec![left, right])),
            _ => None,
        }
    }

    /// What a function means, where that is not DuckDB's.
    fn function(&self, function: &Function) -> Option<Expr> {
        let name = function.name.to_string().to_lowercase();
        let arguments = arguments(function)?;
        let is_of = |dialects: &[Dialect]| dialects.contains(&self.0);
        let weekdays_from_one = [Dialect::Spark, Dialect::Databricks, Dialect::MySql];
        match (name.as_str(), &arguments[..]) {
            // NULL among the texts makes the whole NULL.
            ("concat", [_, ..]) if !is_of(&[Dialect::Postgres, Dialect::Ansi]) => {
                let texts = arguments.into_iter();
                texts
                    .reduce(|left, right| Expr::BinaryOp {
                        left: Box::new(left),
                        op: BinaryOperator::StringConcat,
                        right: Box::new(right),
                    })
                    .map(nested)
            }
            ("dayofweek", [of]) if is_of(&weekdays_from_one) => Some(nested(Expr::BinaryOp {
                left: Box::new(call("dayofweek", vec![of.clone()])),
                op: BinaryOperator::Plus,
                right: Box::new(Expr::value(Value::Number("1".to_owned(), false))),
            })),
            ("log", [of]) if is_of(&weekdays_from_one) || is_of(&[Dialect::BigQuery]) => {
                Some(call("ln", vec![of.clone()]))
            }
            _ => None,
        }
    }
}

fn nested(of: Expr) -> Expr {
    Expr::Nested(Box::new(of))
}

fn arguments(of: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &of.args else {
        return None;
    };
    let expr = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().map(expr).collect()
}
