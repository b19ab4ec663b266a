//! The invariants of the index, computed anew: for tests.

use super::Index;
use super::node::Kind;
use super::record::{Record, ZERO, weight};

impl Index {
    /// Checks every count, bucket, place and rounding. Linear in the index.
    ///
    /// # Panics
    /// If something is not as it should be.
    pub fn check(&self) {
        assert!(!self.broken, "a count passed its limit");
        for node in 0..self.nodes.len() {
            self.check_lists(node);
            for group in self.groups(node) {
                self.check_group(node, group);
            }
        }
        for edge in 0..self.edges.len() {
            self.check_edge(edge);
        }
        self.check_whole();
    }

    fn check_lists(&self, node: usize) {
        let held = &self.nodes[node];
        let linked: Vec<u32> = self.tuples(node).collect();
        if held.kind == Kind::Tuples {
            return;
        }
        let lists = &held.groups.lists;
        let listed: u32 = lists.iter().map(|list| list.len).sum();
        assert_eq!(listed as usize, linked.len());
        for tuple in linked {
            let list = lists[self.group_of(node, tuple) as usize];
            let place = held.tuples.place[tuple as usize];
            assert_eq!(self.lists.get(list, place), tuple);
        }
        for (list, &size) in lists.iter().zip(&held.groups.size) {
            check_rounding(u128::from(list.len), size);
        }
    }

    fn check_group(&self, node: usize, group: u32) {
        let held = &self.nodes[node];
        for at in 0..held.edges.len() {
            let expected = self
                .exponent(node, group, Some(at))
                .expect("counts in range");
            let edge = &self.edges[held.edges[at]];
            let key = held.group_key(group, at) as usize;
            if held.kind == Kind::Keys {
                assert_eq!(edge.exponent[key], expected);
                continue;
            }
            let here = group as usize * held.edges.len() + at;
            assert_eq!(held.groups.exponent[here], expected);
            let list = edge.records[key].of(expected);
            assert_eq!(self.lists.get(list, held.groups.place[here]), group);
        }
    }

    fn check_edge(&self, edge: usize) {
        let edge = &self.edges[edge];
        if self.nodes[edge.from].kind == Kind::Keys {
            return;
        }
        let mut groups = 0;
        for (key, record) in edge.records.iter().enumerate() {
            groups += self.check_record(record);
            let exponent = edge.exponent.get(key).copied().unwrap_or(ZERO);
            check_rounding(record.count, exponent);
        }
        assert_eq!(groups, self.groups(edge.from).len());
    }

    /// The groups of a record.
    fn check_record(&self, record: &Record) -> usize {
        let lists = (0..=ZERO).map(|exponent| (exponent, record.of(exponent)));
        let held: Vec<_> = lists.filter(|(_, list)| list.len > 0).collect();
        assert_eq!(held.len(), record.buckets());
        let weights = held
            .iter()
            .map(|(exponent, list)| weight(*exponent) * u128::from(list.len));
        assert_eq!(weights.sum::<u128>(), record.count);
        held.iter().map(|(_, list)| list.len as usize).sum()
    }

    fn check_whole(&self) {
        let Some(whole) = &self.whole else { return };
        self.check_record(&whole.record);
        let mut sum = 0;
        for group in self.groups(self.root) {
            let expected = self
                .exponent(self.root, group, None)
                .expect("counts in range");
            assert_eq!(whole.exponent[group as usize], expected);
            sum += weight(expected);
            if expected != ZERO {
                let list = whole.record.of(expected);
                assert_eq!(self.lists.get(list, whole.place[group as usize]), group);
            }
        }
        assert_eq!(sum, whole.record.count);
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
