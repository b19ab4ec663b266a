//! Retailer: Inventory indexed by its key, by ksn, by (locn, dateid) and by locn, the others by what they join on.
//!
//! A change of Inventory walks the places of its locn; one of Item, Weather or Location walks the rows of Inventory that
//! join with it, and one of Census does so for each of its places.

use std::array;

use arrow_array::RecordBatch;

use crate::baselines::handwritten::retailer::{
    CENSUS, INVENTORY, ITEM, LOCATION, LocationZip, Stock, WEATHER,
};
use crate::baselines::table::{Chains, Dense, Head, OneKey, Row, Slab, hash, pair};
use crate::common::data::values;
use crate::common::system::{System, Totals};

/// Rows of Weather with one (locn, dateid), and the chain of Inventory there.
struct Day {
    key: u64,
    weather: i64,
    stock: Head,
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

/// State of one value of locn, ksn or zip: a count and up to two chains.
#[derive(Clone, Copy, Default)]
struct Group {
    count: i64,
    stock: Head,
    places: Head,
}

/// `SUM(inventoryunits)` over the five relations.
pub(crate) struct Retailer {
    stock: Slab<Stock>,
    stock_by_ksn: Chains,
    stock_by_day: Chains,
    stock_by_locn: Chains,
    days: Slab<Day>,
    places: Slab<LocationZip>,
    places_by_locn: Chains,
    places_by_zip: Chains,
    items: Dense<Group>,
    locns: Dense<Group>,
    zips: Dense<Group>,
    totals: Totals,
}

impl Retailer {
    pub(crate) fn new() -> Self {
        Self {
            stock: Slab::new(),
            stock_by_ksn: Chains::default(),
            stock_by_day: Chains::default(),
            stock_by_locn: Chains::default(),
            days: Slab::new(),
            places: Slab::new(),
            places_by_locn: Chains::default(),
            places_by_zip: Chains::default(),
            items: Dense::default(),
            locns: Dense::default(),
            zips: Dense::default(),
            totals: Totals::default(),
        }
    }

    /// Location joined with Census, at one locn.
    fn around(&self, locn: i32) -> i64 {
        let places = self.places_by_locn.walk(self.locns.get(locn).places);
        places
            .map(|slot| self.places.rows[slot as usize].counted(&self.zips))
            .sum()
    }

    fn weather_at(&self, locn: i32, date: i32) -> i64 {
        let key = pair(locn, date);
        self.days
            .find(Day::hash(key), key)
            .map_or(0, |slot| self.days.rows[slot as usize].weather)
    }

    fn inventory(&mut self, batch: &RecordBatch, sign: i64) {
        let [locns, dates, ksns, units] = array::from_fn(|column| values(batch, column));
        for row in 0..locns.len() {
            let [locn, date, ksn] = [locns[row], dates[row], ksns[row]];
            let change = Totals {
                count: sign,
                sum: sign * i64::from(units[row]),
            };
            let weather = self.restock([locn, date, ksn], change);
            let items = self.items.get(ksn).count;
            if weather * items != 0 {
                self.totals += change * (weather * items * self.around(locn));
            }
        }
    }

    /// Adds to one row of Inventory in all of its indexes; the rows of Weather that join with it.
    fn restock(&mut self, key: [i32; 3], change: Totals) -> i64 {
        let [locn, date, ksn] = key;
        let day = pair(locn, date);
        let (day, _) = self.days.find_or_insert(Day::hash(day), day, || Day {
            key: day,
            weather: 0,
            stock: Head::default(),
        });
        let day = &mut self.days.rows[day as usize];
        let hash = Stock::hash(key);
        let (slot, new) = self.stock.find_or_insert(hash, key, || Stock::new(key));
        if new {
            self.stock_by_ksn.link(&mut self.items.at(ksn).stock, slot);
            self.stock_by_day.link(&mut day.stock, slot);
            self.stock_by_locn
                .link(&mut self.locns.at(locn).stock, slot);
        }
        let totals = &mut self.stock.rows[slot as usize].totals;
        *totals += change;
        if totals.is_zero() {
            self.stock.remove(hash, slot);
            self.stock_by_ksn
                .unlink(&mut self.items.at(ksn).stock, slot);
            self.stock_by_day.unlink(&mut day.stock, slot);
            self.stock_by_locn
                .unlink(&mut self.locns.at(locn).stock, slot);
        }
        day.weather
    }

