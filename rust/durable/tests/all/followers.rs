//! Followers with names: what they committed and what they are given from there on is the view.
use std::collections::BTreeMap;

use proptest::prelude::*;
use ringview_core::Error;
use ringview_durable::{DurableDatabase, NamedFollower};
use ringview_engine::Direction;

use crate::common::{by_shop, change, define, open, rows};

/// Rows, and how often each is there.
type Bag = BTreeMap<String, i64>;

#[derive(Clone, Debug)]
enum Step {
    Insert(i64, bool),
    Delete(usize),
    Look,
    Commit,
    Again,
    Snapshot,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..9_i64, any::<bool>()).prop_map(|(units, north)| Step::Insert(units, north)),
        2 => any::<usize>().prop_map(Step::Delete),
        3 => Just(Step::Look),
        2 => Just(Step::Commit),
        1 => Just(Step::Again),
        1 => Just(Step::Snapshot),
        2 => Just(Step::Reopen),
    ]
}

/// Reads a follower's next changes, and returns whether there were any.
fn look(db: &mut DurableDatabase, follower: &NamedFollower, had: &mut Bag) -> bool {
    let moved = db.changes_as(follower).unwrap();
    // A second call returns the same.
    assert_eq!(db.changes_as(follower).unwrap(), moved);
    db.given(follower).unwrap();
    let (last, columns) = moved.columns().split_last().unwrap();
    for row in 0..moved.num_rows() {
        let cells: Vec<_> = columns.iter().map(|column| column.slice(row, 1)).collect();
        let times = arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(last);
        *had.entry(format!("{cells:?}")).or_default() += times.value(row);
    }
    had.retain(|_, times| *times != 0);
    moved.num_rows() > 0
}

fn whole(db: &mut DurableDatabase) -> Bag {
    db.readers().forget_changes("by_shop").unwrap();
    let moved = db.readers().view_changes("by_shop").unwrap();
    let columns = moved.num_columns() - 1;
    let row = |row| {
        let cells: Vec<_> = moved.columns()[..columns]
            .iter()
            .map(|column| column.slice(row, 1))
            .collect();
        (format!("{cells:?}"), 1)
    };
    (0..moved.num_rows()).map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_name_goes_on_where_it_committed(
        from_now in any::<bool>(),
        steps in prop::collection::vec(step(), 0..25),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut db = open(&path).unwrap();
        define(&mut db);
        change(&mut db, Direction::Insert, &rows(&[(-1, "north", 1)])).unwrap();
        let mut follower = db.follow_as("by_shop", "mail", from_now).unwrap();
        let mut committed = if from_now { whole(&mut db) } else { Bag::new() };
        let mut had = committed.clone();
        let mut there = Vec::new();
        for (id, step) in (0..).zip(steps) {
            match step {
                Step::Insert(units, north) => {
                    let row = (id, if north { "north" } else { "south" }, units);
                    change(&mut db, Direction::Insert, &rows(&[row])).unwrap();
                    there.push(row);
                }
                Step::Delete(at) if !there.is_empty() => {
                    let row = there.swap_remove(at % there.len());
                    change(&mut db, Direction::Delete, &rows(&[row])).unwrap();
                }
                Step::Delete(_) => {}
                Step::Look => {
                    look(&mut db, &follower, &mut had);
                }
                Step::Commit => {
                    db.commit_cursor(&follower).unwrap();
                    let commits = db.commits();
                    db.commit_cursor(&follower).unwrap();
                    prop_assert_eq!(db.commits(), commits);
                    committed.clone_from(&had);
                }
                Step::Snapshot => db.snapshot().unwrap(),
                Step::Again | Step::Reopen => {
                    if matches!(step, Step::Reopen) {
                        drop(db);
                        db = open(&path).unwrap();
                    }
                    prop_assert_eq!(db.followers("by_shop").unwrap(), ["mail"]);
                    follower = db.follow_as("by_shop", "mail", !from_now).unwrap();
                    had.clone_from(&committed);
                }
            }
        }
        let copy = folder.path().join("copy");
        db.save(&copy).unwrap();
        drop(db);
        let mut db = open(&copy).unwrap();
        let follower = db.follow_as("by_shop", "mail", false).unwrap();
        while look(&mut db, &follower, &mut committed) {}
        prop_assert!(!db.has_changes_as(&follower).unwrap());
        prop_assert_eq!(committed, whole(&mut db));
    }
}

#[test]
fn a_name_goes_with_its_view() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut db = open(&path).unwrap();
    define(&mut db);
    db.create_view(by_shop("other"), &mut |_| Ok(())).unwrap();
    let [old, forgotten] = ["old", "forgotten"].map(|name| db.follow_as("other", name, true));
    db.forget_follower("other", "forgotten").unwrap();
    let problem = db.changes_as(&forgotten.unwrap()).unwrap_err();
    assert!(problem.to_string().contains("was forgotten"), "{problem}");
    db.replace_view(by_shop("other"), &mut |_| Ok(())).unwrap();
    let stale = db.changes_as(&old.unwrap()).unwrap_err();
    assert!(matches!(stale, Error::Stale { .. }), "{stale}");
    db.follow_as("other", "new", true).unwrap();
    db.drop_view("other").unwrap();
    db.create_view(by_shop("other"), &mut |_| Ok(())).unwrap();
    drop(db);
    let db = open(&path).unwrap();
    assert_eq!(db.followers("other").unwrap(), [""; 0]);
}
