//! What the parser reads otherwise than DuckDB.
//!
//! IS DISTINCT FROM binds more tightly than AND; a tuple in a list of tuples is one of them, column by column; SEMI and
//! ANTI are of the left side. Invariant: a node is changed once, its operands before it. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, DataType, ExactNumberInfo, Expr, JoinOperator, Query, SetExpr, UnaryOperator,
    VisitorMut,
};

/// Changes a text to what is meant.
pub(crate) struct Syntax;

impl VisitorMut for Syntax {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = &mut *query.body {
            for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
                join.join_operator = match join.join_operator.clone() {
                    JoinOperator::Semi(on) => JoinOperator::LeftSemi(on),
                    JoinOperator::Anti(on) => JoinOperator::LeftAnti(on),
                    other => other,
                };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { data_type, .. } = expr {
            *data_type = known(data_type.clone());
        }
        let node = std::mem::replace(
            expr,
            Expr::Wildcard(
                datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken::empty(),
            ),
        );
        *expr = by_columns(bound(node));
        ControlFlow::Continue(())
    }
}

/// DuckDB's names of types that the binder lacks.
fn known(of: DataType) -> DataType {
    let name = match &of {
        DataType::HugeInt | DataType::UHugeInt => "hugeint".to_owned(),
        other => other.to_string().to_lowercase(),
    };
    match name.as_str() {
        "utinyint" => DataType::TinyIntUnsigned(None),
        "usmallint" => DataType::SmallIntUnsigned(None),
        "uinteger" => DataType::IntegerUnsigned(None),
        "ubigint" => DataType::BigIntUnsigned(None),
        "hugeint" => DataType::Decimal(ExactNumberInfo::PrecisionAndScale(38, 0)),
        _ => of,
    }
}

/// The operands of AND or OR.
fn logical(expr: Box<Expr>) -> Result<(Box<Expr>, BinaryOperator, Box<Expr>), Box<Expr>> {
    match *expr {
        Expr::BinaryOp {
            left,
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            right,
        } => Ok((left, op, right)),
        other => Err(Box::new(other)),
    }
}

/// A node whose last operand took too much with it.
fn bound(expr: Expr) -> Expr {
    let with = |left: Expr, op, right| Expr::BinaryOp {
        left: Box::new(left),
        op,
        right,
    };
    match expr {
        Expr::IsDistinctFrom(of, from) => match logical(from) {
            Ok((left, op, right)) => with(bound(Expr::IsDistinctFrom(of, left)), op, right),
            Err(from) => Expr::IsDistinctFrom(of, from),
        },
        Expr::IsNotDistinctFrom(of, from) => match logical(from) {
            Ok((left, op, right)) => with(bound(Expr::IsNotDistinctFrom(of, left)), op, right),
            Err(from) => Expr::IsNotDistinctFrom(of, from),
        },
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => {
            let not = |expr| Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            };
            match logical(expr) {
                Ok((left, op, right)) => with(bound(not(left)), op, right),
                Err(other) => not(other),
            }
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => match logical(right) {
            Ok((middle, BinaryOperator::Or, right)) => {
                let both = with(*left, BinaryOperator::And, middle);
                with(bound(both), BinaryOperator::Or, right)
            }
            Ok((middle, op, right)) => with(
                *left,
                BinaryOperator::And,
                Box::new(with(*middle, op, right)),
            ),
            Err(right) => with(*left, BinaryOperator::And, right),
        },
        other => other,
    }
}

/// A comparison of tuples, column by column.
fn by_columns(expr: Expr) -> Expr {
    let nested = |expr: Expr| Expr::Nested(Box::new(expr));
    match expr {
        Expr::InList {
            expr,
            list,
            negated,
        } => {
            let tuples = list.iter().map(|one| match (&*expr, one) {
                (Expr::Tuple(left), Expr::Tuple(right)) if left.len() == right.len() => {
                    all_equal(left, right)
                }
                _ => None,
            });
            let any = tuples.collect::<Option<Vec<Expr>>>().and_then(|arms| {
                arms.into_iter().reduce(|left, right| Expr::BinaryOp {
                    left: Box::new(left),
                    op: BinaryOperator::Or,
                    right: Box::new(right),
                })
            });
            match any {
                Some(any) if negated => nested(Expr::UnaryOp {
                    op: UnaryOperator::Not,
                    expr: Box::new(nested(any)),
                }),
                Some(any) => nested(any),
                None => Expr::InList {
                    expr,
                    list,
                    negated,
                },
            }
        }
        Expr::BinaryOp {
            left,
            op: op @ (BinaryOperator::Eq | BinaryOperator::NotEq),
            right,
        } => {
            let equal = match (&*left, &*right) {
                (Expr::Tuple(one), Expr::Tuple(other)) if one.len() == other.len() => {
                    all_equal(one, other)
                }
                _ => None,
            };
            match equal {
                Some(equal) if op == BinaryOperator::Eq => equal,
                Some(equal) => nested(Expr::UnaryOp {
                    op: UnaryOperator::Not,
                    expr: Box::new(equal),
                }),
                None => Expr::BinaryOp { left, op, right },
            }
        }
        other => other,
    }
}

fn all_equal(left: &[Expr], right: &[Expr]) -> Option<Expr> {
    let pairs = left.iter().zip(right).map(|(one, other)| Expr::BinaryOp {
        left: Box::new(one.clone()),
        op: BinaryOperator::Eq,
        right: Box::new(other.clone()),
    });
    let all = pairs.reduce(|one, other| Expr::BinaryOp {
        left: Box::new(one),
        op: BinaryOperator::And,
        right: Box::new(other),
    });
    all.map(|all| Expr::Nested(Box::new(all)))
}
