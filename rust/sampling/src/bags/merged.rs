//! Relations merged along foreign keys, and variables that are one to a decomposition.
//!
//! Invariant: a merged relation has a row for each row of its first relation that joins all others, and the query is no wider
//! for it. Cost: a decomposition for each pair that a key could merge.

use ringview_core::{Error, Result};
use ringview_query::graph::ghd::Ghd;
use ringview_query::graph::set::Set;

use super::Relation;

/// Relations merged along foreign keys: the first has those of the others.
#[derive(Clone, Debug)]
pub(super) struct FkMerged {
    pub(super) relations: Vec<usize>,
    /// Sets of variables that no two rows agree on.
    pub(super) keys: Vec<Vec<usize>>,
}

/// Classes of variables that are in the same relations: each is one variable to a decomposition.
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
        let mut classes: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for variable in all {
            let has = |r: &usize| relations[*r].variables.contains(&variable);
            let with: Vec<usize> = (0..relations.len()).filter(has).collect();
            match classes.iter_mut().find(|(of, _)| *of == with) {
                Some((_, class)) => class.push(variable),
                None => classes.push((with, vec![variable])),
            }
        }
        if classes.len() > Set::CAPACITY {
            return Err(Error::Unsupported {
                what: format!("a sample of a join by {} variables", classes.len()),
                why: format!("it has at most {}", Set::CAPACITY),
                instead: "join on decrement columns".to_owned(),
            });
        }
        let of = |r: usize| {
            (0..classes.len())
                .filter(|&class| classes[class].0.contains(&r))
                .collect()
        };
        Ok(Classes {
            of: (0..relations.len()).map(of).collect(),
            variables: classes.into_iter().map(|(_, class)| class).collect(),
        })
    }

    /// The classes of a merged relation that another has, too.
    pub(super) fn edge(&self, merged: &FkMerged, all: &[FkMerged]) -> Set {
        let of = |merged: &FkMerged| {
            let all = merged.relations.iter();
            all.fold(Set::default(), |all, &relation| all | self.of[relation])
        };
        let others = all
            .iter()
            .filter(|other| other.relations != merged.relations);
        of(merged) & others.fold(Set::default(), |all, other| all | of(other))
    }
}

/// Merges relations along keys, as far as that makes the query no wider.
pub(super) fn merge_by_keys(relations: &[Relation]) -> Result<Vec<FkMerged>> {
    let classes = Classes::new(relations)?;
    let single = |(at, relation): (usize, &Relation)| FkMerged {
        relations: vec![at],
        keys: relation.keys_of_variables(),
    };
    let mut all: Vec<FkMerged> = relations.iter().enumerate().map(single).collect();
    let width = |all: &[FkMerged]| {
        let edges: Vec<Set> = all.iter().map(|merged| classes.edge(merged, all)).collect();
        Ghd::new(&edges).width
    };
    let variables = |merged: &FkMerged| -> Vec<usize> {
        let all = merged.relations.iter();
        all.flat_map(|&relation| relations[relation].variables.clone())
            .collect()
    };
    'again: loop {
        for host in 0..all.len() {
            for guest in (0..all.len()).filter(|&guest| guest != host) {
                let has = variables(&all[host]);
                let key = all[guest].keys.iter().find(|key| {
                    !key.is_empty() && key.iter().all(|variable| has.contains(variable))
                });
                if key.is_none() {
                    continue;
                }
                let mut combined = all.clone();
                let taken = combined[guest].relations.clone();
                combined[host].relations.extend(taken);
                combined.remove(guest);
                if width(&combined) <= width(&all) {
                    all = combined;
                    continue 'again;
                }
            }
        }
        return Ok(all);
    }
}
