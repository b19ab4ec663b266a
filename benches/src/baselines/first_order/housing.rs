//! Housing: the rows of each relation chained by postcode. A change costs the rows of its postcode in the other five.

use arrow_array::RecordBatch;

use crate::baselines::handwritten::runs;
use crate::baselines::table::{Chains, Dense, Head, OneKey};
use crate::common::data::values;
use crate::common::system::{System, Totals};

/// The rows of one relation: rows of one postcode are alike here, so a chain of slots is all there is to keep.
#[derive(Default)]
struct Bag {
    chains: Chains,
    heads: Dense<Head>,
    free: Vec<u32>,
    rows: u32,
}

impl Bag {
    fn insert(&mut self, postcode: i32) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.rows += 1;
            self.rows - 1
        });
        self.chains.link(self.heads.at(postcode), slot);
    }

    fn delete(&mut self, postcode: i32) {
        let head = self.heads.at(postcode);
        let slot = self
            .chains
            .walk(*head)
            .next()
            .expect("only rows that were inserted are deleted");
        self.chains.unlink(head, slot);
        self.free.push(slot);
    }

    fn count(&self, postcode: i32) -> i64 {
        self.chains.walk(self.heads.get(postcode)).count() as i64
    }

    fn memory(&self) -> usize {
        self.chains.memory() + self.heads.memory() + self.free.len() * size_of::<u32>()
    }
}

/// `SUM(postcode)` and `COUNT(*)` of the natural join.
#[derive(Default)]
pub(crate) struct Housing {
    bags: [Bag; 6],
    totals: Totals,
}

impl Housing {
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

impl System for Housing {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        let postcodes = values(batch, 0);
        for run in runs(0..postcodes.len(), |row| postcodes[row]) {
            let postcode = postcodes[run.start];
            let change = sign * run.len() as i64;
            for _ in run {
                match sign {
                    1 => self.bags[relation].insert(postcode),
                    _ => self.bags[relation].delete(postcode),
                }
            }
            let others = (0..6).filter(|&other| other != relation);
            let mut joined = change;
            for other in others {
                joined *= self.bags[other].count(postcode);
                if joined == 0 {
                    break;
                }
            }
            self.totals += Totals {
                count: 1,
                sum: i64::from(postcode),
            } * joined;
        }
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn memory(&self) -> usize {
        self.bags.iter().map(Bag::memory).sum()
    }
}
