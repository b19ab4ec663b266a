//! The plan of an acyclic join that has the results of any join: its relations are those of the query, some merged along
//! foreign keys, and bags in the place of cycles.
//!
//! Invariant: each result of the query is one of the planned join, as often. A relation that contains a key of another
//! has at most one row of it for each of its own rows, so both are merged, into a relation no larger than the first
//! (paper, 4.4, "Foreign-keys"), unless that makes the width larger. If the rest is cyclic, the bags of a decomposition
//! of least width that are wider than a relation are relations of their own, of ids alone (paper, section 5). A
//! relation of a bag whose rows are its distinct variables is in it; every other joins it on its variables, and keeps
//! the bag small by its projection. If these do not cover a bag as well as all relations do, those of the cover are
//! projected on it, too.
//! Cost: decompositions, one for each pair that a key could merge.

use ringview_core::Result;
use ringview_query::graph::ghd::{Ghd, Ratio, certified};
use ringview_query::graph::set::Set;

use super::Relation;
use super::context::{BagPlan, Code, InputPlan, Kind, Source};
use super::merged::{Classes, FkMerged, merge_by_keys};
use crate::Atom;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The relations of the acyclic join.
    pub(super) atoms: Vec<Atom>,
    /// The source of each.
    pub(super) sources: Vec<Source>,
    pub(super) bags: Vec<BagPlan>,
    /// Of the cyclic rest, if there is one.
    pub(super) ghd: Option<Ghd>,
    /// The relations of each bag.
    pub(super) descriptions: Vec<BagDescription>,
}

/// The relations of a bag, for explanations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BagDescription {
    /// The relations whose rows it joins, by number.
    pub joins: Vec<usize>,
    /// Those that only restrict its rows.
    pub narrows: Vec<usize>,
    /// The largest number of rows, as a power of that of its relations; none where keys merge them.
    pub width: Option<Ratio>,
}

struct Planner<'a> {
    relations: &'a [Relation],
    merged: Vec<FkMerged>,
    plan: Plan,
    /// Of each merged relation: its source, and the columns of its variables.
    of_merged: Vec<(Source, Vec<(usize, usize)>)>,
}

impl Plan {
    pub(super) fn new(relations: &[Relation]) -> Result<Plan> {
        let merged = merge_by_keys(relations)?;
        let mut planner = Planner {
            relations,
            merged,
            of_merged: Vec::new(),
            plan: Plan {
                atoms: Vec::new(),
                sources: Vec::new(),
                bags: Vec::new(),
                ghd: None,
                descriptions: Vec::new(),
            },
        };
        (0..planner.merged.len()).for_each(|nth| planner.source(nth));
        let classes = Classes::new(relations)?;
        let edges: Vec<Set> = planner
            .merged
            .iter()
            .map(|merged| classes.edge(merged, &planner.merged))
            .collect();
        let ghd = Ghd::new(&edges);
        let mut inside = vec![false; planner.merged.len()];
        for bag in ghd.bags.iter().filter(|bag| bag.width > Ratio::ONE) {
            planner.bag(bag, &edges, &classes, &mut inside);
        }
        for (nth, _) in inside.iter().enumerate().filter(|(_, inside)| !**inside) {
            planner.relation(nth);
        }
        planner.plan.ghd = (ghd.width > Ratio::ONE).then_some(ghd);
        Ok(planner.plan)
    }
}

impl Plan {
    /// The relation of the acyclic join with this source.
    pub(super) fn atom(&self, source: Source) -> Option<usize> {
        self.sources.iter().position(|other| *other == source)
    }

    /// The bags that read a source, each with the number of the input.
    pub(super) fn readers(&self, source: Source) -> Vec<(usize, usize)> {
        let inputs = self.bags.iter().enumerate().flat_map(|(bag, plan)| {
            let inputs = plan.inputs.iter().enumerate();
            inputs.map(move |(input, of)| (bag, input, of.source))
        });
        let found = inputs.filter(|(_, _, of)| *of == source);
        found.map(|(bag, input, _)| (bag, input)).collect()
    }
}

