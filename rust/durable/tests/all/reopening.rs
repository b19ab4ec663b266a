//! A reopened file has the effects of all calls that returned, and nothing else.
use proptest::prelude::*;
use ringview_core::{Error, Field, Schema, Type};
use ringview_durable::{BatchId, Durability, DurableDatabase, Opening};
use ringview_engine::{Direction, Options};

use crate::common::{
    bind, by_shop, change, define, described, open, open_as, opening, rows, total, upsert,
};

const SHOPS: [&str; 3] = ["north", "south", ""];

/// Operation of a user.
#[derive(Clone, Debug)]
enum Act {
    Insert(Vec<(i64, usize, i64)>),
    Delete(Vec<(i64, usize, i64)>),
    Upsert(Vec<(i64, usize, i64)>, i64),
    Replace,
    Snapshot,
    Reopen,
    Drop,
}

fn act() -> impl Strategy<Value = Act> {
    let batch = || prop::collection::vec((0..6_i64, 0..3_usize, -2..3_i64), 0..4);
    prop_oneof![
        3 => batch().prop_map(Act::Insert),
        2 => batch().prop_map(Act::Delete),
        3 => (batch(), 0..4_i64).prop_map(|(rows, id)| Act::Upsert(rows, id)),
        1 => Just(Act::Replace),
        1 => Just(Act::Snapshot),
        2 => Just(Act::Reopen),
        1 => Just(Act::Drop),
    ]
}

fn batch(of: &[(i64, usize, i64)]) -> arrow_array::RecordBatch {
    let named: Vec<_> = of
        .iter()
        .map(|&(id, shop, units)| (id, SHOPS[shop], units))
        .collect();
    rows(&named)
}

/// The same in memory and in a file; whether it was done, or why not.
fn run(db: &mut DurableDatabase, act: &Act) -> Result<bool, String> {
    let done = match act {
        Act::Insert(rows) => change(db, Direction::Insert, &batch(rows)),
        Act::Delete(rows) => change(db, Direction::Delete, &batch(rows)),
        Act::Upsert(rows, id) => upsert(db, &batch(rows), Some(BatchId::Number(*id))),
        Act::Replace => {
            // Behind what it reads, although it was there before.
            let _ = db.create_view(by_shop("late"), &mut |_| Ok(()));
            db.replace_view(total("total", "late"), &mut |_| Ok(()))
                .map(|()| true)
        }
        Act::Drop => db.drop_view("late").map(|()| true),
        Act::Snapshot | Act::Reopen => Ok(true),
    };
    done.map_err(|problem| problem.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_file_has_what_memory_has(
        acts in prop::collection::vec(act(), 1..14),
        each in any::<bool>(),
    ) {
        let durability = if each { Durability::Transaction } else { Durability::Snapshot };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut memory = DurableDatabase::new(Options::default());
        let mut db = open_as(&path, durability).unwrap();
        define(&mut memory);
        define(&mut db);
        for act in &acts {
            prop_assert_eq!(run(&mut db, act), run(&mut memory, act));
            match act {
                Act::Snapshot => db.snapshot().unwrap(),
                Act::Reopen => {
                    if !each {
                        db.close().unwrap();
                    }
                    drop(db);
                    db = open_as(&path, durability).unwrap();
                }
                _ => {}
            }
            prop_assert_eq!(described(&db), described(&memory));
        }
        let copy = folder.path().join("copy");
        db.save(&copy).unwrap();
        let loaded = DurableDatabase::load(&copy, Options::default(), &bind, &mut |_| Ok(())).unwrap();
        prop_assert_eq!(described(&loaded), described(&memory));
        for id in 0..4 {
            let id = BatchId::Number(id);
            prop_assert_eq!(loaded.is_applied(&id), memory.is_applied(&id));
        }
    }
}

#[test]
fn what_fails_is_not_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut db = open(&path).unwrap();
    define(&mut db);
    change(&mut db, Direction::Insert, &rows(&[(1, "north", 5)])).unwrap();
    let before = described(&db);
    let gone = change(&mut db, Direction::Delete, &rows(&[(2, "north", 5)]));
    assert!(matches!(gone, Err(Error::OverDelete { .. })));
    assert!(matches!(db.drop_table("sales"), Err(Error::InUse { .. })));
    assert!(matches!(db.drop_view("by_shop"), Err(Error::InUse { .. })));
    assert!(
        db.create_view(total("other", "nothing"), &mut |_| Ok(()))
            .is_err()
    );
    // Other rows, so that it shares nothing and is filled.
    let mut other = by_shop("other");
    other.query.atoms[0].filter = Some("\"units\" > 0".parse().unwrap());
    let stopped = db.create_view(other, &mut |_| Err(Error::Interrupted));
    assert_eq!(stopped, Err(Error::Interrupted));
    drop(db);
    assert_eq!(described(&open(&path).unwrap()), before);
}

