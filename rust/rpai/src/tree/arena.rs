//! Nodes in one list, named by their indexes, so that no node is a box of its own.
//!
//! Invariant: a released index is used again before the list grows. Cost: O(1)
//! amortised.

use std::ops::{Index, IndexMut};

#[derive(Clone, Debug)]
pub(super) struct Arena<N> {
    nodes: Vec<N>,
    free: Vec<u32>,
}

impl<N> Arena<N> {
    pub(super) fn new() -> Self {
        let (nodes, free) = (Vec::new(), Vec::new());
        Self { nodes, free }
    }

    pub(super) fn add(&mut self, node: N) -> u32 {
        if let Some(at) = self.free.pop() {
            self[at] = node;
            return at;
        }
        let at = u32::try_from(self.nodes.len()).expect("memory ends before node 2^32");
        self.nodes.push(node);
        at
    }

    pub(super) fn release(&mut self, at: u32) {
        self.free.push(at);
    }

    /// Two different nodes.
    pub(super) fn pair(&mut self, first: u32, second: u32) -> (&mut N, &mut N) {
        let both = [first as usize, second as usize];
        let [first, second] = (self.nodes.get_disjoint_mut(both)).expect("two nodes are not one");
        (first, second)
    }

    /// Nodes in use.
    pub(super) fn used(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<N>() + self.free.capacity() * size_of::<u32>()
    }
}

impl<N> Index<u32> for Arena<N> {
    type Output = N;

    #[inline(always)]
    fn index(&self, at: u32) -> &N {
        &self.nodes[at as usize]
    }
}

impl<N> IndexMut<u32> for Arena<N> {
    #[inline(always)]
    fn index_mut(&mut self, at: u32) -> &mut N {
        &mut self.nodes[at as usize]
    }
}
