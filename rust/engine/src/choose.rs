//! Which engine keeps a view: all are asked, the cheapest is taken, or the one that was asked for.
//!
//! Invariant: the choice is that of the query and the engines alone: by what a change costs, then by what is
//! kept, then by their order in the list; an engine that is taken by its name alone is not compared. A query that
//! gives thresholds of heavy values names an engine that has them, and the others refuse it. Whoever
//! was not taken is told of, with what it would have cost or why it could not. Cost: one plan an engine; costs are compared only where several could.

use std::sync::Arc;

use ringview_core::{Error, Result};
use ringview_epsilon::HeavyLight;
use ringview_explain::{Explanation, Other};
use ringview_query::Bound;
use ringview_rpai::AggregateIndexes;
use ringview_view::{Candidate, Engine, Refusal};
use ringview_viewtree::ViewTrees;

/// What an engine says to a query.
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
    ]
}

/// Who keeps a view, and what is told of the others.
pub(crate) struct Chosen {
    pub(crate) candidate: Box<dyn Candidate>,
    pub(crate) told: Told,
}

impl Chosen {
    /// How the view would be kept, and who else could.
    pub(crate) fn explanation(&self) -> Explanation {
        self.told.with(self.candidate.explanation())
    }
}

/// What is told of a choice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// How the engine was asked for, if it was.
    by_hand: Option<&'static str>,
    others: Vec<Other>,
}

impl Told {
    /// What an engine says of a view, with that.
    pub(crate) fn with(&self, mut explanation: Explanation) -> Explanation {
        if let Some(how) = self.by_hand {
            let because = &explanation.engine.because;
            explanation.engine.because = format!("asked for by {how}; {because}");
        }
        explanation.others.clone_from(&self.others);
        explanation
    }
}

/// Who is to keep a view.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    /// The cheapest, or the one of a name.
    Choice(Option<&'a str>),
    /// One that nobody else is compared with.
    This(&'a Arc<dyn Engine>),
}

impl By<'_> {
    pub(crate) fn choose(self, engines: &[Arc<dyn Engine>], query: &Bound) -> Result<Chosen> {
        match self {
            By::Choice(by_hand) => choose(engines, query, by_hand),
            By::This(engine) => choose(std::slice::from_ref(engine), query, None),
        }
    }
}

/// Chooses among engines; `by_hand` names the one that is to be taken.
///
/// # Errors
/// `Value` for a name that none has; what the engine says that was asked for, or the first one if none
/// can.
pub(crate) fn choose(
    engines: &[Arc<dyn Engine>],
    query: &Bound,
    by_hand: Option<&str>,
) -> Result<Chosen> {
    if let Some(name) = by_hand.filter(|name| engines.iter().all(|one| one.name() != *name)) {
        return Err(unknown(engines, name));
    }
    let mut said: Vec<Said<'_>> = engines.iter().map(|engine| ask(&**engine, query)).collect();
    let thresholds = !query.epsilons.is_empty();
    let (taken, how) = match by_hand {
        Some(name) => {
            let taken = said.iter().position(|(engine, _)| engine.name() == name);
            (taken, Some("name"))
        }
        None if thresholds => {
            let taken = said.iter().position(|(engine, _)| engine.has_thresholds());
            (taken, Some("its epsilon"))
        }
        None => (cheapest(&said), None),
    };
    let (_, answer) = said.remove(taken.unwrap_or(0));
    let candidate = answer.map_err(Refusal::error)?;
    Ok(Chosen {
        candidate,
        told: Told {
            by_hand: how,
            // Who must be asked for by name says nothing to what it could not keep.
            others: said
                .into_iter()
                .filter(|(engine, answer)| {
                    answer.is_ok() || (!engine.is_by_name() && engine.concerns(query))
                })
                .map(other)
                .collect(),
        },
    })
}

fn ask<'e>(engine: &'e dyn Engine, query: &Bound) -> Said<'e> {
    if query.epsilons.is_empty() || engine.has_thresholds() {
        return (engine, engine.plan(query));
    }
    let refusal = Error::Value {
        place: "epsilon".to_owned(),
        problem: format!(
            "the engine {:?} has no heavy and light values that it could tell apart; leave epsilon \
             out, or the engine",
            engine.name()
        ),
    };
    (engine, Err(Refusal::from(refusal)))
}

/// The place of the engine that can and costs the least.
fn cheapest(said: &[Said<'_>]) -> Option<usize> {
    let able = said.iter().enumerate();
    let able = able.filter(|(_, (engine, _))| !engine.is_by_name());
    let able = able.filter_map(|(at, (_, answer))| Some((at, answer.as_ref().ok()?)));
    let able: Vec<(usize, &Box<dyn Candidate>)> = able.collect();
    match able[..] {
        [] => None,
        [(only, _)] => Some(only),
        _ => {
            let costs = able
                .iter()
                .map(|(at, one)| (*at, one.change(), one.space()));
            let best = costs.min_by(|(_, change, space), (_, other, more)| {
                let by_change = change.compare(other);
                by_change.then_with(|| space.total_cmp(more))
            });
            best.map(|(at, ..)| at)
        }
    }
}

fn other((engine, answer): Said<'_>) -> Other {
    let (cost, because) = match answer {
        Ok(candidate) => (
            Some(candidate.change().to_string()),
            candidate.explanation().engine.because,
        ),
        Err(refusal) => (None, refusal.to_string()),
    };
    Other {
        name: engine.name().to_owned(),
        cost,
        because,
    }
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