#[test]
fn a_change_that_came_before_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut db = open(&path).unwrap();
    define(&mut db);
    let first = rows(&[(1, "north", 5)]);
    for id in [BatchId::Number(7), BatchId::Name("seven".to_owned())] {
        assert_eq!(upsert(&mut db, &first, Some(id.clone())), Ok(true));
        assert_eq!(
            upsert(&mut db, &rows(&[(1, "south", 6)]), Some(id)),
            Ok(false)
        );
    }
    // The failed change was not applied.
    let bad = change(&mut db, Direction::Insert, &first);
    assert!(matches!(bad, Err(Error::Duplicate { .. })));
    for snapshot in [false, true] {
        if snapshot {
            db.snapshot().unwrap();
        }
        drop(db);
        db = open(&path).unwrap();
        assert!(db.is_applied(&BatchId::Number(7)) && !db.is_applied(&BatchId::Number(8)));
        assert_eq!(
            upsert(&mut db, &rows(&[(1, "south", 6)]), Some(BatchId::Number(7))),
            Ok(false)
        );
    }
}

/// A database that keeps no rows, with a table of shops and units, and two views of which the one that was there
/// first reads the other.
fn without_rows(path: &std::path::Path) -> DurableDatabase {
    let trusting = Options {
        trust_deletes: true,
        ..Options::default()
    };
    let mut db = DurableDatabase::open(path, trusting, opening(), &mut |_| Ok(())).unwrap();
    if db.tables().is_empty() {
        let columns = vec![
            Field::new("shop", Type::Utf8, true),
            Field::new("units", Type::Int64, true),
        ];
        db.create_table("sales", Schema::new(columns).unwrap(), None, false)
            .unwrap();
        db.create_view(by_shop("early"), &mut |_| Ok(())).unwrap();
        db.create_view(total("total", "early"), &mut |_| Ok(()))
            .unwrap();
        db.create_view(by_shop("late"), &mut |_| Ok(())).unwrap();
        db.replace_view(total("total", "late"), &mut |_| Ok(()))
            .unwrap();
        db.drop_view("early").unwrap();
    }
    db
}

fn trusted(db: &mut DurableDatabase, direction: Direction, of: &[(i64, usize, i64)]) {
    let rows = batch(of).project(&[1, 2]).unwrap();
    change(db, direction, &rows).unwrap();
}

fn results(db: &DurableDatabase) -> Vec<String> {
    let names = ["late", "total"];
    let results = names.map(|name| db.view_result(name).unwrap());
    let mut lines: Vec<String> = results
        .iter()
        .flat_map(|rows| {
            (0..rows.num_rows()).map(|row| format!("{:?}", rows.slice(row, 1).columns()))
        })
        .collect();
    lines.sort();
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn rows_that_are_not_kept_are_counted_from_their_changes(
        batches in prop::collection::vec(
            (prop::collection::vec((0..1_i64, 0..3_usize, -2..3_i64), 0..4), any::<bool>(), any::<bool>()),
            1..8,
        ),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut db = without_rows(&path);
        for (of, goes, writes) in &batches {
            trusted(&mut db, Direction::Insert, of);
            if *goes {
                trusted(&mut db, Direction::Delete, &of[of.len() / 2..]);
            }
            let before = results(&db);
            if *writes {
                db.snapshot().unwrap();
            }
            let copy = folder.path().join("copy");
            db.save(&copy).unwrap();
            let copy = DurableDatabase::load(&copy, Options::default(), &bind, &mut |_| Ok(())).unwrap();
            prop_assert_eq!(results(&copy), before.clone());
            drop(db);
            db = without_rows(&path);
            prop_assert_eq!(results(&db), before);
        }
    }
}

