//! A multiset in order, with sums: an order-statistics search tree.
//!
//! Each entry has a number of copies and some weights; a parent has the sums of both for each of its children. Invariant:
//! entries are in the order of their keys, no two are equal, none has 0 copies; leaves are equally deep, and all nodes but
//! the root have 8 to 32 entries or children. Weights are added modulo 2^128: a sum is right where its true value fits.
//!
//! | operation | cost, of n entries |
//! |---|---|
//! | `add`, `get`, `before`, `select`, the first entry of a walk | O(log n) |
//! | the next entry of a walk | O(1) amortised |
//! | `total` | O(1) |

mod change;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use change::Change;
pub(crate) use walk::Forward;

/// Entries of a leaf, or children of another node, at most.
const MOST: usize = 32;
/// And at least, but for the root.
const LEAST: usize = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Tree<K> {
    root: Node<K>,
    entries: usize,
    /// Number of weights of an entry.
    width: usize,
    /// Nodes that changes have visited so far, and what their searches compared.
    steps: u64,
}

#[derive(Debug)]
enum Node<K> {
    Leaf(Leaf<K>),
    Inner(Inner<K>),
}

#[derive(Debug)]
struct Leaf<K> {
    entries: Vec<(K, i64)>,
    /// Those of one entry behind those of the other.
    weights: Vec<i128>,
}

#[derive(Debug)]
struct Inner<K> {
    children: Vec<Node<K>>,
    /// By child: the sums.
    copies: Vec<i64>,
    weights: Vec<i128>,
}

/// Sums of some entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) copies: i64,
    pub(crate) weights: Vec<i128>,
}

impl Sums {
    /// Those of no entries.
    pub(crate) fn none(width: usize) -> Self {
        Self {
            copies: 0,
            weights: vec![0; width],
        }
    }

    /// Adds others.
    pub(crate) fn add(&mut self, copies: i64, weights: &[i128]) {
        self.copies += copies;
        added(&mut self.weights, weights);
    }

    /// Takes others away.
    pub(crate) fn take(&mut self, others: &Self) {
        self.copies -= others.copies;
        for (own, other) in self.weights.iter_mut().zip(&others.weights) {
            *own = own.wrapping_sub(*other);
        }
    }

    fn add_all(&mut self, copies: &[i64], weights: &[i128]) {
        let width = self.weights.len();
        for (at, &copies) in copies.iter().enumerate() {
            self.add(copies, &weights[at * width..(at + 1) * width]);
        }
    }
}

/// Adds some weights to others.
fn added(to: &mut [i128], weights: &[i128]) {
    for (to, weight) in to.iter_mut().zip(weights) {
        *to = to.wrapping_add(*weight);
    }
}

