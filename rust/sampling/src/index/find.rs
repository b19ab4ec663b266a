//! The results at positions (Algorithms 9 and 11).
//!
//! Invariant: the positions of a delta, or of the whole join, hold each result once, and dummies. Cost: O(1) a relation, and
//! the bucket: at most 127 words of one cache line or two. Positions are found together, relation by relation, so that
//! their reads overlap.

use ringview_core::prefetch;

use super::Index;
use super::key_node::Role;
use super::node::Kind;

/// The distance of prefetches, in positions.
const AHEAD: usize = 8;

/// A position among the results of a key, or of a group.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The searched position that it belongs to.
    query: u32,
    /// A key, or a group.
    of: u32,
    position: u128,
}

/// Results that are searched for, and buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    results: Vec<u32>,
    dummies: Vec<bool>,
    width: usize,
    free: Vec<Vec<Probe>>,
}

impl Search {
    fn begin(&mut self, width: usize, count: usize) {
        self.width = width;
        self.results.clear();
        self.results.resize(width * count, 0);
        self.dummies.clear();
        self.dummies.resize(count, false);
    }

    /// A result: a tuple of each relation; None for a dummy.
    pub(crate) fn result(&self, nth: usize) -> Option<&[u32]> {
        let found = !self.dummies[nth];
        found.then(|| &self.results[nth * self.width..][..self.width])
    }

    fn buffer(&mut self) -> Vec<Probe> {
        self.free.pop().unwrap_or_default()
    }

    fn release(&mut self, mut buffer: Vec<Probe>) {
        buffer.clear();
        self.free.push(buffer);
    }

    #[inline]
    fn set(&mut self, query: u32, node: usize, tuple: u32) {
        self.results[query as usize * self.width + node] = tuple;
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let buffer: usize = self.free.iter().map(Vec::capacity).sum();
        self.results.capacity() * 4 + self.dummies.capacity() + buffer * size_of::<Probe>()
    }
}

impl Index {
    /// The result of a linked tuple at a position: a tuple of each relation. False for a dummy.
    pub fn delta_get(&self, atom: usize, tuple: u32, position: u128, out: &mut [u32]) -> bool {
        let mut search = Search::default();
        self.search_deltas(&mut search, atom, &[(tuple, position)]);
        search
            .result(0)
            .map(|result| out.copy_from_slice(result))
            .is_some()
    }

    /// The result at a position below `len_upper`, which must have been called. False for a dummy.
    #[must_use]
    pub fn get(&self, position: u128, out: &mut [u32]) -> bool {
        let mut search = Search::default();
        self.search_all(&mut search, &[position]);
        search
            .result(0)
            .map(|result| out.copy_from_slice(result))
            .is_some()
    }

    /// Results of linked tuples of a relation, each at a position below its `delta_len`.
    pub(crate) fn search_deltas(&self, search: &mut Search, atom: usize, stops: &[(u32, u128)]) {
        search.begin(self.nodes.len(), stops.len());
        let node = &self.nodes[atom];
        let mut rests = search.buffer();
        for (&(tuple, position), query) in stops.iter().zip(0..) {
            search.set(query, atom, tuple);
            let of = tuple;
            rests.push(Probe {
                query,
                of,
                position,
            });
        }
        for (at, edge) in node.edges.iter().enumerate() {
            let key_node = &self.key_nodes[edge.key_node];
            let mut probes = search.buffer();
            for rest in &mut rests {
                let key = node.key(rest.of, at);
                let mut here = rest.position;
                if at + 1 < node.edges.len() {
                    let product = key_node.product(key, Some(edge.member)).unwrap_or(1);
                    (rest.position, here) = split(rest.position, product);
                }
                probes.push(Probe {
                    query: rest.query,
                    of: key,
                    position: here,
                });
            }
            self.meet(edge.key_node, Some(edge.member), &mut probes, search);
            search.release(probes);
        }
        search.release(rests);
    }

    /// Results of the whole join at positions below `len_upper`, which must have been called.
    pub(crate) fn search_all(&self, search: &mut Search, positions: &[u128]) {
        search.begin(self.nodes.len(), positions.len());
        let mut probes = search.buffer();
        let all_results = self.all_results.as_ref();
        for (&position, query) in positions.iter().zip(0..) {
            match all_results.and_then(|all_results| all_results.record.find(&self.lists, position))
            {
                Some((of, position)) => probes.push(Probe {
                    query,
                    of,
                    position,
                }),
                None => search.dummies[query as usize] = true,
            }
        }
        self.meet(self.root, None, &mut probes, search);
        search.release(probes);
    }

