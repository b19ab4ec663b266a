//! The columns that FROM has, or one side of a join: those that a star shows, and those of each relation.
//!
//! Invariant: a column that a join by name merges is shown once, at its first place; each relation keeps its own
//! columns. Cost: a look-up is linear in the columns.

use std::rc::Rc;

use datafusion_sql::parser::{DFParserBuilder, Statement as Parsed};
use datafusion_sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    Statement, TableAlias, TableFactor, TableWithJoins, WildcardAdditionalOptions,
};

use crate::wildcard;

/// Names of columns in their order, if the text and the catalog determine all of them.
pub(super) type Columns = Option<Vec<String>>;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    relations: Vec<(Ident, Columns)>,
    shown: Vec<Shown>,
}

/// A part of a star.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    /// A column of a relation.
    Column { name: String, of: Rc<Ident> },
    /// A column that a join by name merges, and what it is.
    Merged { name: String, value: Box<Expr> },
    /// All columns of a relation that are not known.
    All(Option<Ident>),
}

impl Shown {
    fn name(&self) -> Option<&String> {
        match self {
            Self::Column { name, .. } | Self::Merged { name, .. } => Some(name),
            Self::All(_) => None,
        }
    }
}

/// Meaning of a name without a table in front.
#[derive(Debug, PartialEq)]
pub(super) enum Found<'s> {
    /// A column that a join by name merges, and its value.
    Merged(&'s Expr),
    /// A column of this one relation.
    Column(&'s Ident),
    /// A column of each of several relations.
    Several(Vec<&'s Ident>),
    /// Perhaps a column: those of a relation are not known, or two chains of joins merge one.
    Perhaps,
    /// A relation, whose row it is.
    Row,
    Nothing,
}

impl Found<'_> {
    /// The column that a name means, with its relation in front, if it is one.
    pub(super) fn value(&self, name: &str) -> Option<Expr> {
        match self {
            Self::Merged(value) => Some(Expr::clone(value)),
            Self::Column(of) => Some(column(of, name)),
            Self::Several(_) | Self::Perhaps | Self::Row | Self::Nothing => None,
        }
    }
}

impl Side {
    /// A relation.
    pub(super) fn of(alias: Ident, columns: Columns) -> Self {
        let Some(names) = &columns else {
            return Self::unknown(Some(alias));
        };
        let of = Rc::new(alias.clone());
        let column = |name: &String| Shown::Column {
            name: name.clone(),
            of: Rc::clone(&of),
        };
        Self {
            shown: names.iter().map(column).collect(),
            relations: vec![(alias, columns)],
        }
    }

    /// A relation whose columns are not known.
    pub(super) fn unknown(alias: Option<Ident>) -> Self {
        Self {
            shown: vec![Shown::All(alias.clone())],
            relations: alias.map(|alias| (alias, None)).into_iter().collect(),
        }
    }

    /// Adds another side behind this one.
    pub(super) fn add(&mut self, other: Self) {
        self.relations.extend(other.relations);
        self.shown.extend(other.shown);
    }

    /// The parts of the star, to be changed by a join by name.
    pub(super) fn shown_mut(&mut self) -> &mut Vec<Shown> {
        &mut self.shown
    }

    pub(super) fn find(&self, name: &str) -> Found<'_> {
        let mut columns = Vec::new();
        let mut merged = Vec::new();
        let mut is_unknown = false;
        for one in &self.shown {
            match one {
                Shown::Merged { name: of, value } if of == name => merged.push(&**value),
                Shown::Column { name: column, of } if column == name => columns.push(&**of),
                Shown::Column { .. } | Shown::Merged { .. } => {}
                Shown::All(_) => is_unknown = true,
            }
        }
        match merged[..] {
            [] => {}
            [value] => return Found::Merged(value),
            _ => return Found::Perhaps,
        }
        match columns[..] {
            [of] => Found::Column(of),
            _ if is_unknown => Found::Perhaps,
            [] if self.has_relation(name) => Found::Row,
            [] => Found::Nothing,
            _ => Found::Several(columns),
        }
    }

    pub(super) fn has_relation(&self, name: &str) -> bool {
        self.relations.iter().any(|(alias, _)| alias.value == name)
    }

    /// Whether a join by name merges columns.
    pub(super) fn is_merged(&self) -> bool {
        let mut shown = self.shown.iter();
        shown.any(|one| matches!(one, Shown::Merged { .. }))
    }

    /// Names of the columns that a star shows.
    pub(super) fn columns(&self) -> Columns {
        self.shown.iter().map(|one| one.name().cloned()).collect()
    }

    /// Names of the columns of a relation.
    pub(super) fn of_relation(&self, name: &Ident) -> Columns {
        let mut relations = self.relations.iter();
        let (_, columns) = relations.find(|(alias, _)| alias.value == name.value)?;
        columns.clone()
    }

    /// The outputs of a star, by name; none where a relation without a name has columns that are not known.
    pub(super) fn star(&self) -> Option<Vec<(String, SelectItem)>> {
        let item = |one: &Shown| match one {
            Shown::Column { name, of } => {
                let item = SelectItem::UnnamedExpr(column(of, name));
                Some((name.clone(), item))
            }
            Shown::Merged { name, value } => {
                let alias = Ident::with_quote('"', name.clone());
                let expr = Expr::clone(value);
                Some((name.clone(), SelectItem::ExprWithAlias { expr, alias }))
            }
            Shown::All(alias) => {
                let of = ObjectName::from(vec![alias.clone()?]);
                let of = SelectItemQualifiedWildcardKind::ObjectName(of);
                let options = WildcardAdditionalOptions::default();
                Some((String::new(), SelectItem::QualifiedWildcard(of, options)))
            }
        };
        self.shown.iter().map(item).collect()
    }

    /// The outputs of the star of a relation, by name.
    pub(super) fn star_of(&self, of: &Ident) -> Option<Vec<(String, SelectItem)>> {
        let item = |name: String| {
            let item = SelectItem::UnnamedExpr(column(of, &name));
            (name, item)
        };
        Some(self.of_relation(of)?.into_iter().map(item).collect())
    }

    /// Joins in brackets with a name, as a subquery that has each merged column once; nothing where none is merged.
    pub(super) fn as_subquery(
        &self,
        from: &TableWithJoins,
        alias: &TableAlias,
    ) -> Option<TableFactor> {
        let items = self.is_merged().then(|| self.star())??;
        let mut subquery = everything()?;
        let SetExpr::Select(select) = &mut *subquery.body else {
            return None;
        };
        select.projection = items.into_iter().map(|(_, item)| item).collect();
        select.from = vec![from.clone()];
        Some(TableFactor::Derived {
            lateral: false,
            subquery,
            alias: Some(alias.clone()),
            sample: None,
        })
    }
}

