//! Numbers of results: of a tuple as an upper bound that is nearly exact, of all exactly.
//!
//! Invariant: the positions of a delta are a product of counts that are not rounded themselves.
//! Cost: O(relations that meet the tuple's) a delta; all are counted in O(N).

use ringview_core::Result;

use super::Index;
use super::all_results::AllResults;
use super::key_node::Role;
use super::node::Kind;
use super::record::MOST;

impl Index {
    /// Number of positions of all results. The first call is linear in the keys of a key node.
    ///
    /// # Errors
    /// `Overflow` if there are more than 2^126.
    pub fn len_upper(&mut self) -> Result<u128> {
        if self.all_results.is_none() {
            let (mut all_results, key_node) = (AllResults::default(), &self.key_nodes[self.root]);
            let keys: Vec<u32> = (0..key_node.keys.len() as u32).collect();
            let (steps, fits) = all_results.update(key_node, &mut self.lists, &keys);
            self.steps += steps;
            if !fits {
                return Err(Self::too_large());
            }
            self.all_results = Some(all_results);
        }
        Ok(self.positions().unwrap_or_default())
    }

    /// The same, if `len_upper` was called before.
    #[must_use]
    pub fn positions(&self) -> Option<u128> {
        self.all_results
            .as_ref()
            .map(|all_results| all_results.record.count)
    }

    /// Number of positions of the results of a linked tuple.
    ///
    /// # Errors
    /// `Overflow` if there are more than 2^126.
    #[inline]
    pub fn delta_len(&self, atom: usize, tuple: u32) -> Result<u128> {
        let node = &self.nodes[atom];
        let mut all = 1u128;
        for (at, edge) in node.edges.iter().enumerate() {
            let key = node.key(tuple, at);
            let product = self.key_nodes[edge.key_node].product(key, Some(edge.member));
            let product = product.ok_or_else(Self::too_large)?;
            all = match all {
                1 => product,
                _ => all
                    .checked_mul(product)
                    .filter(|&all| all <= 1 << MOST)
                    .ok_or_else(Self::too_large)?,
            };
        }
        Ok(all)
    }

    /// Prefetches the entries that the next call for this tuple reads.
    #[inline]
    pub(crate) fn prefetch_delta(&self, atom: usize, tuple: u32) {
        let node = &self.nodes[atom];
        for (at, edge) in node.edges.iter().enumerate() {
            self.key_nodes[edge.key_node].prefetch(node.key(tuple, at));
        }
    }

    /// Number of results of the join, exactly; no more than fit. O(N).
    #[must_use]
    pub fn results(&self) -> u128 {
        let all = self.joined(self.root, None);
        all.into_iter().fold(0, u128::saturating_add)
    }

    /// By key, number of results of all members of a key node but one.
    fn joined(&self, key_node: usize, except: Option<usize>) -> Vec<u128> {
        let held = &self.key_nodes[key_node];
        let mut product = vec![1u128; held.keys.len()];
        let members = held.members.iter().enumerate();
        for (_, member) in members.filter(|&(at, _)| Some(at) != except) {
            match member.role {
                Role::Leaf(nth) => {
                    for (key, product) in (0..).zip(&mut product) {
                        *product = product.saturating_mul(held.list(key, nth).len.into());
                    }
                }
                Role::Branch(_) => {
                    let counts = self.below(member.node, member.at);
                    for (product, count) in product.iter_mut().zip(counts) {
                        *product = product.saturating_mul(count);
                    }
                }
            }
        }
        product
    }

    /// By key of one of a relation's key nodes, the number of results of this relation and those behind its other key nodes.
    fn below(&self, node: usize, at: usize) -> Vec<u128> {
        let held = &self.nodes[node];
        let edges = held.edges.iter().enumerate();
        let others = edges.filter(|&(other, _)| other != at);
        let joined: Vec<(usize, Vec<u128>)> = others
            .map(|(other, edge)| (other, self.joined(edge.key_node, Some(edge.member))))
            .collect();
        let mut counts = vec![0u128; self.key_nodes[held.edges[at].key_node].keys.len()];
        for group in self.groups(node) {
            let size: u128 = match held.kind {
                Kind::Groups => held.groups.lists[group as usize].len.into(),
                _ => 1,
            };
            let product = joined.iter().fold(size, |product, (other, joined)| {
                product.saturating_mul(joined[held.slot(group, *other).of as usize])
            });
            let count = &mut counts[held.slot(group, at).of as usize];
            *count = count.saturating_add(product);
        }
        counts
    }

    /// The groups of a branch that have tuples.
    pub(super) fn groups(&self, node: usize) -> Vec<u32> {
        match self.nodes[node].kind {
            Kind::Groups => {
                let lists = self.nodes[node].groups.lists.iter();
                let full = (0..).zip(lists).filter(|(_, list)| list.len > 0);
                full.map(|(group, _)| group).collect()
            }
            _ => self.tuples(node).collect(),
        }
    }
}
