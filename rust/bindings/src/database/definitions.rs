//! Views declared, and planned: each by its text and its options.
//!
//! Invariant: a view is kept in the form of its text if an engine keeps it so, else in the form of blocks. The steps of
//! a plan of Spark, which have no text, are declared by queries. Cost: that of binding the text, and the engine's.

use std::str::FromStr;

use pyo3::prelude::*;
use ringview_core::{Error, Result, SqlProblem};
use ringview_durable::{DurableDatabase as Engine, SampleOf, ViewDefinition};
use ringview_engine::Poll;
use ringview_explain::{Explanation, Format};
use ringview_expr::shown;
use ringview_query::Query;
use ringview_sql::{Definition, Options};

use super::Database;
use super::functions::trusted;
use crate::definition::Given;
use crate::ending::detach;
use crate::errors::OrRaise;
use crate::outgoing::Rows;
use crate::planned::empty_database;
use crate::watch::Progress;

#[pymethods]
impl Database {
    /// Declares a view, and fills it from the rows that are there; if `replace`, in the place of a view of this name.
    /// `engine` names the one that keeps it; if None, the cheapest. If `suspends`, a change that it cannot take suspends it.
    #[pyo3(signature = (name, definition, replace=false, engine=None, suspends=false))]
    fn create_view(
        &self,
        py: Python<'_>,
        name: &str,
        definition: Given<'_>,
        replace: bool,
        engine: Option<&str>,
        suspends: bool,
    ) -> PyResult<()> {
        let given = definition.read(py)?;
        self.change_views(py, |database, poll| {
            over(database, Some(name), self.callable_by(given))?.first_accepted(
                |definition, query| {
                    let view = view(name, definition, query, engine)?;
                    let view = ViewDefinition { suspends, ..view };
                    match replace {
                        true => database.replace_view(view, poll),
                        false => database.create_view(view, poll),
                    }
                },
            )
        })
    }

    /// Fills a suspended view again, with those that it reads and those above it; their names.
    fn resume_view(&self, py: Python<'_>, name: &str) -> PyResult<Vec<String>> {
        let mut resumed = Vec::new();
        self.change_views(py, |database, poll| {
            resumed = database.resume_view(name, poll)?;
            Ok(())
        })?;
        Ok(resumed)
    }

    /// The moment since which a view is suspended, in microseconds since 1970 in UTC, and why; None if it is not.
    fn suspension(&self, py: Python<'_>, name: &str) -> PyResult<Option<(i64, String)>> {
        let engine = self.engine(py)?;
        let found = engine.value.suspension(name).or_raise(py)?;
        Ok(found.map(|(since, why)| (since, why.to_owned())))
    }

