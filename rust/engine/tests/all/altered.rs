//! Tables that are altered under views; rows by their keys; databases by themselves.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_engine::{Alteration, Change, Database, Direction, Op, Options};
use ringview_query::Query;

const SUMS: &str = r#"{"atoms": [{"table": "r", "alias": "r"}], "group_by": [{"atom": 0, "column": "a"}],
    "outputs": [{"kind": "group", "name": "a", "column": {"atom": 0, "column": "a"}},
                {"kind": "aggregate", "name": "n", "function": "count", "argument": null}]}"#;

/// With views that share and by one thread, and apart and by two.
fn ways() -> [Options; 2] {
    let apart = Options {
        unshared: true,
        threads: std::num::NonZeroUsize::new(2),
        ..Options::default()
    };
    [Options::default(), apart]
}

fn rows(values: &[(i64, &str)]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(values.iter().map(|row| row.0)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        values.iter().map(|row| row.1),
    ));
    RecordBatch::try_from_iter([("a", numbers), ("s", texts)]).unwrap()
}

fn change<'a>(direction: Direction, rows: &'a [RecordBatch]) -> Change<'a> {
    Change::Rows(Op {
        table: "r",
        direction,
        rows,
        multiplicity: None,
    })
}

fn database(way: Options, unique: Option<&[String]>) -> Database {
    let mut db = Database::new(way);
    let fields = vec![
        Field::new("a", Type::Int64, true),
        Field::new("s", Type::Utf8, true),
    ];
    db.create_table("r", Schema::new(fields).unwrap(), unique, false)
        .unwrap();
    db.create_view("v", &Query::from_json(SUMS).unwrap(), &mut |_| Ok(()))
        .unwrap();
    db
}

fn alter(db: &mut Database, change: &Alteration, value: Option<&RecordBatch>) -> Result<()> {
    db.alter_table("r", change, value, &mut |_| Ok(()), &mut || Ok(()))
}

fn sorted(batch: &RecordBatch) -> Vec<String> {
    let cell = |column: &ArrayRef, row: usize| format!("{:?}", column.slice(row, 1));
    let row = |row| {
        batch
            .columns()
            .iter()
            .map(|column| cell(column, row))
            .collect()
    };
    let mut all: Vec<String> = (0..batch.num_rows()).map(row).collect();
    all.sort();
    all
}

#[test]
fn views_go_on_over_columns_that_come_and_go() {
    for way in ways() {
        let mut db = database(way, None);
        let all = [rows(&[(1, "x"), (1, "y"), (2, "z")])];
        db.apply(&[change(Direction::Insert, &all)], &mut |_| Ok(()))
            .unwrap();
        let mut follower = db.follow("v", true).unwrap();
        let added = Field::new("k", Type::Int32, false);
        let seven = Arc::new(Int32Array::from(vec![7])) as ArrayRef;
        let seven = RecordBatch::try_from_iter([("k", seven)]).unwrap();
        alter(&mut db, &Alteration::AddColumn(added), Some(&seven)).unwrap();
        alter(&mut db, &Alteration::DropColumn("k".to_owned()), None).unwrap();
        alter(&mut db, &Alteration::DropColumn("s".to_owned()), None).unwrap();
        let ones = Arc::new(Int64Array::from(vec![1, 1])) as ArrayRef;
        let ones = [RecordBatch::try_from_iter([("a", ones)]).unwrap()];
        db.apply(&[change(Direction::Delete, &ones)], &mut |_| Ok(()))
            .unwrap();
        db.check();
        assert_eq!(db.view_len("v").unwrap(), 1);
        assert_eq!(db.changes(&follower).unwrap().num_rows(), 1);
        db.advance(&follower).unwrap();
        let read = alter(&mut db, &Alteration::DropColumn("a".to_owned()), None);
        assert!(
            matches!(read, Err(Error::Unsupported { .. } | Error::InUse { .. })),
            "{read:?}"
        );
        follower = db.follow("v", true).unwrap();
        db.unfollow(follower);
    }
}

