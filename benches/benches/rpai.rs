//! The RPAI tree beside what bounds it: a Fenwick tree over keys known beforehand, which cannot shift, and std's
//! `BTreeMap`, which sums and shifts by walking.
//!
//! `cargo bench -p ringview-benches --bench rpai` reports the time of one operation at 10^4 and 10^6 keys, at places drawn at
//! random, and of two thousand events of an order book. A shift moves a range up, and the next moves it back down: the keys are
//! then what they were. `BTreeMap` walks at most 10^4 keys here; at 10^6 it only adds.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ringview_core::{Batch, Column, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;
use ringview_rpai::machine::Machine;
use ringview_rpai::{Cut, RpaiTree};
use serde_json::{Value as Json, json};

#[allow(dead_code, reason = "tests run more of them")]
#[path = "../../rust/rpai/tests/common/queries.rs"]
mod queries;

const SIZES: [i64; 2] = [10_000, 1_000_000];
/// Distance of neighbouring keys.
const APART: i64 = 8;

/// Places at random, ten bits more than needed, so that none repeats soon.
struct Places(u64, u64);

impl Places {
    fn next(&mut self) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % self.1) as i64
    }
}

/// Sums over the first so many places.
struct Fenwick(Vec<i64>);

impl Fenwick {
    fn add(&mut self, at: usize, value: i64) {
        let mut at = at + 1;
        while at < self.0.len() {
            self.0[at] += value;
            at += at & at.wrapping_neg();
        }
    }

