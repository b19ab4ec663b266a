//! A change of counts propagates, and groups move.
//!
//! Invariant: a change travels away from its relation, key node by key node, so no walk meets the groups that it moves; at
//! each relation it moves a group once. Nothing moves where no rounded count changed. Cost: see `index`; the groups of a
//! relation that move are a list, walked with prefetches ahead.

use ringview_core::prefetch;

use super::Index;
use super::key_node::{Role, WeightChange};
use super::record::{MOST, ZERO};
use super::scratch::Move;

/// The distances of prefetches, in groups: of their slots, then records, then places.
const AHEAD: [usize; 3] = [12, 8, 4];

/// A product of powers of two, any of which may be 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Powers {
    log: u32,
    nothing: bool,
}

impl Powers {
    pub(super) const ONE: Powers = Powers {
        log: 0,
        nothing: false,
    };

    #[inline]
    pub(super) fn times(self, exponent: u8) -> Powers {
        Powers {
            log: self.log + u32::from(exponent),
            nothing: self.nothing || exponent == ZERO,
        }
    }

    /// The exponent; None above 2^MOST.
    #[inline]
    pub(super) fn exponent(self) -> Option<u8> {
        match self.log {
            _ if self.nothing => Some(ZERO),
            log if log <= u32::from(MOST) => Some(log as u8),
            _ => None,
        }
    }
}

impl Index {
    /// The weight of a group at an edge: the product of its size and of `cnt~` at its other key nodes.
    pub(super) fn powers(&self, node: usize, group: u32, except: (usize, usize)) -> Powers {
        let held = &self.nodes[node];
        let mut product = Powers::ONE.times(held.size(group));
        for (at, edge) in held.edges.iter().enumerate() {
            if at != except.0 && at != except.1 {
                let key = held.slot(group, at).of;
                product = product.times(self.key_nodes[edge.key_node].exponent(key, edge.nth));
            }
        }
        product
    }

    /// An exponent; too large a one breaks the index.
    pub(super) fn or_break(&mut self, powers: Powers) -> u8 {
        powers.exponent().unwrap_or_else(|| {
            self.broken = true;
            MOST
        })
    }

    /// Propagates the changed counts at the key nodes of a relation.
    pub(super) fn propagate(&mut self, node: usize) {
        for at in 0..self.nodes[node].edges.len() {
            let edge = &self.nodes[node].edges[at];
            self.propagate_from(edge.key_node, edge.member);
        }
    }

    /// Propagates the changed counts of a member for the marked keys.
    fn propagate_from(&mut self, key_node: usize, came: usize) {
        if self.broken {
            return;
        }
        let mut dirty = self.key_nodes[key_node].take_dirty();
        if let (true, Some(all_results)) = (key_node == self.root, &mut self.all_results) {
            let (steps, fits) =
                all_results.update(&self.key_nodes[key_node], &mut self.lists, &dirty);
            self.steps += steps;
            self.broken |= !fits;
        }
        for at in 0..self.key_nodes[key_node].members.len() {
            let member = self.key_nodes[key_node].members[at];
            if at == came || matches!(member.role, Role::Leaf(_)) {
                continue;
            }
            let mut changes = self.scratch.changes.pop().unwrap_or_default();
            self.broken |= !self.key_nodes[key_node].update_weights(at, &dirty, &mut changes);
            if !changes.is_empty() && !self.broken {
                self.move_groups(member.node, member.at, &changes);
            }
            changes.clear();
            self.scratch.changes.push(changes);
        }
        dirty.clear();
        self.key_nodes[key_node].dirty = dirty;
    }

    /// The exponents of a relation changed for some keys: their groups move at its other key nodes.
    fn move_groups(&mut self, node: usize, came: usize, changes: &[WeightChange]) {
        let mut moves = self.scratch.moves.pop().unwrap_or_default();
        let edge = &self.nodes[node].edges[came];
        let key_node = &self.key_nodes[edge.key_node];
        let role = key_node.members[edge.member].role;
        for (nth, &WeightChange { key, before, now }) in changes.iter().enumerate() {
            if let Some(ahead) = changes.get(nth + AHEAD[1]) {
                key_node.prefetch(ahead.key);
            }
            if let Some(ahead) = changes.get(nth + AHEAD[2]) {
                key_node.prefetch_values(&self.lists, ahead.key, role);
            }
            let groups = self.lists.values(key_node.record(key, edge.nth).list);
            moves.extend(groups.iter().map(|&group| Move { group, before, now }));
        }
        for at in 0..self.nodes[node].edges.len() {
            if at == came {
                continue;
            }
            for nth in 0..moves.len() {
                self.prefetch_move(node, at, &moves, nth);
                let Move { group, before, now } = moves[nth];
                let others = self.powers(node, group, (at, came));
                let from = self.or_break(others.times(before));
                let to = self.or_break(others.times(now));
                self.reweigh(node, group, at, (Some(from), Some(to)));
            }
            let edge = &self.nodes[node].edges[at];
            self.propagate_from(edge.key_node, edge.member);
        }
        moves.clear();
        self.scratch.moves.push(moves);
    }

    #[inline]
    fn prefetch_move(&self, node: usize, at: usize, moves: &[Move], nth: usize) {
        let held = &self.nodes[node];
        let key_node = &self.key_nodes[held.edges[at].key_node];
        if let Some(ahead) = moves.get(nth + AHEAD[0]) {
            prefetch(&held.slots, ahead.group as usize * held.edges.len());
        }
        if let Some(ahead) = moves.get(nth + AHEAD[1]) {
            key_node.prefetch(held.slot(ahead.group, at).of);
        }
        if let Some(ahead) = moves.get(nth + AHEAD[2]) {
            let (slot, edge) = (held.slot(ahead.group, at), &held.edges[at]);
            let list = key_node.record(slot.of, edge.nth).list;
            self.lists.prefetch_position(list, slot.place);
        }
    }

    /// Gives a group another weight at an edge. A weight is None where the group is not linked.
    #[inline(always)]
    pub(super) fn reweigh(
        &mut self,
        node: usize,
        group: u32,
        at: usize,
        weights: (Option<u8>, Option<u8>),
    ) {
        if weights.0 == weights.1 {
            return;
        }
        let held = &mut self.nodes[node];
        let (edge, width) = (&held.edges[at], held.edges.len());
        let slot = held.slots[group as usize * width + at];
        let key_node = &mut self.key_nodes[edge.key_node];
        let (slots, steps) = (&mut held.slots, &mut self.steps);
        let mut on_move = |group: u32, place| {
            *steps += 1;
            slots[group as usize * width + at].place = place;
        };
        let record = key_node.record_mut(slot.of, edge.nth);
        let moved = (group, slot.place);
        self.broken |= !record.reweigh(&mut self.lists, weights, moved, &mut on_move);
        key_node.mark(slot.of);
    }
}
