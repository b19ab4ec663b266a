//! Syntax that the parser reads otherwise than DuckDB.
//!
//! IS DISTINCT FROM binds more tightly than AND; a tuple in a list of tuples is one of them, column by column; SEMI and
//! ANTI are of the left side; SIMILAR TO matches a whole text; `~` turns the bits of an integer; ORDER BY ALL is by every
//! output; GROUP BY ALL does not group by constants. A tuple IN a subquery is EXISTS, where only its truth counts, else a CASE of two.
//! Invariant: a node is changed once, its operands before it. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, DataType, ExactNumberInfo, Expr, GroupByExpr, GroupByWithModifier, Ident,
    JoinOperator, ObjectName, Query, SetExpr, UnaryOperator, Value, VisitorMut,
};
use datafusion_sql::sqlparser::parser::Parser;
use ringview_expr::call;

use crate::asof;
use crate::context::Context;
use crate::dialect::DuckDb;
use crate::fields;
use crate::grouped;
use crate::positions::{is_of_constants, no_constant_order, no_position, order_by_all};
use crate::unnested;

/// Changes a text to what is meant.
pub(crate) struct Syntax<'c>(pub(crate) &'c Context);

impl VisitorMut for Syntax<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        order_by_all(query);
        if let SetExpr::Select(select) = &mut *query.body {
            with_rollup(&mut select.group_by);
            grouped::spell_out(select, &mut query.order_by);
            let is_aggregate = |name: &str| self.0.is_aggregate(name);
            if matches!(select.group_by, GroupByExpr::All(_))
                && is_of_constants(&select.projection, &is_aggregate)
            {
                select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
            }
            let is_grouped =
                !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
            if is_grouped {
                select.projection.iter_mut().for_each(no_position);
            }
            if let Some(condition) = &mut select.selection {
                tuples_in_subqueries(condition);
            }
            select.from.iter_mut().for_each(asof::rewrite);
            select.from.iter_mut().for_each(unnested::rewrite);
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
        let node = std::mem::replace(
            expr,
            Expr::Wildcard(
                datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken::empty(),
            ),
        );
        *expr = fields::rewrite(by_columns(bound(renamed(node))));
        ControlFlow::Continue(())
    }
}

/// `GROUP BY a, b WITH ROLLUP` as `GROUP BY ROLLUP (a, b)`, and CUBE alike.
fn with_rollup(group_by: &mut GroupByExpr) {
    let GroupByExpr::Expressions(keys, modifiers) = group_by else {
        return;
    };
    let sets: fn(Vec<Vec<Expr>>) -> Expr = match modifiers[..] {
        [GroupByWithModifier::Rollup] => Expr::Rollup,
        [GroupByWithModifier::Cube] => Expr::Cube,
        _ => return,
    };
    modifiers.clear();
    let each = std::mem::take(keys).into_iter().map(|key| vec![key]);
    keys.push(sets(each.collect()));
}

/// `(a, b) IN (SELECT x, y ..)` as EXISTS, where NULL counts as FALSE.
fn tuples_in_subqueries(condition: &mut Expr) {
    match condition {
        Expr::Nested(of) => tuples_in_subqueries(of),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And | BinaryOperator::Or,
            right,
        } => {
            tuples_in_subqueries(left);
            tuples_in_subqueries(right);
        }
        Expr::InSubquery {
            expr,
            subquery,
            negated: false,
        } => {
            if let Expr::Tuple(tuple) = &**expr
                && let Some(found) = exists(tuple, subquery)
            {
                *condition = found;
            }
        }
        _ => {}
    }
}

fn exists(tuple: &[Expr], subquery: &Query) -> Option<Expr> {
    parsed(&some_row(tuple, subquery, &|name, expr| {
        format!("{name} = ({expr})")
    }))
}

/// `(a, b) IN (SELECT x, y ..)` as a value: NULL where no row equals and one might.
fn is_in(tuple: &[Expr], subquery: &Query) -> Option<Expr> {
    let equals = some_row(tuple, subquery, &|name, expr| format!("{name} = ({expr})"));
    let might = some_row(tuple, subquery, &|name, expr| {
        format!("({name} = ({expr}) OR {name} IS NULL OR ({expr}) IS NULL)")
    });
    parsed(&format!(
        "(CASE WHEN {equals} THEN TRUE WHEN {might} THEN NULL ELSE FALSE END)"
    ))
}

