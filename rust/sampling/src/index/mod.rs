//! The dense-batch index of an acyclic join: how many results there are, at most and nearly, and which one
//! stands at a position, for the whole join and for the results that one tuple brings.
//!
//! Invariant: each directed edge of the join tree holds, for each key, `cnt~`: a power of two that covers
//! the results that the part of the tree behind the edge has for the key (paper, 4.2). A tuple's results
//! below an edge are the product of what comes in by its node's other edges; the groups of a node lie in buckets by
//! that product, and a position in a bucket has the bits of each edge. Only buckets need powers of two: the positions of a delta
//! are the product of the counts that come in, not rounded, and a relation all of whose edges have one key
//! multiplies what it is given, so that a star has no dummies. All roots share this: what a tree rooted at any
//! relation would keep is what the edges that point to it keep.
//!
//! Positions that no result stands at are dummies. Only what is rounded makes them: a relation with edges
//! of different keys, once an edge, and a group, once; so the share of results is at least that of
//! Theorem 4.2, (1/2)^(2 relations - 2), while tuples only come. Deletes may leave counts rounded twice further.
//!
//! Cost: O(log N) amortised an inserted tuple (a group moves when a neighbour's `cnt~` doubles), O(log N) a
//! position. A delete costs as much as the groups that it moves: none, where counts shrink slowly, and
//! with slack nothing can thrash but a key that has no results and gets them again and again.

mod audit;
mod change;
mod find;
mod keys;
mod lists;
mod node;
mod record;
mod rows;

use ringview_core::{Error, Result};

use crate::shape::{Atom, join_tree};
use keys::Keys;
use lists::Lists;
use node::{Kind, Node};
use record::{Record, ZERO};
use rows::TupleWords;

/// An edge of the join tree with a direction.
#[derive(Clone, Debug)]
struct Edge {
    from: usize,
    to: usize,
    /// The same edge the other way.
    back: usize,
    /// Its place among the edges that leave `from`.
    at: usize,
    /// Whose numbers its keys have.
    keys: usize,
    /// By key, the exponent of `cnt~`.
    exponent: Vec<u8>,
    /// By key, the groups of `from`; none where the groups are keys.
    records: Vec<Record>,
}

/// All results, by the groups of one relation.
#[derive(Clone, Debug, Default)]
struct Whole {
    record: Record,
    place: Vec<u32>,
    exponent: Vec<u8>,
}

/// The index of a join.
///
/// ```
/// use ringview_sampling::{Atom, Index};
/// // r(a, b) and s(b, c): variable 0 is b, the first column of either.
/// let mut index = Index::new(&[Atom::new(vec![0], 2), Atom::new(vec![0], 2)])?;
/// let r = index.insert(0, &[7, 1])?;
/// let s = index.insert(1, &[7, 2])?;
/// assert_eq!(index.delta_len(1, s)?, 1);
/// let mut result = [0; 2];
/// assert!(index.delta_get(1, s, 0, &mut result));
/// assert_eq!(index.row(0, result[0]), [7, 1]);
/// assert_eq!(result, [r, s]);
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Index {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    keys: Vec<Keys>,
    lists: Lists,
    rows: Vec<Option<TupleWords>>,
    /// The relation by whose groups all results are listed, once somebody asked for them.
    root: usize,
    whole: Option<Whole>,
    /// Groups moved, positions found and tuples linked.
    steps: u64,
    /// A count passed its limit: only what was linked is known, until `rebuild`.
    broken: bool,
    /// The numbers of a tuple's keys, while it comes.
    scratch: Vec<u32>,
}

