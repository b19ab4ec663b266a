//! Windows as the binder takes them: those that extend a window with a name, intervals of frames, defaults of LAG and LEAD.
//!
//! `OVER (w ORDER BY x)` has the partition of `w`, and the order and frame of `w` where it gives none itself. A default
//! that is no constant applies where there is no row, not where the row has NULL: `LAG(x, n, y)` is
//! `CASE WHEN LAG(TRUE, n) IS NULL THEN y ELSE LAG(x, n) END`. Invariant: no window names another one behind this, so
//! none loses its partition. Cost: linear in the text, and the definitions of a SELECT for each of its windows.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Interval,
    NamedWindowDefinition, NamedWindowExpr, NullTreatment, OrderByKind, Query, SetExpr, Value,
    VisitorMut, WindowFrameBound, WindowSpec, WindowType, helpers::attached_token::AttachedToken,
};
use ringview_core::{Error, SqlProblem};
use ringview_expr::{walk_expressions, walk_mut};

use crate::error::bare;
use crate::source_text::position;

/// See the module.
pub(crate) struct Windows;

impl VisitorMut for Windows {
    type Break = Error;

    /// Inner queries are handled first: windows that they still name are of the query around.
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let SetExpr::Select(select) = &mut *query.body else {
            return ControlFlow::Continue(());
        };
        let mut known: Vec<NamedWindowDefinition> = Vec::with_capacity(select.named_window.len());
        for mut window in std::mem::take(&mut select.named_window) {
            if let NamedWindowExpr::WindowSpec(spec) = &mut window.1 {
                constant_distances(spec);
                if let Err(refusal) = extended(spec, &known) {
                    return ControlFlow::Break(refusal);
                }
            }
            known.push(window);
        }
        let mut uses = Uses(&known);
        for item in &mut select.projection {
            walk_mut(item, &mut uses)?;
        }
        walk_mut(&mut select.qualify, &mut uses)?;
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(keys) = &mut order.kind
        {
            walk_mut(keys, &mut uses)?;
        }
        select.named_window = known;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(function) = expr {
            if let Some(WindowType::WindowSpec(spec)) = &mut function.over {
                constant_distances(spec);
            }
            if let Some(meant) = with_default(function) {
                *expr = meant;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Windows of a SELECT that extend one of these.
struct Uses<'w>(&'w [NamedWindowDefinition]);

impl VisitorMut for Uses<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(function) = expr
            && let Some(WindowType::WindowSpec(spec)) = &mut function.over
            && let Err(refusal) = extended(spec, self.0)
        {
            return ControlFlow::Break(refusal);
        }
        ControlFlow::Continue(())
    }
}

/// Gives a window what it has of the one that it names.
fn extended(spec: &mut WindowSpec, known: &[NamedWindowDefinition]) -> Result<(), Error> {
    let Some(name) = spec.window_name.take() else {
        return Ok(());
    };
    let Some(base) = definition(&name, known) else {
        return Err(refused(&name, "there is no window of this name"));
    };
    if !spec.partition_by.is_empty() {
        return Err(refused(
            &name,
            "a window that extends it has its PARTITION BY, and no other",
        ));
    }
    if !base.order_by.is_empty() {
        if !spec.order_by.is_empty() {
            return Err(refused(
                &name,
                "it has an ORDER BY, which a window that extends it keeps",
            ));
        }
        spec.order_by.clone_from(&base.order_by);
    }
    spec.partition_by.clone_from(&base.partition_by);
    if spec.window_frame.is_none() {
        spec.window_frame.clone_from(&base.window_frame);
    }
    Ok(())
}

/// Definition of a window's name, through other names.
fn definition<'w>(name: &Ident, known: &'w [NamedWindowDefinition]) -> Option<&'w WindowSpec> {
    let at = known
        .iter()
        .rposition(|one| one.0.value.eq_ignore_ascii_case(&name.value))?;
    match &known[at].1 {
        NamedWindowExpr::WindowSpec(spec) => Some(spec),
        NamedWindowExpr::NamedWindow(other) => definition(other, &known[..at]),
    }
}

fn refused(name: &Ident, why: &str) -> Error {
    let what = format!("the window {}: {why}", name.value);
    bare(SqlProblem::Query, position(name.span.start), what)
}

/// The numbers of intervals in a frame as texts: `INTERVAL 14 DAYS`.
fn constant_distances(spec: &mut WindowSpec) {
    let Some(frame) = &mut spec.window_frame else {
        return;
    };
    for bound in [Some(&mut frame.start_bound), frame.end_bound.as_mut()]
        .into_iter()
        .flatten()
    {
        if let WindowFrameBound::Preceding(Some(by)) | WindowFrameBound::Following(Some(by)) = bound
            && let Expr::Interval(Interval { value, .. }) = &mut **by
        {
            while let Expr::Nested(inner) = &mut **value {
                let inner = std::mem::replace(&mut **inner, Expr::value(Value::Null));
                **value = inner;
            }
            if let Expr::Value(number) = &mut **value
                && let Value::Number(digits, _) = &number.value
            {
                number.value = Value::SingleQuotedString(digits.clone());
            }
        }
    }
}

/// LAG or LEAD whose default reads the row.
fn with_default(function: &Function) -> Option<Expr> {
    let name = function.name.to_string().to_lowercase();
    let ignores = Some(NullTreatment::IgnoreNulls);
    let FunctionArguments::List(arguments) = &function.args else {
        return None;
    };
    let is_of_rows = matches!(name.as_str(), "lag" | "lead") && function.over.is_some();
    if !is_of_rows || function.null_treatment == ignores || !arguments.clauses.is_empty() {
        return None;
    }
    let argument = |at: usize| match arguments.args.get(at) {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))) => Some(expr),
        _ => None,
    };
    let (_, offset, default) = (argument(0)?, argument(1)?, argument(2)?);
    let reads = walk_expressions(default, |one: &Expr| match one {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    reads.break_value()?;
    let of = |first: Expr| {
        let mut made = function.clone();
        if let FunctionArguments::List(list) = &mut made.args {
            let taken = [first, offset.clone()].into_iter();
            list.args = taken
                .map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)))
                .collect();
        }
        Expr::Function(made)
    };
    let is_none = Expr::IsNull(Box::new(of(Expr::value(Value::Boolean(true)))));
    Some(Expr::Nested(Box::new(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen {
            condition: is_none,
            result: default.clone(),
        }],
        else_result: Some(Box::new(of(argument(0)?.clone()))),
    })))
}
