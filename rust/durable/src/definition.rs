//! Definitions of views, and their re-creation.
//!
//! Invariant: names differ; a sample that is created is restored from its state, if one is given. A file keeps texts,
//! and an [`Opening`](crate::Opening) has the function that binds a text. Cost: O(views) a definition; to create them,
//! what filling them costs, and a plan more for each that has to wait for another.

use std::collections::{BTreeMap, BTreeSet};

use ringview_core::{Error, Result};
use ringview_engine::{Database, NewView, Poll};
use ringview_query::Query;
use serde::{Deserialize, Serialize};

use crate::unread::{damaged, unbound};

/// Everything that a view was created with.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewDefinition {
    /// Its name.
    pub name: String,
    /// Its query.
    pub query: Query,
    /// Its text, as it was written.
    pub text: Option<String>,
    /// The environment of the text, as the binder wrote it: the file then stores the text and this,
    /// not the query.
    pub environment: Option<String>,
    /// The name of the engine that is to keep it; the cheapest where absent.
    pub engine: Option<String>,
    /// Of a sample, how many rows it has, and from which seed.
    pub sample: Option<SampleOf>,
    /// Whether a change that it cannot take suspends it, and is not refused.
    pub suspends: bool,
}

/// Binds a text, in its stored environment, to its query.
pub type Bind<'b> = &'b (dyn Fn(&str, &str) -> Result<Query> + Sync);

/// A view as a file has it: its text with what is beside it, or, in files of layout 4 and of views that have no text, its
/// query.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stored {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<Query>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "beside")]
    environment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sample: Option<SampleOf>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    suspends: bool,
}

impl Stored {
    /// The view, its text bound.
    pub(crate) fn read(&self, bind: Bind<'_>) -> Result<ViewDefinition> {
        let query = match (&self.query, &self.text, &self.environment) {
            (Some(query), _, None) => query.clone(),
            (None, Some(text), Some(environment)) => {
                bind(text, environment).map_err(|problem| match problem {
                    Error::Interrupted | Error::Function { .. } => problem,
                    problem => unbound(&self.name, &problem),
                })?
            }
            _ => return Err(damaged(&format!("view {:?} has no definition", self.name))),
        };
        Ok(ViewDefinition {
            name: self.name.clone(),
            query,
            text: self.text.clone(),
            environment: self.environment.clone(),
            engine: self.engine.clone(),
            sample: self.sample,
            suspends: self.suspends,
        })
    }
}

impl From<&ViewDefinition> for Stored {
    fn from(view: &ViewDefinition) -> Self {
        let is_bound = view.text.is_some() && view.environment.is_some();
        Self {
            name: view.name.clone(),
            query: (!is_bound).then(|| view.query.clone()),
            text: view.text.clone(),
            environment: view.environment.clone().filter(|_| is_bound),
            engine: view.engine.clone(),
            sample: view.sample,
            suspends: view.suspends,
        }
    }
}

/// Parameters of a view that is a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleOf {
    /// Number of its rows, if the join has as many.
    pub k: u64,
    /// Seed of its draws.
    pub seed: u64,
}

impl ViewDefinition {
    /// Creates the view.
    pub(crate) fn create(&self, database: &mut Database, poll: Poll<'_>) -> Result<()> {
        match self.sample {
            Some(SampleOf { k, seed }) => {
                database.create_sample(&self.name, &self.query, (k, seed), poll)?;
            }
            None => {
                database.create_view_with(&self.name, &self.query, self.engine.as_deref(), poll)?;
            }
        }
        self.mark(database)
    }

    /// Refuses a view that may be suspended where none can be.
    pub(crate) fn check(&self, database: &Database) -> Result<()> {
        match self.suspends {
            true => database.check_suspendable(&self.name),
            false => Ok(()),
        }
    }

    /// Leaves the text that it was written as, and whether it may be suspended.
    pub(crate) fn mark(&self, database: &mut Database) -> Result<()> {
        if let Some(text) = &self.text {
            database.set_view_text(&self.name, text)?;
        }
        database.set_suspends(&self.name, self.suspends)
    }

    /// Creates the view; as one that is suspended, where that may be and the rows that are there make it fail.
    fn create_or_suspend(&self, database: &mut Database, poll: Poll<'_>) -> Result<()> {
        match self.create(database, poll) {
            Err(why) if self.suspends && may_suspend(&why) => {
                database.create_suspended(&self.name, &self.query, self.engine.as_deref(), &why)?;
                self.mark(database)
            }
            done => done,
        }
    }
}

