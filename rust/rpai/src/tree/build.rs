//! A tree from sorted entries, level by level.
//!
//! Invariant: nodes of a level are equally wide but for one entry, three quarters full. Cost: O(n).

use ringview_core::{Error, Result};

use super::arena::Arena;
use super::change::overflow;
use super::node::{Entries, FILL, Inner, Node};
use super::{RpaiTree, Tie};
use crate::key::Key;
use crate::payload::Payload;

/// The entry of a node in its parent: its greatest entry, its sum and its index.
type Said<K, P, T> = ((K, T, P), u32);

impl<K: Key, P: Payload, T: Tie> RpaiTree<K, P, T> {
    /// A tree of entries in order of (key, tie). Equal entries merge, zeros are left out. O(n).
    ///
    /// # Errors
    /// `Value` if they are not in order, `Overflow` if a payload or the sum of magnitudes does not
    /// fit.
    pub fn from_sorted(entries: impl IntoIterator<Item = (K, T, P)>) -> Result<Self> {
        let mut tree = Self::new();
        let entries = merged(entries)?;
        if entries.is_empty() {
            return Ok(tree);
        }
        for &(_, _, payload) in &entries {
            let weight = (payload.magnitude()).and_then(|size| tree.weight.plus(size));
            tree.weight = weight.ok_or_else(|| overflow("the sum of magnitudes"))?;
            tree.total = tree.total.with(payload);
        }
        tree.len = entries.len();
        tree.leaves = Arena::new();
        let leaves = &mut tree.leaves;
        let mut level: Vec<Said<K, P, T>> = (shares(&entries))
            .map(|share| {
                let mut leaf = Entries::empty();
                for (at, &(key, tie, payload)) in share.iter().enumerate() {
                    leaf.insert(at, key, tie, payload);
                }
                let (key, tie, _) = share[share.len() - 1];
                let sum = leaf.sum();
                ((key, tie, sum), leaves.add(leaf))
            })
            .collect();
        while level.len() > 1 {
            let inners = &mut tree.inners;
            level = (shares(&level))
                .map(|share| {
                    let mut inner = Inner::empty();
                    for (at, &(said, child)) in share.iter().enumerate() {
                        inner.insert(at, said, K::ZERO, child);
                    }
                    let ((key, tie, _), _) = share[share.len() - 1];
                    let sum = inner.entries.sum();
                    ((key, tie, sum), inners.add(inner))
                })
                .collect();
            tree.height += 1;
        }
        tree.root = level[0].1;
        Ok(tree)
    }
}

/// Equal neighbours as one, without zeros.
fn merged<K: Key, P: Payload, T: Tie>(
    entries: impl IntoIterator<Item = (K, T, P)>,
) -> Result<Vec<(K, T, P)>> {
    let mut all: Vec<(K, T, P)> = Vec::new();
    for (key, tie, payload) in entries {
        match all.last_mut() {
            Some((last, its, sum)) if (*last, *its) == (key, tie) => {
                *sum = (sum.plus(payload)).ok_or_else(|| overflow("a payload"))?;
            }
            Some((last, its, _)) if (*last, *its) > (key, tie) => {
                return Err(Error::Value {
                    place: "the entries of an index".to_owned(),
                    problem: "they are not in order of their keys; sort them first".to_owned(),
                });
            }
            _ => all.push((key, tie, payload)),
        }
    }
    all.retain(|(_, _, payload)| !payload.is_zero());
    Ok(all)
}

/// As few equal shares as hold all: each of 12 to 24, or one.
fn shares<E>(all: &[E]) -> impl Iterator<Item = &[E]> {
    let count = all.len().div_ceil(FILL);
    let bound = move |at: usize| at * all.len() / count;
    (0..count).map(move |at| &all[bound(at)..bound(at + 1)])
}
