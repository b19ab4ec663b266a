//! NULL in the place of values that cannot be computed: of a cast, and of a call of a function.
//!
//! A cast becomes TRY_CAST, a call is put within `try()`. Invariant: if all values can be computed, the rows are the same,
//! and so are the names of outputs, which have been given before. Cost: linear in the text.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{CastKind, Expr, FunctionArguments, VisitorMut};
use ringview_expr::call;

use crate::context::Context;

/// Changes a text so.
pub(crate) struct ErrorsAsNull<'c>(pub(crate) &'c Context);

impl ErrorsAsNull<'_> {
    /// Whether an expression calls a function of rows with arguments; without them it is a constant, or the clock.
    fn calls(&self, expr: &Expr) -> bool {
        let Expr::Function(function) = expr else {
            return false;
        };
        let has_arguments = match &function.args {
            FunctionArguments::List(list) => !list.args.is_empty(),
            _ => false,
        };
        let name = function.name.to_string().to_lowercase();
        let is_plain = function.over.is_none()
            && function.filter.is_none()
            && function.within_group.is_empty()
            && !self.0.is_aggregate(&name);
        has_arguments && is_plain && self.0.is_scalar(&name)
    }
}

impl VisitorMut for ErrorsAsNull<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { kind, .. } = expr {
            *kind = CastKind::TryCast;
        } else if self.calls(expr) {
            *expr = call("try", vec![expr.clone()]);
        }
        ControlFlow::Continue(())
    }
}
