//! Housing: one counter a relation and postcode, and the total. A change costs O(1): the product of the other counters.

use arrow_array::RecordBatch;

use super::runs;
use crate::baselines::table::{Maps, OneKey};
use crate::common::data::values;
use crate::common::system::{System, Totals};

/// Number of rows of each of the six relations for a postcode.
type Counts = [i64; 6];

/// `SUM(postcode)` and `COUNT(*)` of the natural join.
pub(crate) struct Housing<M: Maps> {
    counts: M::Of<Counts>,
    totals: Totals,
}

impl<M: Maps> Housing<M> {
    pub(crate) fn new() -> Self {
        Self {
            counts: M::Of::default(),
            totals: Totals::default(),
        }
    }
}

impl<M: Maps> System for Housing<M> {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        let postcodes = values(batch, 0);
        for run in runs(0..postcodes.len(), |row| postcodes[row]) {
            let postcode = postcodes[run.start];
            let change = sign * run.len() as i64;
            let counts = self.counts.at(postcode);
            counts[relation] += change;
            let others = (0..6)
                .filter(|&other| other != relation)
                .map(|other| counts[other]);
            let joined = others.fold(change, |product, count| {
                product.checked_mul(count).expect("fits 64 bits")
            });
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
        self.counts.memory()
    }
}
