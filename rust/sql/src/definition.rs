//! A view as it was written: the text, its options, and the schemas of the tables that it names.
//!
//! Invariant: it means the same query wherever and whenever it is bound, for nothing but itself is looked up: a table
//! created or dropped later changes nothing. Cost: that of binding the text.

use std::sync::Arc;

use datafusion_sql::sqlparser::ast::Statement;
use ringview_core::{Error, Result, Schema, SqlProblem, guarded};
use ringview_expr::{Signature, UserFunction};
use ringview_query::{Catalog, Query, Rows, TableInfo};
use serde::{Deserialize, Serialize};

use crate::bound;
use crate::depth;
use crate::find;
use crate::grammar::parsed;
use crate::located::located;
use crate::options::Options;
use crate::statement::Select;

/// See the module.
///
/// ```
/// # use std::sync::Arc;
/// # use ringview_core::{Error, Field, Result, Schema, Type};
/// # use ringview_query::{Catalog, TableInfo};
/// use ringview_sql::{Definition, Options};
///
/// # struct Tables;
/// # impl Catalog for Tables {
/// #     fn table(&self, _: &str) -> Result<TableInfo> {
/// #         let schema = Schema::new(vec![Field::new("a", Type::Int64, true)])?;
/// #         Ok(TableInfo { schema: Arc::new(schema), is_static: false, cancels: false, rows: None, unique: None, cofactors: vec![] })
/// #     }
/// # }
/// let text = "SELECT SUM(a) AS a FROM r";
/// let known = ["q".to_owned(), "r".to_owned()];
/// let definition = Definition::new(text, Options::default(), &known, &Tables)?;
/// let query = definition.bind()?;
/// assert_eq!(query.atoms[0].table, "r");
/// // Written down and read again, it needs no tables.
/// assert_eq!(Definition::read(text, &definition.environment()?)?.bind()?, query);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Definition {
    text: String,
    environment: Environment,
    /// All names that were known when it was made, for messages.
    known: Vec<String>,
    /// Its text as it was parsed, with the script that it is of.
    parsed: Option<Parsed>,
}

/// See `Definition`; parameters are replaced by constants.
#[derive(Clone, Debug)]
struct Parsed {
    statement: Statement,
    script: Arc<str>,
}

/// The options, tables and functions that a text needs to be bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Environment {
    #[serde(default)]
    options: Options,
    tables: Vec<Table>,
    /// Functions of the user that the text calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    functions: Vec<Signature>,
}

/// A table or view that the text names.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: String,
    schema: Schema,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unique: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cofactors: Vec<String>,
}

impl Definition {
    /// A text over the tables and views of a catalog, of which `known` are the names.
    ///
    /// # Errors
    /// `Sql` for a text that is no SELECT; what the catalog returns.
    pub fn new(
        text: &str,
        options: Options,
        known: &[String],
        catalog: &dyn Catalog,
    ) -> Result<Self> {
        let statement = parsed(text, options.dialect, Some(&options.parameters))?;
        Self::over((text, &statement), options, known, catalog)
    }

    /// A query of a script, which says what is wrong with it by its place there.
    ///
    /// # Errors
    /// What the catalog returns.
    pub fn of_script(
        select: &Select,
        functions: Vec<Arc<UserFunction>>,
        known: &[String],
        catalog: &dyn Catalog,
    ) -> Result<Self> {
        let (text, parameters) = select.stored_text.clone().unwrap_or_default();
        let options = Options {
            dialect: select.dialect,
            parameters,
            functions,
            ..Options::default()
        };
        let mut definition = Self::over((&text, &select.statement), options, known, catalog)?;
        definition.parsed = Some(Parsed {
            statement: (*select.statement).clone(),
            script: Arc::clone(&select.script),
        });
        Ok(definition)
    }

    fn over(
        (text, statement): (&str, &Statement),
        mut options: Options,
        known: &[String],
        catalog: &dyn Catalog,
    ) -> Result<Self> {
        let named = find::tables(statement);
        let is_named = |name: &&String| named.iter().any(|one| alike(one, name));
        let mut names: Vec<&String> = known.iter().filter(is_named).collect();
        if names.is_empty() {
            // Constants are rows beside some table.
            names.extend(known.first());
        }
        let table = |name: &String| {
            let info = catalog.table(name)?;
            Ok(Table {
                name: name.clone(),
                schema: (*info.schema).clone(),
                unique: info.unique,
                cofactors: info.cofactors,
            })
        };
        let tables = names.into_iter().map(table).collect::<Result<_>>()?;
        let called = find::functions(statement);
        options.functions.retain(|function| {
            let mut called = called.iter();
            called.any(|name| function.signature().is_called(name))
        });
        let functions = options.functions.iter();
        let functions = functions.map(|function| function.signature().clone());
        Ok(Self {
            text: text.to_owned(),
            environment: Environment {
                functions: functions.collect(),
                options,
                tables,
            },
            known: known.to_vec(),
            parsed: None,
        })
    }