impl Planner<'_> {
    /// The variables of a merged relation that another one has, and those whose words are carried.
    fn outer(&self, nth: usize) -> Vec<usize> {
        let others = self.merged.iter().enumerate().filter(|(at, _)| *at != nth);
        let others: Vec<usize> = others
            .flat_map(|(_, merged)| merged.relations.clone())
            .collect();
        let shared = |variable: &usize| {
            others
                .iter()
                .any(|&other| self.relations[other].variables.contains(variable))
        };
        let mut found: Vec<usize> = Vec::new();
        for &relation in &self.merged[nth].relations {
            let of = &self.relations[relation];
            found.extend(of.variables.iter().copied().filter(shared));
            found.extend(of.carried.iter().filter_map(|&word| of.variables.get(word)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Plans the source of a merged relation: a relation, or a bag of several.
    fn source(&mut self, nth: usize) {
        let relations = &self.merged[nth].relations;
        if let [relation] = relations[..] {
            let variables = self.relations[relation].variables.iter().copied();
            let columns = variables.zip(0..).collect();
            return self.of_merged.push((Source::Relation(relation), columns));
        }
        let outer = self.outer(nth);
        let mut variables = outer.clone();
        for &relation in relations {
            let own = self.relations[relation].variables.iter();
            let new: Vec<usize> = own.copied().filter(|v| !variables.contains(v)).collect();
            variables.extend(new);
        }
        let number = |variable: &usize| variables.iter().position(|v| v == variable).unwrap_or(0);
        let input = |&relation: &usize| {
            let of = &self.relations[relation];
            InputPlan {
                source: Source::Relation(relation),
                variables: of.variables.iter().map(number).zip(0..).collect(),
                words: (of.variables.len()..of.columns).collect(),
            }
        };
        let inputs: Vec<InputPlan> = relations.iter().map(input).collect();
        let rows = (0..inputs.len()).filter(|&at| !inputs[at].words.is_empty());
        let mut codes: Vec<Code> = rows.map(Code::Row).collect();
        let has_row = |variable: &usize| {
            let has = |at: usize| inputs[at].variables.iter().any(|(v, _)| v == variable);
            codes
                .iter()
                .any(|code| matches!(code, Code::Row(at) if has(*at)))
        };
        let inner: Vec<usize> = (outer.len()..variables.len())
            .filter(|v| !has_row(v))
            .collect();
        codes.extend(inner.into_iter().map(Code::Value));
        let carried = relations.iter().enumerate().flat_map(|(input, &relation)| {
            let of = &self.relations[relation];
            let words = of
                .carried
                .iter()
                .filter_map(|&word| word.checked_sub(of.variables.len()));
            words.map(move |word| (input, word))
        });
        let carried = carried.collect();
        self.plan.descriptions.push(BagDescription {
            joins: relations.clone(),
            narrows: Vec::new(),
            width: None,
        });
        let bag = Source::Bag(self.plan.bags.len());
        self.of_merged
            .push((bag, outer.iter().copied().zip(0..).collect()));
        self.plan.bags.push(BagPlan {
            inputs,
            variables: variables.len(),
            outer: outer.len(),
            carried,
            codes,
            kind: Kind::Keys,
        });
    }

    /// Plans a bag of a cycle, as a relation of its own. `inside` marks the merged relations in it.
    fn bag(
        &mut self,
        bag: &ringview_query::graph::ghd::Bag,
        edges: &[Set],
        classes: &Classes,
        inside: &mut [bool],
    ) {
        let own: Vec<Set> = edges
            .iter()
            .enumerate()
            .map(|(at, edge)| {
                if bag.edges.contains(at) {
                    *edge
                } else {
                    Set::default()
                }
            })
            .collect();
        let covered = own.iter().fold(Set::default(), |all, edge| all | *edge);
        let enough =
            bag.variables.is_subset(covered) && certified(bag.variables, &own).number <= bag.width;
        let takes_part =
            |at: &usize| bag.edges.contains(*at) || !enough && bag.cover[*at] > Ratio::ZERO;
        let inputs: Vec<usize> = (0..edges.len()).filter(takes_part).collect();
        for &nth in &inputs {
            inside[nth] |= bag.edges.contains(nth) && self.is_bare(nth);
        }
        let all: Vec<usize> = bag
            .variables
            .iter()
            .flat_map(|c| classes.variables[c].clone())
            .collect();
        let is_inside = |nth: usize| inside[nth] && bag.edges.contains(nth);
        let outside = |variable: &usize| {
            let has = |nth: usize| self.of_merged[nth].1.iter().any(|(v, _)| v == variable);
            let carries = self.relations.iter().any(|of| {
                of.carried
                    .iter()
                    .any(|&word| of.variables.get(word) == Some(variable))
            });
            carries || (0..edges.len()).any(|nth| !is_inside(nth) && has(nth))
        };
        let (outer, inner): (Vec<usize>, Vec<usize>) = all.into_iter().partition(outside);
        let variables: Vec<usize> = outer.iter().chain(&inner).copied().collect();
        let number = |variable: usize| variables.iter().position(|&v| v == variable);
        let input = |&nth: &usize| {
            let (source, columns) = &self.of_merged[nth];
            let columns = columns.iter();
            InputPlan {
                source: *source,
                variables: columns
                    .filter_map(|&(v, column)| Some((number(v)?, column)))
                    .collect(),
                words: Vec::new(),
            }
        };
        let of = |inside: bool| {
            let found = inputs.iter().filter(|&&nth| is_inside(nth) == inside);
            found
                .flat_map(|&nth| self.merged[nth].relations.clone())
                .collect()
        };
        self.plan.descriptions.push(BagDescription {
            joins: of(true),
            narrows: of(false),
            width: Some(bag.width),
        });
        let plan = BagPlan {
            inputs: inputs.iter().map(input).collect(),
            variables: variables.len(),
            outer: outer.len(),
            carried: Vec::new(),
            codes: (outer.len()..variables.len()).map(Code::Value).collect(),
            kind: Kind::Cycle,
        };
        self.plan.sources.push(Source::Bag(self.plan.bags.len()));
        self.plan.atoms.push(atom(&outer, &plan));
        self.plan.bags.push(plan);
    }

    /// Whether a merged relation is one relation whose rows are the distinct values of its variables.
    fn is_bare(&self, nth: usize) -> bool {
        let [relation] = self.merged[nth].relations[..] else {
            return false;
        };
        let of = &self.relations[relation];
        of.columns == of.variables.len() && !of.keys.is_empty()
    }

    /// Plans a merged relation as a relation of its own.
    fn relation(&mut self, nth: usize) {
        let (source, columns) = &self.of_merged[nth];
        let atom = match *source {
            Source::Relation(relation) => {
                let of = &self.relations[relation];
                Atom {
                    variables: of.variables.clone(),
                    columns: of.columns,
                    grouped: of.repeats,
                }
            }
            Source::Bag(bag) => {
                let outer: Vec<usize> = columns.iter().map(|&(v, _)| v).collect();
                atom(&outer, &self.plan.bags[bag])
            }
        };
        self.plan.sources.push(*source);
        self.plan.atoms.push(atom);
    }
}

/// A bag as a relation: its outer variables, then carried words, then codes, two to a word.
fn atom(outer: &[usize], bag: &BagPlan) -> Atom {
    Atom::new(outer.to_vec(), bag.codes_at() + bag.codes.len().div_ceil(2))
}
