//! Clauses within expressions.
//!
//! Invariant and cost: those of the folder.

use datafusion_sql::sqlparser::ast::{
    AccessExpr, Array, CaseWhen, CastKind, DictionaryField, Expr, Interval, Map, MapEntry, Spanned,
    Subscript, TypedString,
};

use super::call;
use super::unread::{Checked, LEAVE_OUT, READ, none_of, unread};

pub(super) fn check(expr: &Expr) -> Checked {
    match expr {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(_, _)
        | Expr::IsNotDistinctFrom(_, _)
        | Expr::InList {
            expr: _,
            list: _,
            negated: _,
        }
        | Expr::InSubquery {
            expr: _,
            subquery: _,
            negated: _,
        }
        | Expr::Between {
            expr: _,
            negated: _,
            low: _,
            high: _,
        }
        | Expr::BinaryOp {
            left: _,
            op: _,
            right: _,
        }
        | Expr::SimilarTo {
            negated: _,
            expr: _,
            pattern: _,
            escape_char: _,
        }
        | Expr::AnyOp {
            left: _,
            compare_op: _,
            right: _,
            is_some: _,
        }
        | Expr::AllOp {
            left: _,
            compare_op: _,
            right: _,
        }
        | Expr::UnaryOp { op: _, expr: _ }
        | Expr::AtTimeZone {
            timestamp: _,
            time_zone: _,
        }
        | Expr::Extract {
            field: _,
            syntax: _,
            expr: _,
        }
        | Expr::Ceil { expr: _, field: _ }
        | Expr::Floor { expr: _, field: _ }
        | Expr::Position { expr: _, r#in: _ }
        | Expr::Substring {
            expr: _,
            substring_from: _,
            substring_for: _,
            special: _,
            shorthand: _,
        }
        | Expr::Trim {
            trim_where: _,
            trim_what: _,
            expr: _,
            trim_characters: _,
        }
        | Expr::Overlay {
            expr: _,
            overlay_what: _,
            overlay_from: _,
            overlay_for: _,
        }
        | Expr::Nested(_)
        | Expr::Value(_)
        | Expr::TypedString(TypedString {
            data_type: _,
            value: _,
            uses_odbc_syntax: _,
        })
        | Expr::Exists {
            subquery: _,
            negated: _,
        }
        | Expr::Subquery(_)
        | Expr::GroupingSets(_)
        | Expr::Cube(_)
        | Expr::Rollup(_)
        | Expr::Tuple(_)
        | Expr::Array(Array { elem: _, named: _ })
        | Expr::Named { expr: _, name: _ }
        | Expr::Wildcard(_)
        | Expr::QualifiedWildcard(_, _) => READ,
        Expr::Like {
            negated: _,
            any,
            expr,
            pattern: _,
            escape_char: _,
        }
        | Expr::ILike {
            negated: _,
            any,
            expr,
            pattern: _,
            escape_char: _,
        } => none_of(&[(*any, "ANY", "write LIKE for each, with OR")], || {
            expr.span()
        }),
        Expr::Cast {
            kind,
            expr,
            data_type: _,
            array,
            format,
        } => {
            match kind {
                CastKind::Cast | CastKind::TryCast | CastKind::SafeCast | CastKind::DoubleColon => {
                }
            }
            let clauses = [
                (*array, "ARRAY", LEAVE_OUT),
                (format.is_some(), "FORMAT", "write strptime or strftime"),
            ];
            none_of(&clauses, || expr.span())
        }
        Expr::Case {
            case_token: _,
            end_token: _,
            operand: _,
            conditions,
            else_result: _,
        } => {
            for CaseWhen {
                condition: _,
                result: _,
            } in conditions
            {}
            READ
        }
        Expr::Dictionary(fields) => {
            for DictionaryField { key: _, value: _ } in fields {}
            READ
        }
        Expr::Map(Map { entries }) => {
            for MapEntry { key: _, value: _ } in entries {}
            READ
        }
        Expr::Struct { values: _, fields } => {
            let typed = (!fields.is_empty(), "STRUCT", "cast the values");
            none_of(&[typed], || expr.span())
        }
        Expr::Interval(Interval {
            value,
            leading_field: _,
            leading_precision,
            last_field,
            fractional_seconds_precision,
        }) => {
            let clauses = [
                (last_field.is_some(), "TO", "add intervals of one unit each"),
                (leading_precision.is_some(), "(", LEAVE_OUT),
                (fractional_seconds_precision.is_some(), "(", LEAVE_OUT),
            ];
            none_of(&clauses, || value.span())
        }
        Expr::CompoundFieldAccess {
            root: _,
            access_chain,
        } => access_chain.iter().try_for_each(of_access),
        Expr::Function(function) => call::check(function),
        Expr::IsNormalized {
            expr,
            form: _,
            negated: _,
        } => unread("NORMALIZED", "compute it into a column", expr.span()),
        Expr::InUnnest {
            expr,
            array_expr: _,
            negated: _,
        } => unread("UNNEST", "write list_contains(list, value)", expr.span()),
        Expr::RLike {
            negated: _,
            expr,
            pattern: _,
            regexp,
        } => {
            let word = if *regexp { "REGEXP" } else { "RLIKE" };
            unread(word, "write regexp_matches(text, pattern)", expr.span())
        }
        Expr::Convert {
            is_try: _,
            expr,
            data_type: _,
            charset: _,
            target_before_value: _,
            styles: _,
        } => unread("CONVERT", "write CAST", expr.span()),
        Expr::Collate { expr, collation: _ } => unread(
            "COLLATE",
            "compute a text that is ordered so into a column",
            expr.span(),
        ),
        Expr::Prefixed { prefix, value: _ } => {
            unread(prefix.value.clone(), "write the text alone", prefix.span)
        }
        Expr::JsonAccess { value, path: _ } => {
            unread(":", "compute it into a column", value.span())
        }
        Expr::MatchAgainst {
            columns: _,
            match_value: _,
            opt_search_modifier: _,
        } => unread("MATCH", "write LIKE", expr.span()),
        Expr::OuterJoin(column) => unread("(+)", "write LEFT JOIN", column.span()),
        Expr::Prior(column) => unread("PRIOR", "write WITH RECURSIVE", column.span()),
        Expr::Lambda(_) => unread("a function of arguments", "write UNNEST", expr.span()),
        Expr::MemberOf(_) => unread("MEMBER OF", "write list_contains(list, value)", expr.span()),
    }
}

fn of_access(access: &AccessExpr) -> Checked {
    match access {
        AccessExpr::Dot(_) | AccessExpr::Subscript(Subscript::Index { index: _ }) => READ,
        AccessExpr::Subscript(Subscript::Slice {
            lower_bound: _,
            upper_bound: _,
            stride: _,
        }) => READ,
    }
}
