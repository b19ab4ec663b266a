//! Chains of conditions as shallow trees.
//!
//! Code that reads a tree recurses into it. AND and OR are associative, NULLs included, so a chain of thousands becomes
//! a balanced tree. Invariant: its value and the order of its operands stay. Cost: O(n log n) in the chain.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{self, BinaryOperator, Expr, VisitorMut};

/// Maximal nesting of a text. A text made of a user's has twice as many brackets.
pub(crate) const DEPTH: usize = 110;

/// A chain this long is left as it is.
const SHORT: usize = 16;

/// Makes chains of AND and OR shallow.
#[derive(Debug)]
pub struct Balance;

impl VisitorMut for Balance {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp {
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            ..
        } = expr
        {
            let op = op.clone();
            if length(expr, &op) > SHORT {
                let nothing = || Expr::value(ast::Value::Null);
                let operands = operands(std::mem::replace(expr, nothing()), &op);
                let both = &mut |left, right| Expr::BinaryOp {
                    left: Box::new(left),
                    op: op.clone(),
                    right: Box::new(right),
                };
                *expr = tree(operands, both).unwrap_or_else(nothing);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Number of operands of a chain on its left side.
fn length(mut expr: &Expr, op: &BinaryOperator) -> usize {
    let mut length = 1;
    while let Expr::BinaryOp {
        left, op: other, ..
    } = expr
        && other == op
    {
        length += 1;
        expr = left;
    }
    length
}

/// The operands of a chain, from left to right.
fn operands(mut expr: Expr, op: &BinaryOperator) -> Vec<Expr> {
    let mut found = Vec::new();
    loop {
        match expr {
            Expr::BinaryOp {
                left,
                op: other,
                right,
            } if other == *op => {
                found.push(*right);
                expr = *left;
            }
            last => {
                found.push(last);
                found.reverse();
                return found;
            }
        }
    }
}

/// Operands as a tree of pairs; neighbours are joined, then their pairs, and so on. Few stay a chain. None where there is
/// no operand.
pub(crate) fn tree<T>(mut operands: Vec<T>, join: &mut dyn FnMut(T, T) -> T) -> Option<T> {
    if operands.len() <= SHORT {
        return operands.into_iter().reduce(join);
    }
    while operands.len() > 1 {
        let mut left = operands.into_iter();
        let mut joined = Vec::with_capacity(left.len() / 2 + 1);
        while let Some(one) = left.next() {
            joined.push(match left.next() {
                Some(other) => join(one, other),
                None => one,
            });
        }
        operands = joined;
    }
    operands.pop()
}
