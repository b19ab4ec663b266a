//! Retailer with all relations changing: the view tree locn - { dateid - { ksn }, zip } written out by hand.
//!
//! Kept: Inventory summed by (locn, dateid, ksn) and chained by ksn, for changes of Item; Weather and the view below
//! dateid in one table by (locn, dateid); counts of Item and Census; Location chained by zip, for changes of Census; the
//! two views below locn. A change of Inventory, Weather or Location is O(1), one of Item or Census O(its chain).

use std::array;

use arrow_array::RecordBatch;

use super::runs;
use crate::baselines::table::{BLOCK, Chains, Head, Maps, OneKey, Row, Slab, hash, pair};
use crate::common::data::values;
use crate::common::system::{System, Totals};

pub(crate) const INVENTORY: usize = 0;
pub(crate) const LOCATION: usize = 1;
pub(crate) const CENSUS: usize = 2;
pub(crate) const ITEM: usize = 3;
pub(crate) const WEATHER: usize = 4;

/// Inventory, summed by all of its keys.
pub(crate) struct Stock {
    pub(crate) key: [i32; 3],
    pub(crate) totals: Totals,
}

impl Stock {
    pub(crate) fn new(key: [i32; 3]) -> Self {
        Self {
            key,
            totals: Totals::default(),
        }
    }
}

impl Row for Stock {
    type Key = [i32; 3];

    fn key(&self) -> [i32; 3] {
        self.key
    }

    fn hash([locn, date, ksn]: [i32; 3]) -> u64 {
        hash(pair(locn, date), u64::from(ksn as u32))
    }
}

/// One (locn, dateid): the rows of Weather, and Inventory joined with Item.
struct Day {
    key: u64,
    weather: i64,
    stock: Totals,
}

impl Day {
    fn new(key: u64) -> Self {
        Self {
            key,
            weather: 0,
            stock: Totals::default(),
        }
    }

    fn locn(&self) -> i32 {
        (self.key >> 32) as i32
    }
}

impl Row for Day {
    type Key = u64;

    fn key(&self) -> u64 {
        self.key
    }

    fn hash(key: u64) -> u64 {
        hash(key, 0)
    }
}

/// Rows of Location with one (locn, zip).
pub(crate) struct LocationZip {
    pub(crate) key: u64,
    pub(crate) count: i64,
}

impl Row for LocationZip {
    type Key = u64;

    fn key(&self) -> u64 {
        self.key
    }

    fn hash(key: u64) -> u64 {
        hash(key, 0)
    }
}

/// A count beside the head of the chain of what joins with it.
#[derive(Clone, Copy, Default)]
struct Chained {
    count: i64,
    head: Head,
}

/// `SUM(inventoryunits)` over the five relations.
pub(crate) struct Retailer<M: Maps> {
    stock: Slab<Stock>,
    by_ksn: Chains,
    item: M::Of<Chained>,
    days: Slab<Day>,
    /// Below locn: the left branch summed over dateid, the right one over zip.
    branches: M::Of<(Totals, i64)>,
    places: Slab<LocationZip>,
    by_zip: Chains,
    census: M::Of<Chained>,
    totals: Totals,
    /// Of the block at hand, for their memory.
    hashes: [Vec<u64>; 2],
}

impl<M: Maps> Retailer<M> {
    pub(crate) fn new() -> Self {
        Self {
            stock: Slab::new(),
            by_ksn: Chains::default(),
            item: M::Of::default(),
            days: Slab::new(),
            branches: M::Of::default(),
            places: Slab::new(),
            by_zip: Chains::default(),
            census: M::Of::default(),
            totals: Totals::default(),
            hashes: Default::default(),
        }
    }

    fn inventory(&mut self, batch: &RecordBatch, sign: i64) {
        let [locns, dates, ksns, units] = array::from_fn(|column| values(batch, column));
        let [mut hashes, mut day_hashes] = std::mem::take(&mut self.hashes);
        for block in (0..locns.len()).step_by(BLOCK) {
            let rows = block..locns.len().min(block + BLOCK);
            let day = |row: usize| pair(locns[row], dates[row]);
            let starts = || runs(rows.clone(), day);
            hashes.clear();
            hashes.extend(
                rows.clone()
                    .map(|row| Stock::hash([locns[row], dates[row], ksns[row]])),
            );
            self.stock.warm(&hashes);
            day_hashes.clear();
            day_hashes.extend(starts().map(|run| Day::hash(day(run.start))));
            self.days.warm(&day_hashes);
            for (run, &day_hash) in starts().zip(&day_hashes) {
                let key = day(run.start);
                let mut folded = Totals::default();
                for row in run {
                    let change = Totals {
                        count: sign,
                        sum: sign * i64::from(units[row]),
                    };
                    let at = [locns[row], dates[row], ksns[row]];
                    folded += change * self.restock(hashes[row - block], at, change);
                }
                self.move_day(day_hash, key, |day| {
                    day.stock += folded;
                    folded * day.weather
                });
            }
        }
        self.hashes = [hashes, day_hashes];
    }

