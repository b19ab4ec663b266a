//! A query of a script: parsed with it, so that what is wrong with it is shown in it.
//!
//! Invariant: its parameters are constants already; names of its own text are numbered from 1 if it is to be kept. Cost:
//! linear in its text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select as AstSelect, SelectItem, SetExpr, Statement,
    TableWithJoins,
};
use datafusion_sql::sqlparser::dialect::GenericDialect;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use ringview_core::{Error, Result, SqlProblem};

use crate::dialect::Dialect;
use crate::find;
use crate::parameters::{Parameter, Parameters, bare};
use crate::tokens::after;

/// See the module.
#[derive(Clone, Debug)]
pub struct Select {
    pub(crate) statement: Box<Statement>,
    pub(crate) script: Arc<str>,
    pub(crate) dialect: Dialect,
    /// Text under which a view of it is stored.
    pub(crate) stored_text: Option<(String, Parameters)>,
}

impl Select {
    pub(crate) fn of(query: Query, script: &Arc<str>, dialect: Dialect) -> Self {
        Self {
            statement: Box::new(Statement::Query(Box::new(query))),
            script: Arc::clone(script),
            dialect,
            stored_text: None,
        }
    }

    /// The same, with the text that its tokens are of, and the values of its parameters.
    pub(crate) fn written(
        mut self,
        (tokens, questions): (&[TokenWithSpan], usize),
        (parameters, used): (&Parameters, &BTreeSet<String>),
    ) -> Self {
        let mut text = Slice::of(&self.script, tokens);
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut positional: Vec<Parameter> = Vec::new();
        let mut question = questions;
        for token in tokens {
            let Token::Placeholder(name) = &token.token else {
                continue;
            };
            if name == "?" {
                question += 1;
            }
            let number = match bare(name) {
                "" => question,
                other => match other.parse() {
                    Ok(number) => number,
                    Err(_) => continue,
                },
            };
            let own = *numbers.entry(number).or_insert_with(|| {
                positional.extend(parameters.positional.get(number.wrapping_sub(1)).cloned());
                positional.len()
            });
            text.replace(token, &format!("${own}"));
        }
        let named = parameters
            .named
            .iter()
            .filter(|(name, _)| used.contains(*name));
        let named = named.map(|(name, value)| (name.clone(), value.clone()));
        let parameters = Parameters {
            positional,
            named: named.collect(),
        };
        self.stored_text = Some((text.whole(), parameters));
        self
    }

    /// Its text, if it is to be kept.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.stored_text.as_ref().map(|(text, _)| text.as_str())
    }

    /// The names that it reads in FROM, as they are among those that are known.
    #[must_use]
    pub fn reads(&self, known: &[String]) -> BTreeSet<String> {
        let named = find::tables(&self.statement);
        let is_named = |name: &&String| {
            let folded = name.to_lowercase();
            named.iter().any(|one| one.to_lowercase() == folded)
        };
        known.iter().filter(is_named).cloned().collect()
    }
}

/// `SELECT expr AS name`.
pub(crate) fn constant(expr: Expr, name: &str) -> Result<Query> {
    select(vec![(expr, name.to_owned())], Vec::new(), None)
}

/// `SELECT items FROM from WHERE condition`.
pub(crate) fn selected(
    items: Vec<(Expr, String)>,
    from: TableWithJoins,
    condition: Option<Expr>,
) -> Result<Query> {
    select(items, vec![from], condition)
}

/// `SELECT items FROM table`.
pub(crate) fn shown(items: Vec<SelectItem>, table: ObjectName) -> Result<Query> {
    let (mut query, select) = framed(&format!("SELECT 1 FROM {table}"))?;
    query.body = Box::new(SetExpr::Select(Box::new(AstSelect {
        projection: items,
        ..select
    })));
    Ok(query)
}

/// A query of a text that is one SELECT, and that.
fn framed(text: &str) -> Result<(Query, AstSelect)> {
    let broken = || Error::Sql {
        problem: SqlProblem::Query,
        message: "a query of the rows of a table is not SQL".to_owned(),
        position: None,
    };
    let frame = Parser::parse_sql(&GenericDialect {}, text).map_err(|_| broken())?;
    let Some(Statement::Query(query)) = frame.into_iter().next() else {
        return Err(broken());
    };
    match &*query.body {
        SetExpr::Select(select) => Ok(((*query).clone(), (**select).clone())),
        _ => Err(broken()),
    }
}

fn select(
    items: Vec<(Expr, String)>,
    from: Vec<TableWithJoins>,
    condition: Option<Expr>,
) -> Result<Query> {
    let (mut query, mut select) = framed("SELECT 1")?;
    let item = |(expr, name): (Expr, String)| SelectItem::ExprWithAlias {
        expr,
        alias: Ident::with_quote('"', name),
    };
    select.projection = items.into_iter().map(item).collect();
    select.from = from;
    select.selection = condition;
    query.body = Box::new(SetExpr::Select(Box::new(select)));
    Ok(query)
}

/// A part of a script, of which tokens are written otherwise.
struct Slice<'s> {
    script: &'s str,
    made: String,
    /// Position up to which it is made, and its end.
    at: usize,
    end: usize,
}

impl<'s> Slice<'s> {
    fn of(script: &'s str, tokens: &[TokenWithSpan]) -> Self {
        let place = |at: Option<Location>| at.map_or(script.len(), |at| offset(script, at));
        Self {
            script,
            made: String::new(),
            at: place(tokens.first().map(|token| token.span.start)),
            end: place(tokens.last().map(|token| token.span.end)),
        }
    }

    fn replace(&mut self, token: &TokenWithSpan, by: &str) {
        let start = offset(self.script, token.span.start);
        self.made
            .push_str(self.script.get(self.at..start).unwrap_or_default());
        self.made.push_str(by);
        self.at = offset(self.script, token.span.end);
    }

    fn whole(mut self) -> String {
        self.made
            .push_str(self.script.get(self.at..self.end).unwrap_or_default());
        self.made
    }
}

/// The byte of a text at which a place is.
pub(crate) fn offset(text: &str, at: Location) -> usize {
    text.len() - after(text, at).len()
}
