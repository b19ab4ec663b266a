//! A step that joins with several relations at once which all lack the same fields.
//!
//! dV * S * T where neither S nor T knows x: the x that a row has are those in its group of S and
//! in its group of T. For each row the smallest group is walked, and what it holds is looked up in
//! the others, as a worst-case optimal join intersects lists. Invariant: a block holds the pairs
//! that all relations have, with the slot of each; payloads are multiplied for these alone.
//!
//! Cost: for a row, the size of its smallest group times a probe a further relation; a block of
//! memory. On skewed data that is far below walking any one fixed relation: a triangle costs
//! O(N^(3/2)) in a bulk whatever the degrees are.

use ringview_core::Result;
use ringview_ring::{PayloadRing, Rows};

use super::climb::Climb;
use super::path::{Access, Step};
use crate::ABSENT;
use crate::delta::Delta;
use crate::directory::{KeyScratch, Keys};

/// Pairs looked up at a time, and pairs found in a block.
const BLOCK: usize = 1 << 14;

/// Room for intersecting, kept between batches.
#[derive(Clone, Debug, Default)]
pub(super) struct Intersection {
    /// By side: the group of each row in its index.
    groups: Vec<Vec<u32>>,
    /// By side: the rows that walk it.
    walkers: Vec<Vec<u32>>,
    /// Pairs of a walk: rows and the walked relation's slots.
    rows: Vec<u32>,
    slots: Vec<u32>,
    /// The keys of the pairs, by register, and where they are in the other relations.
    columns: Vec<Vec<u64>>,
    looked_up: Vec<Vec<u32>>,
    /// What was found: rows and, by side, slots.
    found_rows: Vec<u32>,
    found: Vec<Vec<u32>>,
    keys: KeyScratch,
}

/// One of the relations: its number, how it is walked, and the registers of its whole key.
struct Side<'a> {
    relation: usize,
    index: usize,
    bound: &'a [usize],
    fetch: &'a [(usize, usize)],
    /// The registers of the whole key, in its order.
    key: Vec<usize>,
}

impl<'a> Side<'a> {
    fn new(relation: usize, access: &'a Access) -> Option<Self> {
        let Access::Walk {
            index,
            bound,
            fetch,
        } = access
        else {
            return None;
        };
        let mut rest = bound.iter();
        let fetched = |at: usize| fetch.iter().find(|(field, _)| *field == at);
        let register = |at: usize| match fetched(at) {
            Some((_, register)) => Some(*register),
            None => rest.next().copied(),
        };
        let key = (0..bound.len() + fetch.len())
            .filter_map(register)
            .collect();
        Some(Self {
            relation,
            index: *index,
            bound,
            fetch,
            key,
        })
    }

    fn fetched(&self, register: usize) -> Option<usize> {
        let mut fetch = self.fetch.iter();
        fetch
            .find(|(_, to)| *to == register)
            .map(|(field, _)| *field)
    }
}

/// The sides of a step and its rivals.
fn sides<R: PayloadRing>(steps: &[Step<R>]) -> Vec<Side<'_>> {
    let Some((first, others)) = steps.split_first() else {
        return Vec::new();
    };
    let accesses = std::iter::once(&first.access).chain(&first.rivals);
    let steps = std::iter::once(first).chain(others);
    let side = |(step, access): (&Step<R>, _)| Side::new(step.relation, access);
    steps.zip(accesses).filter_map(side).collect()
}

impl<R: PayloadRing> Climb<'_, '_, R> {
    /// dV := dV * S * T * .. for a walk and its rivals, a block of found pairs at a time.
    pub(super) fn intersect(
        &mut self,
        (at, position): (usize, usize),
        delta: &mut Delta,
    ) -> Result<()> {
        let path = self.path;
        let into = path.levels[at].into;
        let step = &path.levels[at].steps[position];
        let end = position + 1 + step.rivals.len();
        let sides = sides(&path.levels[at].steps[position..end]);
        let mut room = std::mem::take(&mut self.work.intersection);
        if !self.choose(&sides, delta, &mut room) {
            delta.rows = 0;
            self.work.intersection = room;
            return Ok(());
        }
        for walked in 0..sides.len() {
            let mut cursor = (0, 0);
            while cursor.0 < room.walkers[walked].len() {
                self.pairs(&sides[walked], walked, &mut cursor, &mut room);
                self.met(into, room.rows.len())?;
                self.look_up(&sides, walked, delta, &mut room);
                if room.found_rows.len() >= BLOCK {
                    let mut block = self.found((at, position), &sides, delta, &mut room)?;
                    self.work.intersection = room;
                    self.climb((at, end), &mut block)?;
                    room = std::mem::take(&mut self.work.intersection);
                }
            }
        }
        let last = self.found((at, position), &sides, delta, &mut room);
        self.work.intersection = room;
        *delta = last?;
        Ok(())
    }

