//! The parts under every engine: ten million random keys of three words, inserted, hit, updated, in batches of 1,000.
//!
//! `cargo bench -p ringview-benches` reports the time of a key. Keys are random over all 64 bits, so no array can
//! replace the hash directory.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ringview_relation::{KeyField, KeyLayout, KeyScratch, KeyedTable, Keys};

const KEYS: usize = 10_000_000;
const BATCH: usize = 1_000;
const FIELDS: [usize; 3] = [0, 1, 2];

/// The keys of each batch, column by column.
fn keys() -> Vec<Vec<Vec<u64>>> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut column = || (0..BATCH).map(|_| random()).collect();
    (0..KEYS / BATCH)
        .map(|_| FIELDS.iter().map(|_| column()).collect())
        .collect()
}

fn as_keys(columns: &[Vec<u64>]) -> Keys<'_> {
    Keys {
        columns,
        fields: &FIELDS,
        rows: BATCH,
    }
}

fn empty() -> KeyedTable {
    let field = KeyField {
        bits: 64,
        signed: false,
    };
    KeyedTable::new(KeyLayout::new(&[field; 3]), 2)
}

/// Adds one to the count of every key, as the delta of a view does.
fn add(table: &mut KeyedTable, batches: &[Vec<Vec<u64>>]) -> Duration {
    let (mut scratch, mut slots) = (KeyScratch::default(), Vec::new());
    let start = Instant::now();
    for columns in batches {
        table.locate(as_keys(columns), &mut scratch, &mut slots);
        let stride = table.stride();
        let payloads = table.write(&slots);
        for &slot in &slots {
            payloads[slot as usize * stride] += 1;
        }
        table.commit(&slots, |payload| payload[0] == 0);
    }
    start.elapsed()
}

fn look_up(table: &KeyedTable, batches: &[Vec<Vec<u64>>]) -> Duration {
    let (mut scratch, mut slots) = (KeyScratch::default(), Vec::new());
    let start = Instant::now();
    let mut sum = 0;
    for columns in batches {
        table.find(as_keys(columns), &mut scratch, &mut slots);
        sum += slots
            .iter()
            .map(|&slot| table.payload(slot)[0])
            .sum::<u64>();
    }
    black_box(sum);
    start.elapsed()
}

fn relation(criterion: &mut Criterion) {
    let batches = keys();
    let mut group = criterion.benchmark_group("relation");
    group.throughput(Throughput::Elements(KEYS as u64));
    group.sample_size(10);
    group.bench_function("insert", |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| add(&mut empty(), &batches)).sum());
    });
    let mut table = empty();
    add(&mut table, &batches);
    group.bench_function("hit", |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| look_up(&table, &batches)).sum());
    });
    group.bench_function("update", |bencher| {
        bencher.iter_custom(|rounds| (0..rounds).map(|_| add(&mut table, &batches)).sum());
    });
    group.finish();
}

criterion_group!(benches, relation);
criterion_main!(benches);
