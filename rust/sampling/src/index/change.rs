//! Tuples come and go, and what that moves (Algorithms 7 and 10).
//!
//! Invariant: after a call every group lies, at each of its edges, in the bucket of the product of what
//! comes in by the others; nothing moves where no rounded count changed. A change travels away from the tuple, so what
//! is walked is never what is moved. Cost: see `index`.

use ringview_core::{Error, Result};

use super::lists::{List, NONE};
use super::node::Kind;
use super::record::{MOST, ZERO, rounded};
use super::rows::TupleWords;
use super::{Index, Record, Whole};

impl Index {
    /// Adds a tuple and links it.
    ///
    /// # Errors
    /// As `link`.
    pub fn insert(&mut self, atom: usize, row: &[u64]) -> Result<u32> {
        let tuple = self.add(atom, row);
        self.link(atom, tuple).map(|()| tuple)
    }

    /// Gives a row a number. It has a word for each column, those of the join variables first.
    pub fn add(&mut self, atom: usize, row: &[u64]) -> u32 {
        let mut keys = std::mem::take(&mut self.scratch);
        keys.clear();
        let node = &self.nodes[atom];
        for (numbers, columns) in &node.keys {
            keys.push(self.keys[*numbers].enter(row, columns));
        }
        let tuple = self.nodes[atom].add(row, &keys);
        self.scratch = keys;
        tuple
    }

    /// Lets a tuple that is not linked join.
    ///
    /// # Errors
    /// `Overflow` if the join may have more than 2^126 results, `Memory` if the relation has 2^31 tuples:
    /// the tuple is then linked, and the index good for `unlink` and `rebuild` alone.
    pub fn link(&mut self, atom: usize, tuple: u32) -> Result<()> {
        self.place_in_list(atom, tuple);
        if let Some(mut rows) = self.rows[atom].take() {
            rows.add(self.row(atom, tuple), tuple, |other| self.row(atom, other));
            self.rows[atom] = Some(rows);
        }
        if self.broken {
            return Err(Self::too_large());
        }
        if !self.lists.has_room() || self.numbers(atom) >= 1 << 31 {
            return Err(Error::Memory {
                what: "a relation of a sampled join".to_owned(),
                needed: self.memory_usage() as u64,
                limit: u64::MAX,
                instead: "sample a join of fewer rows",
            });
        }
        Ok(())
    }

    /// Takes a tuple out. Its number and words stay until `forget`.
    pub fn unlink(&mut self, atom: usize, tuple: u32) {
        self.steps += 1;
        if let Some(mut rows) = self.rows[atom].take() {
            rows.remove(self.row(atom, tuple), tuple, |other| self.row(atom, other));
            self.rows[atom] = Some(rows);
        }
        let place = std::mem::replace(&mut self.nodes[atom].tuples.place[tuple as usize], NONE);
        if self.broken {
            return;
        }
        let group = self.group_of(atom, tuple);
        if self.nodes[atom].kind == Kind::Tuples {
            return self.remove_group(atom, group);
        }
        let node = &mut self.nodes[atom];
        let list = &mut node.groups.lists[group as usize];
        if let Some(moved) = self.lists.take(list, place) {
            node.tuples.place[moved as usize] = place;
        }
        if list.len == 0 && node.kind == Kind::Groups {
            self.remove_group(atom, group);
            self.nodes[atom].groups.size[group as usize] = ZERO;
            self.nodes[atom].leave_group(group);
        } else {
            self.resize(atom, group);
        }
    }

    /// Gives the number of a tuple that is not linked to another, and those of keys that no other has.
    pub fn forget(&mut self, atom: usize, tuple: u32) {
        let node = &self.nodes[atom];
        for (key, (numbers, _)) in node.keys.iter().enumerate() {
            self.keys[*numbers].leave(node.key(tuple, key));
        }
        self.nodes[atom].tuples.free.push(tuple);
    }

    /// A tuple with these words, if there is one; the last that came, of several. The first call is linear
    /// in the relation.
    pub fn find(&mut self, atom: usize, row: &[u64]) -> Option<u32> {
        let mut rows = self.rows[atom].take().unwrap_or_else(|| {
            let mut rows = TupleWords::new();
            for tuple in self.tuples(atom).collect::<Vec<u32>>() {
                rows.add(self.row(atom, tuple), tuple, |other| self.row(atom, other));
            }
            rows
        });
        let found = rows.find(row, |other| self.row(atom, other));
        rows.fit(self.numbers(atom));
        self.rows[atom] = Some(rows);
        found
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
        self.broken = false;
        self.lists = super::Lists::default();
        self.whole = None;
        for edge in &mut self.edges {
            edge.exponent.clear();
            edge.records.clear();
        }
        for atom in 0..self.nodes.len() {
            self.nodes[atom].clear_groups();
        }
        for atom in 0..self.nodes.len() {
            for tuple in self.tuples(atom).collect::<Vec<u32>>() {
                self.place_in_list(atom, tuple);
            }
        }
        if self.broken {
            Err(Self::too_large())
        } else {
            Ok(())
        }
    }

