//! Which engine keeps a view: all are asked, the cheapest is taken, or the one that was asked for.
//!
//! Invariant: the choice is that of the query, the engines and the sizes that are known when a view is born: by
//! what a change costs at the worst, then by what is kept, then by their order in the list. An engine that pays
//! from some rows on is compared where each table that changes has them, for a small one changes seldom; an
//! empty one says nothing. A query that gives thresholds of heavy values names an engine that has them, and
//! the others refuse it. Whoever was not taken is told of, with what it would have cost or why it could not.
//! Cost: one plan an engine; costs are compared only where several could.

use std::sync::Arc;

use ringview_core::{Error, Result};
use ringview_epsilon::HeavyLight;
use ringview_explain::{Explanation, Other};
use ringview_query::Bound;
use ringview_rpai::AggregateIndexes;
use ringview_view::{Candidate, Cost, Engine, Refusal};
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
    /// Why this engine, where there was more to it than its cost.
    why: Option<String>,
    pub(crate) others: Vec<Other>,
}

impl Told {
    /// The view is kept as views over views, at this cost, and not by one that could keep it as it stands.
    pub(crate) fn instead_of(&mut self, standing: &dyn Candidate, cost: Cost) {
        let other = standing.change().to_string();
        let engine = standing.explanation().engine;
        self.why = Some(format!(
            "as views over views a change costs {cost} at the worst, as it stands {other}"
        ));
        self.others.push(Other {
            name: engine.name,
            cost: Some(other),
            because: engine.because,
        });
    }

    /// What an engine says of a view, with that.
    pub(crate) fn with(&self, mut explanation: Explanation) -> Explanation {
        if let Some(why) = &self.why {
            let because = &explanation.engine.because;
            explanation.engine.because = format!("{why}; {because}");
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
    /// Whether nobody was named.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, By::Choice(None))
    }

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
/// `Value` for a name that none has; what the engine says that was asked for, or if none can, the one whose sort of
/// query it is: the first, the last where there are queries within.
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
    let changing = query.atoms.iter().filter(|atom| !atom.is_static);
    let rows = changing.filter_map(|atom| atom.rows).min();
    let (taken, asked) = match by_hand {
        Some(name) => {
            let taken = said.iter().position(|(engine, _)| engine.name() == name);
            (taken, Some("asked for by name".to_owned()))
        }
        None if thresholds => {
            let taken = said.iter().position(|(engine, _)| engine.has_thresholds());
            (taken, Some("asked for by its epsilon".to_owned()))
        }
        None => (cheapest(&said, (query, rows)), None),
    };
    let (engine, answer) = said.remove(taken.unwrap_or_else(|| concerned(&said, query)));
    let candidate = answer.map_err(Refusal::error)?;
    let said = said.into_iter();
    let others = said.filter(|(engine, answer)| {
        engine.concerns(query) && (answer.is_ok() || engine.pays_from(query) == 0)
    });
    Ok(Chosen {
        told: Told {
            why: asked.or_else(|| by_size(engine, &*candidate, (query, rows))),
            others: others.map(|said| other(said, (query, rows))).collect(),
        },
        candidate,
    })
}

/// Why an engine was taken that is not for tables of every size.
fn by_size(
    engine: &dyn Engine,
    candidate: &dyn Candidate,
    (query, rows): (&Bound, Option<u64>),
) -> Option<String> {
    let from = engine.pays_from(query);
    let rows = rows.filter(|_| from > 0)?;
    Some(format!(
        "the smallest table that changes has {rows} rows, and from {from} on it pays that a change \
         costs {} at the worst",
        candidate.change()
    ))
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

/// The place of the engine whose reason is told where none can.
fn concerned(said: &[Said<'_>], query: &Bound) -> usize {
    if !query.is_nested() {
        return 0;
    }
    let concerned = |(engine, _): &Said<'_>| engine.concerns(query) && engine.pays_from(query) == 0;
    said.iter().rposition(concerned).unwrap_or(0)
}

/// The place of the engine that can and costs the least, among those that pay at this size.
fn cheapest(said: &[Said<'_>], (query, rows): (&Bound, Option<u64>)) -> Option<usize> {
    let able = said.iter().enumerate();
    let able = able.filter(|(_, (engine, _))| engine.pays_from(query) <= rows.unwrap_or(0));
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

fn other((engine, answer): Said<'_>, (query, rows): (&Bound, Option<u64>)) -> Other {
    let (cost, because) = match answer {
        Ok(candidate) => {
            let mut because = candidate.explanation().engine.because;
            let from = engine.pays_from(query);
            if from == u64::MAX {
                because = format!("taken by name alone; {because}");
            } else if from > rows.unwrap_or(0) {
                because = format!("taken by name, or from {from} rows on; {because}");
            }
            (Some(candidate.change().to_string()), because)
        }
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
