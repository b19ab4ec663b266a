//! The results at positions (Algorithms 9 and 11).
//!
//! Invariant: over all positions of a delta, or of the whole join, each result comes once, and nothing
//! else but dummies. Cost: O(1) a relation, but for the bucket: at most 127 words of one cache line or two. Positions
//! are found together, relation by relation, so that none waits for what another reads.

use ringview_core::prefetch;

use super::Index;
use super::hub::Part;
use super::node::Kind;

/// How many positions ahead what they touch is asked for.
const AHEAD: usize = 8;

/// A position among what there is for a key, or of a group.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Which of the positions searched it belongs to.
    who: u32,
    /// A key, or a group.
    of: u32,
    position: u128,
}

/// Results that are searched for, and room to do so.
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

    /// What was found: a tuple of each relation; None for a dummy.
    pub(crate) fn result(&self, nth: usize) -> Option<&[u32]> {
        let found = !self.dummies[nth];
        found.then(|| &self.results[nth * self.width..][..self.width])
    }

    fn room(&mut self) -> Vec<Probe> {
        self.free.pop().unwrap_or_default()
    }

    fn give_back(&mut self, mut room: Vec<Probe>) {
        room.clear();
        self.free.push(room);
    }

    #[inline]
    fn set(&mut self, who: u32, node: usize, tuple: u32) {
        self.results[who as usize * self.width + node] = tuple;
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let room: usize = self.free.iter().map(Vec::capacity).sum();
        self.results.capacity() * 4 + self.dummies.capacity() + room * size_of::<Probe>()
    }
}

impl Index {
    /// The result of a linked tuple at a position: a tuple of each relation. False for a dummy.
    pub fn delta_get(&self, atom: usize, tuple: u32, position: u128, out: &mut [u32]) -> bool {
        let mut search = Search::default();
        self.search_deltas(&mut search, atom, &[(tuple, position)]);
        let found = search.result(0);
        found.is_some_and(|result| {
            out.copy_from_slice(result);
            true
        })
    }

    /// The result at a position below `len_upper`, which must have been asked for. False for a dummy.
    #[must_use]
    pub fn get(&self, position: u128, out: &mut [u32]) -> bool {
        let mut search = Search::default();
        self.search_all(&mut search, &[position]);
        let found = search.result(0);
        found.is_some_and(|result| {
            out.copy_from_slice(result);
            true
        })
    }

    /// Results of linked tuples of a relation, each at a position below its `delta_len`.
    pub(crate) fn search_deltas(&self, search: &mut Search, atom: usize, sought: &[(u32, u128)]) {
        search.begin(self.nodes.len(), sought.len());
        let node = &self.nodes[atom];
        let mut rests = search.room();
        for (&(tuple, position), who) in sought.iter().zip(0..) {
            search.set(who, atom, tuple);
            let of = tuple;
            rests.push(Probe { who, of, position });
        }
        for (at, slot) in node.slots.iter().enumerate() {
            let hub = &self.hubs[slot.hub];
            let mut probes = search.room();
            for rest in &mut rests {
                let key = node.key(rest.of, at);
                let mut here = rest.position;
                if at + 1 < node.slots.len() {
                    let product = hub.product(key, Some(slot.member)).unwrap_or(1);
                    (rest.position, here) = split(rest.position, product);
                }
                probes.push(Probe {
                    who: rest.who,
                    of: key,
                    position: here,
                });
            }
            self.meet(slot.hub, Some(slot.member), &mut probes, search);
            search.give_back(probes);
        }
        search.give_back(rests);
    }

    /// Results of the whole join at positions below `len_upper`, which must have been asked for.
    pub(crate) fn search_all(&self, search: &mut Search, positions: &[u128]) {
        search.begin(self.nodes.len(), positions.len());
        let mut probes = search.room();
        let whole = self.whole.as_ref();
        for (&position, who) in positions.iter().zip(0..) {
            match whole.and_then(|whole| whole.record.find(&self.lists, position)) {
                Some((of, position)) => probes.push(Probe { who, of, position }),
                None => search.dummies[who as usize] = true,
            }
        }
        self.meet(self.root, None, &mut probes, search);
        search.give_back(probes);
    }

