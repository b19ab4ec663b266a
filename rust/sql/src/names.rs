//! Names of a text: found without case, as DuckDB finds them; and those of outputs without AS.
//!
//! Invariant: an unquoted name is spelt as the catalog spells it, else as the text spelt it first. Cost: linear in the
//! text and the columns of the tables.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, Statement, TableAlias,
    TableFactor, VisitMut, VisitorMut,
};
use ringview_expr::Doubles;

use crate::context::Context;
use crate::syntax::Syntax;
use crate::using::Using;
use crate::within::WithinGroup;

/// Spells names alike, and names the outputs; what joins by name have hidden.
pub(crate) fn settle(statement: &mut Statement, context: &Context) -> Using {
    if let Statement::Query(query) = statement {
        name_outputs(query);
    }
    let _ = VisitMut::visit(statement, &mut Doubles);
    let _ = VisitMut::visit(statement, &mut WithinGroup);
    let _ = VisitMut::visit(statement, &mut Syntax);
    let mut names = Names {
        spelt: BTreeMap::new(),
    };
    for (table, schema) in &context.tables {
        names.note(table);
        schema
            .fields()
            .iter()
            .for_each(|field| names.note(field.name()));
    }
    let _ = VisitMut::visit(statement, &mut names);
    let mut using = Using::default();
    let _ = VisitMut::visit(statement, &mut using);
    using
}

/// By lower case: how a name is spelt.
struct Names {
    spelt: BTreeMap<String, String>,
}

impl Names {
    fn note(&mut self, name: &str) {
        self.spelt
            .entry(name.to_lowercase())
            .or_insert_with(|| name.to_owned());
    }

    fn settle(&mut self, ident: &mut Ident) {
        if ident.quote_style.is_none() {
            self.note(&ident.value);
            ident
                .value
                .clone_from(&self.spelt[&ident.value.to_lowercase()]);
        }
    }

    fn object(&mut self, name: &mut ObjectName) {
        for part in &mut name.0 {
            if let ObjectNamePart::Identifier(ident) = part {
                self.settle(ident);
            }
        }
    }

    fn alias(&mut self, alias: &mut TableAlias) {
        self.settle(&mut alias.name);
        alias
            .columns
            .iter_mut()
            .for_each(|column| self.settle(&mut column.name));
    }
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            self.alias(&mut table.alias);
        }
        if let SetExpr::Select(select) = &mut *query.body {
            for item in &mut select.projection {
                match item {
                    SelectItem::ExprWithAlias { alias, .. } => self.settle(alias),
                    SelectItem::QualifiedWildcard(
                        datafusion_sql::sqlparser::ast::SelectItemQualifiedWildcardKind::ObjectName(
                            name,
                        ),
                        _,
                    ) => self.object(name),
                    _ => {}
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } = factor
        {
            self.alias(alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        self.object(name);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => self.settle(ident),
            Expr::CompoundIdentifier(idents) => {
                idents.iter_mut().for_each(|ident| self.settle(ident))
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Names the outputs of the outermost SELECT that have no AS and are no columns by their own texts.
fn name_outputs(query: &mut Query) {
    let SetExpr::Select(select) = &mut *query.body else {
        return;
    };
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else {
            continue;
        };
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            continue;
        }
        let mut shown = expr.clone();
        let _ = VisitMut::visit(&mut shown, &mut InLower);
        let alias = Ident::with_quote('"', shown.to_string());
        *item = SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias,
        };
    }
}

/// Spells names of functions in lower case.
struct InLower;

impl VisitorMut for InLower {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            for part in &mut function.name.0 {
                if let ObjectNamePart::Identifier(ident) = part {
                    ident.value = ident.value.to_lowercase();
                }
            }
        }
        ControlFlow::Continue(())
    }
}
