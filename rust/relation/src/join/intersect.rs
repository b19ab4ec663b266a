//! A step that joins with several relations at once which all lack the same fields.
//!
//! dV * S * T where neither S nor T binds x: the values of x for a row are those in its group of S and in its group of
//! T. For each row the smallest group is walked, and its values are looked up in the others, as a worst-case optimal
//! join intersects lists. A value that the Bloom filter of a group excludes is not looked up. If the fingerprints are
//! the missing values themselves, slots and keys of the walked side are read only for pairs that were found. Invariant:
//! a block holds the pairs that all relations have, with the slot of each; payloads are multiplied for these alone.
//!
//! Cost: for a row, the size of its smallest group times a bit, or a probe, a further relation; a
//! block of memory. On skewed data that is far below walking any one fixed relation: a triangle
//! costs O(N^(3/2)) in a bulk whatever the degrees are.

use ringview_core::{Result, prefetch};
use ringview_ring::{PayloadRing, Rows};

use super::propagation::Propagation;
use super::sides::{Side, sides};
use super::work::Intersection;
use crate::ABSENT;
use crate::delta::Delta;
use crate::directory::Keys;
use crate::keyed_table::Index;
use crate::keyed_table::bloom_filter::value_of;

/// Pairs looked up at a time, and pairs found in a block.
const BLOCK: usize = 1 << 14;
/// Slots walked at a time.
const WALK: usize = 1 << 16;
/// Walkers between the prefetch of a group and its walk.
const AHEAD: usize = 8;

impl<R: PayloadRing> Propagation<'_, '_, R> {
    /// dV := dV * S * T * .. for a walk and the relations intersected with it, a block of found pairs at a time.
    pub(super) fn intersect(
        &mut self,
        (at, position): (usize, usize),
        delta: &mut Delta,
    ) -> Result<()> {
        let path = self.path;
        let into = path.levels[at].into;
        let step = &path.levels[at].steps[position];
        let end = position + 1 + step.intersected.len();
        let sides = sides(&path.levels[at].steps[position..end]);
        let mut scratch = std::mem::take(&mut self.work.intersection);
        if !self.choose(&sides, delta, &mut scratch) {
            delta.rows = 0;
            self.work.intersection = scratch;
            return Ok(());
        }
        for walked in 0..sides.len() {
            let mut cursor = (0, 0);
            while cursor.0 < scratch.walkers[walked].len() {
                let steps = self.pairs(&sides, walked, &mut cursor, &mut scratch);
                self.work.steps += steps as u64;
                self.met(into, steps)?;
                self.look_up(&sides, walked, delta, &mut scratch);
                if scratch.found_rows.len() >= BLOCK {
                    let mut block = self.found((at, position), &sides, delta, &mut scratch)?;
                    self.work.intersection = scratch;
                    self.propagate((at, end), &mut block)?;
                    scratch = std::mem::take(&mut self.work.intersection);
                }
            }
        }
        let last = self.found((at, position), &sides, delta, &mut scratch);
        self.work.intersection = scratch;
        *delta = last?;
        Ok(())
    }

