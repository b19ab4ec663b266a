//! Calls of functions: their arguments, and the clauses after them.
//!
//! Invariant and cost: those of the folder. `kinds` refuses clauses that belong to functions of another kind.

use datafusion_sql::sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, HavingBound, NullTreatment,
    Spanned, WindowType,
};

use super::unread::{Checked, LEAVE_OUT, READ, none_of, unread};
use super::{query, select, window};

pub(super) fn check(function: &Function) -> Checked {
    let Function {
        name,
        uses_odbc_syntax: _,
        parameters,
        args,
        filter: _,
        null_treatment,
        over,
        within_group,
    } = function;
    match parameters {
        FunctionArguments::None => {}
        FunctionArguments::Subquery(_) | FunctionArguments::List(_) => {
            return unread("(", "write all arguments in one list", name.span());
        }
    }
    match null_treatment {
        None | Some(NullTreatment::IgnoreNulls | NullTreatment::RespectNulls) => {}
    }
    match args {
        FunctionArguments::None => {}
        FunctionArguments::Subquery(_) => {
            let call = name.to_string().to_uppercase();
            let instead = "write an aggregate in the subquery: (SELECT list(x) FROM ..)";
            return unread(format!("{call} of a subquery"), instead, name.span());
        }
        FunctionArguments::List(list) => of_arguments(list, function)?,
    }
    match over {
        None | Some(WindowType::NamedWindow(_)) => {}
        Some(WindowType::WindowSpec(spec)) => window::of_window(spec)?,
    }
    query::of_keys(within_group)
}

fn of_arguments(list: &FunctionArgumentList, function: &Function) -> Checked {
    let FunctionArgumentList {
        duplicate_treatment,
        args,
        clauses,
    } = list;
    match duplicate_treatment {
        None | Some(DuplicateTreatment::Distinct | DuplicateTreatment::All) => {}
    }
    for arg in args {
        of_argument(arg, function)?;
    }
    let near = function.name.span();
    for clause in clauses {
        match clause {
            FunctionArgumentClause::IgnoreOrRespectNulls(
                NullTreatment::IgnoreNulls | NullTreatment::RespectNulls,
            ) => {}
            FunctionArgumentClause::OrderBy(keys) => query::of_keys(keys)?,
            FunctionArgumentClause::Limit(_) => {
                return unread("LIMIT", "slice the list: list(..)[:n]", near);
            }
            FunctionArgumentClause::OnOverflow(_) => return unread("ON OVERFLOW", LEAVE_OUT, near),
            FunctionArgumentClause::Having(HavingBound(_, _)) => {
                return unread("HAVING", "write arg_max(value, key) or arg_min", near);
            }
            FunctionArgumentClause::Separator(_) => {
                return unread("SEPARATOR", "write string_agg(text, separator)", near);
            }
            FunctionArgumentClause::JsonNullClause(_) => {
                return unread("NULL ON NULL", LEAVE_OUT, near);
            }
            FunctionArgumentClause::JsonReturningClause(_) => {
                return unread("RETURNING", "cast the result", near);
            }
        }
    }
    READ
}

fn of_argument(arg: &FunctionArg, function: &Function) -> Checked {
    let value = match arg {
        FunctionArg::Unnamed(value) => value,
        FunctionArg::Named {
            name: _,
            arg,
            operator,
        }
        | FunctionArg::ExprNamed {
            name: _,
            arg,
            operator,
        } => {
            match operator {
                FunctionArgOperator::Equals
                | FunctionArgOperator::RightArrow
                | FunctionArgOperator::Assignment
                | FunctionArgOperator::Colon
                | FunctionArgOperator::Value => {}
            }
            arg
        }
    };
    match value {
        FunctionArgExpr::Expr(_)
        | FunctionArgExpr::QualifiedWildcard(_)
        | FunctionArgExpr::Wildcard => READ,
        FunctionArgExpr::WildcardWithOptions(options) => {
            select::of_star(options)?;
            none_of(&[(true, "*", "name the columns")], || function.name.span())
        }
    }
}
