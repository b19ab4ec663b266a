//! Inserts and deletes of tuples (Algorithms 7 and 10).
//!
//! Invariant: after a call every group lies, at each of its key nodes, in the bucket of the product of `cnt~` at its other
//! key nodes. Tuples of one relation that are inserted together are all linked first, then propagated away from their
//! relation: their own deltas depend on nothing that this changes, so each is as if they had been inserted one by one.
//! Cost: see `index`.

use std::collections::BTreeMap;

use ringview_core::{Error, Result};

use super::Index;
use super::node::Kind;
use super::record::{ZERO, rounded};
use super::rows::TupleWords;

/// The distance of prefetches, in tuples.
const AHEAD: usize = 8;

impl Index {
    /// Adds a tuple and links it.
    ///
    /// # Errors
    /// As `link`.
    pub fn insert(&mut self, atom: usize, row: &[u64]) -> Result<u32> {
        let tuple = self.add(atom, row);
        self.link(atom, &[tuple]).map(|()| tuple)
    }

    /// Gives a row a number. It has a word for each column, those of the join variables first.
    pub fn add(&mut self, atom: usize, row: &[u64]) -> u32 {
        let mut tuples = Vec::with_capacity(1);
        self.add_all(atom, row, 1, &mut tuples);
        tuples[0]
    }

    /// Gives so many rows, one after the other, a number each.
    pub(crate) fn add_all(
        &mut self,
        atom: usize,
        rows: &[u64],
        count: usize,
        tuples: &mut Vec<u32>,
    ) {
        let node = &mut self.nodes[atom];
        let (width, columns) = (node.edges.len(), node.columns);
        let row = |at: usize| &rows[at * columns..][..columns];
        self.numbers.resize(count * width, 0);
        for (at, edge) in node.edges.iter().enumerate() {
            let key_node = &mut self.key_nodes[edge.key_node];
            for nth in 0..count {
                if nth + AHEAD < count {
                    key_node.keys.prefetch(row(nth + AHEAD), &edge.columns);
                }
                self.numbers[nth * width + at] = key_node.keys.acquire(row(nth), &edge.columns);
            }
            key_node.fit();
        }
        tuples.clear();
        let numbers = self.numbers.chunks_exact(width);
        tuples.extend(
            numbers
                .enumerate()
                .map(|(nth, keys)| node.add(row(nth), keys)),
        );
    }

    /// Links tuples that are not linked.
    ///
    /// # Errors
    /// `Overflow` if a subtree of the join may have more than 2^126 results, `Memory` if the relation has 2^31
    /// tuples: the tuples are then linked, and the index good for `unlink` and `rebuild` alone.
    pub fn link(&mut self, atom: usize, tuples: &[u32]) -> Result<()> {
        self.put_all(atom, tuples);
        if let Some(rows) = &mut self.rows[atom] {
            let each = tuples.iter();
            each.for_each(|&tuple| rows.add(&self.nodes[atom], tuple));
        }
        if self.broken {
            return Err(Self::too_large());
        }
        if !self.lists.has_capacity() || self.numbers(atom) >= 1 << 31 {
            return Err(Error::Memory {
                what: "a relation of a sampled join".to_owned(),
                needed: self.memory_usage() as u64,
                limit: u64::MAX,
                instead: "sample a join of fewer rows",
            });
        }
        Ok(())
    }

    /// Takes tuples out. Their numbers and words stay until `forget`.
    pub fn unlink(&mut self, atom: usize, tuples: &[u32]) {
        if let Some(rows) = &mut self.rows[atom] {
            let each = tuples.iter();
            each.for_each(|&tuple| rows.remove(&self.nodes[atom], tuple));
        }
        for &tuple in tuples {
            self.steps += 1;
            match self.broken {
                true => self.nodes[atom].mark_unlinked(tuple),
                false => self.take_out(atom, tuple),
            }
        }
        self.propagate(atom);
    }

    /// Gives the number of a tuple that is not linked to another, and those of keys that no other has.
    pub fn forget(&mut self, atom: usize, tuple: u32) {
        let node = &mut self.nodes[atom];
        for (at, edge) in node.edges.iter().enumerate() {
            self.key_nodes[edge.key_node]
                .keys
                .release(node.key(tuple, at));
        }
        node.forget(tuple);
    }

    /// A tuple with these words, if there is one; the last inserted, of several. The first call is linear in the
    /// relation.
    pub fn find(&mut self, atom: usize, row: &[u64]) -> Option<u32> {
        let node = &self.nodes[atom];
        let rows = self.rows[atom].get_or_insert_with(|| {
            let mut rows = TupleWords::new();
            node.linked().for_each(|tuple| rows.add(node, tuple));
            rows
        });
        rows.fit(node.numbers());
        rows.find(node, row)
    }

    /// A tuple for each of `count` rows, which are adjacent in `rows`; equal rows have different ones. None if there
    /// are not as many. Linear in the relation, and nothing is kept.
    pub(crate) fn tuples_of(
        &mut self,
        atom: usize,
        rows: &[u64],
        count: usize,
    ) -> Option<Vec<u32>> {
        let was_indexed = self.rows[atom].is_some();
        let columns = self.nodes[atom].columns;
        let mut found = Vec::with_capacity(count);
        // By the first tuple of equal rows, the last one that was taken.
        let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
        for nth in 0..count {
            let first = self.find(atom, &rows[nth * columns..][..columns])?;
            let tuple = match taken.get(&first) {
                None => first,
                Some(&last) => self.rows[atom].as_ref()?.after(last)?,
            };
            taken.insert(first, tuple);
            found.push(tuple);
        }
        if !was_indexed {
            self.rows[atom] = None;
        }
        Some(found)
    }

