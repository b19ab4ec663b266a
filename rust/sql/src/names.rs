//! Names of a text: found without case, as DuckDB finds them; and those of outputs without AS.
//!
//! Invariant: an unquoted name is spelt as the catalog spells it, else as the text spelt it first. Cost: linear in the
//! text and the columns of the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, JoinConstraint, ObjectName, ObjectNamePart, Query, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableAlias, TableFactor, TableWithJoins,
    VisitorMut, WildcardAdditionalOptions,
};
use ringview_core::Result;
use ringview_expr::{Conditions, Forms, walk_mut};

use crate::branches::Branches;
use crate::context::Context;
use crate::inherited_order::InheritedOrder;
use crate::join_kind::constraint;
use crate::kinds::check_calls;
use crate::outer;
use crate::recursion::Recursions;
use crate::resolve::resolve;
use crate::scopes::Scopes;
use crate::syntax::Syntax;
use crate::windows::Windows;
use crate::within_group::WithinGroup;

/// The schemas whose tables are those of the catalog.
const SCHEMAS: [&str; 2] = ["main", "public"];

/// Spells names alike, names the outputs, and writes out what the binder would not find.
pub(crate) fn normalise(statement: &mut Statement, context: &Context) -> Result<()> {
    check_calls(statement, context)?;
    if let Statement::Query(query) = statement {
        name_outputs(query);
    }
    let _ = walk_mut(statement, &mut Branches);
    let _ = walk_mut(statement, &mut Forms);
    if let ControlFlow::Break(refusal) = walk_mut(statement, &mut Windows) {
        return Err(refusal);
    }
    let _ = walk_mut(statement, &mut WithinGroup);
    let _ = walk_mut(statement, &mut Syntax(context));
    if let ControlFlow::Break(refusal) = walk_mut(statement, &mut InheritedOrder::new(context)) {
        return Err(refusal);
    }
    let mut names = Names {
        spelt: BTreeMap::new(),
        exact: BTreeSet::new(),
    };
    for (table, schema) in &context.tables {
        let columns = schema.fields().iter().map(|field| field.name());
        for name in std::iter::once(table).chain(columns) {
            names.note(name);
            names.exact.insert(name.clone());
        }
    }
    let _ = walk_mut(statement, &mut names);
    let _ = walk_mut(statement, &mut Scopes::default());
    let is_table = |name: &str| context.tables.contains_key(name);
    let mut recursions = Recursions {
        is_table: &is_table,
    };
    if let ControlFlow::Break(refusal) = walk_mut(statement, &mut recursions) {
        return Err(refusal);
    }
    if let Statement::Query(query) = statement {
        resolve(query, context)?;
    }
    outer::rename_hidden(statement, context);
    let _ = walk_mut(statement, &mut Conditions);
    Ok(())
}

/// By lower case: how a name is spelt.
struct Names {
    spelt: BTreeMap<String, String>,
    /// As the catalog spells them.
    exact: BTreeSet<String>,
}

impl Names {
    fn note(&mut self, name: &str) {
        self.spelt
            .entry(name.to_lowercase())
            .or_insert_with(|| name.to_owned());
    }

    fn normalise(&mut self, ident: &mut Ident) {
        // Quotes allow spaces in a name; they do not distinguish cases, unless there are columns of both.
        if ident.quote_style.is_some() && self.exact.contains(&ident.value) {
            return;
        }
        self.note(&ident.value);
        ident
            .value
            .clone_from(&self.spelt[&ident.value.to_lowercase()]);
    }

    fn object(&mut self, name: &mut ObjectName) {
        for part in &mut name.0 {
            if let ObjectNamePart::Identifier(ident) = part {
                self.normalise(ident);
            }
        }
    }

    /// The names that a star leaves out or computes anew.
    fn star(&mut self, options: &mut WildcardAdditionalOptions) {
        match &mut options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => self.object(name),
            Some(ExcludeSelectItem::Multiple(names)) => {
                names.iter_mut().for_each(|name| self.object(name));
            }
            None => {}
        }
        let replaced = options.opt_replace.iter_mut();
        for item in replaced.flat_map(|replace| &mut replace.items) {
            self.normalise(&mut item.column_name);
        }
    }

    /// The names of USING.
    fn joins(&mut self, from: &mut TableWithJoins) {
        for join in &mut from.joins {
            if let Some(JoinConstraint::Using(names)) = constraint(&mut join.join_operator) {
                names.iter_mut().for_each(|name| self.object(name));
            }
        }
    }

    fn alias(&mut self, alias: &mut TableAlias) {
        self.normalise(&mut alias.name);
        alias
            .columns
            .iter_mut()
            .for_each(|column| self.normalise(&mut column.name));
    }
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            self.alias(&mut table.alias);
        }
        if let SetExpr::Select(select) = &mut *query.body {
            select.from.iter_mut().for_each(|from| self.joins(from));
            for item in &mut select.projection {
                match item {
                    SelectItem::ExprWithAlias { alias, .. } if alias.quote_style.is_some() => {
                        self.note(&alias.value);
                    }
                    SelectItem::ExprWithAlias { alias, .. } => self.normalise(alias),
                    SelectItem::QualifiedWildcard(of, options) => {
                        if let SelectItemQualifiedWildcardKind::ObjectName(name) = of {
                            self.object(name);
                        }
                        self.star(options);
                    }
                    SelectItem::Wildcard(options) => self.star(options),
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
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            self.joins(table_with_joins);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        // The catalog is what these schemas are; any other is refused when the table is looked up.
        if let [ObjectNamePart::Identifier(schema), _] = &name.0[..]
            && SCHEMAS
                .iter()
                .any(|known| schema.value.eq_ignore_ascii_case(known))
        {
            name.0.remove(0);
        }
        self.object(name);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => self.normalise(ident),
            Expr::CompoundIdentifier(idents) => {
                let is_schema =
                    |of: &Ident| SCHEMAS.iter().any(|one| of.value.eq_ignore_ascii_case(one));
                if idents.len() == 3 && is_schema(&idents[0]) {
                    idents.remove(0);
                }
                idents.iter_mut().for_each(|ident| self.normalise(ident));
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
        let _ = walk_mut(&mut shown, &mut InLower);
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
