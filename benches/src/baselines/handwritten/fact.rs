//! Retailer with only Inventory changing: the other relations fold into two maps before the stream begins.
//!
//! sum over Inventory of units * `Item[ksn]` * `LocationContext[locn, dateid]`, the product Weather * Location * Census. Nothing of
//! Inventory is kept; a row costs two look-ups, the second once a run of equal (locn, dateid).

use std::array;

use arrow_array::RecordBatch;

use super::retailer::{CENSUS, INVENTORY, ITEM, LOCATION, WEATHER};
use super::runs;
use crate::baselines::table::{BLOCK, Maps, OneKey, Row, Slab, hash, pair};
use crate::common::data::values;
use crate::common::system::{System, Totals};

struct LocationContext {
    key: u64,
    count: i64,
}

impl Row for LocationContext {
    type Key = u64;

    fn key(&self) -> u64 {
        self.key
    }

    fn hash(key: u64) -> u64 {
        hash(key, 0)
    }
}

/// `SUM(inventoryunits)` over the five relations, four of them loaded beforehand in the stream's order.
pub(crate) struct Fact<M: Maps> {
    item: M::Of<i64>,
    census: M::Of<i64>,
    places: M::Of<i64>,
    around: Slab<LocationContext>,
    totals: Totals,
    /// Of the block at hand, for their memory.
    hashes: Vec<u64>,
}

impl<M: Maps> Fact<M> {
    pub(crate) fn new() -> Self {
        Self {
            item: M::Of::default(),
            census: M::Of::default(),
            places: M::Of::default(),
            around: Slab::new(),
            totals: Totals::default(),
            hashes: Vec::new(),
        }
    }

    fn inventory(&mut self, batch: &RecordBatch, sign: i64) {
        let [locns, dates, ksns, units] = array::from_fn(|column| values(batch, column));
        let mut hashes = std::mem::take(&mut self.hashes);
        for block in (0..locns.len()).step_by(BLOCK) {
            let rows = block..locns.len().min(block + BLOCK);
            let key = |row: usize| pair(locns[row], dates[row]);
            let starts = || runs(rows.clone(), key);
            hashes.clear();
            hashes.extend(starts().map(|run| LocationContext::hash(key(run.start))));
            self.around.warm(&hashes);
            for (run, &hash) in starts().zip(&hashes) {
                let Some(slot) = self.around.find(hash, key(run.start)) else {
                    continue;
                };
                let mut folded = Totals::default();
                for row in run {
                    folded += Totals {
                        count: 1,
                        sum: i64::from(units[row]),
                    } * self.item.get(ksns[row]);
                }
                self.totals += folded * (sign * self.around.rows[slot as usize].count);
            }
        }
        self.hashes = hashes;
    }
}

impl<M: Maps> System for Fact<M> {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        let column = |column| values(batch, column).iter().copied();
        match relation {
            INVENTORY => self.inventory(batch, sign),
            CENSUS => column(0).for_each(|zip| *self.census.at(zip) += sign),
            LOCATION => column(0)
                .zip(column(1))
                .for_each(|(locn, zip)| *self.places.at(locn) += sign * self.census.get(zip)),
            ITEM => column(0).for_each(|ksn| *self.item.at(ksn) += sign),
            WEATHER => {
                for (locn, date) in column(0).zip(column(1)) {
                    let key = pair(locn, date);
                    let (slot, _) =
                        self.around
                            .find_or_insert(LocationContext::hash(key), key, || LocationContext {
                                key,
                                count: 0,
                            });
                    self.around.rows[slot as usize].count += sign * self.places.get(locn);
                }
            }
            _ => unreachable!("Retailer has five relations"),
        }
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn memory(&self) -> usize {
        self.item.memory() + self.census.memory() + self.places.memory() + self.around.memory()
    }
}
