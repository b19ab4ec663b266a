//! Contents of a file after a power failure, a flipped bit, or on a full disk: the effects of all calls that returned,
//! or a clear error.

use proptest::prelude::*;
use ringview_core::Error;
use ringview_engine::Direction;

use crate::Durability;
use crate::disk::simulated::{Dice, Simulated};

mod history;
mod steps;

use history::History;
use steps::{change, contents, define, migrate, open, open_as};

/// Whether a file has what is there; else it is refused.
fn has(bytes: &[u8], is_there: &str, what: &str) -> bool {
    match open(&Simulated::with(bytes.to_vec())) {
        Ok(db) => {
            assert_eq!(contents(&db), is_there, "{what}");
            true
        }
        Err(Error::Snapshot { .. } | Error::Storage { .. }) => false,
        Err(problem) => panic!("{what}: {problem}"),
    }
}

/// The same of one of which a bit is changed.
fn has_flipped(bytes: &mut [u8], bit: usize, is_there: &str) -> bool {
    bytes[bit / 8] ^= 1 << (bit % 8);
    let has = has(bytes, is_there, &format!("bit {bit}"));
    bytes[bit / 8] ^= 1 << (bit % 8);
    has
}

fn power_fails(seeds: std::ops::Range<u64>, times: usize) {
    for seed in seeds {
        let history = History::of(seed, 24);
        let mut dice = Dice::new(seed + 1000);
        let end = history.disk.calls();
        for _ in 0..times {
            history.check(dice.below(end + 1), &mut dice);
        }
    }
}

#[test]
fn what_returned_is_there_when_power_fails() {
    power_fails(0..3, 40);
}

#[test]
#[ignore = "takes minutes"]
fn what_returned_is_there_whenever_power_fails() {
    power_fails(10..60, 400);
}

/// A file whose process was killed, and one that was closed; what is in them, and in their last pages.
fn files(closed: bool) -> (Vec<u8>, String) {
    let disk = Simulated::default();
    let mut db = open(&disk).unwrap();
    define(&mut db);
    for number in 0..5 {
        change(&mut db, number, 3, Direction::Insert).unwrap();
    }
    let is_there = contents(&db);
    let mut bytes = disk.bytes();
    if closed {
        drop(db);
        bytes = disk.bytes();
    }
    (bytes, is_there)
}

#[test]
fn bits_of_the_header_may_be_flipped() {
    for closed in [false, true] {
        let (mut bytes, is_there) = files(closed);
        let refused = (0..512 * 8)
            .step_by(3)
            .filter(|&bit| !has_flipped(&mut bytes, bit, &is_there));
        assert!(refused.count() > 150);
    }
}

#[test]
fn a_file_that_was_cut_is_refused() {
    for closed in [false, true] {
        let (bytes, is_there) = files(closed);
        let ends = (4096..bytes.len()).step_by(4096);
        for end in ends.flat_map(|end| [end - 1, end, end + 1]).chain(1..12) {
            assert!(!has(&bytes[..end], &is_there, "cut"), "{end} bytes");
        }
    }
}

fn flips(step: usize) {
    for closed in [false, true] {
        let (mut bytes, is_there) = files(closed);
        let there: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
        let mut refused = 0;
        for bit in there.iter().flat_map(|at| at * 8..at * 8 + 8).step_by(step) {
            refused += usize::from(!has_flipped(&mut bytes, bit, &is_there));
        }
        assert!(refused > 0);
    }
}

#[test]
fn bits_of_pages_may_be_flipped() {
    flips(131);
}

#[test]
#[ignore = "takes minutes"]
fn many_bits_of_pages_may_be_flipped() {
    flips(5);
}