/// The definitions of all views there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    views: Vec<ViewDefinition>,
    /// Of samples that are not there yet, by name.
    states: BTreeMap<String, Vec<u8>>,
}

impl Definitions {
    /// Adds a view, or puts it in the place of that of its name.
    pub(crate) fn put(&mut self, definition: ViewDefinition) {
        match self
            .views
            .iter_mut()
            .find(|view| view.name == definition.name)
        {
            Some(old) => *old = definition,
            None => self.views.push(definition),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.views.retain(|view| view.name != name);
    }

    /// Restores a sample from a state, now or as soon as it is created.
    pub(crate) fn resume(
        &mut self,
        name: &str,
        state: Vec<u8>,
        database: &mut Database,
    ) -> Result<()> {
        if database.view_id(name).is_err() {
            self.states.insert(name.to_owned(), state);
            return Ok(());
        }
        match database.resume_sample(name, &state) {
            // Changes that other views read of it cannot be undone: the newly drawn sample stays.
            Err(Error::Unsupported { .. }) => Ok(()),
            done => done,
        }
    }

    /// Whether states of samples wait for their views.
    pub(crate) fn has_states(&self) -> bool {
        !self.states.is_empty()
    }

    /// The names of all samples.
    pub(crate) fn samples(&self) -> impl Iterator<Item = &str> {
        let samples = self.views.iter().filter(|view| view.sample.is_some());
        samples.map(|view| &*view.name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ViewDefinition> {
        self.views.iter()
    }

    /// Creates all views that do not exist, each behind those that it reads: one that replaced another may read later
    /// ones. A view that may be suspended is suspended where its rows still make it fail. Views are created together where
    /// possible, since they may share nodes.
    pub(crate) fn create(&mut self, database: &mut Database, poll: Poll<'_>) -> Result<()> {
        let missing = |view: &&ViewDefinition| database.view_id(&view.name).is_err();
        let all = self.views.clone();
        let mut rest: Vec<&ViewDefinition> = all.iter().filter(missing).collect();
        while !rest.is_empty() {
            let mut open: BTreeSet<&str> = rest.iter().map(|view| &*view.name).collect();
            let (mut together, mut later): (Vec<&ViewDefinition>, _) = (Vec::new(), Vec::new());
            for &view in &rest {
                let reads = view.query.reads();
                let is_early = |name: &&str| open.contains(name) && **name != *view.name;
                if reads.iter().any(is_early) {
                    later.push(view);
                    continue;
                }
                let reads_one = |other: &&ViewDefinition| reads.contains(&*other.name);
                if view.sample.is_some() || together.iter().any(reads_one) {
                    create_all(&std::mem::take(&mut together), database, poll)?;
                }
                open.remove(&*view.name);
                match view.sample {
                    Some(_) => view.create(database, poll)?,
                    None => together.push(view),
                }
                if let Some(state) = self.states.remove(&view.name) {
                    database.resume_sample(&view.name, &state)?;
                }
            }
            create_all(&together, database, poll)?;
            if later.len() == rest.len() {
                return Err(damaged("its views read each other in a circle"));
            }
            rest = later;
        }
        Ok(())
    }
}

/// Whether a view that fails so is suspended: for the values of rows, or as it reads one that is suspended.
fn may_suspend(why: &Error) -> bool {
    why.is_of_values() || matches!(why, Error::Suspended { .. })
}

/// Creates views of which none reads another, one by one where one of them may be suspended and fails.
fn create_all(views: &[&ViewDefinition], database: &mut Database, poll: Poll<'_>) -> Result<()> {
    match create_together(views, database, poll) {
        Err(why) if may_suspend(&why) && views.iter().any(|view| view.suspends) => views
            .iter()
            .try_for_each(|view| view.create_or_suspend(database, poll)),
        done => done,
    }
}

/// Creates views of which none reads another, all or none.
pub(crate) fn create_together(
    views: &[&ViewDefinition],
    database: &mut Database,
    poll: Poll<'_>,
) -> Result<()> {
    if views.is_empty() {
        return Ok(());
    }
    let new = views.iter().map(|view| NewView {
        name: &view.name,
        query: &view.query,
        engine: view.engine.as_deref(),
    });
    let new: Vec<NewView<'_>> = new.collect();
    database.create_views(&new, poll)?;
    views.iter().try_for_each(|view| view.mark(database))
}