    /// Finds each row's group in each relation, and lets it walk the smallest; rows with an empty
    /// one have no matches. False if no row has any.
    fn choose(&mut self, sides: &[Side<'_>], delta: &Delta, scratch: &mut Intersection) -> bool {
        scratch.groups.resize_with(sides.len(), Vec::new);
        scratch.walkers.resize_with(sides.len(), Vec::new);
        scratch.looked_up.resize_with(sides.len(), Vec::new);
        scratch.found.resize_with(sides.len(), Vec::new);
        scratch.found_rows.clear();
        for (number, side) in sides.iter().enumerate() {
            let table = self.relations[side.relation].table_mut();
            let Some(table) = table.filter(|table| !table.is_empty()) else {
                return false;
            };
            table.refresh_index(side.index);
            let (before, own) = scratch.groups.split_at_mut(number);
            if let Some(groups) = own.first_mut() {
                let index = table.index_at(side.index);
                side.find_groups(index, delta, before.last(), &mut scratch.search, groups);
            }
        }
        for list in scratch.walkers.iter_mut().chain(&mut scratch.found) {
            list.clear();
        }
        let Intersection {
            groups,
            smallest,
            walkers,
            ..
        } = scratch;
        smallest.clear();
        smallest.resize(delta.rows, (u32::MAX, 0));
        for (side, (index, groups)) in (0u32..).zip(self.indexes(sides).iter().zip(&*groups)) {
            for (row, (&group, smallest)) in groups.iter().zip(&mut *smallest).enumerate() {
                if let Some(&ahead) = groups.get(row + 2 * AHEAD) {
                    index.prefetch(ahead);
                }
                let size = index.length(group) as u32;
                if size < smallest.0 {
                    *smallest = (size, side);
                }
            }
        }
        for (row, &(size, side)) in (0u32..).zip(&*smallest) {
            if size > 0 {
                walkers[side as usize].push(row);
            }
        }
        true
    }

    /// The index of each side. None is missing where `choose` found all relations filled.
    fn indexes(&self, sides: &[Side<'_>]) -> Vec<&Index> {
        let relation = |side: &Side<'_>| self.relations[side.relation].table();
        let index = |side: &Side<'_>| Some(relation(side)?.index_at(side.index));
        sides.iter().filter_map(index).collect()
    }

    /// The next pairs of rows and slots of one side that the filters of the others do not deny;
    /// `cursor` is a walker and a place in its group. Returns how many slots were walked.
    fn pairs(
        &self,
        sides: &[Side<'_>],
        walked: usize,
        cursor: &mut (usize, usize),
        scratch: &mut Intersection,
    ) -> usize {
        let indexes = self.indexes(sides);
        let Intersection {
            groups,
            walkers,
            rows,
            places,
            there,
            ..
        } = scratch;
        let own = indexes[walked];
        let has_whole_fingerprints = own.whole_fingerprints().is_some();
        let bloom_filter =
            |side: usize, row: u32| indexes[side].bloom_filter(groups[side][row as usize]);
        let others = |walked: usize| (0..sides.len()).filter(move |&side| side != walked);
        let (mut pairs, mut steps) = (0, 0);
        while let Some(&row) = walkers[walked].get(cursor.0) {
            if let Some(&ahead) = walkers[walked].get(cursor.0 + AHEAD) {
                own.prefetch_fingerprints(groups[walked][ahead as usize]);
                for other in others(walked) {
                    indexes[other].prefetch_bits(groups[other][ahead as usize]);
                }
            }
            let group = groups[walked][row as usize];
            let fingerprints = own.fingerprints(group);
            let from = cursor.1;
            let taken = (fingerprints.len() - from).min(BLOCK - pairs);
            // Room for all that may be kept, so that nothing branches on what is.
            for buffer in [&mut *rows, places, there] {
                if buffer.len() < pairs + taken {
                    buffer.resize((pairs + taken).next_power_of_two(), 0);
                }
            }
            let first = pairs;
            for (pass, other) in others(walked).enumerate() {
                let places = &mut places[first..];
                // Places in the group first: most are denied, and their slots not looked at.
                pairs = first
                    + match pass {
                        0 => bloom_filter(other, row).filter(
                            &fingerprints[from..][..taken],
                            from,
                            places,
                        ),
                        _ => bloom_filter(other, row)
                            .filter_on(fingerprints, &mut places[..pairs - first]),
                    };
            }
            rows[first..pairs].fill(row);
            let places = &places[first..pairs];
            if first < pairs {
                let slots = own.group(group);
                let source = match has_whole_fingerprints {
                    true => fingerprints,
                    false => slots,
                };
                for (there, &place) in there[first..pairs].iter_mut().zip(places) {
                    *there = source[place as usize];
                    prefetch(slots, place as usize);
                }
            }
            steps += taken;
            *cursor = match from + taken < fingerprints.len() {
                true => (cursor.0, from + taken),
                false => (cursor.0 + 1, 0),
            };
            if pairs == BLOCK || steps >= WALK {
                break;
            }
        }
        scratch.pairs = pairs;
        steps
    }

    /// Keeps of the pairs those that every other relation has too.
    fn look_up(
        &self,
        sides: &[Side<'_>],
        walked: usize,
        delta: &Delta,
        scratch: &mut Intersection,
    ) {
        let Some(table) = self.relations[sides[walked].relation].table() else {
            return;
        };
        let indexes = self.indexes(sides);
        let whole_fingerprints = indexes[walked].whole_fingerprints();
        let (rows, there) = (
            &scratch.rows[..scratch.pairs],
            &scratch.there[..scratch.pairs],
        );
        scratch.columns.resize_with(delta.columns.len(), Vec::new);
        for (other, side) in sides
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != walked)
        {
            let Some(partner) = self.relations[side.relation].table() else {
                continue;
            };
            for &register in &side.key {
                let column = &mut scratch.columns[register];
                column.clear();
                match (sides[walked].fetched(register), whole_fingerprints) {
                    (Some(_), Some(signed)) => {
                        column.extend(
                            there
                                .iter()
                                .map(|&fingerprint| value_of(fingerprint, signed)),
                        );
                    }
                    (Some(field), None) => {
                        column.extend(there.iter().map(|&slot| table.field(slot, field)));
                    }
                    (None, _) => {
                        let from = &delta.columns[register];
                        column.extend(rows.iter().map(|&row| from[row as usize]));
                    }
                }
            }
            let keys = Keys {
                columns: &scratch.columns,
                fields: &side.key,
                rows: scratch.pairs,
            };
            partner.find(keys, &mut scratch.keys, &mut scratch.looked_up[other]);
        }
        let others = || (0..sides.len()).filter(|side| *side != walked);
        let (mut walker, mut slots) = (ABSENT, &[][..]);
        for pair in 0..scratch.pairs {
            if others().any(|side| scratch.looked_up[side][pair] == ABSENT) {
                continue;
            }
            let row = rows[pair];
            scratch.found_rows.push(row);
            let slot = match whole_fingerprints {
                Some(_) => {
                    if row != walker {
                        let group = scratch.groups[walked][row as usize];
                        (walker, slots) = (row, indexes[walked].group(group));
                    }
                    slots[scratch.places[pair] as usize]
                }
                None => there[pair],
            };
            prefetch(table.payloads(), slot as usize * table.stride());
            scratch.found[walked].push(slot);
            for side in others() {
                let slot = scratch.looked_up[side][pair];
                scratch.found[side].push(slot);
            }
        }
    }

    /// Takes the pairs that were found out, as the delta that they make.
    fn found(
        &mut self,
        (at, position): (usize, usize),
        sides: &[Side<'_>],
        delta: &mut Delta,
        scratch: &mut Intersection,
    ) -> Result<Delta> {
        let path = self.path;
        let level = &path.levels[at];
        let steps = &level.steps[position..position + sides.len()];
        let mut block = Delta::with_registers(path.registers);
        if scratch.found_rows.is_empty() {
            return Ok(block);
        }
        let live = steps.last().map_or(&[][..], |step| &step.live);
        for &register in live {
            let column = &mut block.columns[register];
            let table = self.relations[sides[0].relation].table();
            match (sides[0].fetched(register), table) {
                (Some(field), Some(table)) => {
                    column.extend(
                        scratch.found[0]
                            .iter()
                            .map(|&slot| table.field(slot, field)),
                    );
                }
                _ => {
                    let from = &delta.columns[register];
                    column.extend(scratch.found_rows.iter().map(|&row| from[row as usize]));
                }
            }
        }
        block.rows = scratch.found_rows.len();
        block.payload = std::mem::take(&mut delta.payload);
        (block.width, block.wide) = (delta.width, delta.wide);
        let mut outcome = Ok(());
        for (number, step) in steps.iter().enumerate() {
            let rows = match number {
                0 => Rows::Picked(&scratch.found_rows),
                _ => Rows::All(block.rows),
            };
            outcome = self.multiply(level, step, &mut block, (rows, &scratch.found[number]));
            if number == 0 {
                // The multiplied payload is still the payload of the following rows.
                std::mem::swap(&mut delta.payload, &mut self.work.product);
            }
            if outcome.is_err() {
                break;
            }
        }
        scratch.found_rows.clear();
        scratch.found.iter_mut().for_each(Vec::clear);
        outcome.map(|()| block)
    }
}