    /// Whether a count passed its limit, so that the index must be built anew.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Builds everything anew from the linked tuples. O(N log N).
    ///
    /// # Errors
    /// As `link`.
    pub fn rebuild(&mut self) -> Result<()> {
        let linked: Vec<Vec<u32>> = (0..self.nodes.len())
            .map(|atom| self.tuples(atom).collect())
            .collect();
        self.broken = false;
        self.lists = super::Lists::default();
        self.all_results = None;
        self.key_nodes.iter_mut().for_each(super::KeyNode::clear);
        for (atom, tuples) in linked.iter().enumerate() {
            self.nodes[atom].clear_lists();
            self.put_all(atom, tuples);
        }
        if self.broken {
            Err(Self::too_large())
        } else {
            Ok(())
        }
    }

    fn put_all(&mut self, atom: usize, tuples: &[u32]) {
        for (nth, &tuple) in tuples.iter().enumerate() {
            self.prefetch(atom, tuples.get(nth + AHEAD), tuples.get(nth + AHEAD / 2));
            self.steps += 1;
            match self.broken {
                true => self.nodes[atom].mark_linked(tuple),
                false => self.put_in(atom, tuple),
            }
        }
        self.propagate(atom);
    }

    /// Prefetches the entries of a tuple that will be linked; of a nearer one, their lists.
    #[inline]
    fn prefetch(&self, atom: usize, far: Option<&u32>, near: Option<&u32>) {
        let node = &self.nodes[atom];
        for (at, edge) in node.edges.iter().enumerate() {
            let key_node = &self.key_nodes[edge.key_node];
            if let Some(&far) = far {
                key_node.prefetch(node.key(far, at));
            }
            if let Some(&near) = near {
                let role = key_node.members[edge.member].role;
                key_node.prefetch_values(&self.lists, node.key(near, at), role);
            }
        }
    }

    #[inline]
    fn put_in(&mut self, atom: usize, tuple: u32) {
        let node = &mut self.nodes[atom];
        match node.kind {
            Kind::Leaf => {
                let (edge, key) = (&node.edges[0], node.own[tuple as usize].of);
                let key_node = &mut self.key_nodes[edge.key_node];
                let place = self.lists.push(key_node.list_mut(key, edge.nth), tuple);
                node.own[tuple as usize].place = place;
                key_node.mark(key);
            }
            Kind::Tuples => self.position_group::<true>(atom, tuple),
            Kind::Groups => {
                let group = node.own[tuple as usize].of;
                let list = &mut node.groups.lists[group as usize];
                node.own[tuple as usize].place = self.lists.push(list, tuple);
                if list.len == 1 {
                    node.groups.sizes[group as usize] = 0;
                    self.position_group::<true>(atom, group);
                } else {
                    self.resize(atom, group);
                }
            }
        }
    }

    fn take_out(&mut self, atom: usize, tuple: u32) {
        let node = &mut self.nodes[atom];
        match node.kind {
            Kind::Leaf => {
                let (edge, slot) = (&node.edges[0], node.own[tuple as usize]);
                let key_node = &mut self.key_nodes[edge.key_node];
                let list = key_node.list_mut(slot.of, edge.nth);
                if let Some(moved) = self.lists.take(list, slot.place) {
                    node.own[moved as usize].place = slot.place;
                }
                key_node.mark(slot.of);
            }
            Kind::Tuples => self.position_group::<false>(atom, tuple),
            Kind::Groups => {
                let slot = node.own[tuple as usize];
                let list = &mut node.groups.lists[slot.of as usize];
                if let Some(moved) = self.lists.take(list, slot.place) {
                    node.own[moved as usize].place = slot.place;
                }
                if list.len == 0 {
                    self.position_group::<false>(atom, slot.of);
                    self.nodes[atom].groups.sizes[slot.of as usize] = ZERO;
                } else {
                    self.resize(atom, slot.of);
                }
            }
        }
        self.nodes[atom].mark_unlinked(tuple);
    }

    /// Puts a group into its bucket at each of its edges, or takes it out.
    fn position_group<const LINKED: bool>(&mut self, atom: usize, group: u32) {
        for at in 0..self.nodes[atom].edges.len() {
            let powers = self.powers(atom, group, (at, at));
            let weight = Some(self.or_break(powers));
            let weights = if LINKED {
                (None, weight)
            } else {
                (weight, None)
            };
            self.reweigh(atom, group, at, weights);
        }
    }

    /// The number of tuples of a group changed.
    fn resize(&mut self, atom: usize, group: u32) {
        let groups = &mut self.nodes[atom].groups;
        let before = groups.sizes[group as usize];
        let now = rounded(before, groups.lists[group as usize].len.into());
        if before == now {
            return;
        }
        for at in 0..self.nodes[atom].edges.len() {
            let [from, to] = [before, now].map(|size| {
                self.nodes[atom].groups.sizes[group as usize] = size;
                let powers = self.powers(atom, group, (at, at));
                Some(self.or_break(powers))
            });
            self.reweigh(atom, group, at, (from, to));
        }
    }
}