    /// Adds to one row of Inventory; the count of its item.
    fn restock(&mut self, hash: u64, key: [i32; 3], change: Totals) -> i64 {
        let (slot, new) = self.stock.find_or_insert(hash, key, || Stock::new(key));
        let item = self.item.at(key[2]);
        if new {
            self.by_ksn.link(&mut item.head, slot);
        }
        let totals = &mut self.stock.rows[slot as usize].totals;
        *totals += change;
        if totals.is_zero() {
            self.stock.remove(hash, slot);
            self.by_ksn.unlink(&mut item.head, slot);
        }
        item.count
    }

    /// Changes one (locn, dateid) and carries what `change` says has moved up to the total.
    fn move_day(&mut self, hash: u64, key: u64, change: impl FnOnce(&mut Day) -> Totals) {
        let (slot, _) = self.days.find_or_insert(hash, key, || Day::new(key));
        let day = &mut self.days.rows[slot as usize];
        let moved = change(day);
        let locn = day.locn();
        if day.weather == 0 && day.stock.is_zero() {
            self.days.remove(hash, slot);
        }
        if !moved.is_zero() {
            let (dates, zips) = self.branches.at(locn);
            *dates += moved;
            self.totals += moved * *zips;
        }
    }

    fn item(&mut self, batch: &RecordBatch, sign: i64) {
        for &ksn in values(batch, 0) {
            let item = self.item.at(ksn);
            item.count += sign;
            let chain: Vec<u32> = self.by_ksn.walk(item.head).collect();
            for slot in chain {
                let Stock {
                    key: [locn, date, _],
                    totals,
                } = self.stock.rows[slot as usize];
                let key = pair(locn, date);
                self.move_day(Day::hash(key), key, |day| {
                    day.stock += totals * sign;
                    totals * (sign * day.weather)
                });
            }
        }
    }

    fn weather(&mut self, batch: &RecordBatch, sign: i64) {
        for (&locn, &date) in values(batch, 0).iter().zip(values(batch, 1)) {
            let key = pair(locn, date);
            self.move_day(Day::hash(key), key, |day| {
                day.weather += sign;
                day.stock * sign
            });
        }
    }

    fn location(&mut self, batch: &RecordBatch, sign: i64) {
        for (&locn, &zip) in values(batch, 0).iter().zip(values(batch, 1)) {
            let key = pair(locn, zip);
            let hash = LocationZip::hash(key);
            let (slot, new) = self
                .places
                .find_or_insert(hash, key, || LocationZip { key, count: 0 });
            let census = self.census.at(zip);
            if new {
                self.by_zip.link(&mut census.head, slot);
            }
            let place = &mut self.places.rows[slot as usize];
            place.count += sign;
            if place.count == 0 {
                self.places.remove(hash, slot);
                self.by_zip.unlink(&mut census.head, slot);
            }
            let moved = sign * census.count;
            self.move_zips(locn, moved);
        }
    }

    fn census(&mut self, batch: &RecordBatch, sign: i64) {
        for &zip in values(batch, 0) {
            let census = self.census.at(zip);
            census.count += sign;
            let chain: Vec<u32> = self.by_zip.walk(census.head).collect();
            for slot in chain {
                let place = &self.places.rows[slot as usize];
                let (locn, moved) = ((place.key >> 32) as i32, sign * place.count);
                self.move_zips(locn, moved);
            }
        }
    }

    fn move_zips(&mut self, locn: i32, moved: i64) {
        let (dates, zips) = self.branches.at(locn);
        *zips += moved;
        self.totals += *dates * moved;
    }
}

impl<M: Maps> System for Retailer<M> {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        match relation {
            INVENTORY => self.inventory(batch, sign),
            LOCATION => self.location(batch, sign),
            CENSUS => self.census(batch, sign),
            ITEM => self.item(batch, sign),
            WEATHER => self.weather(batch, sign),
            _ => unreachable!("Retailer has five relations"),
        }
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn memory(&self) -> usize {
        let slabs = self.stock.memory() + self.days.memory() + self.places.memory();
        let chains = self.by_ksn.memory() + self.by_zip.memory();
        slabs + chains + self.item.memory() + self.census.memory() + self.branches.memory()
    }
}