#[test]
fn a_file_of_tables_without_rows_shrinks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut db = without_rows(&path);
    let many: Vec<_> = (0..5_000).map(|units| (0, 0, units)).collect();
    for direction in [Direction::Insert, Direction::Delete].repeat(20) {
        trusted(&mut db, direction, &many);
    }
    trusted(&mut db, Direction::Insert, &[(0, 1, 7)]);
    let before = results(&db);
    let whole = std::fs::metadata(&path).unwrap().len();
    db.snapshot().unwrap();
    let rest = std::fs::metadata(&path).unwrap().len();
    assert!(rest * 10 < whole, "{rest} of {whole} bytes");
    drop(db);
    let db = without_rows(&path);
    assert_eq!(results(&db), before);
    drop(db);
    let other = open(&path).unwrap_err().to_string();
    assert!(other.contains("trust_deletes=true"), "{other}");
}

#[test]
fn where_more_went_than_came_all_changes_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut db = without_rows(&path);
    trusted(&mut db, Direction::Insert, &[(0, 0, 5), (0, 1, 3)]);
    trusted(&mut db, Direction::Delete, &[(0, 0, 2)]);
    trusted(&mut db, Direction::Insert, &[(0, 0, 4)]);
    let before = results(&db);
    db.snapshot().unwrap();
    let copy = db.save(&folder.path().join("copy"));
    assert!(matches!(copy, Err(Error::Unsupported { .. })), "{copy:?}");
    drop(db);
    assert_eq!(results(&without_rows(&path)), before);
}

#[test]
fn one_at_a_time_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut db = open(&path).unwrap();
    let second = open(&path).unwrap_err();
    assert!(second.to_string().contains("open elsewhere"), "{second}");
    db.close().unwrap();
    assert_eq!(db.path(), None);
    open(&path).unwrap();
}

#[test]
fn without_a_file_there_is_no_snapshot() {
    let mut db = DurableDatabase::new(Options::default());
    assert!(matches!(db.snapshot(), Err(Error::Unsupported { .. })));
    db.close().unwrap();
}

#[test]
fn a_file_does_not_grow_with_what_came_and_went() {
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<_> = (0..2_000)
        .map(|id| (id, "a shop with a longer name", id))
        .collect();
    let many = rows(&many);
    let lengths = [None, Some(2.0)].map(|compact_at| {
        let path = folder.path().join(format!("{compact_at:?}"));
        let opening = Opening {
            compact_at,
            ..opening()
        };
        let mut db =
            DurableDatabase::open(&path, Options::default(), opening, &mut |_| Ok(())).unwrap();
        define(&mut db);
        for _ in 0..40 {
            change(&mut db, Direction::Insert, &many).unwrap();
            change(&mut db, Direction::Delete, &many).unwrap();
        }
        let before = std::fs::metadata(&path).unwrap().len();
        db.close().unwrap();
        let after = std::fs::metadata(&path).unwrap().len();
        assert_eq!(open(&path).unwrap().table("sales").unwrap().rows, 0);
        (before, after)
    });
    let [(before, after), (bounded, _)] = lengths;
    assert!(after * 10 < before, "{after} bytes after {before}");
    assert!(bounded * 4 < before, "{bounded} bytes, not {before}");
}

#[test]
fn the_last_transaction_is_told_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut db = open(&path).unwrap();
    define(&mut db);
    let moved = |db: &mut DurableDatabase, name: &str| {
        let changes = db.readers().view_changes(name).unwrap();
        let mut rows: Vec<String> = (0..changes.num_rows())
            .map(|row| format!("{:?}", changes.slice(row, 1).columns()))
            .collect();
        rows.sort();
        rows
    };
    let mut described = Vec::new();
    for id in 0..3 {
        for view in ["by_shop", "total"] {
            moved(&mut db, view);
        }
        change(
            &mut db,
            Direction::Insert,
            &rows(&[(id, "north", 5), (id + 10, "south", id)]),
        )
        .unwrap();
        described = ["by_shop", "total"]
            .map(|view| moved(&mut db, view))
            .to_vec();
    }
    for snapshot in [false, true] {
        drop(db);
        let opening = Opening {
            tell_last: true,
            ..opening()
        };
        db = DurableDatabase::open(&path, Options::default(), opening, &mut |_| Ok(())).unwrap();
        for (view, described) in ["by_shop", "total"].iter().zip(&described) {
            assert_eq!(&moved(&mut db, view), described);
            assert_eq!(moved(&mut db, view), [""; 0]);
        }
        if !snapshot {
            // A snapshot does not contain the changes.
            db.snapshot().unwrap();
            described = vec![Vec::new(); 2];
        }
    }
}
