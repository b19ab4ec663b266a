//! Names in a script, each with its place: of tables, views and columns.
//!
//! Invariant: a name is found as it is spelt, else without case, quoted or not, as names of queries are; an error about
//! one shows its place in the script. Cost: O(names that are known).

use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{Ident, ObjectName};
use ringview_core::{Error, Position, Result, SqlProblem};

use crate::near::did_you_mean;
use crate::source_text::{Text, position};

/// The schemas whose tables are those of the database.
const SCHEMAS: [&str; 2] = ["main", "public"];

/// A name in a script.
#[derive(Clone, Debug)]
pub struct Name {
    text: String,
    at: Option<Position>,
    script: Arc<str>,
}

impl Name {
    pub(crate) fn of(ident: &Ident, script: &Arc<str>) -> Self {
        Self {
            text: ident.value.clone(),
            at: position(ident.span.start),
            script: Arc::clone(script),
        }
    }

    /// The name of an object, without the schema in front.
    pub(crate) fn of_object(name: &ObjectName, script: &Arc<str>) -> Result<Self> {
        let parts: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
        let parts = parts.unwrap_or_default();
        match parts[..] {
            [one] => Ok(Self::of(one, script)),
            [schema, one] if SCHEMAS.contains(&schema.value.to_lowercase().as_str()) => {
                Ok(Self::of(one, script))
            }
            _ => {
                let at = parts.first().and_then(|ident| position(ident.span.start));
                let what =
                    format!("there is one schema, main; write the last part of \"{name}\" alone");
                Err(Text(script).refused(SqlProblem::Unsupported, at, &what))
            }
        }
    }

    /// As it is spelt.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The one of some names that it is: spelt so, else without case.
    pub fn among<'n>(&self, known: impl IntoIterator<Item = &'n str> + Clone) -> Option<&'n str> {
        let exact = known.clone().into_iter().find(|name| *name == self.text);
        let folded = self.text.to_lowercase();
        exact.or_else(|| known.into_iter().find(|name| name.to_lowercase() == folded))
    }

    /// The table that it names.
    ///
    /// # Errors
    /// `Sql` at its place where there is none.
    pub fn table(&self, tables: &[String]) -> Result<String> {
        self.found(false, tables)
    }

    /// The table or view that it names.
    ///
    /// # Errors
    /// `Sql` at its place where there is none; `UnknownView`.
    pub fn found(&self, is_view: bool, known: &[String]) -> Result<String> {
        let names = known.iter().map(String::as_str);
        if let Some(found) = self.among(names.clone()) {
            return Ok(found.to_owned());
        }
        if is_view {
            return Err(Error::UnknownView {
                name: self.text.clone(),
                known: known.to_vec(),
            });
        }
        let near = did_you_mean(&self.text, names);
        let known = match known {
            [] => "there are no tables yet".to_owned(),
            _ => format!("known: {}", known.join(", ")),
        };
        let what = format!("no table \"{}\"; {known}{near}", self.text);
        Err(self.refused(SqlProblem::UnknownTable, &what))
    }

    /// The place among the columns of a table of the one that it names.
    ///
    /// # Errors
    /// `Sql` at its place where there is none.
    pub fn column(&self, table: &str, columns: &[&str]) -> Result<usize> {
        let found = self.among(columns.iter().copied());
        if let Some(at) = found.and_then(|name| columns.iter().position(|one| *one == name)) {
            return Ok(at);
        }
        let what = format!(
            "no column \"{}\" in table \"{table}\"; known: {}{}",
            self.text,
            columns.join(", "),
            did_you_mean(&self.text, columns.iter().copied())
        );
        Err(self.refused(SqlProblem::UnknownColumn, &what))
    }

    /// An error about it.
    #[must_use]
    pub fn refused(&self, problem: SqlProblem, what: &str) -> Error {
        Text(&self.script).refused(problem, self.at, what)
    }
}