    /// Finds each row's group in each relation, and lets it walk the smallest; rows with an empty one
    /// have no partners. False if no row has any.
    fn choose(&mut self, sides: &[Side<'_>], delta: &Delta, room: &mut Intersection) -> bool {
        room.groups.resize_with(sides.len(), Vec::new);
        room.walkers.resize_with(sides.len(), Vec::new);
        room.looked_up.resize_with(sides.len(), Vec::new);
        room.found.resize_with(sides.len(), Vec::new);
        room.found_rows.clear();
        for (side, groups) in sides.iter().zip(&mut room.groups) {
            let part = self.relations[side.relation].part_mut();
            let Some(part) = part.filter(|part| !part.is_empty()) else {
                return false;
            };
            part.refresh_index(side.index);
            let keys = Keys {
                columns: &delta.columns,
                fields: side.bound,
                rows: delta.rows,
            };
            part.index_at(side.index).find(keys, &mut room.keys, groups);
        }
        for list in room.walkers.iter_mut().chain(&mut room.found) {
            list.clear();
        }
        for row in 0..delta.rows {
            let size = |side: usize| -> usize {
                let group = room.groups[side][row];
                match self.relations[sides[side].relation].part() {
                    Some(part) => part.index_at(sides[side].index).group(group).len(),
                    None => 0,
                }
            };
            let smallest = (0..sides.len()).map(|side| (size(side), side)).min();
            match smallest {
                None | Some((0, _)) => {}
                Some((_, side)) => room.walkers[side].push(row as u32),
            }
        }
        true
    }

    /// The next pairs of rows and slots of one side; `cursor` is a walker and a place in its group.
    fn pairs(
        &mut self,
        side: &Side<'_>,
        walked: usize,
        cursor: &mut (usize, usize),
        room: &mut Intersection,
    ) {
        room.rows.clear();
        room.slots.clear();
        let Some(part) = self.relations[side.relation].part() else {
            return;
        };
        let index = part.index_at(side.index);
        while let Some(&row) = room.walkers[walked].get(cursor.0) {
            let group = index.group(room.groups[walked][row as usize]);
            let left = &group[cursor.1..];
            let taken = left.len().min(BLOCK - room.slots.len());
            room.slots.extend_from_slice(&left[..taken]);
            room.rows.extend(std::iter::repeat_n(row, taken));
            if taken < left.len() {
                cursor.1 += taken;
                break;
            }
            *cursor = (cursor.0 + 1, 0);
        }
        self.work.steps += room.rows.len() as u64;
    }

    /// Keeps of the pairs those that every other relation has too.
    fn look_up(&self, sides: &[Side<'_>], walked: usize, delta: &Delta, room: &mut Intersection) {
        let Some(part) = self.relations[sides[walked].relation].part() else {
            return;
        };
        room.columns.resize_with(delta.columns.len(), Vec::new);
        for (other, side) in sides
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != walked)
        {
            let Some(partner) = self.relations[side.relation].part() else {
                continue;
            };
            for &register in &side.key {
                let column = &mut room.columns[register];
                column.clear();
                match sides[walked].fetched(register) {
                    Some(field) => column.extend(room.slots.iter().map(|&s| part.field(s, field))),
                    None => {
                        let from = &delta.columns[register];
                        column.extend(room.rows.iter().map(|&row| from[row as usize]));
                    }
                }
            }
            let keys = Keys {
                columns: &room.columns,
                fields: &side.key,
                rows: room.rows.len(),
            };
            partner.find(keys, &mut room.keys, &mut room.looked_up[other]);
        }
        for pair in 0..room.rows.len() {
            let slot = |side: usize| match side == walked {
                true => room.slots[pair],
                false => room.looked_up[side][pair],
            };
            if (0..sides.len()).any(|side| slot(side) == ABSENT) {
                continue;
            }
            room.found_rows.push(room.rows[pair]);
            for side in 0..sides.len() {
                let slot = slot(side);
                room.found[side].push(slot);
            }
        }
    }

    /// Takes the pairs that were found out, as the delta that they make.
    fn found(
        &mut self,
        (at, position): (usize, usize),
        sides: &[Side<'_>],
        delta: &mut Delta,
        room: &mut Intersection,
    ) -> Result<Delta> {
        let path = self.path;
        let level = &path.levels[at];
        let steps = &level.steps[position..position + sides.len()];
        let mut block = Delta::with_registers(path.registers);
        if room.found_rows.is_empty() {
            return Ok(block);
        }
        let live = steps.last().map_or(&[][..], |step| &step.live);
        for &register in live {
            let column = &mut block.columns[register];
            let part = self.relations[sides[0].relation].part();
            match (sides[0].fetched(register), part) {
                (Some(field), Some(part)) => {
                    column.extend(room.found[0].iter().map(|&slot| part.field(slot, field)));
                }
                _ => {
                    let from = &delta.columns[register];
                    column.extend(room.found_rows.iter().map(|&row| from[row as usize]));
                }
            }
        }
        block.rows = room.found_rows.len();
        block.payload = std::mem::take(&mut delta.payload);
        (block.width, block.wide) = (delta.width, delta.wide);
        let mut outcome = Ok(());
        for (number, step) in steps.iter().enumerate() {
            let rows = match number {
                0 => Rows::Picked(&room.found_rows),
                _ => Rows::All(block.rows),
            };
            outcome = self.multiply(level, step, &mut block, (rows, &room.found[number]));
            if number == 0 {
                // What was multiplied is still the payload of the rows to come.
                std::mem::swap(&mut delta.payload, &mut self.work.product);
            }
            if outcome.is_err() {
                break;
            }
        }
        room.found_rows.clear();
        room.found.iter_mut().for_each(Vec::clear);
        outcome.map(|()| block)
    }
}
