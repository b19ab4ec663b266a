//! A view or block that is to be made: its query, what it reads, and the choice of its engine.
//!
//! Invariant: planning has read no rows. Cost: none beyond that of the plan.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ringview_explain::{Explanation, Other};
use ringview_query::{Bound, PlanAtom, Query, TableInfo};
use ringview_view::{Candidate, Cost};

/// Source of an atom: a table or a view, by its unique number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    Table(u64),
    View(u64),
}

/// One atom of a plan, and the table or view that it reads.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) source: Source,
    pub(crate) atom: PlanAtom,
}

/// The sources of some inputs, in their order.
pub(crate) fn sources(inputs: &[Input]) -> impl Iterator<Item = Source> {
    inputs.iter().map(|input| input.source)
}

/// Identity of a query among those over the same sources: the query without the names of its sources, and the engine
/// that keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    query: Box<Query>,
    pub(crate) engine: String,
}

/// A view or a block that is to be made.
pub(crate) struct Planned<'q> {
    /// The name of a block; none for the view itself.
    pub(crate) block: Option<Cow<'q, str>>,
    /// The number that it will have.
    pub(crate) id: u64,
    pub(crate) query: Cow<'q, Query>,
    /// The query as the user wrote it, where another one is kept.
    pub(crate) asked: Option<&'q Query>,
    pub(crate) choice: EngineChoice,
    /// Whether its state follows from what it reads alone, so that it may be that of several.
    pub(crate) is_shareable: bool,
    /// Its names and types.
    pub(crate) bound: Bound,
    /// Its atoms, those of subqueries too, with what they read: of the bound plan alone, so that an atom that planning
    /// leaves out is waited for by nobody.
    pub(crate) inputs: Vec<Input>,
    /// The names of its columns.
    pub(crate) columns: Vec<String>,
    /// Its properties as a source of other queries.
    pub(crate) info: TableInfo,
}

impl Planned<'_> {
    /// Its identity for sharing; none for a node that only one view may use.
    pub(crate) fn signature(&self) -> Option<Signature> {
        if !self.is_shareable {
            return None;
        }
        let mut query = Query::clone(&self.query);
        query.blocks.clear();
        for (at, atom) in query.atoms.iter_mut().enumerate() {
            // Its source says what it reads; an exponent of a threshold is given by the alias.
            atom.table.clear();
            if query.epsilon.is_none() {
                atom.alias = at.to_string();
            }
        }
        Some(Signature {
            query: Box::new(query),
            engine: self.choice.engine.clone(),
        })
    }

    /// The sources that it reads, by atom.
    pub(crate) fn sources(&self) -> Vec<Source> {
        sources(&self.inputs).collect()
    }

    /// Lets it read the nodes that others have, by the numbers that they were planned with.
    pub(crate) fn read_nodes(&mut self, nodes: &BTreeMap<u64, u64>) {
        for input in &mut self.inputs {
            if let Source::View(id) = &mut input.source
                && let Some(&node) = nodes.get(id)
            {
                *id = node;
            }
        }
    }

    /// Whether it can be answered from groups that others are answered from, too.
    pub(crate) fn is_facet(&self) -> bool {
        self.is_shareable && self.bound.is_sums() && self.choice.candidate().keeps_groups()
    }
}

/// The engine chosen for a view, and the description of the choice.
pub(crate) struct EngineChoice {
    /// The name of the engine.
    pub(crate) engine: String,
    /// The plan, until a node is made of it.
    candidate: Option<Box<dyn Candidate>>,
    pub(crate) description: ChoiceDescription,
}

impl EngineChoice {
    pub(crate) fn new(
        engine: &str,
        candidate: Box<dyn Candidate>,
        description: ChoiceDescription,
    ) -> Self {
        Self {
            engine: engine.to_owned(),
            candidate: Some(candidate),
            description,
        }
    }

    /// The plan of the engine.
    pub(crate) fn candidate(&self) -> &dyn Candidate {
        match &self.candidate {
            Some(candidate) => &**candidate,
            None => unreachable!("a plan is looked at before a node is made of it"),
        }
    }

    /// The plan of the engine, to make a node of it.
    pub(crate) fn take_candidate(&mut self) -> Box<dyn Candidate> {
        match self.candidate.take() {
            Some(candidate) => candidate,
            None => unreachable!("one node is made of a plan"),
        }
    }

    /// Explanation of the view, and of the other engines.
    pub(crate) fn explanation(&self) -> Explanation {
        self.description.with(self.candidate().explanation())
    }
}

/// Description of the choice of an engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChoiceDescription {
    /// Why this engine, where there was more to it than its cost.
    pub(crate) why: Option<String>,
    pub(crate) others: Vec<Other>,
}

impl ChoiceDescription {
    /// Adds: the view is kept as views over views, at this cost, and not by `standing`, which could keep the query as
    /// written.
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

    /// The explanation of an engine, with this description.
    pub(crate) fn with(&self, mut explanation: Explanation) -> Explanation {
        if let Some(why) = &self.why {
            let because = &explanation.engine.because;
            explanation.engine.because = format!("{why}; {because}");
        }
        explanation.others.clone_from(&self.others);
        explanation
    }
}
