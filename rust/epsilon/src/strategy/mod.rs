//! Strategies as data: relations, partitions, auxiliary views and delta rules, made from a query.
//!
//! A strategy is what a machine works with. For each relation that changes it says which keys of a row
//! are heavy or light, and for rows of which keys which rules apply: a delta meets relations and views
//! along a compiled path, and is added to a view or to the result. So a class of joins is a list of views
//! and rules, and no program of its own.
//!
//! Invariant: each view and each part holds what its rules make of the tuples that are there, under the
//! classes that their values have; a rule reads nothing that a rule for the same row writes. So rows in
//! any order lead to the same views, and a value without tuples may become heavy or light freely.
//! Cost: none that depends on data. Each class says what its rules cost.
//!
//! | file | holds |
//! |---|---|
//! | `builder` | relations and rules, one by one |
//! | `loomis_whitney` | joins whose variables are in all relations or all but one: triangles, 3R2, 3R3 |
//! | `cycle` | one relation at the three places of a triangle |
//! | `path` | R(A) S(A, B) T(B, C) U(C) |
//! | `triangles` | triangles as rows |
//!
//! Groups that a change may touch by the score are not kept. The combinations that a tuple closes follow a rule of its
//! relation, whether it is new or stored, so a group is read from the tuples of a relation that has its variables: it
//! is the sum of what they close, by the rules that a change of them would follow.

mod builder;
mod cycle;
mod loomis_whitney;
mod path;
mod triangles;

use std::sync::Arc;

use ringview_relation::join::Path;
use ringview_relation::{Partition, Relation};
use ringview_ring::PayloadRing;

use crate::algebra::Algebra;
use crate::query::{Class, Epsilon, Query, Refused};

/// A key within that of a relation.
#[derive(Clone, Debug)]
pub(crate) struct Subkey {
    /// Its places in the relation's key, in its own order.
    pub(crate) columns: Vec<usize>,
    /// The relation's index on it; `None` if it is the whole key.
    pub(crate) index: Option<usize>,
    /// Place in the key of each field of that index.
    pub(crate) order: Vec<usize>,
}

/// A key of a relation whose values are heavy or light.
#[derive(Clone, Debug)]
pub(crate) struct Face {
    /// The partition of its values.
    pub(crate) partition: usize,
    /// Position of the key.
    pub(crate) key: Subkey,
}

/// Rows of a change to which a rule applies, by their faces: bit f is that of face f.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// Those whose keys at some faces are heavy, and at others light.
    Keys {
        /// The first.
        heavy: u64,
        /// The others.
        light: u64,
    },
    /// Those of which a key is light.
    SomeLight,
    /// Those that end where another row of the same change begins.
    Met,
}

impl Case {
    /// All rows.
    pub(crate) const ALL: Case = Case::Keys { heavy: 0, light: 0 };

    /// Whether a row is meant of which these keys are heavy, out of all.
    pub(crate) fn holds(self, row: u64, all: u64) -> bool {
        match self {
            Case::Keys { heavy, light } => row & (heavy | light) == heavy,
            Case::SomeLight => row != all,
            // It does not depend on what is heavy.
            Case::Met => true,
        }
    }
}

/// Target of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The result, whatever is heavy.
    Result,
    /// Views, by the heavy values; and the result behind them, which is the same in any class.
    View,
    /// The rows that move, while somebody follows.
    Log,
}

/// Delta rule of a change, for some of its rows.
#[derive(Debug)]
pub(crate) struct Evaluation<R: PayloadRing> {
    pub(crate) case: Case,
    pub(crate) role: Role,
    /// Whether it counts three times.
    pub(crate) thrice: bool,
    pub(crate) path: Arc<Path<R>>,
}

/// A relation that changes.
#[derive(Debug)]
pub(crate) struct Input<R: PayloadRing> {
    /// Itself.
    pub(crate) whole: usize,
    /// Relations that hold some of its tuples, each with which.
    pub(crate) parts: Vec<(Case, usize)>,
    pub(crate) faces: Vec<Face>,
    /// Delta rules over the relation as it was.
    pub(crate) before: Vec<Evaluation<R>>,
    /// Delta rules over the relation as it has become.
    pub(crate) after: Vec<Evaluation<R>>,
    /// By slot: whether the tuple is counted.
    pub(crate) counted: Vec<bool>,
    /// Slots for which that changed in this transaction.
    pub(crate) toggled: Vec<u32>,
}

