//! The RPAI tree beside what bounds it: a Fenwick tree over keys known beforehand, which cannot shift, and std's
//! `BTreeMap`, which sums and shifts by walking.
//!
//! `cargo bench -p ringview-benches --bench rpai` reports the time of one operation at 10^4 and 10^6 keys, at places drawn at
//! random. A shift moves a range up, and the next moves it back down: the keys are then what they were. `BTreeMap` walks at
//! most 10^4 keys here; at 10^6 it only adds. Queries over an order book: `ringview-benches --correlated`.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound::{Excluded, Unbounded};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ringview_rpai::{Cut, RpaiTree, Sums};

const SIZES: [i64; 2] = [10_000, 1_000_000];
/// Distance of neighbouring keys.
const APART: i64 = 8;

/// Random keys, ten bits more than needed, so that none repeats soon.
struct RandomKeys(u64, u64);

impl RandomKeys {
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
        let mut places = RandomKeys(0x9e37_79b9_7f4a_7c15, entries as u64);
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
            bencher.iter(|| black_box(tree.prefix_sum(&Cut::after(places.next() * APART))));
        });
        group.bench_function(BenchmarkId::new("select", entries), |bencher| {
            let total = tree.total() as u64;
            let mut sums = RandomKeys(7, total);
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
        let mut places = RandomKeys(0x9e37_79b9_7f4a_7c15, entries as u64);
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
        let mut places = RandomKeys(0x9e37_79b9_7f4a_7c15, entries as u64);
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

/// VWAP over an order book, an order in and out again, the result read after each, in both forms of the paper's index:
/// running sums along the prices, which queries use, and aggregates as keys that are shifted.
fn vwap(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("VWAP");
    for entries in SIZES {
        let volume = |price: i64| 1 + price % 97;
        let prices = || (0..entries).map(|at| at * APART);
        let both = |price: i64| (price, (), Sums([volume(price), price * volume(price)]));
        let mut orders =
            RpaiTree::<i64, Sums<2, i64>>::from_sorted(prices().map(both)).expect("sorted");
        let (mut places, mut price, mut by) =
            (RandomKeys(0x9e37_79b9_7f4a_7c15, entries as u64), 0, -1);
        group.bench_function(BenchmarkId::new("running sums", entries), |bencher| {
            bencher.iter(|| {
                if by < 0 {
                    price = places.next() * APART;
                }
                by = -by;
                orders.add(price, (), Sums([by, by * price])).expect("fits");
                let total = orders.total().0;
                let found = orders.select(|sums| 4 * sums.0[0] > 3 * total[0]);
                black_box(total[1] - found.map_or(total[1], |(_, (), before)| before.0[1]))
            });
        });
        let volumes = prices().map(|price| (price, (), volume(price)));
        let mut volumes = RpaiTree::<i64, i64>::from_sorted(volumes).expect("sorted");
        let mut sum = 0;
        let aggregates = prices().map(|price| {
            sum += volume(price);
            (sum, (), price * volume(price))
        });
        let mut index = RpaiTree::<i64, i64>::from_sorted(aggregates).expect("sorted");
        let (mut places, mut price, mut by) =
            (RandomKeys(0x9e37_79b9_7f4a_7c15, entries as u64), 0, -1);
        group.bench_function(BenchmarkId::new("aggregates as keys", entries), |bencher| {
            bencher.iter(|| {
                if by < 0 {
                    price = places.next() * APART;
                }
                by = -by;
                let below = volumes.prefix_sum(&Cut::before(price));
                volumes.add(price, (), by).expect("fits");
                index.shift_keys(&Cut::after(below), by).expect("fits");
                let own = volumes.prefix_sum(&Cut::after(price));
                index.add(own, (), by * price).expect("fits");
                let cut = Cut::after((3 * volumes.total()).div_euclid(4));
                black_box(index.total() - index.prefix_sum(&cut))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, rpai, fenwick, btree_map, vwap);
criterion_main!(benches);
