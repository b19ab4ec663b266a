//! Of which relations an acyclic join is made that has the results of any join: its relations, those that
//! belong together by a foreign key, and bags in the place of cycles.
//!
//! Invariant: each result of the query is one of the join of the relations planned, as often. Who meets
//! a relation by a key of that relation's has at most one row of it for each row of its own, so both are one relation, no
//! larger than the first (paper, 4.4, "Foreign-keys"), unless that makes the width larger. If what is left
//! is cyclic, the bags of a decomposition of least width that are wider than a relation are relations of
//! their own, of ids alone (paper, section 5): a relation of a bag that is no more than its distinct
//! variables is in it, every other hangs at it by its variables, and keeps the bag small by its projection. Where these do
//! not cover a bag as well as all relations do, those of the cover are projected on it, too.
//! Cost: decompositions, one for each pair that a key could combine.

use ringview_core::Result;
use ringview_query::graph::ghd::{Ghd, Ratio, certified};
use ringview_query::graph::set::Set;

use super::Relation;
use super::ground::{BagPlan, Code, Kind, PartPlan, Source};
use super::units::{Classes, Unit, units};
use crate::Atom;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The relations of the acyclic join.
    pub(super) atoms: Vec<Atom>,
    /// Where the rows of each come from.
    pub(super) sources: Vec<Source>,
    pub(super) bags: Vec<BagPlan>,
    /// Of the cyclic part, if there is one.
    pub(super) ghd: Option<Ghd>,
    /// The relations that each bag is of, and whether by keys.
    pub(super) told: Vec<Told>,
}

/// What is told of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The relations whose rows it joins, by number.
    pub joins: Vec<usize>,
    /// Those that only say which rows it may have.
    pub narrows: Vec<usize>,
    /// The largest number of rows, as a power of that of its relations; none where keys combine them.
    pub width: Option<Ratio>,
}

struct Planner<'a> {
    relations: &'a [Relation],
    units: Vec<Unit>,
    plan: Plan,
    /// Of each unit: where its rows come from, and, of its variables, in which column each is.
    of_unit: Vec<(Source, Vec<(usize, usize)>)>,
}

impl Plan {
    pub(super) fn new(relations: &[Relation]) -> Result<Plan> {
        let units = units(relations)?;
        let mut planner = Planner {
            relations,
            units,
            of_unit: Vec::new(),
            plan: Plan {
                atoms: Vec::new(),
                sources: Vec::new(),
                bags: Vec::new(),
                ghd: None,
                told: Vec::new(),
            },
        };
        (0..planner.units.len()).for_each(|unit| planner.source(unit));
        let classes = Classes::new(relations)?;
        let edges: Vec<Set> = planner
            .units
            .iter()
            .map(|unit| classes.edge(unit, &planner.units))
            .collect();
        let ghd = Ghd::new(&edges);
        let mut inside = vec![false; planner.units.len()];
        for bag in ghd.bags.iter().filter(|bag| bag.width > Ratio::ONE) {
            planner.bag(bag, &edges, &classes, &mut inside);
        }
        for (unit, _) in inside.iter().enumerate().filter(|(_, inside)| !**inside) {
            planner.relation(unit);
        }
        planner.plan.ghd = (ghd.width > Ratio::ONE).then_some(ghd);
        Ok(planner.plan)
    }
}

impl Plan {
    /// The relation of the acyclic join whose rows come from there.
    pub(super) fn atom(&self, source: Source) -> Option<usize> {
        self.sources.iter().position(|other| *other == source)
    }

    /// The bags that read it, each with the part that it is there.
    pub(super) fn readers(&self, source: Source) -> Vec<(usize, usize)> {
        let parts = self.bags.iter().enumerate().flat_map(|(bag, plan)| {
            let parts = plan.parts.iter().enumerate();
            parts.map(move |(part, of)| (bag, part, of.source))
        });
        let found = parts.filter(|(_, _, of)| *of == source);
        found.map(|(bag, part, _)| (bag, part)).collect()
    }
}