impl<R: PayloadRing> Input<R> {
    /// The bits of all its faces.
    pub(crate) fn all_heavy(&self) -> u64 {
        all_of(self.faces.len())
    }

    /// The relation of its tuples whose keys are all heavy.
    pub(crate) fn heavy(&self) -> Option<usize> {
        let heavy = Case::Keys {
            heavy: self.all_heavy(),
            light: 0,
        };
        let mut parts = self.parts.iter();
        let part = parts.find(|(case, _)| *case == heavy);
        part.map(|(_, relation)| *relation)
    }
}

/// The bits of so many faces.
fn all_of(faces: usize) -> u64 {
    match faces {
        0 => 0,
        faces => u64::MAX >> (64 - faces),
    }
}

/// Sources of the rows of a join: a listing, and trees of two relations each.
#[derive(Debug)]
pub(crate) struct RowSources {
    /// A key each row, over all fields.
    pub(crate) list: usize,
    /// Its index on nothing: all keys, without gaps.
    pub(crate) all: usize,
    pub(crate) trees: Vec<Tree>,
    /// The rows that the running transaction moved.
    pub(crate) log: usize,
    /// Whether somebody follows.
    pub(crate) is_logged: bool,
}

/// Rows kept factorised: for each key of a root, those of a leaf that agree with it.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The relation whose keys are those of the root, and which no leaf has a factor of.
    pub(crate) whole: usize,
    pub(crate) root: usize,
    /// The root's index on nothing.
    pub(crate) all: usize,
    /// Over all fields.
    pub(crate) leaf: usize,
    /// Its index on the fields of the root's key, and which place of that key each of them has.
    pub(crate) below: usize,
    pub(crate) order: Vec<usize>,
}

/// Sources of groups that are read from the tuples of a relation.
#[derive(Debug)]
pub(crate) struct Reads<R: PayloadRing> {
    /// The relation, as an input.
    pub(crate) input: usize,
    /// The fields of the groups in its key.
    pub(crate) key: Subkey,
    /// Rules for the combinations that its tuples close, into the result by group.
    pub(crate) rules: Vec<Evaluation<R>>,
}

/// All that a machine works with.
#[derive(Debug)]
pub(crate) struct Strategy<R: PayloadRing> {
    pub(crate) relations: Vec<Relation<R>>,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) epsilons: Vec<Epsilon>,
    /// By partition: the relation of its heavy values.
    pub(crate) indicators: Vec<usize>,
    /// By partition: the inputs and faces that it counts.
    pub(crate) counted_faces: Vec<Vec<(usize, usize)>>,
    pub(crate) inputs: Vec<Input<R>>,
    pub(crate) views: Vec<usize>,
    pub(crate) result: usize,
    /// The relation that holds a batch while it meets itself: its rows that begin where others end.
    pub(crate) batch: Option<usize>,
    /// Sources of rows, if there are any.
    pub(crate) rows: Option<RowSources>,
    /// Sources of groups, if they are not kept.
    pub(crate) reads: Option<Reads<R>>,
}

impl<R: PayloadRing> Strategy<R> {
    /// For a join with an epsilon for each relation, which is that of the key that it shares with the
    /// one before it: A for R(A, B) in R(A, B), S(B, C), T(C, A).
    pub(crate) fn of(
        query: &Query,
        epsilons: &[Epsilon],
        algebra: &Algebra<R>,
    ) -> Result<Self, Refused> {
        let given = (epsilons.len(), query.fields.len());
        if given.0 != given.1 {
            return Err(Refused {
                why: format!("{} epsilons are given for {} relations", given.0, given.1),
                instead: "give one for each".to_owned(),
            });
        }
        match (query.class()?, query.path()) {
            (Class::Path, Some(order)) => Ok(Self::path(query, order, epsilons, algebra)),
            _ => Ok(Self::loomis_whitney(query, epsilons, algebra)),
        }
    }
}
