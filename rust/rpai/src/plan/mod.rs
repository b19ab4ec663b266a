//! From a bound query to the plan of a machine: tables with filters, and blocks over them.
//!
//! Invariant: atoms that read the same rows of one table are one table of the machine, whose rows
//! are taken at one of them alone; equalities that join atoms are conditions there. Each term of
//! the query is an aggregate of the outermost block, so outputs, expressions and HAVING are read
//! from them as of any groups. Cost: small, and none that depends on data.

mod explanation;
mod tables;

use ringview_core::{Error, Result};
use ringview_query::{Bound, Companion};

use crate::machine::{Block, Comparison, Condition, Machine, Plan as Blocks, Value};
pub(crate) use tables::Source;
use tables::{Tables, column};

/// The plan of a query.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) query: Bound,
    pub(crate) sources: Vec<Source>,
    /// By the number of the atom.
    pub(crate) source_of: Vec<usize>,
    pub(crate) machine: Machine,
    /// The same, grouped by a column too whose values by group are shown.
    pub(crate) companions: Vec<Companion<Plan>>,
}

impl Plan {
    /// # Errors
    /// `Unsupported`, with the reason.
    pub(crate) fn new(query: &Bound) -> Result<Self> {
        check(query)?;
        let mut kept = Tables::new(query);
        let mut block = outermost(query);
        kept.assign_columns(&mut block);
        let Tables {
            sources, source_of, ..
        } = kept;
        let tables = sources.iter().map(Source::types).collect();
        let companions = query.companions.iter().cloned();
        let companions = companions.map(|one| one.map(|inner| Self::new(&inner)));
        Ok(Self {
            companions: companions.collect::<Result<_>>()?,
            query: query.clone(),
            machine: Machine::new(Blocks::new(tables, block)),
            sources,
            source_of,
        })
    }
}

/// The query itself as a block.
fn outermost(query: &Bound) -> Block {
    let mut all = Vec::new();
    for variable in &query.variables {
        let mut columns = variable.columns.iter();
        let Some(&(atom, first)) = columns.next() else {
            continue;
        };
        let first = Value::Column(column(0, atom, first));
        for &(atom, other) in columns {
            let other = Value::Column(column(0, atom, other));
            all.push(Condition::Compare(first.clone(), Comparison::Eq, other));
        }
    }
    all.extend(query.condition.clone());
    let aggregates = query.terms.iter().map(tables::term).collect();
    let relations = (0..query.atoms.len()).collect();
    let mut block = Block::new(relations, Condition::And(all), aggregates);
    let free = query.variables.iter().filter(|variable| variable.free);
    block.group = free
        .map(|variable| {
            let (atom, first) = variable.columns[0];
            column(0, atom, first)
        })
        .collect();
    block
}

fn unsupported(what: &str, why: &str, instead: &str) -> Error {
    Error::Unsupported {
        what: format!("{what} by the engine \"rpai\""),
        why: why.to_owned(),
        instead: instead.to_owned(),
    }
}

/// Refuses queries that are none of this engine.
fn check(query: &Bound) -> Result<()> {
    if query.condition.is_none() {
        let why = "it keeps conditions that compare across tables or with aggregates of subqueries";
        let instead = "leave engine= out: the cheapest engine that can keep the view is taken";
        return Err(unsupported(
            "a query without such a condition",
            why,
            instead,
        ));
    }
    if query.features.is_some() {
        let why = "its payloads are counts and sums";
        let instead = "aggregate in a view, and read that in the condition of another";
        return Err(unsupported("COFACTOR", why, instead));
    }
    Ok(())
}