    /// What all members of a hub have but one, at positions for its keys; a position that is none is a dummy.
    fn meet(
        &self,
        hub: usize,
        except: Option<usize>,
        probes: &mut Vec<Probe>,
        search: &mut Search,
    ) {
        let held = &self.hubs[hub];
        self.prefetch_probes(hub, except, probes);
        probes.retain(|probe| {
            let dummy = &mut search.dummies[probe.who as usize];
            let product = held.product(probe.of, except);
            *dummy |= product.is_none_or(|product| probe.position >= product);
            !*dummy
        });
        for (at, member) in held.members.iter().enumerate() {
            if Some(at) == except {
                continue;
            }
            match member.part {
                Part::Leaf(nth) => {
                    for probe in probes.iter_mut() {
                        let list = held.list(probe.of, nth);
                        let (rest, place) = split(probe.position, list.len.into());
                        probe.position = rest;
                        let tuple = self.lists.get(list, place as u32);
                        search.set(probe.who, member.node, tuple);
                    }
                }
                Part::Branch(nth) => {
                    let mut below = search.room();
                    for probe in probes.iter_mut() {
                        let count = held.record(probe.of, nth).count;
                        let (rest, position) = split(probe.position, count);
                        below.push(Probe { position, ..*probe });
                        probe.position = rest;
                    }
                    self.descend(member.node, member.at, &mut below, search);
                    search.give_back(below);
                }
            }
        }
    }

    fn prefetch_probes(&self, hub: usize, except: Option<usize>, probes: &[Probe]) {
        let held = &self.hubs[hub];
        for nth in 0..probes.len() + AHEAD {
            if let Some(far) = probes.get(nth) {
                held.prefetch(far.of);
            }
            let Some(near) = nth.checked_sub(AHEAD).map(|nth| probes[nth].of) else {
                continue;
            };
            for (at, member) in held.members.iter().enumerate() {
                if Some(at) != except {
                    held.prefetch_values(&self.lists, near, member.part);
                }
            }
        }
    }

    /// The groups of a relation at positions for the keys of one of its hubs, and what they meet at the others.
    fn descend(&self, node: usize, came: usize, probes: &mut Vec<Probe>, search: &mut Search) {
        let held = &self.nodes[node];
        let slot = &held.slots[came];
        for probe in probes.iter_mut() {
            let record = self.hubs[slot.hub].record(probe.of, slot.nth);
            match record.find(&self.lists, probe.position) {
                Some((group, rest)) => (probe.of, probe.position) = (group, rest),
                None => search.dummies[probe.who as usize] = true,
            }
            prefetch(&held.spots, probe.of as usize * held.slots.len());
        }
        probes.retain(|probe| !search.dummies[probe.who as usize]);
        self.choose_tuples(node, came, probes, search);
        for (at, slot) in held.slots.iter().enumerate() {
            if at == came {
                continue;
            }
            let hub = &self.hubs[slot.hub];
            let mut there = search.room();
            for probe in probes.iter_mut() {
                let key = held.spot(probe.of, at).of;
                let bits = hub.exponent(key, slot.nth);
                there.push(Probe {
                    who: probe.who,
                    of: key,
                    position: probe.position & ((1 << bits) - 1),
                });
                probe.position >>= bits;
            }
            self.meet(slot.hub, Some(slot.member), &mut there, search);
            search.give_back(there);
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
                search.set(probe.who, node, probe.of);
            }
            return;
        }
        probes.retain(|probe| {
            let mut rest = probe.position;
            for (at, slot) in held.slots.iter().enumerate().filter(|&(at, _)| at != came) {
                let key = held.spot(probe.of, at).of;
                rest >>= self.hubs[slot.hub].exponent(key, slot.nth);
            }
            let list = held.groups.lists[probe.of as usize];
            let real = rest < u128::from(list.len);
            if real {
                search.set(probe.who, node, self.lists.get(list, rest as u32));
            } else {
                search.dummies[probe.who as usize] = true;
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
