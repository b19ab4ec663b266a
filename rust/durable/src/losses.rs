//! What is in a file after power was lost, a bit was flipped, or the disk was full: all that returned, or a clear error.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use proptest::prelude::*;
use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_engine::{Alteration, Change, Direction, Op, Options, Poll};
use ringview_query::Query;

use crate::disk::Disk;
use crate::disk::simulated::{Dice, Simulated};
use crate::file::File;
use crate::{BatchId, Durability, DurableDatabase, Opening, ViewDefinition};

mod history;

use history::History;

/// Opens the database of a disk, or makes one. Written anew as soon as the log is what a snapshot is.
fn open_as(disk: &Simulated, durability: Durability) -> Result<DurableDatabase> {
    let file = File::on(Disk::on(disk.clone()), Path::new("simulated"), false, None)?;
    let opening = Opening {
        durability,
        compact_at: Some(1.0),
        ..Opening::default()
    };
    DurableDatabase::from_file(file, Options::default(), opening, &mut |_| Ok(()))
}

fn open(disk: &Simulated) -> Result<DurableDatabase> {
    open_as(disk, Durability::Transaction)
}

fn define(db: &mut DurableDatabase) {
    let columns = ["a", "b"].map(|name| Field::new(name, Type::Int64, true));
    let schema = Schema::new(columns.to_vec()).unwrap();
    db.create_table("r", schema, None, false).unwrap();
    db.create_view(view(), &mut |_| Ok(())).unwrap();
}

fn view() -> ViewDefinition {
    let query = r#"{"atoms": [{"table": "r", "alias": "r"}],
        "group_by": [{"atom": 0, "column": "a"}],
        "outputs": [{"kind": "group", "name": "a", "column": {"atom": 0, "column": "a"}},
            {"kind": "aggregate", "name": "b", "function": "sum",
                "argument": "\"0\".\"b\""}]}"#;
    ViewDefinition {
        name: "v".to_owned(),
        query: Query::from_json(query).unwrap(),
        text: None,
        beside: None,
        engine: None,
        sample: None,
    }
}

/// A transaction that changes rows and definitions, known by its number.
fn migrate(db: &mut DurableDatabase, number: i64) -> Result<()> {
    let poll: Poll<'_> = &mut |_| Ok(());
    let mut draft = db.draft(&[], &mut *poll)?;
    change(&mut draft, number, 30, Direction::Insert)?;
    let added = Alteration::AddColumn(Field::new(format!("c{number}"), Type::Int64, true));
    draft.alter_table("r", &added, None, &mut *poll)?;
    draft.alter_table("r", &Alteration::DropColumn(format!("c{number}")), None, &mut *poll)?;
    draft.drop_view("v")?;
    draft.create_view(view(), &mut *poll)?;
    let schema = Schema::new(vec![Field::new("a", Type::Int64, true)])?;
    draft.create_table(&format!("t{number}"), schema, None, false)?;
    db.commit_draft(&draft, poll)
}

/// A transaction of so many rows that are known by its number.
fn change(db: &mut DurableDatabase, number: i64, rows: i64, direction: Direction) -> Result<bool> {
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row % 3)));
    let b: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..rows).map(|row| number * 1000 + row / 40),
    ));
    let rows = RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap();
    let id = (direction == Direction::Insert).then_some(BatchId::Number(number));
    let change = Change::Rows(Op {
        table: "r",
        direction,
        rows: std::slice::from_ref(&rows),
        multiplicity: None,
    });
    db.apply(&[change], (false, id), &mut |_| Ok(()))
}

/// An integer, or a sum of some.
fn integer(column: &ArrayRef, row: usize) -> i64 {
    match column.as_primitive_opt::<Decimal128Type>() {
        Some(sums) => i64::try_from(sums.value(row)).unwrap(),
        None => column.as_primitive::<Int64Type>().value(row),
    }
}

/// Rows of integers, each once with the sum of its last column.
fn bag(rows: &RecordBatch) -> BTreeMap<Vec<i64>, i64> {
    let mut bag = BTreeMap::new();
    for row in 0..rows.num_rows() {
        let columns = rows.columns().iter();
        let mut values: Vec<i64> = columns.map(|column| integer(column, row)).collect();
        let last = values.pop().unwrap_or_default();
        *bag.entry(values).or_default() += last;
    }
    bag
}

/// Everything that it holds, in a fixed order.
fn contents(db: &DurableDatabase) -> String {
    let tables = db.tables();
    let rows = |name: &String| bag(&db.table_rows(name, Some("times")).unwrap());
    let rows: Vec<_> = tables.iter().map(rows).collect();
    let shown = |name: &String| bag(&db.view_result(name).unwrap());
    let views: Vec<_> = db.views().iter().map(shown).collect();
    let ids = (0..140).filter(|&n| db.is_applied(&BatchId::Number(n)));
    format!("{rows:?} {views:?} {:?}", ids.collect::<Vec<i64>>())
}

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
fn any_bit_of_the_header_may_be_flipped() {
    for closed in [false, true] {
        let (mut bytes, is_there) = files(closed);
        let refused = (0..512 * 8).filter(|&bit| !has_flipped(&mut bytes, bit, &is_there));
        assert!(refused.count() > 500);
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
    flips(41);
}

#[test]
#[ignore = "takes minutes"]
fn many_bits_of_pages_may_be_flipped() {
    flips(5);
}

#[test]
fn a_commit_that_stands_behind_the_bit_counts() {
    // Whatever was written when the process was killed in its last commit, with the bit or without it.
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
    disk.set_room(Some(disk.bytes().len() as u64 + spare));
    // Until nothing goes in any more.
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
        // It goes without a word: nothing is lost.
        let mut gone = std::mem::take(&mut db);
        gone.close().unwrap();
        disk.set_room(None);
        db = open(&disk).unwrap();
        assert_eq!(contents(&db), is_there);
    } else {
        assert!(db.close().is_err());
        assert!(db.close().is_err());
        disk.set_room(None);
        db.close().unwrap();
        assert!(contents(&open(&disk).unwrap()).ends_with(", 100, 101]"));
        return;
    }
    // And it goes on.
    change(&mut db, 105, 20_000, Direction::Insert).unwrap();
    let is_there = contents(&db);
    drop(db);
    assert_eq!(contents(&open(&disk).unwrap()), is_there);
}

#[test]
fn there_is_room_again() {
    let disk = Simulated::default();
    let mut db = open(&disk).unwrap();
    define(&mut db);
    change(&mut db, 0, 100, Direction::Insert).unwrap();
    disk.set_room(Some(disk.bytes().len() as u64));
    let mut number = 1;
    while change(&mut db, number, 20_000, Direction::Insert).is_ok() {
        number += 1;
    }
    disk.set_room(None);
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