    /// Declares several views, all or none, and fills them together: each by its name and its definition. One may read
    /// those before it; what it reads is filled before it then.
    #[pyo3(signature = (views, engine=None))]
    fn create_views(
        &self,
        py: Python<'_>,
        views: Vec<(String, Given<'_>)>,
        engine: Option<&str>,
    ) -> PyResult<()> {
        let read = |(name, definition): (String, Given<'_>)| Ok((name, definition.read(py)?));
        let views = views.into_iter().map(read).collect::<PyResult<Vec<_>>>()?;
        self.change_views(py, |database, poll| {
            let mut made = Vec::new();
            let views = views.into_iter();
            let views = views.map(|(name, given)| (name, self.callable_by(given)));
            let done = create_in_turn(database, views.collect(), engine, &mut made, poll);
            if done.is_err() {
                for name in made.iter().rev() {
                    database.drop_view(name)?;
                }
            }
            done
        })
    }

    /// Declares a view by a query in JSON, without a text.
    fn create_view_of(&self, py: Python<'_>, name: &str, query_json: &str) -> PyResult<()> {
        let view = of_query(name, query_json, None).or_raise(py)?;
        self.change_views(py, |database, poll| database.create_view(view, poll))
    }

    /// Declares a sample of k rows of a join.
    fn create_sample(
        &self,
        py: Python<'_>,
        name: &str,
        definition: Given<'_>,
        k: u64,
        seed: u64,
    ) -> PyResult<()> {
        let given = definition.read(py)?;
        self.change_views(py, |database, poll| {
            let definition = over(database, None, self.callable_by(given))?;
            let query = definition.bind()?;
            query.check_joins("a sample")?;
            let sample = Some(SampleOf { k, seed });
            let view = view(name, &definition, &query, None)?;
            database.create_view(ViewDefinition { sample, ..view }, poll)
        })
    }

    /// Declares a sample of k rows of a join by a query in JSON, without a text.
    fn create_sample_of(
        &self,
        py: Python<'_>,
        name: &str,
        query_json: &str,
        k: u64,
        seed: u64,
    ) -> PyResult<()> {
        let sample = Some(SampleOf { k, seed });
        let view = of_query(name, query_json, sample).or_raise(py)?;
        self.change_views(py, |database, poll| database.create_view(view, poll))
    }

    /// Plan of a view that is not created, in a form of `Explanation`. `engine` names the one that is to keep it; if
    /// None, the cheapest.
    #[pyo3(signature = (definition, format, engine=None))]
    fn plan(
        &self,
        py: Python<'_>,
        definition: Given<'_>,
        format: &str,
        engine: Option<&str>,
    ) -> PyResult<String> {
        let given = definition.read(py)?;
        let format = Format::from_str(format).or_raise(py)?;
        let held = self.engine(py)?;
        let database = &*held.value;
        let explained = || {
            over(database, None, self.callable_by(given))?.first_accepted(|definition, query| {
                let explained = Explanation {
                    trusted: trusted(definition.functions()),
                    ..database.explanation_with(query, engine)?
                };
                explained.render(format).map(|text| shown(&text))
            })
        };
        detach(py, explained).or_raise(py)
    }

    /// The rows of a query over the tables and views as they are now.
    fn evaluate(&self, py: Python<'_>, definition: Given<'_>) -> PyResult<Rows> {
        let given = definition.read(py)?;
        let mut held = self.engine(py)?;
        let database = &mut *held.value;
        let mut watch = Progress::new(None, 0);
        let mut poll = |done| watch.poll(done);
        let found = detach(py, || {
            let (text, options) = self.callable_by(given);
            let mut empty;
            let database = match database.tables().is_empty() {
                true => {
                    empty = empty_database()?;
                    &mut empty
                }
                false => database,
            };
            if !database.views().is_empty() {
                let standing = over(database, None, (text.clone(), options.clone()))?;
                let read = |_: &_, query: &_| database.readers().maintained(query, &mut poll);
                match standing.first_accepted(read) {
                    Ok(Some(found)) => return Ok(found),
                    Err(stop @ (Error::Interrupted | Error::Memory { .. })) => return Err(stop),
                    // Another form may be answered.
                    Ok(None) | Err(_) => {}
                }
            }
            let once = Options {
                once: true,
                ..options
            };
            let standing = over(database, None, (text, once))?;
            standing.first_accepted(|_, query| database.readers().compute(query, &mut poll))
        });
        Ok(Rows::new(watch.finish(py, found)?))
    }
}

impl Database {
    /// A text that may call the functions which there are.
    fn callable_by(&self, (text, options): (String, Options)) -> (String, Options) {
        let functions = self.callable();
        (
            text,
            Options {
                functions,
                ..options
            },
        )
    }
}

/// A text over the tables and views that there are, but the view `own`.
fn over(
    database: &Engine,
    own: Option<&str>,
    (text, options): (String, Options),
) -> Result<Definition> {
    let names = database.tables().into_iter();
    let views = database.views().into_iter();
    let names = names.chain(views.filter(|name| own != Some(name)));
    let known: Vec<String> = names.collect();
    Definition::new(&text, options, &known, &database.catalog())
}

fn view(
    name: &str,
    definition: &Definition,
    query: &Query,
    engine: Option<&str>,
) -> Result<ViewDefinition> {
    Ok(ViewDefinition {
        name: name.to_owned(),
        query: query.clone(),
        text: Some(definition.text().to_owned()),
        environment: Some(definition.environment()?),
        engine: engine.map(str::to_owned),
        sample: None,
        suspends: false,
    })
}

fn of_query(name: &str, query_json: &str, sample: Option<SampleOf>) -> Result<ViewDefinition> {
    Ok(ViewDefinition {
        name: name.to_owned(),
        query: Query::from_json(query_json)?,
        text: None,
        environment: None,
        engine: None,
        sample,
        suspends: false,
    })
}

/// Creates views one behind the other, as many at a time as can be; `made` has the names of those that are there.
fn create_in_turn(
    database: &mut Engine,
    views: Vec<(String, (String, Options))>,
    engine: Option<&str>,
    made: &mut Vec<String>,
    poll: Poll<'_>,
) -> Result<()> {
    let mut together = Vec::new();
    let mut create = |database: &mut Engine, views: Vec<ViewDefinition>| {
        let names: Vec<String> = views.iter().map(|view| view.name.clone()).collect();
        database.create_views(views, poll)?;
        made.extend(names);
        Ok(())
    };
    for (name, given) in views {
        let planned = match planned(database, &name, given.clone(), engine) {
            // It may read one of those before it.
            Err(problem) if is_unknown(&problem) && !together.is_empty() => {
                create(database, std::mem::take(&mut together))?;
                planned(database, &name, given, engine)
            }
            planned => planned,
        };
        together.push(planned?);
    }
    create(database, together)
}

/// A view in the form in which it is kept.
fn planned(
    database: &Engine,
    name: &str,
    given: (String, Options),
    engine: Option<&str>,
) -> Result<ViewDefinition> {
    over(database, None, given)?.first_accepted(|definition, query| {
        database.explanation_with(query, engine)?;
        view(name, definition, query, engine)
    })
}

fn is_unknown(problem: &Error) -> bool {
    let unknown = SqlProblem::UnknownTable;
    matches!(problem, Error::UnknownTable { .. })
        || matches!(problem, Error::Sql { problem, .. } if *problem == unknown)
}
