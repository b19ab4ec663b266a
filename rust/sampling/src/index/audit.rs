//! The invariants of the index, computed anew: for tests.

use super::Index;
use super::key_node::Role;
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
        for key_node in 0..self.key_nodes.len() {
            self.check_key_node(key_node);
        }
        self.check_all_results();
    }

    /// Every linked tuple is in its list, and lists hold nothing else.
    fn check_tuples(&self, node: usize) {
        let held = &self.nodes[node];
        let list_of = |tuple: u32| -> List {
            match held.kind {
                Kind::Groups => held.groups.lists[held.group_of(tuple) as usize],
                _ => self.key_nodes[held.edges[0].key_node]
                    .list(held.key(tuple, 0), held.edges[0].nth),
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
                let (key_node, nth) = (&self.key_nodes[held.edges[0].key_node], held.edges[0].nth);
                (0..key_node.keys.len() as u32)
                    .map(|key| key_node.list(key, nth).len)
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
        for (at, edge) in held.edges.iter().enumerate() {
            let powers = self.powers(node, group, (at, at));
            let exponent = powers.exponent().expect("counts in range");
            let slot = held.slot(group, at);
            assert_ne!(slot.place, NONE);
            let record = self.key_nodes[edge.key_node].record(slot.of, edge.nth);
            assert_eq!(self.lists.get(record.list, slot.place), group);
            assert!(record.of(&self.lists, exponent).contains(&group));
        }
    }

    fn check_key_node(&self, key_node: usize) {
        let held = &self.key_nodes[key_node];
        assert!(held.dirty.is_empty());
        for (at, member) in held.members.iter().enumerate() {
            let Role::Branch(nth) = member.role else {
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

    fn check_all_results(&self) {
        let Some(all_results) = &self.all_results else {
            return;
        };
        let key_node = &self.key_nodes[self.root];
        let mut listed = 0;
        for (key, (&exponent, &place)) in all_results
            .exponents
            .iter()
            .zip(&all_results.places)
            .enumerate()
        {
            let product = key_node.product(key as u32, None).expect("counts in range");
            check_rounding(product, exponent);
            if exponent != ZERO {
                assert_eq!(self.lists.get(all_results.record.list, place), key as u32);
                listed += 1;
            }
        }
        assert_eq!(self.check_record(&all_results.record), listed);
        assert!(all_results.record.count <= 1 << MOST);
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
