//! RETURNING: what is shown of the rows that a statement changed.
//!
//! Invariant: it reads those rows alone, each by itself. Cost: linear in the text.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, SelectItem, SelectItemQualifiedWildcardKind, Visitor,
    WildcardAdditionalOptions,
};
use ringview_core::{Result, Schema, SqlProblem};
use ringview_expr::walk;

use super::name::Name;
use super::select::{Select, shown};
use super::table::Reading;
use crate::dialect::Dialect;
use crate::find::aggregate;
use crate::source_text::Text;

/// See the module.
#[derive(Clone, Debug)]
pub struct Returning {
    items: Vec<SelectItem>,
    table: Name,
    /// Name of the rows in it: the alias of the table, or its name.
    alias: String,
    script: Arc<str>,
    dialect: Dialect,
}

/// Outputs over rows.
#[derive(Debug)]
pub enum Shown {
    /// Columns by their places, and what they are called.
    Columns(Vec<(usize, String)>),
    /// A query over a table of the rows, which has this name.
    Query(String, Select),
}

impl Returning {
    /// Outputs over the rows of a table with a schema; a query has a column of this name last, as it is in the rows.
    ///
    /// # Errors
    /// `Sql` for a column that is not there.
    pub fn of(&self, table: &str, schema: &Schema, last: &str) -> Result<Shown> {
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        let mut found: Vec<Item<'_>> = Vec::new();
        for item in &self.items {
            let all = (0..names.len()).map(|at| Item::Column(at, names[at].to_owned()));
            match item {
                SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)
                    if *options != WildcardAdditionalOptions::default() =>
                {
                    let what = "RETURNING has * by itself; name the columns";
                    return Err(self.table.refused(SqlProblem::Unsupported, what));
                }
                SelectItem::Wildcard(_) => found.extend(all),
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    self.check(name.0.last().and_then(|part| part.as_ident()))?;
                    found.extend(all);
                }
                SelectItem::UnnamedExpr(expr) => {
                    found.push(match self.column(expr, table, &names)? {
                        Some(at) => Item::Column(at, names[at].to_owned()),
                        None => Item::Computed(item),
                    });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    found.push(match self.column(expr, table, &names)? {
                        Some(at) => Item::Column(at, alias.value.clone()),
                        None => Item::Computed(item),
                    });
                }
                _ => found.push(Item::Computed(item)),
            }
        }
        let column = |item: &Item<'_>| match item {
            Item::Column(at, name) => Some((*at, name.clone())),
            Item::Computed(_) => None,
        };
        if let Some(mut columns) = found.iter().map(column).collect::<Option<Vec<_>>>() {
            number_duplicates(&mut columns);
            return Ok(Shown::Columns(columns));
        }
        let name = |name: &str| Ident::with_quote('"', name);
        let mut items: Vec<SelectItem> = found
            .into_iter()
            .map(|item| match item {
                Item::Column(at, alias) => SelectItem::ExprWithAlias {
                    expr: Expr::Identifier(name(names[at])),
                    alias: name(&alias),
                },
                Item::Computed(item) => item.clone(),
            })
            .collect();
        items.push(SelectItem::UnnamedExpr(Expr::Identifier(name(last))));
        let query = shown(items, ObjectName::from(name(&self.alias)))?;
        let select = Select::of(query, &self.script, self.dialect);
        Ok(Shown::Query(self.alias.clone(), select))
    }

    /// The column that an expression is, if it is one.
    fn column(&self, expr: &Expr, table: &str, names: &[&str]) -> Result<Option<usize>> {
        let ident = match expr {
            Expr::Identifier(ident) => ident,
            Expr::CompoundIdentifier(parts) => match &parts[..] {
                [.., qualifier, ident] => {
                    self.check(Some(qualifier))?;
                    ident
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        Name::of(ident, &self.script).column(table, names).map(Some)
    }

    /// Refuses the name of another table.
    fn check(&self, qualifier: Option<&Ident>) -> Result<()> {
        match qualifier {
            Some(ident) if !ident.value.eq_ignore_ascii_case(&self.alias) => {
                let what = format!("RETURNING has the rows of {:?} alone", self.alias);
                let name = Name::of(ident, &self.script);
                Err(name.refused(SqlProblem::UnknownTable, &what))
            }
            _ => Ok(()),
        }
    }
}

/// One thing that is shown.
enum Item<'a> {
    Column(usize, String),
    Computed(&'a SelectItem),
}

/// Numbers columns that would have one name.
fn number_duplicates(columns: &mut [(usize, String)]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (_, name) in columns {
        let times = seen.entry(name.to_lowercase()).or_default();
        if *times > 0 {
            *name = format!("{name}_{times}");
        }
        *times += 1;
    }
}

struct Queries;

impl Visitor for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

impl Reading<'_> {
    /// The clause RETURNING of a statement.
    pub(super) fn returning(
        &self,
        items: Option<Vec<SelectItem>>,
        table: &Name,
        alias: Option<&Ident>,
    ) -> Result<Option<Returning>> {
        let Some(items) = items else {
            return Ok(None);
        };
        if walk(&items, &mut Queries).is_break() {
            let what = "RETURNING reads the rows that changed alone; SELECT others by a statement of their own";
            return Err(table.refused(SqlProblem::Unsupported, what));
        }
        let aggregates = items.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                aggregate(expr)
            }
            _ => None,
        });
        if let Some(at) = aggregates.min() {
            let what =
                "RETURNING has no aggregates; SELECT them of the rows by a statement of its own";
            return Err(Text(self.script).refused(SqlProblem::Query, Some(at), what));
        }
        Ok(Some(Returning {
            items,
            alias: alias
                .map_or(table.as_str(), |ident| &ident.value)
                .to_owned(),
            table: table.clone(),
            script: Arc::clone(self.script),
            dialect: self.dialect,
        }))
    }
}