    fn sum(&self, mut at: usize) -> i64 {
        let mut sum = 0;
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

fn tree(entries: i64) -> RpaiTree<i64, i64> {
    let sorted = (0..entries).map(|key| (key * APART, (), 1));
    RpaiTree::from_sorted(sorted).expect("sorted")
}

fn rpai(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rpai");
    for entries in SIZES {
        let mut places = Places(0x9e37_79b9_7f4a_7c15, entries as u64);
        let mut tree = tree(entries);
        group.bench_function(BenchmarkId::new("add", entries), |bencher| {
            bencher.iter(|| tree.add(places.next() * APART, (), 1));
        });
        group.bench_function(BenchmarkId::new("insert and remove", entries), |bencher| {
            bencher.iter(|| {
                let key = places.next() * APART + 1;
                tree.add(key, (), 1).expect("fits");
                tree.remove(key, ())
            });
        });
        group.bench_function(BenchmarkId::new("get_sum", entries), |bencher| {
            bencher.iter(|| black_box(tree.get_sum(&Cut::after(places.next() * APART))));
        });
        group.bench_function(BenchmarkId::new("select", entries), |bencher| {
            let total = tree.total() as u64;
            let mut sums = Places(7, total);
            bencher.iter(|| {
                let bound = sums.next();
                black_box(tree.select(|sum| sum > bound))
            });
        });
        let (mut at, mut by) = (0, -1);
        group.bench_function(BenchmarkId::new("shift_keys", entries), |bencher| {
            bencher.iter(|| {
                if by < 0 {
                    at = places.next() * APART;
                }
                by = -by;
                tree.shift_keys(&Cut::after(at), by)
            });
        });
        group.bench_function(
            BenchmarkId::new("shift_keys, a pair meets", entries),
            |bencher| {
                bencher.iter(|| {
                    let key = places.next() * APART;
                    // A neighbour of the key falls onto it, and is put back where it was.
                    tree.add(key + 1, (), 1).expect("fits");
                    let cut = Cut::after(key);
                    tree.shift_keys(&cut, -1).expect("fits");
                    tree.shift_keys(&cut, 1)
                });
            },
        );
    }
    group.finish();
}

fn fenwick(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fenwick");
    for entries in SIZES {
        let mut places = Places(0x9e37_79b9_7f4a_7c15, entries as u64);
        let mut sums = Fenwick(vec![0; entries as usize + 1]);
        group.bench_function(BenchmarkId::new("add", entries), |bencher| {
            bencher.iter(|| sums.add(places.next() as usize, 1));
        });
        group.bench_function(BenchmarkId::new("get_sum", entries), |bencher| {
            bencher.iter(|| black_box(sums.sum(places.next() as usize)));
        });
    }
    group.finish();
}

fn btree_map(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("BTreeMap");
    for entries in SIZES {
        let mut places = Places(0x9e37_79b9_7f4a_7c15, entries as u64);
        let mut map: BTreeMap<i64, i64> = (0..entries).map(|key| (key * APART, 1)).collect();
        group.bench_function(BenchmarkId::new("add", entries), |bencher| {
            bencher.iter(|| *map.entry(places.next() * APART).or_default() += 1);
        });
        if entries > 10_000 {
            continue;
        }
        group.bench_function(BenchmarkId::new("get_sum", entries), |bencher| {
            bencher.iter(|| {
                let key = places.next() * APART;
                black_box(map.range(..=key).map(|(_, payload)| payload).sum::<i64>())
            });
        });
        let (mut at, mut by) = (0, -1);
        group.bench_function(BenchmarkId::new("shift_keys", entries), |bencher| {
            bencher.iter(|| {
                if by < 0 {
                    at = places.next() * APART;
                }
                by = -by;
                let moved = map.split_off(&(at + 1));
                map.extend(moved.into_iter().map(|(key, payload)| (key + by, payload)));
                debug_assert!(map.range((Excluded(at), Unbounded)).count() < entries as usize);
            });
        });
    }
    group.finish();
}

/// Two thousand events of an order book, one at a time, the result read after each: the machine alone.
fn order_book(criterion: &mut Criterion) {
    let text = include_str!("../../rust/rpai/tests/data/orderbook.csv");
    let word = |value: i64| {
        let (words, high, valid) = (vec![value as u64], Vec::new(), None);
        Some(Column { words, high, valid })
    };
    let event = |line: &str| {
        let numbers: Vec<i64> = line
            .split(',')
            .map(|text| text.parse().expect("a number"))
            .collect();
        let mut batch = Batch::new();
        batch.rows = 1;
        batch.multiplicity = Some(vec![numbers[1]]);
        batch.columns = vec![word(numbers[2]), word(numbers[3])];
        (numbers[0] as usize, batch)
    };
    let events: Vec<_> = text.lines().skip(1).map(event).collect();
    let mut group = criterion.benchmark_group("order book");
    group.throughput(Throughput::Elements(events.len() as u64));
    for (name, block, optimised) in queries::all() {
        if !optimised {
            continue;
        }
        let empty = Machine::new(queries::book(block));
        group.bench_function(name, |bencher| {
            let run = |mut machine: Machine| {
                for (table, batch) in &events {
                    machine.apply(*table, batch, 1).expect("fits");
                    black_box(machine.scalar().expect("fits"));
                    machine.commit();
                }
                machine
            };
            bencher.iter_batched(|| empty.clone(), run, BatchSize::LargeInput);
        });
    }
    group.finish();
}

/// A book of so many live orders, by random insertions, and a few more events.
fn random_book(orders: i64) -> (Batch, Batch, Vec<(usize, Batch)>) {
    let mut places = Places(0x2545_f491_4f6c_dd1d, 1 << 40);
    let mut rows = |count: i64, times: i64| {
        let mut words = [Vec::new(), Vec::new()];
        for _ in 0..count {
            words[0].push(1 + places.next() as u64 % 100);
            words[1].push(places.next() as u64 % (4 * orders as u64));
        }
        let column = |words| {
            let (high, valid) = (Vec::new(), None);
            Some(Column { words, high, valid })
        };
        let [volume, price] = words;
        let mut batch = Batch::new();
        batch.rows = count as usize;
        batch.multiplicity = Some(vec![times; count as usize]);
        batch.columns = vec![column(volume), column(price)];
        batch
    };
    let (bids, asks) = (rows(orders, 1), rows(orders, 1));
    let events = (0..64).map(|at| (at % 2, rows(1, 1))).collect();
    (bids, asks, events)
}

/// What one event costs, its result read, against the number of orders that are there: each query over the book of the
/// paper's table 1.
fn cost_against_orders(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cost against orders");
    group.sample_size(10);
    for (name, block, optimised) in queries::all() {
        for orders in [1_000, 10_000, 100_000, 1_000_000] {
            // A result of these is linear, and more.
            if !optimised && orders > 1_000 {
                continue;
            }
            let (bids, asks, events) = random_book(orders);
            let mut machine = Machine::new(queries::book(block.clone()));
            machine.apply(0, &bids, 1).expect("fits");
            machine.apply(1, &asks, 1).expect("fits");
            machine.commit();
            group.throughput(Throughput::Elements(2 * events.len() as u64));
            group.bench_function(BenchmarkId::new(name, orders), |bencher| {
                bencher.iter(|| {
                    for sign in [1, -1] {
                        for (table, batch) in &events {
                            machine.apply(*table, batch, sign).expect("fits");
                            black_box(machine.scalar().expect("fits"));
                            machine.commit();
                        }
                    }
                });
            });
        }
    }
    group.finish();
}

/// A column of a query so many further out, and an aggregate of those within, as JSON.
fn json_column(depth: usize, atom: usize, name: &str) -> Json {
    json!({"op": "column", "depth": depth, "atom": atom, "column": name})
}

fn json_sum(table: &str, condition: Option<Json>) -> Json {
    let argument = json!({"op": "column", "atom": 0, "column": "volume"});
    let mut query = json!({
        "atoms": [{"table": table, "alias": "w"}],
        "outputs": [{"kind": "aggregate", "name": "w", "function": "sum", "argument": argument}],
    });
    if let Some(condition) = condition {
        query["condition"] = condition;
    }
    json!({"op": "query", "query": query})
}

fn share(of: &str, table: &str) -> Json {
    let share = json!({"op": "literal", "value": {"type": "decimal", "value": of}});
    json!({"op": "multiply", "left": share, "right": json_sum(table, None)})
}

fn against(left: &Json, how: &str, right: &Json) -> Json {
    json!({"op": "compare", "comparison": how, "left": left, "right": right})
}

/// The sum of the volumes of the rows whose price compares so with that of the row around.
fn up_to(table: &str, how: &str, atom: usize) -> Json {
    let prices = against(
        &json_column(0, 0, "price"),
        how,
        &json_column(1, atom, "price"),
    );
    json_sum(table, Some(prices))
}

/// VWAP, MST and PSP as the database takes them.
fn logical() -> Vec<(&'static str, Json)> {
    let plain = |atom: usize, name: &str| json!({"op": "column", "atom": atom, "column": name});
    let revenue = |atom: usize| json!({"op": "multiply", "left": plain(atom, "price"), "right": plain(atom, "volume")});
    let query = |tables: &[&str], argument: Json, condition: Json| {
        let atom = |table: &&str| json!({"table": table, "alias": table});
        json!({
            "atoms": tables.iter().map(atom).collect::<Vec<_>>(),
            "outputs": [{"kind": "aggregate", "name": "s", "function": "sum", "argument": argument}],
            "condition": condition,
        })
    };
    let both = |left: Json, right: Json| json!({"op": "and", "operands": [left, right]});
    let beyond =
        |atom: usize, table: &str| against(&share("0.25", table), "gt", &up_to(table, "gt", atom));
    let larger = |atom: usize, table: &str| {
        against(
            &json_column(0, atom, "volume"),
            "gt",
            &share("0.0001", table),
        )
    };
    let minus = |left: Json, right: Json| json!({"op": "subtract", "left": left, "right": right});
    let tables = ["bids", "asks"];
    let vwap = against(&share("0.75", "bids"), "lt", &up_to("bids", "le", 0));
    let mst = both(beyond(0, "bids"), beyond(1, "asks"));
    let psp = both(larger(0, "bids"), larger(1, "asks"));
    let spread = minus(plain(1, "price"), plain(0, "price"));
    vec![
        ("VWAP", query(&tables[..1], revenue(0), vwap)),
        ("MST", query(&tables, minus(revenue(1), revenue(0)), mst)),
        ("PSP", query(&tables, spread, psp)),
    ]
}

/// The same events through a whole database: base rows checked, a transaction and a read each.
fn whole_engine(criterion: &mut Criterion) {
    let text = include_str!("../../rust/rpai/tests/data/orderbook.csv");
    let event = |line: &str| {
        let numbers: Vec<i64> = (line.split(','))
            .map(|text| text.parse().expect("a number"))
            .collect();
        let column = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let columns = [
            ("volume", column(numbers[2])),
            ("price", column(numbers[3])),
        ];
        let rows = RecordBatch::try_from_iter(columns).expect("two columns");
        (["bids", "asks"][numbers[0] as usize], numbers[1] > 0, rows)
    };
    let events: Vec<_> = text.lines().skip(1).map(event).collect();
    let field = |name| Field::new(name, Type::Int64, false);
    let mut group = criterion.benchmark_group("order book, whole engine");
    group.throughput(Throughput::Elements(events.len() as u64));
    for (name, query) in logical() {
        let query = Query::from_json(&query.to_string()).expect("a query");
        let empty = || {
            let mut db = Database::new(Options::default());
            for table in ["bids", "asks"] {
                let schema = Schema::new(vec![field("volume"), field("price")]).expect("a schema");
                db.create_table(table, schema, None, false)
                    .expect("a table");
            }
            db.create_view("view", &query, &mut |_| Ok(()))
                .expect("a view");
            db
        };
        group.bench_function(name, |bencher| {
            let run = |mut db: Database| {
                for (table, comes, rows) in &events {
                    let op = Op {
                        table,
                        direction: if *comes {
                            Direction::Insert
                        } else {
                            Direction::Delete
                        },
                        rows: std::slice::from_ref(rows),
                        multiplicity: None,
                    };
                    db.apply(&[op], &mut |_| Ok(())).expect("fits");
                    black_box(db.view_get("view", &[]).expect("one row"));
                }
                db
            };
            bencher.iter_batched(empty, run, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    rpai,
    fenwick,
    btree_map,
    order_book,
    whole_engine,
    cost_against_orders
);
criterion_main!(benches);