/// The name of a column with its relation in front.
pub(super) fn column(of: &Ident, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![of.clone(), Ident::with_quote('"', name)])
}

/// The outputs of a star with options, of those that it has without.
pub(super) fn spelt(
    options: &WildcardAdditionalOptions,
    all: Option<Vec<(String, SelectItem)>>,
) -> Option<Vec<SelectItem>> {
    let replaced = |name: &str, expr: &Expr| SelectItem::ExprWithAlias {
        expr: expr.clone(),
        alias: Ident::with_quote('"', name),
    };
    let shown = wildcard::shown(options, all?, replaced)?;
    Some(shown.into_iter().map(|(_, item)| item).collect())
}

/// `SELECT * FROM t`.
fn everything() -> Option<Box<Query>> {
    let mut parser = DFParserBuilder::new("SELECT * FROM t").build().ok()?;
    let Parsed::Statement(statement) = parser.parse_statements().ok()?.pop_front()? else {
        return None;
    };
    match *statement {
        Statement::Query(query) => Some(query),
        _ => None,
    }
}

/// Name of a relation of FROM that is neither a table, nor a subquery, nor a join.
pub(super) fn alias_of(factor: &TableFactor) -> Option<&Ident> {
    let (TableFactor::Table { alias, .. }
    | TableFactor::TableFunction { alias, .. }
    | TableFactor::Function { alias, .. }
    | TableFactor::UNNEST { alias, .. }
    | TableFactor::JsonTable { alias, .. }
    | TableFactor::Pivot { alias, .. }
    | TableFactor::Unpivot { alias, .. }) = factor
    else {
        return None;
    };
    alias.as_ref().map(|alias| &alias.name)
}