    /// The group of a linked tuple.
    pub(super) fn group_of(&self, atom: usize, tuple: u32) -> u32 {
        let node = &self.nodes[atom];
        match node.kind {
            Kind::Keys => node.key(tuple, 0),
            Kind::Tuples => tuple,
            Kind::Groups => node.tuples.group[tuple as usize],
        }
    }

    fn place_in_list(&mut self, atom: usize, tuple: u32) {
        self.steps += 1;
        self.nodes[atom].tuples.place[tuple as usize] = 0;
        if self.broken {
            return;
        }
        let node = &mut self.nodes[atom];
        let (group, new) = match node.kind {
            Kind::Tuples => return self.add_group(atom, tuple),
            Kind::Keys => {
                let group = node.key(tuple, 0);
                let needed = group as usize + 1;
                if node.groups.lists.len() < needed {
                    node.groups.lists.resize(needed, List::EMPTY);
                    node.groups.size.resize(needed, ZERO);
                }
                (group, false)
            }
            Kind::Groups => node.enter_group(tuple),
        };
        let list = &mut node.groups.lists[group as usize];
        node.tuples.place[tuple as usize] = self.lists.push(list, tuple);
        if node.kind == Kind::Groups {
            node.tuples.group[tuple as usize] = group;
        }
        if new {
            node.groups.size[group as usize] = 0;
            self.add_group(atom, group);
        } else {
            self.resize(atom, group);
        }
    }

    /// The number of tuples of a group changed.
    fn resize(&mut self, atom: usize, group: u32) {
        let groups = &mut self.nodes[atom].groups;
        let size = &mut groups.size[group as usize];
        let now = rounded(*size, u128::from(groups.lists[group as usize].len));
        if std::mem::replace(size, now) != now {
            self.reweigh(atom, group, None);
        }
    }

    /// What a group stands for: the product of its size and of what comes in by all edges but one.
    pub(super) fn exponent(&self, node: usize, group: u32, except: Option<usize>) -> Option<u8> {
        let held = &self.nodes[node];
        let size = held.size(group);
        let mut sum = u32::from(size);
        let mut none = size == ZERO;
        for at in 0..held.edges.len() {
            if Some(at) != except {
                let incoming = self.incoming(node, at, held.group_key(group, at));
                none |= incoming == ZERO;
                sum += u32::from(incoming);
            }
        }
        match sum {
            _ if none => Some(ZERO),
            _ if sum > u32::from(MOST) => None,
            _ => Some(sum as u8),
        }
    }

    /// The same; a group that stands for too much breaks the index.
    fn exponent_or_break(&mut self, node: usize, group: u32, except: Option<usize>) -> u8 {
        self.exponent(node, group, except).unwrap_or_else(|| {
            self.broken = true;
            MOST
        })
    }

    /// What a group stands for changed, at all edges but the one by which the change came.
    fn reweigh(&mut self, node: usize, group: u32, came: Option<usize>) {
        for at in 0..self.nodes[node].edges.len() {
            if Some(at) == came {
                continue;
            }
            let now = self.exponent_or_break(node, group, Some(at));
            if self.nodes[node].kind == Kind::Keys {
                self.send(self.nodes[node].edges[at], group, now);
                continue;
            }
            let place = group as usize * self.nodes[node].edges.len() + at;
            if self.nodes[node].groups.exponent[place] != now {
                self.steps += 1;
                self.take_out(node, group, at);
                self.put_in(node, group, at, now);
                self.round(node, group, at);
            }
        }
        self.reweigh_whole(node, group);
    }

    fn add_group(&mut self, node: usize, group: u32) {
        self.nodes[node].make_room(group);
        for at in 0..self.nodes[node].edges.len() {
            let now = self.exponent_or_break(node, group, Some(at));
            self.put_in(node, group, at, now);
            self.round(node, group, at);
        }
        self.reweigh_whole(node, group);
    }

    fn remove_group(&mut self, node: usize, group: u32) {
        for at in 0..self.nodes[node].edges.len() {
            self.take_out(node, group, at);
            self.round(node, group, at);
        }
        self.leave_whole(node, group);
    }

