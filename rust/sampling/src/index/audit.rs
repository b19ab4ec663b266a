//! The invariants of the index, computed anew: for tests.

use super::Index;
use super::hub::Part;
use super::lists::{List, NONE};
use super::node::Kind;
use super::record::{MOST, Record, ZERO, weight};

impl Index {
    /// Checks every count, bucket, place and rounding. Linear in the index.
    ///
    /// # Panics
    /// If something is not as it should be.
    pub fn check(&self) {
        assert!(!self.broken, "a count passed its limit");
        for node in 0..self.nodes.len() {
            self.check_tuples(node);
            if self.nodes[node].kind != Kind::Leaf {
                for group in self.groups(node) {
                    self.check_group(node, group);
                }
            }
        }
        for hub in 0..self.hubs.len() {
            self.check_hub(hub);
        }
        self.check_whole();
    }

    /// Every linked tuple stands in its list, and lists hold nothing else.
    fn check_tuples(&self, node: usize) {
        let held = &self.nodes[node];
        let list_of = |tuple: u32| -> List {
            match held.kind {
                Kind::Groups => held.groups.lists[held.group_of(tuple) as usize],
                _ => self.hubs[held.slots[0].hub].list(held.key(tuple, 0), held.slots[0].nth),
            }
        };
        if held.kind == Kind::Tuples {
            return;
        }
        for tuple in self.tuples(node) {
            let place = held.own[tuple as usize].place;
            assert_eq!(self.lists.get(list_of(tuple), place), tuple);
        }
        let listed: u32 = match held.kind {
            Kind::Groups => held.groups.lists.iter().map(|list| list.len).sum(),
            _ => {
                let (hub, nth) = (&self.hubs[held.slots[0].hub], held.slots[0].nth);
                (0..hub.keys.len() as u32)
                    .map(|key| hub.list(key, nth).len)
                    .sum()
            }
        };
        assert_eq!(listed as usize, self.tuples(node).count());
    }

    fn check_group(&self, node: usize, group: u32) {
        let held = &self.nodes[node];
        if held.kind == Kind::Groups {
            let len = held.groups.lists[group as usize].len;
            check_rounding(len.into(), held.size(group));
        }
        for (at, slot) in held.slots.iter().enumerate() {
            let powers = self.powers(node, group, (at, at));
            let exponent = powers.exponent().expect("counts in range");
            let spot = held.spot(group, at);
            assert_ne!(spot.place, NONE);
            let record = self.hubs[slot.hub].record(spot.of, slot.nth);
            assert_eq!(self.lists.get(record.list, spot.place), group);
            assert!(record.of(&self.lists, exponent).contains(&group));
        }
    }

    fn check_hub(&self, hub: usize) {
        let held = &self.hubs[hub];
        assert!(held.dirty.is_empty());
        for (at, member) in held.members.iter().enumerate() {
            let Part::Branch(nth) = member.part else {
                continue;
            };
            let mut groups = 0;
            for key in 0..held.keys.len() as u32 {
                groups += self.check_record(held.record(key, nth));
                let product = held.product(key, Some(at)).expect("counts in range");
                check_rounding(product, held.exponent(key, nth));
            }
            assert_eq!(groups, self.groups(member.node).len());
        }
    }

    /// The groups of a record.
    fn check_record(&self, record: &Record) -> usize {
        if record.list.len == 0 {
            assert_eq!((record.count, record.buckets()), (0, 0));
            return 0;
        }
        let all: Vec<(u8, usize)> = (0..=ZERO)
            .map(|exponent| (exponent, record.of(&self.lists, exponent).len()))
            .filter(|(_, groups)| *groups > 0)
            .collect();
        assert_eq!(all.len(), record.buckets());
        let weights = all
            .iter()
            .map(|&(exponent, groups)| weight(exponent) * groups as u128);
        assert_eq!(weights.sum::<u128>(), record.count);
        let groups = all.iter().map(|&(_, groups)| groups).sum();
        assert_eq!(self.lists.values(record.list).len(), groups);
        groups
    }

    fn check_whole(&self) {
        let Some(whole) = &self.whole else { return };
        let hub = &self.hubs[self.root];
        let mut listed = 0;
        for (key, (&exponent, &place)) in whole.exponents.iter().zip(&whole.places).enumerate() {
            let product = hub.product(key as u32, None).expect("counts in range");
            check_rounding(product, exponent);
            if exponent != ZERO {
                assert_eq!(self.lists.get(whole.record.list, place), key as u32);
                listed += 1;
            }
        }
        assert_eq!(self.check_record(&whole.record), listed);
        assert!(whole.record.count <= 1 << MOST);
    }
}

/// A rounded count covers the count, and is less than four times as large.
fn check_rounding(count: u128, exponent: u8) {
    assert_eq!(count == 0, exponent == ZERO, "{count} and 2^{exponent}");
    if count > 0 {
        assert!(count <= weight(exponent), "{count} above 2^{exponent}");
        assert!(
            weight(exponent) < 4 * count,
            "{count} far below 2^{exponent}"
        );
    }
}
