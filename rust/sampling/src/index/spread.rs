//! What changed at one place is told elsewhere, and groups move.
//!
//! Invariant: a change travels away from where it came, hub by hub, so what is walked is never what is moved; at
//! each relation it moves a group once. Nothing moves where no rounded count changed. Cost: see `index`; the groups
//! of a relation that move are a list, worked through with what the next ones touch asked for.

use ringview_core::prefetch;

use super::Index;
use super::hub::{Part, Told};
use super::record::{MOST, ZERO};
use super::scratch::Move;

/// How many groups ahead what they touch is asked for: their spots, then records, then places.
const AHEAD: [usize; 3] = [12, 8, 4];

/// A product of powers of two, any of which may stand for nothing.
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
    /// What a group stands for at a slot: the product of its size and of what its other hubs tell.
    pub(super) fn powers(&self, node: usize, group: u32, except: (usize, usize)) -> Powers {
        let held = &self.nodes[node];
        let mut product = Powers::ONE.times(held.size(group));
        for (at, slot) in held.slots.iter().enumerate() {
            if at != except.0 && at != except.1 {
                let key = held.spot(group, at).of;
                product = product.times(self.hubs[slot.hub].exponent(key, slot.nth));
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

    /// Tells of what changed at the hubs of a relation.
    pub(super) fn tell_of(&mut self, node: usize) {
        for at in 0..self.nodes[node].slots.len() {
            let slot = &self.nodes[node].slots[at];
            self.pass_on(slot.hub, slot.member);
        }
    }

    /// What a member has for the marked keys changed.
    fn pass_on(&mut self, hub: usize, came: usize) {
        if self.broken {
            return;
        }
        let mut dirty = self.hubs[hub].take_dirty();
        if hub == self.root {
            if let Some(whole) = &mut self.whole {
                let (steps, fits) = whole.update(&self.hubs[hub], &mut self.lists, &dirty);
                self.steps += steps;
                self.broken |= !fits;
            }
        }
        for at in 0..self.hubs[hub].members.len() {
            let member = self.hubs[hub].members[at];
            if at == came || matches!(member.part, Part::Leaf(_)) {
                continue;
            }
            let mut told = self.scratch.told.pop().unwrap_or_default();
            self.broken |= !self.hubs[hub].tell(at, &dirty, &mut told);
            if !told.is_empty() && !self.broken {
                self.move_groups(member.node, member.at, &told);
            }
            told.clear();
            self.scratch.told.push(told);
        }
        dirty.clear();
        self.hubs[hub].dirty = dirty;
    }

    /// A hub told a relation something new of some keys: their groups move at its other hubs.
    fn move_groups(&mut self, node: usize, came: usize, told: &[Told]) {
        let mut moves = self.scratch.moves.pop().unwrap_or_default();
        let slot = &self.nodes[node].slots[came];
        let hub = &self.hubs[slot.hub];
        let part = hub.members[slot.member].part;
        for (nth, &Told { key, before, now }) in told.iter().enumerate() {
            if let Some(ahead) = told.get(nth + AHEAD[1]) {
                hub.prefetch(ahead.key);
            }
            if let Some(ahead) = told.get(nth + AHEAD[2]) {
                hub.prefetch_values(&self.lists, ahead.key, part);
            }
            let groups = self.lists.values(hub.record(key, slot.nth).list);
            moves.extend(groups.iter().map(|&group| Move { group, before, now }));
        }
        for at in 0..self.nodes[node].slots.len() {
            if at == came {
                continue;
            }
            for nth in 0..moves.len() {
                self.prefetch_move(node, at, &moves, nth);
                let Move { group, before, now } = moves[nth];
                let others = self.powers(node, group, (at, came));
                let from = self.or_break(others.times(before));
                let to = self.or_break(others.times(now));
                self.shift(node, group, at, (from, to));
            }
            let slot = &self.nodes[node].slots[at];
            self.pass_on(slot.hub, slot.member);
        }
        moves.clear();
        self.scratch.moves.push(moves);
    }

    #[inline]
    fn prefetch_move(&self, node: usize, at: usize, moves: &[Move], nth: usize) {
        let held = &self.nodes[node];
        let hub = &self.hubs[held.slots[at].hub];
        if let Some(ahead) = moves.get(nth + AHEAD[0]) {
            prefetch(&held.spots, ahead.group as usize * held.slots.len());
        }
        if let Some(ahead) = moves.get(nth + AHEAD[1]) {
            hub.prefetch(held.spot(ahead.group, at).of);
        }
        if let Some(ahead) = moves.get(nth + AHEAD[2]) {
            let (spot, slot) = (held.spot(ahead.group, at), &held.slots[at]);
            let list = hub.record(spot.of, slot.nth).list;
            self.lists.prefetch_place(list, spot.place);
        }
    }

    /// A group changes its weight at a slot.
    #[inline]
    pub(super) fn shift(&mut self, node: usize, group: u32, at: usize, moved: (u8, u8)) {
        if moved.0 == moved.1 {
            return;
        }
        let held = &mut self.nodes[node];
        let (slot, width) = (&held.slots[at], held.slots.len());
        let spot = held.spots[group as usize * width + at];
        let hub = &mut self.hubs[slot.hub];
        let (spots, steps) = (&mut held.spots, &mut self.steps);
        let mut told = |group: u32, place| {
            *steps += 1;
            spots[group as usize * width + at].place = place;
        };
        let record = hub.record_mut(spot.of, slot.nth);
        self.broken |= !record.shift(&mut self.lists, moved, spot.place, &mut told);
        hub.mark(spot.of);
    }
}