    /// The tuples of all members of a key node but one, at positions for its keys; a position behind the last is a dummy.
    fn meet(
        &self,
        key_node: usize,
        except: Option<usize>,
        probes: &mut Vec<Probe>,
        search: &mut Search,
    ) {
        let held = &self.key_nodes[key_node];
        self.prefetch_probes(key_node, except, probes);
        probes.retain(|probe| {
            let dummy = &mut search.dummies[probe.query as usize];
            let product = held.product(probe.of, except);
            *dummy |= product.is_none_or(|product| probe.position >= product);
            !*dummy
        });
        for (at, member) in held.members.iter().enumerate() {
            if Some(at) == except {
                continue;
            }
            match member.role {
                Role::Leaf(nth) => {
                    for probe in probes.iter_mut() {
                        let list = held.list(probe.of, nth);
                        let (rest, place) = split(probe.position, list.len.into());
                        probe.position = rest;
                        let tuple = self.lists.get(list, place as u32);
                        search.set(probe.query, member.node, tuple);
                    }
                }
                Role::Branch(nth) => {
                    let mut below = search.buffer();
                    for probe in probes.iter_mut() {
                        let count = held.record(probe.of, nth).count;
                        let (rest, position) = split(probe.position, count);
                        below.push(Probe { position, ..*probe });
                        probe.position = rest;
                    }
                    self.descend(member.node, member.at, &mut below, search);
                    search.release(below);
                }
            }
        }
    }

    fn prefetch_probes(&self, key_node: usize, except: Option<usize>, probes: &[Probe]) {
        let held = &self.key_nodes[key_node];
        for nth in 0..probes.len() + AHEAD {
            if let Some(far) = probes.get(nth) {
                held.prefetch(far.of);
            }
            let Some(near) = nth.checked_sub(AHEAD).map(|nth| probes[nth].of) else {
                continue;
            };
            for (at, member) in held.members.iter().enumerate() {
                if Some(at) != except {
                    held.prefetch_values(&self.lists, near, member.role);
                }
            }
        }
    }

    /// The groups of a relation at positions for the keys of one of its key nodes, and the tuples behind its others.
    fn descend(&self, node: usize, came: usize, probes: &mut Vec<Probe>, search: &mut Search) {
        let held = &self.nodes[node];
        let edge = &held.edges[came];
        for probe in probes.iter_mut() {
            let record = self.key_nodes[edge.key_node].record(probe.of, edge.nth);
            match record.find(&self.lists, probe.position) {
                Some((group, rest)) => (probe.of, probe.position) = (group, rest),
                None => search.dummies[probe.query as usize] = true,
            }
            prefetch(&held.slots, probe.of as usize * held.edges.len());
        }
        probes.retain(|probe| !search.dummies[probe.query as usize]);
        self.choose_tuples(node, came, probes, search);
        for (at, edge) in held.edges.iter().enumerate() {
            if at == came {
                continue;
            }
            let key_node = &self.key_nodes[edge.key_node];
            let mut there = search.buffer();
            for probe in probes.iter_mut() {
                let key = held.slot(probe.of, at).of;
                let bits = key_node.exponent(key, edge.nth);
                there.push(Probe {
                    query: probe.query,
                    of: key,
                    position: probe.position & ((1 << bits) - 1),
                });
                probe.position >>= bits;
            }
            self.meet(edge.key_node, Some(edge.member), &mut there, search);
            search.release(there);
        }
    }

    /// The tuples of groups: the upper bits of a position say which.
    fn choose_tuples(
        &self,
        node: usize,
        came: usize,
        probes: &mut Vec<Probe>,
        search: &mut Search,
    ) {
        let held = &self.nodes[node];
        if held.kind == Kind::Tuples {
            for probe in probes {
                search.set(probe.query, node, probe.of);
            }
            return;
        }
        probes.retain(|probe| {
            let mut rest = probe.position;
            for (at, edge) in held.edges.iter().enumerate().filter(|&(at, _)| at != came) {
                let key = held.slot(probe.of, at).of;
                rest >>= self.key_nodes[edge.key_node].exponent(key, edge.nth);
            }
            let list = held.groups.lists[probe.of as usize];
            let real = rest < u128::from(list.len);
            if real {
                search.set(probe.query, node, self.lists.get(list, rest as u32));
            } else {
                search.dummies[probe.query as usize] = true;
            }
            real
        });
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