    /// One that was written down.
    ///
    /// # Errors
    /// `Value` for what [`environment`](Self::environment) did not give.
    pub fn read(text: &str, environment: &str) -> Result<Self> {
        let environment: Environment =
            serde_json::from_str(environment).map_err(|problem| unread(&problem))?;
        let known = environment.tables.iter().map(|table| table.name.clone());
        Ok(Self {
            text: text.to_owned(),
            known: known.collect(),
            environment,
            parsed: None,
        })
    }

    /// The functions of the user that the text calls.
    #[must_use]
    pub fn functions(&self) -> &[Signature] {
        &self.environment.functions
    }

    /// One that was written down, with the functions that it calls.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn with_functions(
        mut self,
        find: impl FnMut(&Signature) -> Result<Arc<UserFunction>>,
    ) -> Result<Self> {
        let found = self.environment.functions.iter().map(find);
        self.environment.options.functions = found.collect::<Result<_>>()?;
        Ok(self)
    }

    /// The query of a definition that was written down, and calls no function of the user.
    ///
    /// # Errors
    /// As [`read`](Self::read) and [`bind`](Self::bind).
    pub fn query(text: &str, environment: &str) -> Result<Query> {
        Self::read(text, environment)?.bind()
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The environment, as it is stored with the text.
    ///
    /// # Errors
    /// None in practice.
    pub fn environment(&self) -> Result<String> {
        serde_json::to_string(&self.environment).map_err(|problem| unread(&problem))
    }

    /// Its query.
    ///
    /// # Errors
    /// `Sql` for a text that names what does not exist, or that cannot be kept: with its place in the text.
    pub fn bind(&self) -> Result<Query> {
        let options = &self.environment.options;
        let (statement, text) = match &self.parsed {
            Some(Parsed { statement, script }) => (statement.clone(), &**script),
            None => {
                let found = parsed(&self.text, options.dialect, Some(&options.parameters))?;
                (found, &*self.text)
            }
        };
        let names: Vec<String> = self
            .environment
            .tables
            .iter()
            .map(|t| t.name.clone())
            .collect();
        let plan = || bound::query(statement.clone(), &names, (&self.known, self), options);
        let mut query = depth::planned(&self.text, || guarded(plan))
            .map_err(|error| located(error, text, &statement))?;
        options.apply(&mut query)?;
        query.check_blocks()?;
        Ok(query)
    }

    /// Result of `keep` for the query as written; if that is refused, for its form in blocks.
    ///
    /// # Errors
    /// As [`bind`](Self::bind), and the errors of `keep`; if neither form is kept, the refusal of the query as written.
    pub fn first_accepted<T>(
        mut self,
        mut keep: impl FnMut(&Self, &Query) -> Result<T>,
    ) -> Result<T> {
        self.environment.options.on_read = true;
        let standing = self.bind()?;
        self.environment.options.on_read = matches!(standing.rows, Some(Rows::Computed { .. }));
        let refusal = match keep(&self, &standing) {
            Err(refusal) if is_unsupported(&refusal) => refusal,
            done => return done,
        };
        self.environment.options.in_blocks = true;
        self.environment.options.on_read = false;
        match self.bind() {
            Ok(blocks) if blocks != standing => match keep(&self, &blocks) {
                done @ (Ok(_) | Err(Error::Interrupted)) => done,
                Err(_) => Err(refusal),
            },
            _ => Err(refusal),
        }
    }
}

impl Catalog for Definition {
    fn table(&self, name: &str) -> Result<TableInfo> {
        let table = self
            .environment
            .tables
            .iter()
            .find(|table| table.name == name);
        let table = table.ok_or_else(|| Error::UnknownTable {
            name: name.to_owned(),
            known: self.known.clone(),
        })?;
        Ok(TableInfo {
            schema: Arc::new(table.schema.clone()),
            is_static: false,
            cancels: false,
            rows: None,
            unique: table.unique.clone(),
            cofactors: table.cofactors.clone(),
        })
    }
}

fn alike(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn is_unsupported(error: &Error) -> bool {
    let unsupported = SqlProblem::Unsupported;
    matches!(error, Error::Unsupported { .. })
        || matches!(error, Error::Sql { problem, .. } if *problem == unsupported)
}

fn unread(problem: &serde_json::Error) -> Error {
    Error::Value {
        place: "a definition".to_owned(),
        problem: problem.to_string(),
    }
}
