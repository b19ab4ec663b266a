//! A variable order that the user gives: names of columns, nested.
//!
//! Invariant: each name is a column of the query; that the order fits the query is checked when the view is made. Cost:
//! O(names * columns).

use ringview_core::{Error, Result};
use ringview_query::{Catalog, ColumnRef, OrderRef, Query};
use serde::{Deserialize, Serialize};

/// A variable by the name of one of its columns, `column` or `table.column`, and the variables below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Lines", into = "Lines")]
pub struct Named {
    /// The name.
    pub name: String,
    /// The variables directly below.
    pub below: Vec<Named>,
}

/// Written form of an order: each variable after the one above it, with its depth. An order may be deeper than the
/// recursion of its readers allows.
type Lines = Vec<(usize, String)>;

impl From<Named> for Lines {
    fn from(order: Named) -> Self {
        let mut lines = Vec::new();
        let mut waiting = vec![(0, order)];
        while let Some((depth, Named { name, below })) = waiting.pop() {
            lines.push((depth, name));
            waiting.extend(below.into_iter().rev().map(|one| (depth + 1, one)));
        }
        lines
    }
}

impl From<Lines> for Named {
    fn from(lines: Lines) -> Self {
        let mut open: Vec<Named> = Vec::new();
        for (depth, name) in lines {
            close(&mut open, depth.max(1));
            open.push(Named {
                name,
                below: Vec::new(),
            });
        }
        close(&mut open, 1);
        open.pop().unwrap_or_else(|| Named {
            name: String::new(),
            below: Vec::new(),
        })
    }
}

/// Puts each variable deeper than so many below the one above it.
fn close(open: &mut Vec<Named>, depth: usize) {
    while open.len() > depth {
        if let (Some(last), Some(above)) = (open.pop(), open.last_mut()) {
            above.below.push(last);
        }
    }
}

/// The order over the columns of a query.
///
/// # Errors
/// `Value` for what is no name, or means several columns; `UnknownColumn`.
pub(crate) fn resolve(
    order: &[Named],
    query: &Query,
    catalog: &dyn Catalog,
) -> Result<Vec<OrderRef>> {
    let one = |named: &Named| {
        Ok(OrderRef {
            variable: column(&named.name, query, catalog)?,
            children: resolve(&named.below, query, catalog)?,
        })
    };
    order.iter().map(one).collect()
}

fn column(name: &str, query: &Query, catalog: &dyn Catalog) -> Result<ColumnRef> {
    let (of, wanted) = split_name(name)?;
    let (mut found, mut known) = (Vec::new(), Vec::new());
    for (number, atom) in query.atoms.iter().enumerate() {
        if of.as_ref().is_some_and(|of| !of.means(&atom.alias)) {
            continue;
        }
        for field in catalog.table(&atom.table)?.schema.fields() {
            known.push(field.name.clone());
            if wanted.means(&field.name) {
                found.push(ColumnRef {
                    atom: number,
                    column: field.name.clone(),
                });
            }
        }
    }
    let Some(first) = found.first().cloned() else {
        return Err(Error::UnknownColumn {
            table: of.map(|of| of.text).unwrap_or_default(),
            column: wanted.text,
            known,
        });
    };
    let joins = |join: &&Vec<ColumnRef>| join.contains(&first);
    let equal = |other: &ColumnRef| {
        query
            .joins
            .iter()
            .filter(joins)
            .any(|join| join.contains(other))
    };
    if found[1..].iter().all(equal) {
        return Ok(first);
    }
    let all = found
        .iter()
        .map(|one| format!("{}.{}", query.atoms[one.atom].alias, one.column));
    Err(Error::Value {
        place: format!("order: {name:?}"),
        problem: format!(
            "is ambiguous; write one of {}",
            all.collect::<Vec<_>>().join(", ")
        ),
    })
}

/// A name as a text writes it.
struct Written {
    text: String,
    is_quoted: bool,
}

impl Written {
    fn means(&self, name: &str) -> bool {
        match self.is_quoted {
            true => self.text == name,
            false => self.text.eq_ignore_ascii_case(name),
        }
    }
}

/// A name, and that of the table in front of it.
fn split_name(name: &str) -> Result<(Option<Written>, Written)> {
    use datafusion_sql::sqlparser::{ast::Expr, parser::Parser};
    let parsed = Parser::new(&crate::dialect::DuckDb::default())
        .try_with_sql(name)
        .and_then(|mut parser| {
            let found = parser.parse_expr()?;
            parser.expect_token(&datafusion_sql::sqlparser::tokenizer::Token::EOF)?;
            Ok(found)
        });
    let written = |ident: &datafusion_sql::sqlparser::ast::Ident| Written {
        text: ident.value.clone(),
        is_quoted: ident.quote_style.is_some(),
    };
    match parsed {
        Ok(Expr::Identifier(ident)) => Ok((None, written(&ident))),
        Ok(Expr::CompoundIdentifier(idents)) if idents.len() == 2 => {
            Ok((Some(written(&idents[0])), written(&idents[1])))
        }
        _ => Err(Error::Value {
            place: format!("order: {name:?}"),
            problem: "is not a column; write column or table.column".to_owned(),
        }),
    }
}