#[test]
fn a_commit_that_stands_behind_the_bit_counts() {
    // The contents at any point of the last commit, with the bit or without it.
    let disk = Simulated::default();
    let mut db = open(&disk).unwrap();
    define(&mut db);
    let before = contents(&db);
    let first = disk.calls();
    change(&mut db, 0, 3, Direction::Insert).unwrap();
    let after = contents(&db);
    let mut found = [0, 0];
    let mut dice = Dice::new(0);
    for calls in first..=disk.calls() {
        for _ in 0..20 {
            let cut = Simulated::with(disk.after(calls, &mut dice));
            let now = contents(&open(&cut).unwrap());
            assert!(now == before || now == after, "{now}");
            found[usize::from(now == after)] += 1;
            // It was decided, and stays so.
            assert_eq!(contents(&open(&Simulated::with(cut.bytes())).unwrap()), now);
        }
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
}

#[test]
fn a_full_disk_takes_nothing_that_returned() {
    for durability in [Durability::Transaction, Durability::Snapshot] {
        for spare in [0, 1 << 12, 1 << 16, 1 << 19] {
            full(durability, spare);
        }
    }
}

fn full(durability: Durability, spare: u64) {
    let disk = Simulated::default();
    let mut db = open_as(&disk, durability).unwrap();
    define(&mut db);
    change(&mut db, 0, 100, Direction::Insert).unwrap();
    db.snapshot().unwrap();
    disk.set_capacity(Some(disk.bytes().len() as u64 + spare));
    // Until the disk is full.
    let mut number = 1;
    let problem = loop {
        match change(&mut db, number, 20_000, Direction::Insert) {
            Ok(_) if number > 80 => break db.snapshot().unwrap_err(),
            Ok(_) => number += 1,
            Err(problem) => break problem,
        }
    };
    assert!(matches!(problem, Error::Storage { .. }), "{problem}");
    let is_there = contents(&db);
    for number in 100..102 {
        let failed = change(&mut db, number, 20_000, Direction::Insert);
        assert_eq!(failed.is_err(), durability == Durability::Transaction);
        if failed.is_ok() {
            change(&mut db, number, 20_000, Direction::Delete).unwrap();
        }
    }
    if durability == Durability::Transaction && spare == 0 {
        let refused = migrate(&mut db, 103).unwrap_err();
        assert!(matches!(refused, Error::Storage { .. }), "{refused}");
        assert_eq!(contents(&db), is_there);
    }
    assert!(db.snapshot().is_err());
    if durability == Durability::Transaction {
        // Closing succeeds: nothing is lost.
        let mut gone = std::mem::take(&mut db);
        gone.close().unwrap();
        disk.set_capacity(None);
        db = open(&disk).unwrap();
        assert_eq!(contents(&db), is_there);
    } else {
        assert!(db.close().is_err());
        assert!(db.close().is_err());
        disk.set_capacity(None);
        db.close().unwrap();
        assert!(contents(&open(&disk).unwrap()).ends_with(", 100, 101]"));
        return;
    }
    // It continues to work.
    change(&mut db, 105, 20_000, Direction::Insert).unwrap();
    let is_there = contents(&db);
    drop(db);
    assert_eq!(contents(&open(&disk).unwrap()), is_there);
}

#[test]
fn writes_resume_when_space_is_freed() {
    let disk = Simulated::default();
    let mut db = open(&disk).unwrap();
    define(&mut db);
    change(&mut db, 0, 100, Direction::Insert).unwrap();
    disk.set_capacity(Some(disk.bytes().len() as u64));
    let mut number = 1;
    while change(&mut db, number, 20_000, Direction::Insert).is_ok() {
        number += 1;
    }
    disk.set_capacity(None);
    for again in number..number + 3 {
        change(&mut db, again, 20_000, Direction::Insert).unwrap();
    }
    db.snapshot().unwrap();
    change(&mut db, number + 3, 10, Direction::Insert).unwrap();
    let is_there = contents(&db);
    drop(db);
    assert_eq!(contents(&open(&disk).unwrap()), is_there);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn what_returned_is_there_in_any_life(seed in any::<u64>()) {
        let history = History::of(seed, 12);
        let mut dice = Dice::new(seed);
        for _ in 0..8 {
            history.check(dice.below(history.disk.calls() + 1), &mut dice);
        }
    }
}
