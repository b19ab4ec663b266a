//! Cost of one event, its result read, against the number of orders that are there.

use std::hint::black_box;
use std::time::Duration;

use ringview_rpai::machine::Machine;
use serde::Serialize;

use super::{batch, print, queries};
use crate::common::clock::on_core;

/// Orders of each side. A result of what no index keeps is linear, and more: there the first ones alone.
const ORDERS: [i64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
const SLOW: i64 = 10_000;
/// Events a measurement, and the rounds in which they are inserted and deleted.
const EVENTS: usize = 256;
const REPEAT: usize = 8;

#[derive(Serialize)]
struct Line {
    workload: &'static str,
    query: &'static str,
    orders: i64,
    system: &'static str,
    tuples: usize,
    nanoseconds: f64,
}

/// Orders at random: volumes to 100, four prices an order.
struct Orders(u64, u64);

impl Orders {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn next(&mut self) -> (i64, i64) {
        let volume = 1 + self.draw() % 100;
        let price = self.draw() % self.1;
        (volume as i64, price as i64)
    }

    fn some(&mut self, count: usize) -> Vec<(i64, i64)> {
        (0..count).map(|_| self.next()).collect()
    }
}

pub(super) fn run(share: usize) -> Result<(), String> {
    for (query, block, is_indexed) in queries::all() {
        for orders in ORDERS {
            let most = ORDERS[ORDERS.len() - 1] / share as i64;
            if orders > most || (!is_indexed && orders > SLOW) {
                continue;
            }
            let mut book = Orders(0x2545_f491_4f6c_dd1d, 4 * orders as u64);
            let mut machine = Machine::new(queries::book(block.clone()));
            for table in 0..2 {
                for start in (0..orders).step_by(10_000) {
                    let rows = book.some(10_000.min(orders - start) as usize);
                    let taken = machine.apply(table, &batch(&rows, 1), 1);
                    taken.map_err(|error| error.to_string())?;
                    machine.commit();
                }
            }
            let (events, repeat) = if is_indexed { (EVENTS, REPEAT) } else { (4, 2) };
            let mut least = Duration::MAX;
            for _ in 0..repeat {
                let rows = book.some(events);
                least = least.min(events_of(&mut machine, &rows)?);
            }
            print(&Line {
                workload: "order-book-cost",
                query,
                orders,
                system: "machine",
                tuples: 2 * events,
                nanoseconds: least.as_nanos() as f64 / (2 * events) as f64,
            })?;
        }
    }
    Ok(())
}

/// Orders are inserted on both sides in turn, and deleted again.
fn events_of(machine: &mut Machine, rows: &[(i64, i64)]) -> Result<Duration, String> {
    let rows: Vec<_> = rows.iter().map(|row| batch(&[*row], 1)).collect();
    let start = on_core();
    for sign in [1, -1] {
        for (at, row) in rows.iter().enumerate() {
            let taken = machine.apply(at % 2, row, sign);
            taken.map_err(|error| error.to_string())?;
            black_box(machine.scalar().map_err(|error| error.to_string())?);
            machine.commit();
        }
    }
    Ok(on_core() - start)
}
