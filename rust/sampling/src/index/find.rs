//! The result at a position (Algorithms 9 and 11).
//!
//! Invariant: over all positions of a delta, or of the whole join, each result comes once, and nothing
//! else but dummies. Cost: O(1) a relation, but for the bucket: at most 127 words of one cache line or two.

use ringview_core::Result;

use super::Index;
use super::node::Kind;
use super::record::MOST;

impl Index {
    /// How many positions the results of a linked tuple have.
    ///
    /// # Errors
    /// `Overflow` if there are more than 2^126.
    #[inline]
    pub fn delta_len(&self, atom: usize, tuple: u32) -> Result<u128> {
        let node = &self.nodes[atom];
        let mut product = 1u128;
        for (&edge, &key) in node.edges.iter().zip(&node.key_of) {
            let count = self.count(self.edges[edge].back, node.key(tuple, key));
            let within = product.checked_mul(count).filter(|&p| p <= 1 << MOST);
            product = within.ok_or_else(Self::too_large)?;
        }
        Ok(product)
    }

    /// The result of a linked tuple at a position: a tuple of each relation. False for a dummy.
    #[inline]
    pub fn delta_get(&self, atom: usize, tuple: u32, mut position: u128, out: &mut [u32]) -> bool {
        out[atom] = tuple;
        let node = &self.nodes[atom];
        node.edges.iter().zip(&node.key_of).all(|(&edge, &key)| {
            let (back, key) = (self.edges[edge].back, node.key(tuple, key));
            let (rest, here) = split(position, self.count(back, key));
            position = rest;
            self.exactly(back, key, here, out)
        })
    }

    /// What comes by an edge for a key, not rounded here: nobody keeps it, so it may be any number.
    /// Behind relations whose groups are keys it is a product; below those, what a record counts.
    fn count(&self, edge: usize, key: u32) -> u128 {
        let edge = &self.edges[edge];
        let node = &self.nodes[edge.from];
        if node.kind != Kind::Keys {
            let record = edge.records.get(key as usize);
            return record.map_or(0, |record| record.count);
        }
        let list = node.groups.lists.get(key as usize);
        let others = node
            .edges
            .iter()
            .enumerate()
            .filter(|&(at, _)| at != edge.at);
        let counts = others.map(|(_, &other)| self.count(self.edges[other].back, key));
        // It is no more than the rounded product, which fits.
        counts.fold(
            u128::from(list.map_or(0, |list| list.len)),
            u128::saturating_mul,
        )
    }

    /// The results behind an edge for a key, at a position below `count`.
    fn exactly(&self, edge: usize, key: u32, position: u128, out: &mut [u32]) -> bool {
        let edge = &self.edges[edge];
        let node = &self.nodes[edge.from];
        if node.kind != Kind::Keys {
            return match edge.records[key as usize].find(&self.lists, position) {
                Some((group, rest)) => self.members(edge.from, group, Some(edge.at), rest, out),
                None => false,
            };
        }
        let list = node.groups.lists[key as usize];
        let (mut rest, tuple) = split(position, u128::from(list.len));
        out[edge.from] = self.lists.get(list, tuple as u32);
        let mut others = node
            .edges
            .iter()
            .enumerate()
            .filter(|&(at, _)| at != edge.at);
        others.all(|(_, &other)| {
            let back = self.edges[other].back;
            let (above, here) = split(rest, self.count(back, key));
            rest = above;
            self.exactly(back, key, here, out)
        })
    }

    /// How many positions all results have. The first call is linear in one relation.
    ///
    /// # Errors
    /// `Overflow` if there are more than 2^126.
    pub fn len_upper(&mut self) -> Result<u128> {
        self.build_whole()?;
        Ok(self.whole.as_ref().map_or(0, |whole| whole.record.count))
    }

    /// The same, if they were asked for before.
    #[must_use]
    pub fn positions(&self) -> Option<u128> {
        self.whole.as_ref().map(|whole| whole.record.count)
    }

    /// How many results the join has, exactly. O(N).
    #[must_use]
    pub fn results(&self) -> u128 {
        let node = &self.nodes[self.root];
        let below: Vec<Vec<u128>> = node
            .edges
            .iter()
            .map(|&edge| self.exact(self.edges[edge].back))
            .collect();
        let all = self.groups(self.root).into_iter();
        all.map(|group| self.group_results(self.root, group, None, &below))
            .sum()
    }

