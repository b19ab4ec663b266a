//! Walks over the parser's trees, compiled once for all visitors.
//!
//! Invariant: a visitor sees what sqlparser's own `visit` shows it, in that order. Cost: a call by pointer at each node.
//! (That `visit` is generic over the visitor: three dozen copies of the walk over all statements were a third of the code
//! of planning, and of the time to compile it.)

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};

macro_rules! walk {
    ($(#[$doc:meta])* $walk:ident($tree:ty) for $visitor:ident as $erased:ident, $kept:ident, $through:ident:
     $($method:ident($node:ty)),* $(,)?) => {
        $(#[$doc])*
        pub fn $walk<V: $visitor>(tree: $tree, visitor: &mut V) -> ControlFlow<V::Break> {
            let mut kept = $kept { visitor, broken: None };
            let _ = tree.visit(&mut $through(&mut kept));
            kept.broken.map_or(ControlFlow::Continue(()), ControlFlow::Break)
        }

        /// A visitor, whatever it ends with.
        trait $erased {
            $(fn $method(&mut self, node: $node) -> ControlFlow<()>;)*
        }

        /// A visitor, and what it has ended with.
        struct $kept<'a, V: $visitor> {
            visitor: &'a mut V,
            broken: Option<V::Break>,
        }

        impl<V: $visitor> $erased for $kept<'_, V> {
            $(fn $method(&mut self, node: $node) -> ControlFlow<()> {
                self.visitor.$method(node).map_break(|end| self.broken = Some(end))
            })*
        }

        /// The one visitor that walks are compiled for.
        struct $through<'a>(&'a mut dyn $erased);

        impl $visitor for $through<'_> {
            type Break = ();
            $(fn $method(&mut self, node: $node) -> ControlFlow<()> {
                self.0.$method(node)
            })*
        }
    };
}

walk!(
    /// Shows a visitor each node of a tree; what it ends with, if it does before the end. O(nodes).
    walk(&impl Visit) for Visitor as Reads, Reading, Reader:
    pre_visit_query(&Query),
    post_visit_query(&Query),
    pre_visit_select(&Select),
    post_visit_select(&Select),
    pre_visit_relation(&ObjectName),
    post_visit_relation(&ObjectName),
    pre_visit_table_factor(&TableFactor),
    post_visit_table_factor(&TableFactor),
    pre_visit_expr(&Expr),
    post_visit_expr(&Expr),
    pre_visit_statement(&Statement),
    post_visit_statement(&Statement),
    pre_visit_value(&ValueWithSpan),
    post_visit_value(&ValueWithSpan),
);

walk!(
    /// Gives a visitor each node of a tree to change; what it ends with, if it does before the end. O(nodes).
    walk_mut(&mut impl VisitMut) for VisitorMut as Changes, Changing, Changer:
    pre_visit_query(&mut Query),
    post_visit_query(&mut Query),
    pre_visit_select(&mut Select),
    post_visit_select(&mut Select),
    pre_visit_relation(&mut ObjectName),
    post_visit_relation(&mut ObjectName),
    pre_visit_table_factor(&mut TableFactor),
    post_visit_table_factor(&mut TableFactor),
    pre_visit_expr(&mut Expr),
    post_visit_expr(&mut Expr),
    pre_visit_statement(&mut Statement),
    post_visit_statement(&mut Statement),
    pre_visit_value(&mut ValueWithSpan),
    post_visit_value(&mut ValueWithSpan),
);

/// Calls a function with each expression of a tree, outermost first; what it ends with, if it does. O(nodes).
pub fn walk_expressions<B>(
    tree: &impl Visit,
    see: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk(tree, &mut Expressions(see))
}

struct Expressions<F>(F);

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<F> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

/// Calls a function with each name of a relation in a tree; what it ends with, if it does. O(nodes).
pub fn walk_relations<B>(
    tree: &impl Visit,
    see: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk(tree, &mut Relations(see))
}

struct Relations<F>(F);

impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<F> {
    type Break = B;

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<B> {
        (self.0)(name)
    }
}
