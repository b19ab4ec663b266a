//! Choice of the engine for a view: all plan the query, and the cheapest is taken, or the one named
//! by the user.
//!
//! Invariant: the choice depends on the query, the engines and the sizes at the creation of a view. Engines are
//! compared by the worst-case cost of a change, then by the memory, then by their order in the list. A plan with a
//! crossover is compared only if each table that changes has that many rows, for a small one changes seldom; an empty
//! table has no size to compare. A query that gives thresholds of heavy values is refused by the engines without them.
//! The description lists the other engines, with what each would have cost or why it could not. Cost: one plan an
//! engine; costs are compared only where several could.

use std::sync::Arc;

use ringview_core::{Error, Result};
use ringview_epsilon::HeavyLight;
use ringview_explain::Other;
use ringview_query::Bound;
use ringview_rows::RowBlocks;
use ringview_rpai::AggregateIndexes;
use ringview_view::{Candidate, Engine, Refusal};
use ringview_viewtree::ViewTrees;

use crate::plan::{ChoiceDescription, EngineChoice};

/// Answer of an engine to a query.
type Said<'e> = (
    &'e dyn Engine,
    std::result::Result<Box<dyn Candidate>, Refusal>,
);

/// The engines of a database that was not given others, the first among equals first.
#[must_use]
pub fn engines() -> Vec<Arc<dyn Engine>> {
    vec![
        Arc::new(ViewTrees::default()),
        Arc::new(HeavyLight::default()),
        Arc::new(AggregateIndexes),
        Arc::new(RowBlocks),
    ]
}

/// The engine of a name.
pub(crate) fn engine_of<'e>(engines: &'e [Arc<dyn Engine>], name: &str) -> Option<&'e dyn Engine> {
    let mut all = engines.iter().map(|engine| &**engine);
    all.find(|engine| engine.name() == name)
}

/// Selection of the engine for a view.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    /// The cheapest, or the one of a name.
    Choice(Option<&'a str>),
    /// One that nobody else is compared with.
    This(&'a Arc<dyn Engine>),
}

impl By<'_> {
    /// Whether nobody was named.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, By::Choice(None))
    }

    pub(crate) fn choose(self, engines: &[Arc<dyn Engine>], query: &Bound) -> Result<EngineChoice> {
        match self {
            By::Choice(by_hand) => choose(engines, query, by_hand),
            By::This(engine) => choose(std::slice::from_ref(engine), query, None),
        }
    }
}

/// Chooses among engines; `by_hand` names the one that is to be taken.
///
/// # Errors
/// `Value` for an unknown name. The refusal of the engine named by the user; or, if no engine can keep the query, of
/// the one for its kind: the first, the last for a query with subqueries.
pub(crate) fn choose(
    engines: &[Arc<dyn Engine>],
    query: &Bound,
    by_hand: Option<&str>,
) -> Result<EngineChoice> {
    if let Some(name) = by_hand.filter(|name| engines.iter().all(|one| one.name() != *name)) {
        return Err(unknown(engines, name));
    }
    let mut said: Vec<Said<'_>> = engines
        .iter()
        .map(|one| (&**one, one.plan(query)))
        .collect();
    let changing = query.atoms.iter().filter(|atom| !atom.is_static);
    let rows = changing.filter_map(|atom| atom.rows).min();
    let (taken, asked) = match by_hand {
        Some(name) => {
            let taken = said.iter().position(|(engine, _)| engine.name() == name);
            (taken, Some("asked for by name".to_owned()))
        }
        None if !query.epsilons.is_empty() => {
            let taken = said.iter().position(|(_, answer)| answer.is_ok());
            (taken, Some("asked for by its epsilon".to_owned()))
        }
        None => (cheapest(&said, rows), None),
    };
    let (engine, answer) = said.remove(taken.unwrap_or_else(|| concerned(&said, query)));
    let candidate = answer.map_err(Refusal::error)?;
    let description = ChoiceDescription {
        why: asked.or_else(|| by_size(&*candidate, rows)),
        others: said
            .into_iter()
            .filter_map(|said| other(said, rows))
            .collect(),
    };
    Ok(EngineChoice::new(engine.name(), candidate, description))
}

/// Why an engine was taken that is not for tables of every size.
fn by_size(candidate: &dyn Candidate, rows: Option<u64>) -> Option<String> {
    let from = candidate.crossover().filter(|&from| from > 0)?;
    Some(format!(
        "the smallest table that changes has {} rows, and from {from} on it pays that a change \
         costs {} at the worst",
        rows?,
        candidate.change()
    ))
}

/// The place of the engine whose reason is given where none can.
fn concerned(said: &[Said<'_>], query: &Bound) -> usize {
    let is_loud = |(_, answer): &Said<'_>| answer.as_ref().is_err_and(|why| !why.is_silent());
    let nested = query.is_nested().then(|| said.iter().rposition(is_loud));
    nested
        .unwrap_or_else(|| said.iter().position(is_loud))
        .unwrap_or(0)
}

/// The place of the engine that can and costs the least, among those that pay at this size.
fn cheapest(said: &[Said<'_>], rows: Option<u64>) -> Option<usize> {
    let able = said.iter().enumerate();
    let able = able.filter_map(|(at, (_, answer))| Some((at, answer.as_ref().ok()?)));
    let pays = |candidate: &dyn Candidate| {
        candidate
            .crossover()
            .is_some_and(|from| from <= rows.unwrap_or(0))
    };
    let able = able.filter(|(_, candidate)| pays(&***candidate));
    let able: Vec<(usize, &Box<dyn Candidate>)> = able.collect();
    if let [(only, _)] = able[..] {
        return Some(only);
    }
    let costs = able
        .iter()
        .map(|(at, one)| (*at, one.change(), one.space()));
    let best = costs.min_by(|(_, change, space), (_, other, more)| {
        let by_change = change.compare(other);
        by_change.then_with(|| space.total_cmp(more))
    });
    best.map(|(at, ..)| at)
}

/// The description of an engine that was not taken, unless the query is none of its sort.
fn other((engine, answer): Said<'_>, rows: Option<u64>) -> Option<Other> {
    let (cost, because) = match answer {
        Ok(candidate) => {
            let because = candidate.explanation().engine.because;
            let because = match candidate.crossover() {
                None => format!("taken by name alone; {because}"),
                Some(from) if from > rows.unwrap_or(0) => {
                    format!("taken by name, or from {from} rows on; {because}")
                }
                Some(_) => because,
            };
            (Some(candidate.change().to_string()), because)
        }
        Err(refusal) if refusal.is_silent() => return None,
        Err(refusal) => (None, refusal.to_string()),
    };
    Some(Other {
        name: engine.name().to_owned(),
        cost,
        because,
    })
}

fn unknown(engines: &[Arc<dyn Engine>], name: &str) -> Error {
    let known: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
    Error::Value {
        place: format!("the engine {name:?}"),
        problem: format!(
            "there is none of this name; known engines: {}; without a name the cheapest is taken",
            known.join(", ")
        ),
    }
}