impl Planner<'_> {
    /// The variables of a unit that another one has.
    /// And those whose words are carried.
    fn outer(&self, unit: usize) -> Vec<usize> {
        let others = self.units.iter().enumerate().filter(|(at, _)| *at != unit);
        let others: Vec<usize> = others
            .flat_map(|(_, unit)| unit.relations.clone())
            .collect();
        let shared = |variable: &usize| {
            others
                .iter()
                .any(|&other| self.relations[other].variables.contains(variable))
        };
        let mut found: Vec<usize> = Vec::new();
        for &relation in &self.units[unit].relations {
            let of = &self.relations[relation];
            found.extend(of.variables.iter().copied().filter(shared));
            found.extend(of.carried.iter().filter_map(|&word| of.variables.get(word)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Where the rows of a unit come from: a relation, or a bag of those that keys combine.
    fn source(&mut self, unit: usize) {
        let relations = &self.units[unit].relations;
        if let [relation] = relations[..] {
            let variables = self.relations[relation].variables.iter().copied();
            let columns = variables.zip(0..).collect();
            return self.of_unit.push((Source::Relation(relation), columns));
        }
        let outer = self.outer(unit);
        let mut variables = outer.clone();
        for &relation in relations {
            let own = self.relations[relation].variables.iter();
            let new: Vec<usize> = own.copied().filter(|v| !variables.contains(v)).collect();
            variables.extend(new);
        }
        let number = |variable: &usize| variables.iter().position(|v| v == variable).unwrap_or(0);
        let part = |&relation: &usize| {
            let of = &self.relations[relation];
            PartPlan {
                source: Source::Relation(relation),
                variables: of.variables.iter().map(number).zip(0..).collect(),
                words: (of.variables.len()..of.columns).collect(),
            }
        };
        let parts: Vec<PartPlan> = relations.iter().map(part).collect();
        let rows = (0..parts.len()).filter(|&at| !parts[at].words.is_empty());
        let mut codes: Vec<Code> = rows.map(Code::Row).collect();
        let told = |variable: &usize| {
            let has = |at: usize| parts[at].variables.iter().any(|(v, _)| v == variable);
            codes
                .iter()
                .any(|code| matches!(code, Code::Row(at) if has(*at)))
        };
        let inner: Vec<usize> = (outer.len()..variables.len())
            .filter(|v| !told(v))
            .collect();
        codes.extend(inner.into_iter().map(Code::Value));
        let carried = relations.iter().enumerate().flat_map(|(part, &relation)| {
            let of = &self.relations[relation];
            let further = of
                .carried
                .iter()
                .filter_map(|&word| word.checked_sub(of.variables.len()));
            further.map(move |word| (part, word))
        });
        let carried = carried.collect();
        self.plan.told.push(Told {
            joins: relations.clone(),
            narrows: Vec::new(),
            width: None,
        });
        let bag = Source::Bag(self.plan.bags.len());
        self.of_unit
            .push((bag, outer.iter().copied().zip(0..).collect()));
        self.plan.bags.push(BagPlan {
            parts,
            variables: variables.len(),
            outer: outer.len(),
            carried,
            codes,
            kind: Kind::Keys,
        });
    }

    /// A bag of a cycle, as a relation of its own. `inside` notes the units that are within.
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
        let units: Vec<usize> = (0..edges.len()).filter(takes_part).collect();
        for &unit in &units {
            inside[unit] |= bag.edges.contains(unit) && self.is_bare(unit);
        }
        let all: Vec<usize> = bag
            .variables
            .iter()
            .flat_map(|c| classes.variables[c].clone())
            .collect();
        let within = |unit: usize| inside[unit] && bag.edges.contains(unit);
        let outside = |variable: &usize| {
            let has = |unit: usize| self.of_unit[unit].1.iter().any(|(v, _)| v == variable);
            let carries = self.relations.iter().any(|of| {
                of.carried
                    .iter()
                    .any(|&word| of.variables.get(word) == Some(variable))
            });
            carries || (0..edges.len()).any(|unit| !within(unit) && has(unit))
        };
        let (outer, inner): (Vec<usize>, Vec<usize>) = all.into_iter().partition(outside);
        let variables: Vec<usize> = outer.iter().chain(&inner).copied().collect();
        let number = |variable: usize| variables.iter().position(|&v| v == variable);
        let part = |&unit: &usize| {
            let (source, columns) = &self.of_unit[unit];
            let columns = columns.iter();
            PartPlan {
                source: *source,
                variables: columns
                    .filter_map(|&(v, column)| Some((number(v)?, column)))
                    .collect(),
                words: Vec::new(),
            }
        };
        let of = |inside: bool| {
            let units = units.iter().filter(|&&unit| within(unit) == inside);
            units
                .flat_map(|&unit| self.units[unit].relations.clone())
                .collect()
        };
        self.plan.told.push(Told {
            joins: of(true),
            narrows: of(false),
            width: Some(bag.width),
        });
        let plan = BagPlan {
            parts: units.iter().map(part).collect(),
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

    /// Whether a unit is one relation whose rows are no more than distinct values of its variables.
    fn is_bare(&self, unit: usize) -> bool {
        let [relation] = self.units[unit].relations[..] else {
            return false;
        };
        let of = &self.relations[relation];
        of.columns == of.variables.len() && !of.keys.is_empty()
    }

    /// A unit as a relation of its own.
    fn relation(&mut self, unit: usize) {
        let (source, columns) = &self.of_unit[unit];
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

/// A bag as a relation: its outer variables, then what is carried, then codes, two to a word.
fn atom(outer: &[usize], bag: &BagPlan) -> Atom {
    Atom::new(outer.to_vec(), bag.codes_at() + bag.codes.len().div_ceil(2))
}
