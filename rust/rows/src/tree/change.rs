//! Inserts, changes and deletes of entries, with nodes that stay neither too small nor too large.
//!
//! Invariant: that of the tree. Cost: O(log n), a constant number of nodes a level.

use super::{Inner, LEAST, Leaf, MOST, Node, Tree, added};

/// Effect of a change on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Entered,
    Stayed,
    Left,
}

impl<K: Ord + Clone> Tree<K> {
    /// Adds to the copies and weights of a key; without copies it leaves, and its weights must be 0 then.
    pub(crate) fn add(&mut self, key: &K, copies: i64, weights: &[i128]) -> Change {
        let change = self.root.add(key, copies, weights, &mut self.steps);
        match change {
            Change::Entered => self.entries += 1,
            Change::Left => self.entries -= 1,
            Change::Stayed => return change,
        }
        if self.root.len() > MOST {
            let right = self.root.split(self.width);
            let left = std::mem::replace(&mut self.root, Node::Inner(Inner::none()));
            if let Node::Inner(root) = &mut self.root {
                root.insert(0, left, self.width);
                root.insert(1, right, self.width);
            }
        }
        if let Node::Inner(root) = &mut self.root
            && root.children.len() == 1
            && let Some(only) = root.children.pop()
        {
            self.root = only;
        }
        change
    }
}

impl<K: Ord + Clone> Node<K> {
    fn add(&mut self, key: &K, copies: i64, weights: &[i128], steps: &mut u64) -> Change {
        *steps += 1 + u64::from(self.len().max(1).ilog2());
        match self {
            Self::Leaf(leaf) => leaf.add(key, copies, weights),
            Self::Inner(inner) => {
                let (at, width) = (inner.child(key), weights.len());
                let change = inner.children[at].add(key, copies, weights, steps);
                inner.copies[at] += copies;
                added(&mut inner.weights[at * width..(at + 1) * width], weights);
                let len = inner.children[at].len();
                match change {
                    Change::Entered if len > MOST => {
                        let right = inner.children[at].split(width);
                        inner.insert(at + 1, right, width);
                        inner.sum(at, width);
                    }
                    Change::Left if len < LEAST => inner.fill(at, width),
                    _ => {}
                }
                change
            }
        }
    }
}

impl<K: Ord> Node<K> {
    /// Takes the second half off.
    fn split(&mut self, width: usize) -> Self {
        let at = self.len() / 2;
        match self {
            Self::Leaf(leaf) => Self::Leaf(Leaf {
                entries: leaf.entries.split_off(at),
                weights: leaf.weights.split_off(at * width),
            }),
            Self::Inner(inner) => Self::Inner(Inner {
                children: inner.children.split_off(at),
                copies: inner.copies.split_off(at),
                weights: inner.weights.split_off(at * width),
            }),
        }
    }

    /// Takes in the next node of its level.
    fn append(&mut self, next: Self) {
        match (self, next) {
            (Self::Leaf(leaf), Self::Leaf(next)) => {
                leaf.entries.extend(next.entries);
                leaf.weights.extend(next.weights);
            }
            (Self::Inner(inner), Self::Inner(next)) => {
                inner.children.extend(next.children);
                inner.copies.extend(next.copies);
                inner.weights.extend(next.weights);
            }
            _ => unreachable!("leaves are equally deep"),
        }
    }
}

impl<K: Ord + Clone> Leaf<K> {
    fn add(&mut self, key: &K, copies: i64, weights: &[i128]) -> Change {
        let width = weights.len();
        match self.find(key) {
            Err(_) if copies == 0 => Change::Stayed,
            Err(at) => {
                self.entries.insert(at, (key.clone(), copies));
                let from = at * width;
                self.weights.splice(from..from, weights.iter().copied());
                Change::Entered
            }
            Ok(at) => {
                let own = at * width..(at + 1) * width;
                self.entries[at].1 += copies;
                if self.entries[at].1 == 0 {
                    self.entries.remove(at);
                    self.weights.drain(own);
                    return Change::Left;
                }
                added(&mut self.weights[own], weights);
                Change::Stayed
            }
        }
    }
}

impl<K: Ord> Inner<K> {
    fn none() -> Self {
        Self {
            children: Vec::new(),
            copies: Vec::new(),
            weights: Vec::new(),
        }
    }

    fn insert(&mut self, at: usize, child: Node<K>, width: usize) {
        let sums = child.sums(width);
        self.children.insert(at, child);
        self.copies.insert(at, sums.copies);
        self.weights.splice(at * width..at * width, sums.weights);
    }

    /// Counts the sums of a child anew.
    fn sum(&mut self, at: usize, width: usize) {
        let sums = self.children[at].sums(width);
        self.copies[at] = sums.copies;
        self.weights[at * width..(at + 1) * width].copy_from_slice(&sums.weights);
    }

    /// Gives a child that is too small entries of the one beside it, or all of them.
    fn fill(&mut self, at: usize, width: usize) {
        let left = at.min(self.children.len().saturating_sub(2));
        if left + 1 >= self.children.len() {
            return;
        }
        let right = self.children.remove(left + 1);
        self.copies.remove(left + 1);
        self.weights.drain((left + 1) * width..(left + 2) * width);
        self.children[left].append(right);
        if self.children[left].len() > MOST {
            let right = self.children[left].split(width);
            self.insert(left + 1, right, width);
        }
        self.sum(left, width);
    }
}
