//! What returned is there when the file is opened again, and nothing else.

mod common;

use common::{by_shop, change, define, open, open_as, rows, told, total, upsert};
use proptest::prelude::*;
use ringview_core::{Error, Field, Schema, Type};
use ringview_durable::{BatchId, Durability, DurableDatabase, Opening};
use ringview_engine::{Change, Direction, Op, Options};

const SHOPS: [&str; 3] = ["north", "south", ""];

/// What a user does.
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
            prop_assert_eq!(told(&db), told(&memory));
        }
        let copy = folder.path().join("copy");
        db.save(&copy).unwrap();
        let loaded = DurableDatabase::load(&copy, None, &mut |_| Ok(())).unwrap();
        prop_assert_eq!(told(&loaded), told(&memory));
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
    let before = told(&db);
    let gone = change(&mut db, Direction::Delete, &rows(&[(2, "north", 5)]));
    assert!(matches!(gone, Err(Error::OverDelete { .. })));
    assert!(matches!(db.drop_table("sales"), Err(Error::InUse { .. })));
    assert!(matches!(db.drop_view("by_shop"), Err(Error::InUse { .. })));
    assert!(
        db.create_view(total("other", "nothing"), &mut |_| Ok(()))
            .is_err()
    );
    let stopped = db.create_view(by_shop("other"), &mut |_| Err(Error::Interrupted));
    assert_eq!(stopped, Err(Error::Interrupted));
    drop(db);
    assert_eq!(told(&open(&path).unwrap()), before);
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
    // What failed was not applied.
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

#[test]
fn tables_without_rows_keep_their_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let trusting = Options {
        trust_deletes: true,
        ..Options::default()
    };
    let open = || DurableDatabase::open(&path, trusting, Opening::default(), &mut |_| Ok(()));
    let mut db = open().unwrap();
    let schema = || {
        Schema::new(vec![
            Field::new("shop", Type::Utf8, true),
            Field::new("units", Type::Int64, true),
        ])
    };
    db.create_table("sales", schema().unwrap(), None, false)
        .unwrap();
    db.create_view(by_shop("by_shop"), &mut |_| Ok(())).unwrap();
    let both = rows(&[(1, "north", 5), (2, "south", 6)])
        .project(&[1, 2])
        .unwrap();
    for direction in [Direction::Insert, Direction::Insert, Direction::Delete] {
        let change = Change::Rows(Op {
            table: "sales",
            direction,
            rows: std::slice::from_ref(&both),
            multiplicity: None,
        });
        db.apply(&[change], (false, None), &mut |_| Ok(())).unwrap();
    }
    db.replace_view(by_shop("by_shop"), &mut |_| Ok(()))
        .unwrap_err();
    let before = db.view_result("by_shop").unwrap();
    db.snapshot().unwrap();
    db.close().unwrap();
    let db = open().unwrap();
    assert_eq!(db.view_result("by_shop").unwrap(), before);
    assert!(matches!(
        db.save(&folder.path().join("copy")),
        Err(Error::Unsupported { .. })
    ));
    drop(db);
    let other = DurableDatabase::open(&path, Options::default(), Opening::default(), &mut |_| {
        Ok(())
    });
    assert!(
        other
            .unwrap_err()
            .to_string()
            .contains("trust_deletes=true")
    );
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
    let path = folder.path().join("db");
    let mut db = open(&path).unwrap();
    define(&mut db);
    let many: Vec<_> = (0..2_000)
        .map(|id| (id, "a shop with a longer name", id))
        .collect();
    let many = rows(&many);
    for _ in 0..20 {
        change(&mut db, Direction::Insert, &many).unwrap();
        change(&mut db, Direction::Delete, &many).unwrap();
    }
    let before = std::fs::metadata(&path).unwrap().len();
    db.close().unwrap();
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(after * 10 < before, "{after} bytes after {before}");
    assert_eq!(open(&path).unwrap().table("sales").unwrap().rows, 0);
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
    let mut told = Vec::new();
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
        told = ["by_shop", "total"]
            .map(|view| moved(&mut db, view))
            .to_vec();
    }
    for snapshot in [false, true] {
        drop(db);
        let opening = Opening {
            tell_last: true,
            ..Opening::default()
        };
        db = DurableDatabase::open(&path, Options::default(), opening, &mut |_| Ok(())).unwrap();
        for (view, told) in ["by_shop", "total"].iter().zip(&told) {
            assert_eq!(&moved(&mut db, view), told);
            assert_eq!(moved(&mut db, view), [""; 0]);
        }
        if !snapshot {
            // What moved is not in a snapshot.
            db.snapshot().unwrap();
            told = vec![Vec::new(); 2];
        }
    }
}