/// Whether there is a row of a subquery of which each column meets a condition with an expression of a tuple.
fn some_row(tuple: &[Expr], subquery: &Query, meets: &dyn Fn(&str, &Expr) -> String) -> String {
    let names: Vec<String> = (0..tuple.len()).map(|at| format!("\"in {at}\"")).collect();
    let pairs = names.iter().zip(tuple);
    let all: Vec<String> = pairs.map(|(name, expr)| meets(name, expr)).collect();
    format!(
        "EXISTS (SELECT 1 FROM ({subquery}) AS \"rows in\" ({}) WHERE {})",
        names.join(", "),
        all.join(" AND ")
    )
}

fn parsed(text: &str) -> Option<Expr> {
    let dialect = DuckDb::default();
    let parser = Parser::new(&dialect).try_with_sql(text);
    parser.and_then(|mut parser| parser.parse_expr()).ok()
}

/// A type by its name in DuckDB.
fn type_of(of: DataType) -> DataType {
    let name = match &of {
        DataType::Custom(name, _) => name.to_string(),
        other => other.to_string(),
    };
    match name.to_uppercase().as_str() {
        "UTINYINT" | "UINT8" => DataType::TinyIntUnsigned(None),
        "USMALLINT" | "UINT16" => DataType::SmallIntUnsigned(None),
        "UINTEGER" | "UINT32" => DataType::IntUnsigned(None),
        "UBIGINT" | "UINT64" => DataType::BigIntUnsigned(None),
        "HUGEINT" => DataType::Decimal(ExactNumberInfo::PrecisionAndScale(38, 0)),
        "INT1" => DataType::TinyInt(None),
        "SHORT" => DataType::SmallInt(None),
        "LONG" | "SIGNED" => DataType::BigInt(None),
        "LOGICAL" => DataType::Boolean,
        "BPCHAR" => DataType::Varchar(None),
        // The binder would make texts of bytes.
        "BYTEA" => DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new()),
        _ => of,
    }
}

/// An operator that is a function of ours.
fn renamed(expr: Expr) -> Expr {
    match expr {
        Expr::Function(mut of) => {
            no_constant_order(&mut of);
            Expr::Function(of)
        }
        Expr::SimilarTo {
            negated,
            expr,
            pattern,
            escape_char: None,
        } => {
            let whole = call("regexp_full_match", vec![*expr, *pattern]);
            if negated {
                Expr::Nested(Box::new(Expr::UnaryOp {
                    op: UnaryOperator::Not,
                    expr: Box::new(whole),
                }))
            } else {
                whole
            }
        }
        // Their number is computed of a row.
        Expr::Interval(mut of)
            if of.leading_field.is_some() && !matches!(*of.value, Expr::Value(_)) =>
        {
            let one = Expr::value(Value::SingleQuotedString("1".to_owned()));
            let number = std::mem::replace(&mut *of.value, one);
            call("interval_times", vec![number, Expr::Interval(of)])
        }
        Expr::Cast {
            kind,
            expr,
            data_type,
            array,
            format,
        } => Expr::Cast {
            kind,
            expr,
            data_type: type_of(data_type),
            array,
            format,
        },
        Expr::UnaryOp {
            op: UnaryOperator::BitwiseNot,
            expr,
        } => call("bit_not", vec![*expr]),
        other => other,
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
        Expr::InSubquery {
            expr,
            subquery,
            negated,
        } => {
            let found = match &*expr {
                Expr::Tuple(tuple) => is_in(tuple, &subquery),
                _ => None,
            };
            match found {
                Some(found) if negated => nested(Expr::UnaryOp {
                    op: UnaryOperator::Not,
                    expr: Box::new(found),
                }),
                Some(found) => found,
                None => Expr::InSubquery {
                    expr,
                    subquery,
                    negated,
                },
            }
        }
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
    // In a tuple, NULL is a value like any other.
    let pairs = left.iter().zip(right).map(|(one, other)| {
        let (one, other) = (Box::new(one.clone()), Box::new(other.clone()));
        Expr::Nested(Box::new(Expr::IsNotDistinctFrom(one, other)))
    });
    let all = pairs.reduce(|one, other| Expr::BinaryOp {
        left: Box::new(one),
        op: BinaryOperator::And,
        right: Box::new(other),
    });
    all.map(|all| Expr::Nested(Box::new(all)))
}
