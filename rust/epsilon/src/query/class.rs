//! Class of a join, by the relations that have each variable; or the condition that fails.
//!
//! Invariant: what has a class is not hierarchical, so no view tree keeps it in constant time, and each
//! class has one strategy. Cost: the square of the number of fields.

use super::{Query, Refused};

/// Largest number of relations in a join: each row has a bit for each key that is heavy.
const MOST: usize = 64;

/// The classes that are kept, each at O(N^max(e, 1-e)) a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Three relations of which two pairs join on variables that the third lacks (appendix H): linear
    /// preprocessing.
    Two,
    /// Three relations of which all pairs do, as in the triangle: O(N^(3/2)) preprocessing.
    Three,
    /// As many relations, each of which lacks other variables that all others share (appendix F).
    LoomisWhitney(usize),
    /// R(A) S(A, B) T(B, C) U(C) (appendix G).
    Path,
}

impl Class {
    /// As the paper writes it.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Class::Two => "3R2".to_owned(),
            Class::Three => "3R3".to_owned(),
            Class::LoomisWhitney(degree) => format!("Loomis-Whitney of degree {degree}"),
            Class::Path => "4-path".to_owned(),
        }
    }
}

/// A key whose values are heavy or light.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitKey {
    /// Its fields.
    pub(crate) fields: Vec<usize>,
    /// The relations that have it.
    pub(crate) holders: Vec<usize>,
    /// That of them whose epsilon is its own: it shares the key with the one before it.
    pub(crate) relation: usize,
}

impl Query {
    /// The class of the join.
    ///
    /// # Errors
    /// For a hierarchical one, which a view tree keeps in constant time, for a field of one relation
    /// alone, and for what is of no class.
    pub fn class(&self) -> Result<Class, Refused> {
        self.class_of(&|field| format!("variable {field}"))
    }

    /// The same, where fields have names.
    pub(crate) fn class_of(&self, name: &dyn Fn(usize) -> String) -> Result<Class, Refused> {
        let all: Vec<usize> = (0..self.packing.len()).collect();
        let joins = |field: &usize| !self.holders(*field).is_empty();
        let fields: Vec<usize> = all.into_iter().filter(joins).collect();
        if let Some(&alone) = fields.iter().find(|&&field| self.holders(field).len() == 1) {
            return Err(Refused {
                why: format!("the {} is in one relation alone", name(alone)),
                instead: "sum it away before".to_owned(),
            });
        }
        if self.is_hierarchical(&fields) {
            return Err(Refused {
                why: "the join is hierarchical: of any two of its variables, the relations of one are \
                      among those of the other, or they have none in common"
                    .to_owned(),
                instead: "leave the engine out: a view tree keeps it in constant time".to_owned(),
            });
        }
        let n = self.fields.len();
        let nowhere = |field: &&usize| self.holders(**field).len() + 1 < n;
        match fields.iter().find(nowhere) {
            None if n > MOST => Err(Refused {
                why: format!("it keeps joins of {MOST} relations at the most, and here are {n}"),
                instead: "leave the engine out: a view tree keeps it".to_owned(),
            }),
            None if n > 3 => Ok(Class::LoomisWhitney(n)),
            None => match (0..n).filter(|&z| self.is_split(z)).count() {
                3 => Ok(Class::Three),
                _ => Ok(Class::Two),
            },
            Some(_) if self.path().is_some() && self.keeps_groups() => Err(Refused {
                why:
                    "no variable is in all relations of a path: a change touches as many groups as \
                      the walk to them finds"
                        .to_owned(),
                instead: "leave GROUP BY out".to_owned(),
            }),
            Some(_) if self.path().is_some() => Ok(Class::Path),
            Some(&field) => Err(Refused {
                why: format!(
                    "the {} is in {} of {n} relations: each must be in all of them or all but one, as \
                     in a triangle or a Loomis-Whitney join, unless the join is a path R(A) S(A, B) \
                     T(B, C) U(C)",
                    name(field),
                    self.holders(field).len(),
                ),
                instead: "leave the engine out: a view tree keeps it".to_owned(),
            }),
        }
    }

    /// The keys whose values are heavy or light: in a path those of two neighbours, in their order, else
    /// key z for each z that has one.
    pub(crate) fn split_keys(&self) -> Vec<SplitKey> {
        let n = self.fields.len();
        let key = |fields: Vec<usize>, relation| {
            let has = |k: &usize| fields.iter().all(|field| self.fields[*k].contains(field));
            SplitKey {
                holders: (0..n).filter(has).collect(),
                fields,
                relation,
            }
        };
        match self.path() {
            Some(order) => order
                .windows(2)
                .map(|pair| key(self.shared(pair.iter().copied()), pair[1]))
                .collect(),
            None => (0..n)
                .filter(|&z| self.is_split(z))
                .map(|z| key(self.key(z), (z + n - 1) % n))
                .collect(),
        }
    }

    /// Whether the relations of any two fields include each other, or have none in common.
    fn is_hierarchical(&self, fields: &[usize]) -> bool {
        fields.iter().all(|&one| {
            let ours = self.holders(one);
            fields.iter().all(|&other| {
                let theirs = self.holders(other);
                let both = ours.iter().filter(|k| theirs.contains(k)).count();
                both == 0 || both == ours.len() || both == theirs.len()
            })
        })
    }

    /// Four relations in the order of a path, if they are one: each field is in two that follow each
    /// other, or in all.
    pub(crate) fn path(&self) -> Option<[usize; 4]> {
        if self.fields.len() != 4 {
            return None;
        }
        let orders = (0..4).flat_map(|r| (0..4).flat_map(move |s| (0..4).map(move |t| [r, s, t])));
        let mut orders = orders.filter_map(|[r, s, t]| {
            let differ = r != s && r != t && s != t;
            // The other way round it is the same path.
            differ
                .then(|| [r, s, t, 6 - r - s - t])
                .filter(|p| p[0] < p[3])
        });
        orders.find(|order| {
            let next = |field: &usize| {
                let holders = self.holders(*field);
                let mut pairs = order.windows(2);
                holders.len() == 4
                    || (holders.len() == 2
                        && pairs.any(|pair| pair.iter().all(|k| holders.contains(k))))
            };
            let mut fields = self.fields.iter().flatten();
            let joins = |pair: &[usize]| {
                let shared = self.shared(pair.iter().copied());
                shared.iter().any(|&field| self.holders(field).len() == 2)
            };
            fields.all(next) && order.windows(2).all(joins)
        })
    }
}