    /// How many results there are behind an edge, by key.
    fn exact(&self, edge: usize) -> Vec<u128> {
        let edge = &self.edges[edge];
        let node = &self.nodes[edge.from];
        let others = node.edges.iter().enumerate().map(|(at, &other)| {
            if at == edge.at {
                return Vec::new();
            }
            self.exact(self.edges[other].back)
        });
        let below: Vec<Vec<u128>> = others.collect();
        let mut counts = vec![0; self.keys[edge.keys].len()];
        for group in self.groups(edge.from) {
            let key = node.group_key(group, edge.at) as usize;
            counts[key] += self.group_results(edge.from, group, Some(edge.at), &below);
        }
        counts
    }

    /// How many results a group has with what comes in by all edges but one.
    fn group_results(
        &self,
        node: usize,
        group: u32,
        except: Option<usize>,
        below: &[Vec<u128>],
    ) -> u128 {
        let held = &self.nodes[node];
        let tuples = match held.kind {
            Kind::Tuples => 1,
            _ => held.groups.lists[group as usize].len.into(),
        };
        let others = (0..held.edges.len()).filter(|&at| Some(at) != except);
        let counts = others.map(|at| {
            let key = held.group_key(group, at) as usize;
            below[at].get(key).copied().unwrap_or(0)
        });
        counts.fold(tuples, u128::saturating_mul)
    }

    /// The result at a position below `len_upper`, which must have been asked for. False for a dummy.
    #[must_use]
    pub fn get(&self, position: u128, out: &mut [u32]) -> bool {
        let whole = self.whole.as_ref();
        let found = whole.and_then(|whole| whole.record.find(&self.lists, position));
        found.is_some_and(|(group, rest)| self.members(self.root, group, None, rest, out))
    }

    /// A tuple of a group, and what it meets by all edges but one.
    fn members(
        &self,
        node: usize,
        group: u32,
        except: Option<usize>,
        position: u128,
        out: &mut [u32],
    ) -> bool {
        let held = &self.nodes[node];
        let key = |at: usize| held.group_key(group, at);
        let mut rest = position;
        if held.kind == Kind::Tuples {
            out[node] = group;
        } else {
            // The tuple has the upper bits.
            for at in (0..held.edges.len()).filter(|&at| Some(at) != except) {
                rest >>= self.incoming(node, at, key(at));
            }
            let list = held.groups.lists[group as usize];
            if rest >= u128::from(list.len) {
                return false;
            }
            out[node] = self.lists.get(list, rest as u32);
        }
        self.others(node, except, position, out, key)
    }

    /// What comes in by all edges of a node but one, each with its bits of the position.
    #[inline]
    fn others(
        &self,
        node: usize,
        except: Option<usize>,
        mut position: u128,
        out: &mut [u32],
        key: impl Fn(usize) -> u32,
    ) -> bool {
        let edges = &self.nodes[node].edges;
        for at in (0..edges.len()).filter(|&at| Some(at) != except) {
            let key = key(at);
            let bits = self.incoming(node, at, key);
            let below = position & ((1 << bits) - 1);
            position >>= bits;
            if !self.below(self.edges[edges[at]].back, key, below, out) {
                return false;
            }
        }
        true
    }

    /// The results behind an edge for a key.
    fn below(&self, edge: usize, key: u32, position: u128, out: &mut [u32]) -> bool {
        let edge = &self.edges[edge];
        if self.nodes[edge.from].kind == Kind::Keys {
            return self.members(edge.from, key, Some(edge.at), position, out);
        }
        match edge.records[key as usize].find(&self.lists, position) {
            Some((group, rest)) => self.members(edge.from, group, Some(edge.at), rest, out),
            None => false,
        }
    }
}

/// Quotient and remainder; a position has 64 bits most of the time, and then this is far quicker.
#[inline]
fn split(position: u128, count: u128) -> (u128, u128) {
    match (u64::try_from(position), u64::try_from(count)) {
        (Ok(position), Ok(count)) => ((position / count).into(), (position % count).into()),
        _ => (position / count, position % count),
    }
}
