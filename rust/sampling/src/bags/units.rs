//! Relations that are one by keys, and variables that are one to a decomposition.
//!
//! Invariant: a unit has a row for each row of its first relation that meets all others, and the query is no wider for it.
//! Cost: a decomposition for each pair that a key could combine.

use ringview_core::{Error, Result};
use ringview_query::graph::ghd::Ghd;
use ringview_query::graph::set::Set;

use super::Relation;

/// Relations that are one by keys: the first meets all others.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) relations: Vec<usize>,
    /// Sets of variables that no two rows agree on.
    pub(super) keys: Vec<Vec<usize>>,
}

/// Variables by which relations they are in; those of the same ones are one to a decomposition.
pub(super) struct Classes {
    /// By class: its variables.
    pub(super) variables: Vec<Vec<usize>>,
    /// By relation: its classes.
    pub(super) of: Vec<Set>,
}

impl Classes {
    pub(super) fn new(relations: &[Relation]) -> Result<Classes> {
        let mut all: Vec<usize> = relations.iter().flat_map(|r| r.variables.clone()).collect();
        all.sort_unstable();
        all.dedup();
        let mut known: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for variable in all {
            let has = |r: &usize| relations[*r].variables.contains(&variable);
            let with: Vec<usize> = (0..relations.len()).filter(has).collect();
            match known.iter_mut().find(|(of, _)| *of == with) {
                Some((_, class)) => class.push(variable),
                None => known.push((with, vec![variable])),
            }
        }
        if known.len() > Set::CAPACITY {
            return Err(Error::Unsupported {
                what: format!("a sample of a join by {} variables", known.len()),
                why: format!("it has at most {}", Set::CAPACITY),
                instead: "join on fewer columns".to_owned(),
            });
        }
        let of = |r: usize| {
            (0..known.len())
                .filter(|&class| known[class].0.contains(&r))
                .collect()
        };
        Ok(Classes {
            of: (0..relations.len()).map(of).collect(),
            variables: known.into_iter().map(|(_, class)| class).collect(),
        })
    }

    /// The classes of a unit that another has, too.
    pub(super) fn edge(&self, unit: &Unit, units: &[Unit]) -> Set {
        let of = |unit: &Unit| {
            let all = unit.relations.iter();
            all.fold(Set::default(), |all, &relation| all | self.of[relation])
        };
        let others = units
            .iter()
            .filter(|other| other.relations != unit.relations);
        of(unit) & others.fold(Set::default(), |all, other| all | of(other))
    }
}

/// Relations combined by keys, as far as that makes the query no wider.
pub(super) fn units(relations: &[Relation]) -> Result<Vec<Unit>> {
    let classes = Classes::new(relations)?;
    let single = |(at, relation): (usize, &Relation)| Unit {
        relations: vec![at],
        keys: relation.keys_of_variables(),
    };
    let mut units: Vec<Unit> = relations.iter().enumerate().map(single).collect();
    let width = |units: &[Unit]| {
        let edges: Vec<Set> = units.iter().map(|unit| classes.edge(unit, units)).collect();
        Ghd::new(&edges).width
    };
    let variables = |unit: &Unit| -> Vec<usize> {
        let all = unit.relations.iter();
        all.flat_map(|&relation| relations[relation].variables.clone())
            .collect()
    };
    'again: loop {
        for host in 0..units.len() {
            for guest in (0..units.len()).filter(|&guest| guest != host) {
                let has = variables(&units[host]);
                let key = units[guest].keys.iter().find(|key| {
                    !key.is_empty() && key.iter().all(|variable| has.contains(variable))
                });
                if key.is_none() {
                    continue;
                }
                let mut combined = units.clone();
                let taken = combined[guest].relations.clone();
                combined[host].relations.extend(taken);
                combined.remove(guest);
                if width(&combined) <= width(&units) {
                    units = combined;
                    continue 'again;
                }
            }
        }
        return Ok(units);
    }
}
