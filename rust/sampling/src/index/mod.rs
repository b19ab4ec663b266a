//! The dense-batch index of an acyclic join: how many results there are, at most and nearly, and which one
//! stands at a position, for the whole join and for the results that one tuple brings.
//!
//! Invariant: the join tree is one of relations and hubs, a hub being a join key in which relations meet. A hub tells
//! each relation that goes on from it, for each key, `cnt~`: a power of two that covers what all others have for
//! the key (paper, 4.2). The groups of a relation lie, at each of its hubs, in buckets by the product of what its
//! other hubs tell, and a position in a bucket has the bits of each hub. Only buckets need powers of two: the
//! positions of a delta are the product of counts that are not rounded, and a hub multiplies what its relations
//! have, so that a star has no dummies. All roots share this: what a tree rooted at any relation would
//! keep is what is told in its direction.
//!
//! Positions that no result stands at are dummies. Only what is rounded makes them: what a hub tells, and the size of
//! a group; so the share of results is at least that of Theorem 4.2, (1/2)^(2 relations - 2), while tuples only
//! come. Deletes may leave counts rounded twice further.
//!
//! Cost: O(log N) amortised a tuple that comes (a group moves when what it is told doubles), O(log N) a position. Tuples
//! that come together are told of together: a group moves once, however often its neighbours' counts double
//! meanwhile. A delete costs as much as the groups that it moves: none, where counts shrink slowly, and with slack nothing
//! can thrash but a key that has no results and gets them again and again.
//!
//! | file | holds |
//! |---|---|
//! | `keys` | numbers for the values of a join key |
//! | `lists` | many lists in one array |
//! | `record` | groups of one key in buckets |
//! | `hub`, `node` | a join key; a relation |
//! | `change`, `spread`, `scratch` | tuples come and go; what that moves elsewhere |
//! | `whole` | all results |
//! | `count`, `find` | how many results; the one at a position |
//! | `rows` | from words to a tuple, for deletes |
//! | `audit` | the invariants, for tests |

mod audit;
mod change;
mod count;
mod find;
mod hub;
pub(crate) mod keys;
pub(crate) mod lists;
mod node;
mod record;
mod rows;
mod scratch;
mod spread;
mod whole;

use ringview_core::{Error, Result};

use crate::shape::{Atom, join_tree};
pub(crate) use find::Search;
use hub::{Hub, Part};
use lists::Lists;
use node::{Kind, Node, Slot};
use rows::TupleWords;
use scratch::Scratch;
use whole::Whole;

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
    hubs: Vec<Hub>,
    lists: Lists,
    rows: Vec<Option<TupleWords>>,
    /// The hub by whose keys all results are listed, once somebody asked for them.
    root: usize,
    whole: Option<Whole>,
    /// Groups moved and tuples linked.
    steps: u64,
    /// A count passed its limit: only what was linked is known, until `rebuild`.
    broken: bool,
    /// Room for what a change moves, while it does.
    scratch: Scratch,
    /// The numbers of keys, while tuples come.
    numbers: Vec<u32>,
}

impl Index {
    /// The index of a join of relations without tuples.
    ///
    /// # Errors
    /// `Unsupported` if the join is cyclic, `Value` if there is no relation or a relation's variables
    /// are more than its columns.
    pub fn new(atoms: &[Atom]) -> Result<Index> {
        // By hub, its key and relations.
        let mut meetings: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for (a, b, key) in join_tree(atoms)? {
            let mut known = meetings.iter_mut();
            match known.find(|(other, nodes)| *other == key && nodes.contains(&a)) {
                Some((_, nodes)) => nodes.push(b),
                None => meetings.push((key, vec![a, b])),
            }
        }
        if meetings.is_empty() {
            meetings.push((Vec::new(), vec![0]));
        }
        let mut index = Index {
            nodes: atoms.iter().map(|atom| Node::new(atom.columns)).collect(),
            hubs: Vec::new(),
            lists: Lists::default(),
            rows: vec![None; atoms.len()],
            root: 0,
            whole: None,
            steps: 0,
            broken: false,
            scratch: Scratch::default(),
            numbers: Vec::new(),
        };
        for (node, atom) in atoms.iter().enumerate() {
            let hubs = meetings.iter().filter(|(_, nodes)| nodes.contains(&node));
            index.nodes[node].kind = match (hubs.count(), atom.grouped) {
                (1, _) => Kind::Leaf,
                (_, true) => Kind::Groups,
                (_, false) => Kind::Tuples,
            };
        }
        for (key, nodes) in &meetings {
            index.add_hub(atoms, key, nodes)?;
        }
        let middle = (0..index.hubs.len()).rev();
        let most = middle.max_by_key(|&hub| index.hubs[hub].members.len());
        index.root = most.unwrap_or_default();
        Ok(index)
    }

    fn add_hub(&mut self, atoms: &[Atom], key: &[usize], nodes: &[usize]) -> Result<()> {
        let mut hub = Hub::new(key.len());
        for &node in nodes {
            let columns = columns_of(&atoms[node], key)?;
            let held = &mut self.nodes[node];
            let member = hub.join(node, held.slots.len(), held.kind == Kind::Leaf);
            let branch = match hub.members[member].part {
                Part::Branch(nth) | Part::Leaf(nth) => nth,
            };
            held.slots.push(Slot {
                hub: self.hubs.len(),
                member,
                nth: branch,
                columns,
            });
        }
        hub.fit();
        self.hubs.push(hub);
        Ok(())
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
        let node = &self.nodes[atom];
        (0..node.numbers() as u32).filter(|&tuple| node.is_linked(tuple))
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
            + self.hubs.iter().map(Hub::memory_usage).sum::<usize>()
            + rows.map(TupleWords::memory_usage).sum::<usize>()
            + self.lists.memory_usage()
            + self.whole.as_ref().map_or(0, Whole::memory_usage)
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
