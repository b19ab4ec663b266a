//! Conditions that fail where a value is NULL: rows that look such a value up in vain are joined, and not kept beside those
//! that found it.
//!
//! Invariant: where it is said that a condition rejects NULL, it is FALSE or NULL whenever the value is NULL; the opposite
//! may be said of one that does. Cost: O(size of the condition).

use datafusion_expr::{Expr, Operator};

/// Whether a condition fails for every row where `value`, a part of it, is NULL.
pub(crate) fn rejects_null(condition: &Expr, value: &Expr) -> bool {
    match condition {
        Expr::BinaryExpr(binary) if binary.op == Operator::And => {
            rejects_null(&binary.left, value) || rejects_null(&binary.right, value)
        }
        Expr::BinaryExpr(binary) if binary.op == Operator::Or => {
            rejects_null(&binary.left, value) && rejects_null(&binary.right, value)
        }
        Expr::IsNotNull(of) => is_strict(of, value),
        Expr::IsTrue(of) => rejects_null(of, value),
        other => is_strict(other, value),
    }
}

/// Whether an expression is NULL where all columns that it reads are; a count that is 0 there is not.
pub(crate) fn is_null_of_nothing(expr: &Expr) -> bool {
    let columns = expr.column_refs();
    let mut columns = columns.into_iter().cloned().map(Expr::Column);
    columns.any(|column| is_strict(expr, &column))
}

/// Whether an expression is NULL wherever the value is.
fn is_strict(expr: &Expr, value: &Expr) -> bool {
    use Operator::{Divide, Eq, Gt, GtEq, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Plus};
    match expr {
        _ if expr == value => true,
        Expr::BinaryExpr(binary) => {
            let is_strict_in_both = matches!(
                binary.op,
                Eq | NotEq | Lt | LtEq | Gt | GtEq | Plus | Minus | Multiply | Divide | Modulo
            );
            is_strict_in_both && (is_strict(&binary.left, value) || is_strict(&binary.right, value))
        }
        Expr::Not(of) | Expr::Negative(of) => is_strict(of, value),
        Expr::Cast(cast) => is_strict(&cast.expr, value),
        Expr::Between(between) => is_strict(&between.expr, value),
        Expr::InList(within) => !within.list.is_empty() && is_strict(&within.expr, value),
        Expr::Like(like) => is_strict(&like.expr, value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion_expr::{Expr, cast, col, is_null, lit, not};

    use super::{is_null_of_nothing, rejects_null};

    #[test]
    fn a_condition_rejects_what_makes_it_null() {
        let value = || col("value");
        let rejecting: [Expr; 8] = [
            col("a").gt(lit(2) * value()),
            not(value().eq(col("a"))),
            value().is_not_null(),
            is_null(col("a")).and(value().lt(lit(1))),
            value().lt(lit(1)).or(value().gt(lit(3))),
            value().between(lit(1), lit(2)),
            value().in_list(vec![lit(1), lit(2)], true),
            cast(value(), arrow_schema::DataType::Int32).not_eq(lit(1)),
        ];
        for condition in rejecting {
            assert!(rejects_null(&condition, &value()), "{condition}");
        }
        let accepting: [Expr; 5] = [
            is_null(value()),
            is_null(col("a")).or(value().lt(lit(1))),
            not(value().is_not_null()),
            not(col("a").and(value().lt(lit(1)))),
            col("a").gt(lit(2)),
        ];
        for condition in accepting {
            assert!(!rejects_null(&condition, &value()), "{condition}");
        }
    }

    #[test]
    fn a_count_of_no_rows_is_not_null() {
        let count = datafusion_functions::core::coalesce().call(vec![col("rows"), lit(0)]);
        assert!(!is_null_of_nothing(&count));
        assert!(!is_null_of_nothing(&(count + lit(1))));
        assert!(!is_null_of_nothing(&lit(5)));
        assert!(is_null_of_nothing(&(lit(2) * col("sum"))));
    }
}