    fn put_in(&mut self, node: usize, group: u32, at: usize, exponent: u8) {
        let held = &mut self.nodes[node];
        let key = held.group_key(group, at) as usize;
        let edge = &mut self.edges[held.edges[at]];
        if edge.records.len() <= key {
            let needed = self.keys[edge.keys].len();
            edge.records.resize_with(needed, Record::default);
        }
        let (place, fits) = edge.records[key].put(&mut self.lists, exponent, group);
        let here = group as usize * held.edges.len() + at;
        held.groups.place[here] = place;
        held.groups.exponent[here] = exponent;
        self.broken |= !fits;
    }

    fn take_out(&mut self, node: usize, group: u32, at: usize) {
        let held = &mut self.nodes[node];
        let key = held.group_key(group, at) as usize;
        let width = held.edges.len();
        let here = group as usize * width + at;
        let (place, exponent) = (held.groups.place[here], held.groups.exponent[here]);
        let record = &mut self.edges[held.edges[at]].records[key];
        if let Some(moved) = record.take(&mut self.lists, exponent, place) {
            held.groups.place[moved as usize * width + at] = place;
        }
    }

    /// The count of a group's key at an edge changed.
    fn round(&mut self, node: usize, group: u32, at: usize) {
        let held = &self.nodes[node];
        let key = held.group_key(group, at);
        let edge = &self.edges[held.edges[at]];
        let before = edge.exponent.get(key as usize).copied().unwrap_or(ZERO);
        let now = rounded(before, edge.records[key as usize].count);
        self.send(held.edges[at], key, now);
    }

    /// An edge says another `cnt~` for a key: whoever reads it moves.
    fn send(&mut self, edge: usize, key: u32, now: u8) {
        let Self { edges, keys, .. } = self;
        let sender = &mut edges[edge];
        if sender.exponent.len() <= key as usize {
            sender.exponent.resize(keys[sender.keys].len(), ZERO);
        }
        let before = std::mem::replace(&mut sender.exponent[key as usize], now);
        if before == now || self.broken {
            return;
        }
        let (to, back) = (self.edges[edge].to, self.edges[edge].back);
        let came = Some(self.edges[back].at);
        if self.nodes[to].kind == Kind::Keys {
            if self.nodes[to].size(key) != ZERO {
                self.reweigh(to, key, came);
            }
            return;
        }
        // What is moved lies at other edges than the one that is walked.
        let Some(record) = self.edges[back].records.get(key as usize) else {
            return;
        };
        for rank in 0..record.buckets() {
            let list = self.edges[back].records[key as usize].bucket(rank);
            for at in 0..list.len {
                self.reweigh(to, self.lists.get(list, at), came);
            }
        }
    }

    /// The record of all results; the first call is linear in the root's groups.
    pub(super) fn build_whole(&mut self) -> Result<()> {
        if self.whole.is_none() {
            self.whole = Some(Whole::default());
            let node = self.root;
            for group in self.groups(node) {
                self.reweigh_whole(node, group);
            }
            if self.broken {
                // Nothing else is wrong.
                self.broken = false;
                self.whole = None;
                return Err(Self::too_large());
            }
        }
        Ok(())
    }

    /// The groups of a node that have tuples.
    pub(super) fn groups(&self, node: usize) -> Vec<u32> {
        match self.nodes[node].kind {
            Kind::Tuples => self.tuples(node).collect(),
            _ => {
                let sizes = &self.nodes[node].groups.size;
                (0..sizes.len() as u32)
                    .filter(|&g| sizes[g as usize] != ZERO)
                    .collect()
            }
        }
    }

    fn reweigh_whole(&mut self, node: usize, group: u32) {
        if node != self.root || self.whole.is_none() {
            return;
        }
        let now = self.exponent_or_break(node, group, None);
        self.move_in_whole(group, now);
    }

    fn leave_whole(&mut self, node: usize, group: u32) {
        if node == self.root && self.whole.is_some() {
            self.move_in_whole(group, ZERO);
        }
    }

    /// Groups that stand for nothing are not listed.
    fn move_in_whole(&mut self, group: u32, now: u8) {
        let Some(whole) = &mut self.whole else { return };
        let at = group as usize;
        if whole.place.len() <= at {
            whole.place.resize(at + 1, NONE);
            whole.exponent.resize(at + 1, ZERO);
        }
        let before = std::mem::replace(&mut whole.exponent[at], now);
        if before == now {
            return;
        }
        self.steps += 1;
        if before != ZERO
            && let Some(moved) = whole.record.take(&mut self.lists, before, whole.place[at])
        {
            whole.place[moved as usize] = whole.place[at];
        }
        if now != ZERO {
            let (place, fits) = whole.record.put(&mut self.lists, now, group);
            whole.place[at] = place;
            self.broken |= !fits;
        }
    }
}
