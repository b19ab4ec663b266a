//! Retailer: a fact relation (Inventory) and four dimensions, joined on (locn, dateid), ksn, locn and zip.
//!
//! Inventory has 30 distinct ksn for each (locn, dateid). A share keeps the shape with fewer locations.

use crate::baselines::table::{Arrays, Tables};
use crate::baselines::{first_order, handwritten};
use crate::common::data::{Dataset, Order, Random, Relation};
use crate::common::system::System;
use crate::workloads::{ByHand, Size, Stream};

const LOCATIONS: i32 = 1_317;
const ZIPS: i32 = 1_302;
const ITEMS: i32 = 5_618;
const DATES: i32 = 128;
const ITEMS_A_DAY: usize = 30;

/// The stream of all five, all changing.
pub(crate) struct Retailer;

impl Stream for Retailer {
    fn name(&self) -> &'static str {
        "retailer"
    }

    fn generate(&self, order: Order, size: &Size) -> Result<Dataset, String> {
        Ok(generate(order, size.share))
    }

    fn streamed(&self) -> &'static [usize] {
        &[0, 1, 2, 3, 4]
    }

    fn summed(&self) -> Option<&'static str> {
        Some("inventoryunits")
    }

    fn by_hand(&self, program: ByHand) -> Option<Box<dyn System>> {
        Some(match program {
            ByHand::Arrays => Box::new(handwritten::retailer::Retailer::<Arrays>::new()),
            ByHand::Tables => Box::new(handwritten::retailer::Retailer::<Tables>::new()),
            ByHand::FirstOrder => Box::new(first_order::Retailer::new()),
        })
    }
}

/// Inventory, Location, Census, Item, Weather: 5,234,093 rows, in the order of the stream.
fn generate(order: Order, share: usize) -> Dataset {
    let locations = LOCATIONS / share as i32;
    let mut random = Random::new(0x4e7a);
    let inventory = inventory(locations, &mut random);
    let locns: Vec<i32> = (0..locations).collect();
    let zips = locns.iter().map(|locn| locn % ZIPS).collect();
    let location = Relation::new(
        "Location",
        &["locn", "zip"],
        vec![locns, zips],
        "location",
        13,
        &mut random,
    );
    let census = Relation::new(
        "Census",
        &["zip"],
        vec![(0..ZIPS).collect()],
        "census",
        15,
        &mut random,
    );
    let item = Relation::new(
        "Item",
        &["ksn"],
        vec![(0..ITEMS).collect()],
        "item",
        4,
        &mut random,
    );
    let (locns, dates) = (0..locations)
        .flat_map(|locn| (0..DATES).map(move |date| (locn, date)))
        .unzip();
    let weather = Relation::new(
        "Weather",
        &["locn", "dateid"],
        vec![locns, dates],
        "weather",
        6,
        &mut random,
    );
    Dataset::new(vec![inventory, location, census, item, weather], order)
}

fn inventory(locations: i32, random: &mut Random) -> Relation {
    let rows = locations as usize * DATES as usize * ITEMS_A_DAY;
    let mut columns: Vec<Vec<i32>> = (0..3).map(|_| Vec::with_capacity(rows)).collect();
    let mut today = Vec::with_capacity(ITEMS_A_DAY);
    for (locn, date) in (0..locations).flat_map(|locn| (0..DATES).map(move |date| (locn, date))) {
        today.clear();
        while today.len() < ITEMS_A_DAY {
            let ksn = random.below(ITEMS as u64) as i32;
            if !today.contains(&ksn) {
                today.push(ksn);
            }
        }
        today.sort_unstable();
        for &ksn in &today {
            columns[0].push(locn);
            columns[1].push(date);
            columns[2].push(ksn);
        }
    }
    let units = random.features(rows);
    columns.push(units);
    let names = ["locn", "dateid", "ksn", "inventoryunits"]
        .map(str::to_owned)
        .into();
    Relation {
        name: "Inventory",
        names,
        columns,
    }
}
