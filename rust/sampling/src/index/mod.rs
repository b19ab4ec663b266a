//! The dense-batch index of an acyclic join: upper bounds of the number of results, and the result at a position, for the
//! whole join and for the results that one tuple brings.
//!
//! Invariant: the join tree has a node for each relation and a key node for each join key in which relations meet. For each
//! key, a key node gives each branch, a relation that has other key nodes too, `cnt~`: a power of two that covers the product
//! of the counts of all other relations (paper, 4.2). At each key node of a relation, its groups lie in buckets by the product
//! of `cnt~` at its other key nodes, and a position in a bucket has the bits of each of these. Only buckets need powers
//! of two: the positions of a delta are a product of exact counts, and a key node multiplies the counts of its relations,
//! so a star has no dummies. All roots share this: a tree rooted at any relation would keep the same counts.
//!
//! A position without a result is a dummy. Only rounding makes dummies: of `cnt~`, and of the size of a group. The share of
//! results is at least that of Theorem 4.2, (1/2)^(2 relations - 2), under inserts alone. Deletes may leave counts rounded
//! twice further.
//!
//! Cost: O(log N) amortised an insert (a group moves when its `cnt~` doubles), O(log N) a position. Tuples that are
//! inserted together are propagated together: a group moves once, however often its neighbours' counts double meanwhile. A
//! delete costs as much as the groups that it moves: none, where counts shrink slowly. With slack only a key can thrash that
//! loses all its results and gets them again and again.
//!
//! | file | holds |
//! |---|---|
//! | `keys` | numbers for the values of a join key |
//! | `lists` | many lists in one array |
//! | `record` | groups of one key in buckets |
//! | `key_node`, `node` | a join key; a relation |
//! | `change`, `propagate`, `scratch` | inserts and deletes; the groups that they move elsewhere; buffers |
//! | `all_results` | all results |
//! | `count`, `find` | the number of results; the one at a position |
//! | `rows` | from words to a tuple, for deletes |
//! | `audit` | the invariants, for tests |

mod all_results;
mod audit;
mod change;
mod count;
mod find;
mod key_node;
pub(crate) mod keys;
pub(crate) mod lists;
mod node;
mod propagate;
mod record;
mod rows;
mod scratch;

use ringview_core::{Error, Result};

use crate::shape::{Atom, join_tree};
use all_results::AllResults;
pub(crate) use find::Search;
use key_node::{KeyNode, Role};
use lists::Lists;
use node::{Edge, Kind, Node};
use rows::TupleWords;
use scratch::Scratch;

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
    key_nodes: Vec<KeyNode>,
    lists: Lists,
    rows: Vec<Option<TupleWords>>,
    /// The key node by whose keys all results are listed, once they are read.
    root: usize,
    all_results: Option<AllResults>,
    /// Groups moved and tuples linked.
    steps: u64,
    /// A count passed its limit: only links are right, until `rebuild`.
    broken: bool,
    /// Buffers of a change.
    scratch: Scratch,
    /// The numbers of keys, while tuples are inserted.
    numbers: Vec<u32>,
}

impl Index {
    /// The index of a join of relations without tuples.
    ///
    /// # Errors
    /// `Unsupported` if the join is cyclic, `Value` if there is no relation or a relation's variables
    /// are more than its columns.
    pub fn new(atoms: &[Atom]) -> Result<Index> {
        // By key node, its key and relations.
        let mut meetings: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for (a, b, key) in join_tree(atoms)? {
            let mut known = meetings.iter_mut();
            match known.find(|(other, nodes)| *other == key && nodes.contains(&a)) {
                Some((_, nodes)) => nodes.push(b),
                None => meetings.push((key, vec![a, b])),
            }
        }
        if atoms.iter().any(|atom| atom.variables.len() > atom.columns) {
            return Err(Error::Value {
                place: "a relation of a sampled join".to_owned(),
                problem: "it has more variables than columns".to_owned(),
            });
        }
        if meetings.is_empty() {
            meetings.push((Vec::new(), vec![0]));
        }
        let mut index = Index {
            nodes: atoms.iter().map(|atom| Node::new(atom.columns)).collect(),
            key_nodes: Vec::new(),
            lists: Lists::default(),
            rows: vec![None; atoms.len()],
            root: 0,
            all_results: None,
            steps: 0,
            broken: false,
            scratch: Scratch::default(),
            numbers: Vec::new(),
        };
        for (node, atom) in atoms.iter().enumerate() {
            let key_nodes = meetings.iter().filter(|(_, nodes)| nodes.contains(&node));
            index.nodes[node].kind = match (key_nodes.count(), atom.grouped) {
                (1, _) => Kind::Leaf,
                (_, true) => Kind::Groups,
                (_, false) => Kind::Tuples,
            };
        }
        for (key, nodes) in &meetings {
            index.add_key_node(atoms, key, nodes);
        }
        let middle = (0..index.key_nodes.len()).rev();
        let most = middle.max_by_key(|&key_node| index.key_nodes[key_node].members.len());
        index.root = most.unwrap_or_default();
        Ok(index)
    }

    fn add_key_node(&mut self, atoms: &[Atom], key: &[usize], nodes: &[usize]) {
        let mut key_node = KeyNode::new(key.len());
        for &node in nodes {
            let held = &mut self.nodes[node];
            let member = key_node.join(node, held.edges.len(), held.kind == Kind::Leaf);
            let branch = match key_node.members[member].role {
                Role::Branch(nth) | Role::Leaf(nth) => nth,
            };
            held.edges.push(Edge {
                key_node: self.key_nodes.len(),
                member,
                nth: branch,
                columns: atoms[node].columns_of(key),
            });
        }
        key_node.fit();
        self.key_nodes.push(key_node);
    }

    /// The number of relations.
    #[must_use]
    pub fn atoms(&self) -> usize {
        self.nodes.len()
    }

    /// The words of a tuple.
    #[must_use]
    pub fn row(&self, atom: usize, tuple: u32) -> &[u64] {
        self.nodes[atom].row(tuple)
    }

    /// One more than the largest number of a tuple of a relation.
    #[must_use]
    pub fn numbers(&self, atom: usize) -> usize {
        self.nodes[atom].numbers()
    }

    /// The tuples of a relation that are linked.
    pub fn tuples(&self, atom: usize) -> impl Iterator<Item = u32> {
        self.nodes[atom].linked()
    }

    /// Steps so far: tuples linked or unlinked, groups moved.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        let rows = self.rows.iter().flatten();
        self.nodes.iter().map(Node::memory_usage).sum::<usize>()
            + self
                .key_nodes
                .iter()
                .map(KeyNode::memory_usage)
                .sum::<usize>()
            + rows.map(TupleWords::memory_usage).sum::<usize>()
            + self.lists.memory_usage()
            + self
                .all_results
                .as_ref()
                .map_or(0, AllResults::memory_usage)
            + self.scratch.memory_usage()
            + self.numbers.capacity() * 4
    }

    /// The error of a join that is too large.
    fn too_large() -> Error {
        Error::Overflow {
            place: "the number of results of a sampled join, which may be 2^126 at most".to_owned(),
        }
    }
}