impl<K: Ord> Tree<K> {
    /// No entries yet, each of which will have so many weights.
    pub(crate) fn new(width: usize) -> Self {
        Self {
            root: Node::Leaf(Leaf {
                entries: Vec::new(),
                weights: Vec::new(),
            }),
            entries: 0,
            width,
            steps: 0,
        }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Cost of changes so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Number of copies of a key.
    pub(crate) fn get(&self, key: &K) -> i64 {
        let mut node = &self.root;
        loop {
            match node {
                Node::Inner(inner) => node = &inner.children[inner.child(key)],
                Node::Leaf(leaf) => {
                    let found = leaf.find(key);
                    return found.map_or(0, |at| leaf.entries[at].1);
                }
            }
        }
    }

    /// The sums of all entries.
    pub(crate) fn total(&self) -> Sums {
        self.root.sums(self.width)
    }

    /// The sums of the entries before a key.
    pub(crate) fn before(&self, key: &K) -> Sums {
        let mut sums = Sums::none(self.width);
        let mut node = &self.root;
        loop {
            match node {
                Node::Inner(inner) => {
                    let at = inner.child(key);
                    sums.add_all(&inner.copies[..at], &inner.weights);
                    node = &inner.children[at];
                }
                Node::Leaf(leaf) => {
                    let at = leaf.find(key).unwrap_or_else(|at| at);
                    let copies = leaf.entries[..at].iter().map(|(_, copies)| *copies);
                    sums.add_all(&copies.collect::<Vec<_>>(), &leaf.weights);
                    return sums;
                }
            }
        }
    }

    /// The entry that has the copy of this number, counted from 0 in order.
    pub(crate) fn select(&self, number: i64) -> Option<&K> {
        let mut left = number;
        let mut node = &self.root;
        loop {
            match node {
                Node::Inner(inner) => node = &inner.children[passed(&mut left, &inner.copies)?],
                Node::Leaf(leaf) => {
                    let mut entries = leaf.entries.iter();
                    return entries.find_map(|(key, copies)| {
                        left -= copies;
                        (left < 0).then_some(key)
                    });
                }
            }
        }
    }

    /// Checks the invariant.
    pub(crate) fn check(&self) {
        fn depth<K: Ord>(node: &Node<K>, width: usize, is_root: bool) -> usize {
            assert!(node.len() <= MOST, "a node is too large");
            assert!(is_root || node.len() >= LEAST, "a node is too small");
            match node {
                Node::Leaf(leaf) => {
                    assert!(leaf.entries.is_sorted_by(|one, other| one.0 < other.0));
                    assert!(leaf.entries.iter().all(|(_, copies)| *copies != 0));
                    assert_eq!(leaf.weights.len(), leaf.entries.len() * width);
                    0
                }
                Node::Inner(inner) => {
                    let mut depths = Vec::new();
                    for (at, child) in inner.children.iter().enumerate() {
                        let own = &inner.weights[at * width..(at + 1) * width];
                        let sums = child.sums(width);
                        assert_eq!(sums.copies, inner.copies[at], "copies are miscounted");
                        assert_eq!(sums.weights, own, "weights are miscounted");
                        depths.push(depth(child, width, false));
                    }
                    depths.dedup();
                    assert_eq!(depths.len(), 1, "leaves are not equally deep");
                    depths[0] + 1
                }
            }
        }
        depth(&self.root, self.width, true);
        let keys: Vec<&K> = self
            .forward(std::ops::Bound::Unbounded)
            .map(|(key, _)| key)
            .collect();
        assert!(keys.is_sorted_by(|one, other| one < other));
        assert_eq!(keys.len(), self.entries, "entries are miscounted");
    }
}

/// The first of some whose copies, with those before it, are more than a number, from which those before it are taken.
fn passed(number: &mut i64, copies: &[i64]) -> Option<usize> {
    for (at, &copies) in copies.iter().enumerate() {
        if *number < copies {
            return Some(at);
        }
        *number -= copies;
    }
    None
}

impl<K: Ord> Node<K> {
    /// Its entries or children.
    fn len(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.entries.len(),
            Self::Inner(inner) => inner.children.len(),
        }
    }

    /// The least key below it; none of a root without entries.
    fn first(&self) -> Option<&K> {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(leaf) => return leaf.entries.first().map(|(key, _)| key),
                Self::Inner(inner) => node = inner.children.first()?,
            }
        }
    }

    /// The sums of the entries below it.
    fn sums(&self, width: usize) -> Sums {
        let mut sums = Sums::none(width);
        match self {
            Self::Leaf(leaf) => {
                let copies: Vec<i64> = leaf.entries.iter().map(|(_, copies)| *copies).collect();
                sums.add_all(&copies, &leaf.weights);
            }
            Self::Inner(inner) => sums.add_all(&inner.copies, &inner.weights),
        }
        sums
    }
}

impl<K: Ord> Leaf<K> {
    /// Position of a key, or the position at which to insert it.
    fn find(&self, key: &K) -> Result<usize, usize> {
        self.entries.binary_search_by(|(own, _)| own.cmp(key))
    }
}

impl<K: Ord> Inner<K> {
    /// The child that has a key, or would have it.
    fn child(&self, key: &K) -> usize {
        let others = &self.children[1..];
        others.partition_point(|child| child.first().is_some_and(|first| first <= key))
    }
}
