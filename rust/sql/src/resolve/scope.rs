//! The names that a query sees: the columns of its FROM, its outputs so far, and the queries around it.
//!
//! Invariant: an expression that is put into a subquery reads there what it reads outside. Cost: a look-up is linear in
//! the columns and outputs of the queries around.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{Expr, Ident, Query, Visitor, VisitorMut};
use ringview_core::{Error, Result, SqlProblem};
use ringview_expr::{walk, walk_mut};

use super::side::{Found, Side, column};
use crate::error::bare;
use crate::source_text::position;

/// Levels of an expression that may be put in for the name of an output.
const MOST_DEPTH: usize = 300;

/// The queries around, the innermost first.
pub(super) type Around<'o> = Option<&'o Scope<'o>>;

/// See the module.
pub(super) struct Scope<'o> {
    pub(super) outer: Around<'o>,
    pub(super) side: Side,
    pub(super) aliases: Vec<Alias>,
}

/// An output with a name.
pub(super) struct Alias {
    pub(super) name: String,
    /// In brackets.
    pub(super) expr: Expr,
    /// Number of expressions in it.
    pub(super) size: usize,
    depth: usize,
}

impl Alias {
    pub(super) fn new(name: &Ident, expr: &Expr) -> Self {
        let mut measure = Measure::default();
        let _ = walk(expr, &mut measure);
        Self {
            name: name.value.clone(),
            expr: Expr::Nested(Box::new(expr.clone())),
            size: measure.size,
            depth: measure.greatest,
        }
    }

    pub(super) fn is_deep(&self) -> bool {
        self.depth > MOST_DEPTH
    }
}

impl<'o> Scope<'o> {
    pub(super) fn new(outer: Around<'o>) -> Self {
        Self {
            outer,
            side: Side::default(),
            aliases: Vec::new(),
        }
    }

    /// The output of a name; the first, if several have it.
    pub(super) fn alias(&self, name: &Ident) -> Option<&Alias> {
        self.aliases.iter().find(|alias| alias.name == name.value)
    }

    /// Whether a name here may be written out.
    pub(super) fn may_change(&self) -> bool {
        self.side.is_merged() || !self.aliases.is_empty()
    }

    /// The expression of an output, as a subquery reads it that sees the scopes `between` too.
    ///
    /// # Errors
    /// `Sql` where a name of the expression means something else in the subquery, or cannot get its relation in front.
    pub(super) fn within(
        &self,
        name: &Ident,
        alias: &Alias,
        between: &[&Scope<'_>],
    ) -> Result<Expr> {
        let mut made = alias.expr.clone();
        let mut qualifies = Qualifies {
            side: &self.side,
            between,
        };
        match walk_mut(&mut made, &mut qualifies) {
            ControlFlow::Continue(()) => Ok(made),
            ControlFlow::Break(()) => Err(hidden(name)),
        }
    }
}

/// A merged column, as a subquery reads it that sees the scopes `between` too.
///
/// # Errors
/// `Sql` where a relation of the subquery has the name of one of those that the column is of.
pub(super) fn merged_within(name: &Ident, value: &Expr, between: &[&Scope<'_>]) -> Result<Expr> {
    let mut made = value.clone();
    let side = &Side::default();
    match walk_mut(&mut made, &mut Qualifies { side, between }) {
        ControlFlow::Continue(()) => Ok(made),
        ControlFlow::Break(()) => Err(hidden(name)),
    }
}

/// The error for a name that a column of each of these relations has.
pub(super) fn ambiguous(name: &Ident, of: &[&Ident]) -> Error {
    let called = |of: &&Ident| format!("{}.{}", of.value, name.value);
    let each: Vec<String> = of.iter().map(called).collect();
    let message = format!(
        "\"{}\" is ambiguous; write one of {}",
        name.value,
        each.join(", ")
    );
    bare(SqlProblem::Query, position(name.span.start), message)
}

fn hidden(name: &Ident) -> Error {
    let message = format!(
        "the name \"{name}\" of a query around is read where the subquery hides the columns that it is computed from; \
         write the expression with its tables, or name it in a subquery of FROM",
        name = name.value
    );
    bare(SqlProblem::Unsupported, position(name.span.start), message)
}

/// Puts relations in front of the columns of an expression.
struct Qualifies<'q> {
    side: &'q Side,
    /// Scopes that the expression is put below.
    between: &'q [&'q Scope<'q>],
}

impl VisitorMut for Qualifies<'_> {
    type Break = ();

    /// A subquery has columns of its own.
    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr {
            match self.side.find(&name.value) {
                Found::Column(of) => *expr = column(of, &name.value),
                Found::Nothing => {
                    let mut between = self.between.iter();
                    if between.any(|scope| scope.side.find(&name.value) != Found::Nothing) {
                        return ControlFlow::Break(());
                    }
                }
                Found::Merged(_) | Found::Several(_) | Found::Perhaps | Found::Row => {
                    return ControlFlow::Break(());
                }
            }
        }
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some(table) = parts.first()
            && self
                .between
                .iter()
                .any(|scope| scope.side.has_relation(&table.value))
        {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Size and depth of an expression.
#[derive(Default)]
struct Measure {
    size: usize,
    depth: usize,
    greatest: usize,
}

impl Visitor for Measure {
    type Break = ();

    fn pre_visit_expr(&mut self, _expr: &Expr) -> ControlFlow<()> {
        self.size += 1;
        self.depth += 1;
        self.greatest = self.greatest.max(self.depth);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _expr: &Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}