impl Index {
    /// The index of a join of relations without tuples.
    ///
    /// # Errors
    /// `Unsupported` if the join is cyclic, `Value` if there is no relation or a relation's variables
    /// are more than its columns.
    pub fn new(atoms: &[Atom]) -> Result<Index> {
        let tree = join_tree(atoms)?;
        let mut variables: Vec<&[usize]> = tree.iter().map(|(_, _, key)| key.as_slice()).collect();
        // A relation that stands alone has the key of no variables.
        variables.push(&[]);
        variables.sort_unstable();
        variables.dedup();
        let place = |key: &[usize]| variables.binary_search(&key).unwrap_or_default();
        let mut index = Index {
            nodes: Vec::new(),
            edges: Vec::new(),
            keys: variables.iter().map(|key| Keys::new(key.len())).collect(),
            lists: Lists::default(),
            rows: vec![None; atoms.len()],
            root: 0,
            whole: None,
            steps: 0,
            broken: false,
            scratch: Vec::new(),
        };
        index.nodes = atoms.iter().map(|_| Node::new(Kind::Keys, 0)).collect();
        for (a, b, key) in &tree {
            let keys = place(key);
            let there = index.edges.len();
            for (from, to, back) in [(*a, *b, there + 1), (*b, *a, there)] {
                let columns = columns_of(&atoms[from], key)?;
                index.add_edge(from, to, back, (keys, columns));
            }
        }
        for (node, atom) in index.nodes.iter_mut().zip(atoms) {
            if node.keys.is_empty() {
                node.keys.push((place(&[]), Vec::new()));
            }
            node.tuples.columns = atom.columns;
            node.kind = match (node.keys.len(), atom.grouped) {
                (1, _) => Kind::Keys,
                (_, true) => Kind::Groups,
                (_, false) => Kind::Tuples,
            };
        }
        let middle = (0..atoms.len()).rev();
        index.root = middle
            .max_by_key(|&n| index.nodes[n].edges.len())
            .unwrap_or(0);
        Ok(index)
    }

    fn add_edge(
        &mut self,
        from: usize,
        to: usize,
        back: usize,
        (keys, columns): (usize, Vec<usize>),
    ) {
        let node = &mut self.nodes[from];
        let known = node.keys.iter().position(|(other, _)| *other == keys);
        let key = known.unwrap_or_else(|| {
            node.keys.push((keys, columns));
            node.keys.len() - 1
        });
        node.key_of.push(key);
        node.edges.push(self.edges.len());
        self.edges.push(Edge {
            from,
            to,
            back,
            at: node.edges.len() - 1,
            keys,
            exponent: Vec::new(),
            records: Vec::new(),
        });
    }

    /// The number of relations.
    #[must_use]
    pub fn atoms(&self) -> usize {
        self.nodes.len()
    }

    /// The words of a tuple.
    #[must_use]
    pub fn row(&self, atom: usize, tuple: u32) -> &[u64] {
        let tuples = &self.nodes[atom].tuples;
        &tuples.words[tuple as usize * tuples.columns..][..tuples.columns]
    }

    /// One more than the largest number of a tuple of a relation.
    #[must_use]
    pub fn numbers(&self, atom: usize) -> usize {
        self.nodes[atom].tuples.place.len()
    }

    /// The tuples of a relation that are linked.
    pub fn tuples(&self, atom: usize) -> impl Iterator<Item = u32> {
        let places = self.nodes[atom].tuples.place.iter();
        (0..)
            .zip(places)
            .filter(|(_, place)| **place != lists::NONE)
            .map(|(tuple, _)| tuple)
    }

    /// Steps so far: tuples linked or unlinked, groups moved, relations met on the way to positions.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let edge = |edge: &Edge| {
            edge.exponent.capacity()
                + edge.records.capacity() * size_of::<Record>()
                + edge.records.iter().map(Record::memory_usage).sum::<usize>()
        };
        let whole = |whole: &Whole| {
            whole.record.memory_usage() + whole.place.capacity() * 4 + whole.exponent.capacity()
        };
        self.nodes.iter().map(Node::memory_usage).sum::<usize>()
            + self.edges.iter().map(edge).sum::<usize>()
            + self.keys.iter().map(Keys::memory_usage).sum::<usize>()
            + self
                .rows
                .iter()
                .flatten()
                .map(TupleWords::memory_usage)
                .sum::<usize>()
            + self.lists.memory_usage()
            + self.whole.iter().map(whole).sum::<usize>()
    }

    /// The exponent that comes into a node by an edge, for a key.
    #[inline]
    fn incoming(&self, node: usize, at: usize, key: u32) -> u8 {
        let edge = &self.edges[self.nodes[node].edges[at]];
        let exponents = &self.edges[edge.back].exponent;
        exponents.get(key as usize).copied().unwrap_or(ZERO)
    }

    /// The error of a join that is too large.
    fn too_large() -> Error {
        Error::Overflow {
            place: "the number of results of a sampled join, which may be 2^126 at most".to_owned(),
        }
    }
}

/// The columns of a relation that hold the variables of a key.
fn columns_of(atom: &Atom, key: &[usize]) -> Result<Vec<usize>> {
    let column = |variable: &usize| {
        let place = atom.variables.iter().position(|other| other == variable);
        place
            .filter(|&at| at < atom.columns)
            .ok_or_else(|| Error::Value {
                place: "a relation of a sampled join".to_owned(),
                problem: "it has more variables than columns".to_owned(),
            })
    };
    key.iter().map(column).collect()
}
