//! An audit of everything that a tree promises, for tests. Cost: O(n).

use super::node::LEAST;
use super::{RpaiTree, Tie};
use crate::key::Key;
use crate::payload::Payload;

impl<K: Key, P: Payload, T: Tie> RpaiTree<K, P, T> {
    /// Holds the tree to its invariants: order, widths, depths, relative keys, sums, weight, nodes.
    ///
    /// # Panics
    /// If one is broken.
    pub fn check(&self) {
        let mut nodes = (0, 0);
        let sum = self.check_node(0, self.root, self.base, &mut nodes);
        assert!(sum.agrees(self.total, self.weight), "the total");
        assert_eq!(
            nodes,
            (self.inners.used(), self.leaves.used()),
            "no node is lost"
        );
        let entries: Vec<_> = self.iter().collect();
        assert_eq!(entries.len(), self.len, "the number of entries");
        let ordered = entries
            .windows(2)
            .all(|pair| (pair[0].0, pair[0].1) < (pair[1].0, pair[1].1));
        assert!(ordered, "entries are in order, and no two are equal");
        assert!(
            entries.iter().all(|entry| !entry.2.is_zero()),
            "no entry is zero"
        );
        let sizes = entries.iter().map(|entry| entry.2.magnitude());
        let weight = sizes.fold(P::ZERO, |sum, size| sum.with(size.expect("it fitted")));
        assert!(weight.agrees(self.weight, self.weight), "the weight");
    }

    /// The sum below a node, counted anew.
    fn check_node(&self, level: usize, node: u32, base: K, nodes: &mut (usize, usize)) -> P {
        let entries = self.entries_of(level, node);
        assert!(level == 0 || entries.len >= LEAST, "a node is wide enough");
        if level == self.height {
            nodes.1 += 1;
            return entries.sum();
        }
        nodes.0 += 1;
        assert!(entries.len >= 2, "an inner node has children");
        let inner = &self.inners[node];
        let mut sum = P::ZERO;
        for at in 0..entries.len {
            let (child, base_below) = (inner.children[at], base.offset_by(inner.offsets[at]));
            let below = self.check_node(level + 1, child, base_below, nodes);
            assert!(
                below.agrees(entries.payloads[at], self.weight),
                "a subtree's sum"
            );
            let theirs = self.entries_of(level + 1, child);
            let last = theirs.len - 1;
            assert_eq!(
                theirs.keys[last].offset_by(base_below),
                entries.keys[at].offset_by(base)
            );
            assert_eq!(
                theirs.ties[last], entries.ties[at],
                "the greatest entry below"
            );
            sum = sum.with(below);
        }
        sum
    }
}