#[test]
fn what_views_read_stays_and_so_does_all_if_keep_fails() {
    let mut db = database(Options::default(), None);
    let all = [rows(&[(1, "x")])];
    db.apply(&[change(Direction::Insert, &all)], &mut |_| Ok(()))
        .unwrap();
    let to = "b".to_owned();
    let renamed = |column: &str| Alteration::RenameColumn {
        column: column.to_owned(),
        to: to.clone(),
    };
    let wider = Alteration::Widen {
        column: "a".to_owned(),
        to: Type::Decimal {
            precision: 38,
            scale: 0,
        },
    };
    for change in [renamed("a"), wider, Alteration::RenameTable("q".to_owned())] {
        match alter(&mut db, &change, None) {
            Err(Error::InUse { views, .. }) => assert_eq!(views, ["v"]),
            other => panic!("{change:?}: {other:?}"),
        }
    }
    let failed = db.alter_table("r", &renamed("s"), None, &mut |_| Ok(()), &mut || {
        Err(Error::Interrupted)
    });
    assert_eq!(failed, Err(Error::Interrupted));
    assert_eq!(sorted(&db.table_rows("r", None).unwrap()), sorted(&all[0]));
    db.apply(&[change(Direction::Delete, &all)], &mut |_| Ok(()))
        .unwrap();
    assert_eq!(db.view_len("v").unwrap(), 0);
}

#[test]
fn rows_are_found_by_their_keys() {
    let key = ["a".to_owned()];
    let mut db = database(Options::default(), Some(&key));
    let all = [rows(&[(1, "x"), (2, "y"), (3, "z")])];
    db.apply(&[change(Direction::Insert, &all)], &mut |_| Ok(()))
        .unwrap();
    db.apply(
        &[change(Direction::Delete, &[rows(&[(2, "y")])])],
        &mut |_| Ok(()),
    )
    .unwrap();
    let keys = Arc::new(Int64Array::from(vec![3, 2, 1, 3])) as ArrayRef;
    let keys = RecordBatch::try_from_iter([("a", keys)]).unwrap();
    let (found, places) = db.rows_by_key("r", &keys).unwrap();
    assert_eq!(places, [0, 2, 3]);
    assert_eq!(
        sorted(&found),
        sorted(&rows(&[(3, "z"), (1, "x"), (3, "z")]))
    );
    let none = Arc::new(Int64Array::from(vec![None])) as ArrayRef;
    let none = RecordBatch::try_from_iter([("a", none)]).unwrap();
    assert!(matches!(
        db.rows_by_key("r", &none),
        Err(Error::NullKey { .. })
    ));
    assert!(matches!(
        db.rows_by_key("r", &all[0]),
        Err(Error::Value { .. })
    ));
    let mut bag = database(Options::default(), None);
    assert!(matches!(
        bag.rows_by_key("r", &keys),
        Err(Error::Unsupported { .. })
    ));
}

#[test]
fn a_database_by_itself_has_what_changes_would_leave() {
    for way in ways() {
        let mut db = database(way, None);
        let all = [rows(&[(1, "x"), (1, "x"), (2, "y")])];
        db.apply(&[change(Direction::Insert, &all)], &mut |_| Ok(()))
            .unwrap();
        let (gone, come) = ([rows(&[(1, "x")])], [rows(&[(5, "new")])]);
        let pending = [
            change(Direction::Delete, &gone),
            change(Direction::Insert, &come),
        ];
        let names = BTreeSet::from(["v".to_owned()]);
        let apart = db
            .detached(&names, (&pending, false), &mut |_| Ok(()))
            .unwrap();
        assert_eq!((apart.tables(), apart.views()), (db.tables(), db.views()));
        assert_eq!(apart.view_len("v").unwrap(), 3);
        assert_eq!(db.view_len("v").unwrap(), 2);
        db.apply(&pending, &mut |_| Ok(())).unwrap();
        let (one, other) = (
            apart.view_result("v").unwrap(),
            db.view_result("v").unwrap(),
        );
        assert_eq!(sorted(&one), sorted(&other));
        let (one, other) = (
            apart.table_rows("r", None).unwrap(),
            db.table_rows("r", None).unwrap(),
        );
        assert_eq!(sorted(&one), sorted(&other));
    }
}
