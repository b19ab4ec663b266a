//! A delta rule compiled: which registers hold what at each step of a delta's way.
//!
//! Invariant: a step reads only registers that are live before it, and fills those that its relation binds; behind the
//! last step of a level the registers of the kept key are live. A path falls into branches where several relations are
//! made of the one that it has reached: what lies before is done once for all of them, and each branch has registers of
//! its own. A path is data: it names relations by their numbers and owns none.

use ringview_ring::PayloadRing;

use crate::layout::KeyLayout;

/// Access of the rows of a delta to their matches in a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// The registers that hold the whole key: at most one match.
    Probe(Vec<usize>),
    /// The group of an index that agrees with what is bound.
    Walk {
        /// The relation's index on the bound fields.
        index: usize,
        /// The registers that hold those.
        bound: Vec<usize>,
        /// Pairs of a field of the relation's key and the register that it fills.
        fetch: Vec<(usize, usize)>,
    },
    /// Every tuple is a match.
    Scan {
        /// As in `Walk`.
        fetch: Vec<(usize, usize)>,
    },
}

/// One factor of the delta rule: a relation with its product, and what is still needed afterwards.
#[derive(Clone, Debug)]
pub struct Step<R: PayloadRing> {
    /// The relation that is met.
    pub relation: usize,
    /// Access to the matches there.
    pub access: Access,
    /// Product of the payloads of a row and its match.
    pub product: R::Product,
    /// Whether it is the level's last.
    pub last: bool,
    /// Registers that later steps read.
    pub live: Vec<usize>,
    /// At a walk: how each of the steps that follow, as many as are intersected, would be walked
    /// in its place. They are probes.
    pub intersected: Vec<Access>,
}

/// The last steps of a level, each a probe, where a row meets all matches at once.
#[derive(Clone, Debug)]
pub struct Together<R: PayloadRing> {
    /// The first of them.
    pub first: usize,
    /// Product of the payloads of a row and all its matches.
    pub product: R::Product,
}

/// The steps up to one relation, which takes the sum in.
#[derive(Clone, Debug)]
pub struct Level<R: PayloadRing> {
    /// The relation that the sum is added to.
    pub into: usize,
    /// One a relation that is met.
    pub steps: Vec<Step<R>>,
    /// Those of them that are taken at once.
    pub together: Option<Together<R>>,
    /// The registers of the key of `into`: what is not marginalised.
    pub keys: Vec<usize>,
    /// Packing of that key.
    pub layout: KeyLayout,
    /// Registers that the steps read or keep.
    pub enter: Vec<usize>,
}

/// Path of the changes of one relation, whose key is in the first registers.
#[derive(Clone, Debug)]
pub struct Path<R: PayloadRing> {
    /// The relation that changes.
    pub from: usize,
    /// The registers of its key.
    pub keys: Vec<usize>,
    /// Packing of that key.
    pub layout: KeyLayout,
    /// Levels of the rule, one after the other.
    pub levels: Vec<Level<R>>,
    /// Number of registers that a delta needs.
    pub registers: usize,
    /// The field that each register holds.
    pub fields: Vec<usize>,
    /// Paths that continue where this one ends, if several do: each takes the delta of that place.
    pub branches: Vec<Path<R>>,
}

impl<R: PayloadRing> Path<R> {
    /// Whether a row of it may meet several rows on its way.
    #[must_use]
    pub fn walks(&self) -> bool {
        let mut steps = self.levels.iter().flat_map(|level| &level.steps);
        steps.any(|step| !matches!(step.access, Access::Probe(_)))
            || self.branches.iter().any(Self::walks)
    }

    /// Whether it looks keys of a relation up: where at most one matches, or where groups are intersected.
    #[must_use]
    pub fn looks_up(&self, relation: usize) -> bool {
        let mut steps = self.levels.iter().flat_map(|level| &level.steps);
        let looks_up = |step: &Step<R>| {
            let is_probed = matches!(step.access, Access::Probe(_));
            step.relation == relation && (is_probed || !step.intersected.is_empty())
        };
        steps.any(looks_up) || self.branches.iter().any(|branch| branch.looks_up(relation))
    }

    /// The registers of the key of the relation where it ends, or falls into branches.
    #[must_use]
    pub fn end_keys(&self) -> &[usize] {
        self.levels.last().map_or(&self.keys, |level| &level.keys)
    }
}