    fn item(&mut self, ksn: i32, sign: i64) {
        self.items.at(ksn).count += sign;
        let mut moved = Totals::default();
        for slot in self.stock_by_ksn.walk(self.items.get(ksn).stock) {
            let Stock {
                key: [locn, date, _],
                totals,
            } = self.stock.rows[slot as usize];
            let weather = self.weather_at(locn, date);
            if weather != 0 {
                moved += totals * (sign * weather * self.around(locn));
            }
        }
        self.totals += moved;
    }

    fn weather(&mut self, locn: i32, date: i32, sign: i64) {
        let key = pair(locn, date);
        let fresh = || Day {
            key,
            weather: 0,
            stock: Head::default(),
        };
        let (slot, _) = self.days.find_or_insert(Day::hash(key), key, fresh);
        let day = &mut self.days.rows[slot as usize];
        day.weather += sign;
        let around = sign * self.around(locn);
        let mut moved = Totals::default();
        for slot in self.stock_by_day.walk(self.days.rows[slot as usize].stock) {
            let Stock {
                key: [.., ksn],
                totals,
            } = self.stock.rows[slot as usize];
            moved += totals * (around * self.items.get(ksn).count);
        }
        self.totals += moved;
    }

    fn location(&mut self, locn: i32, zip: i32, sign: i64) {
        let key = pair(locn, zip);
        let hash = LocationZip::hash(key);
        let (slot, new) = self
            .places
            .find_or_insert(hash, key, || LocationZip { key, count: 0 });
        if new {
            self.places_by_locn
                .link(&mut self.locns.at(locn).places, slot);
            self.places_by_zip.link(&mut self.zips.at(zip).places, slot);
        }
        let place = &mut self.places.rows[slot as usize];
        place.count += sign;
        if place.count == 0 {
            self.places.remove(hash, slot);
            self.places_by_locn
                .unlink(&mut self.locns.at(locn).places, slot);
            self.places_by_zip
                .unlink(&mut self.zips.at(zip).places, slot);
        }
        self.totals += self.stocked(locn) * (sign * self.zips.get(zip).count);
    }

    /// Inventory joined with Item and Weather, at one locn.
    fn stocked(&self, locn: i32) -> Totals {
        let mut sum = Totals::default();
        for slot in self.stock_by_locn.walk(self.locns.get(locn).stock) {
            let Stock {
                key: [_, date, ksn],
                totals,
            } = self.stock.rows[slot as usize];
            let items = self.items.get(ksn).count;
            if items != 0 {
                sum += totals * (items * self.weather_at(locn, date));
            }
        }
        sum
    }

    fn census(&mut self, zip: i32, sign: i64) {
        self.zips.at(zip).count += sign;
        let mut moved = Totals::default();
        for slot in self.places_by_zip.walk(self.zips.get(zip).places) {
            let LocationZip { key, count } = self.places.rows[slot as usize];
            moved += self.stocked((key >> 32) as i32) * (sign * count);
        }
        self.totals += moved;
    }
}

impl LocationZip {
    /// Number of join partners of this place in Census.
    fn counted(&self, zips: &Dense<Group>) -> i64 {
        self.count * zips.get(self.key as u32 as i32).count
    }
}

impl System for Retailer {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        let column = |column| values(batch, column).iter().copied();
        match relation {
            INVENTORY => self.inventory(batch, sign),
            LOCATION => column(0)
                .zip(column(1))
                .for_each(|(locn, zip)| self.location(locn, zip, sign)),
            CENSUS => column(0).for_each(|zip| self.census(zip, sign)),
            ITEM => column(0).for_each(|ksn| self.item(ksn, sign)),
            WEATHER => column(0)
                .zip(column(1))
                .for_each(|(locn, date)| self.weather(locn, date, sign)),
            _ => unreachable!("Retailer has five relations"),
        }
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn memory(&self) -> usize {
        let slabs = self.stock.memory() + self.days.memory() + self.places.memory();
        let stock =
            self.stock_by_ksn.memory() + self.stock_by_day.memory() + self.stock_by_locn.memory();
        let places = self.places_by_locn.memory() + self.places_by_zip.memory();
        slabs + stock + places + self.items.memory() + self.locns.memory() + self.zips.memory()
    }
}
