//! Transactions of several threads that are written together.
use std::sync::{Arc, Barrier, Mutex};

use proptest::prelude::*;
use ringview_core::Error;
use ringview_durable::{BatchId, DurableDatabase, Group, Prepared};
use ringview_engine::{Change, Direction, Op, Options};

use crate::common::{change, define, described, open, rows};

/// One transaction: the rows' number, units, direction, whether the net effect counts, an identity.
type Drawn = (i64, i64, bool, bool, Option<i64>);

fn apply_to<T>(&(id, units, inserts, ..): &Drawn, run: impl FnOnce(&[Change<'_>]) -> T) -> T {
    let batch = rows(&[(id, "north", units)]);
    let op = Op {
        table: "sales",
        direction: if inserts {
            Direction::Insert
        } else {
            Direction::Delete
        },
        rows: std::slice::from_ref(&batch),
        multiplicity: None,
    };
    run(&[op.into()])
}

fn how(drawn: &Drawn) -> (bool, Option<BatchId>) {
    (drawn.3, drawn.4.map(BatchId::Number))
}

/// Outcomes of transactions applied one after the other, each alone.
fn in_turn(db: &mut DurableDatabase, drawn: &[Drawn]) -> Vec<Result<bool, Error>> {
    let one = |db: &mut DurableDatabase, drawn: &Drawn| {
        apply_to(drawn, |changes| {
            db.apply(changes, how(drawn), &mut |_| Ok(()))
        })
    };
    drawn.iter().map(|drawn| one(db, drawn)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_group_is_its_transactions_in_some_order(
        drawn in prop::collection::vec(
            (0..3_i64, 1..3_i64, any::<bool>(), any::<bool>(), prop::option::of(0..3_i64)),
            1..5,
        ),
        own in 0..5_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let mut db = open(&path).unwrap();
        define(&mut db);
        change(&mut db, Direction::Insert, &rows(&[(0, "north", 1)])).unwrap();
        let group = Group::default();
        let prepare = |drawn: &Drawn| apply_to(drawn, |changes| Prepared::new(changes, how(drawn)));
        let waiting: Vec<_> =
            drawn.iter().map(|drawn| group.join(prepare(drawn).unwrap())).collect();
        let own = own % drawn.len();
        let done = group.run(&mut db, &waiting[own], &mut |_| Ok(()));
        prop_assert_eq!(Some(done), waiting[own].outcome());
        let came: Vec<_> = waiting.iter().map(|waiting| waiting.outcome().unwrap()).collect();

        let fits = orders(drawn.len()).into_iter().any(|order| {
            let mut model = DurableDatabase::new(Options::default());
            define(&mut model);
            change(&mut model, Direction::Insert, &rows(&[(0, "north", 1)])).unwrap();
            let turns: Vec<Drawn> = order.iter().map(|&at| drawn[at]).collect();
            let outcomes = in_turn(&mut model, &turns);
            let same = order.iter().zip(&outcomes).all(|(&at, outcome)| came[at] == *outcome);
            same && described(&model) == described(&db)
        });
        prop_assert!(fits, "{drawn:?} came to {came:?}");
        let now = described(&db);
        drop(db);
        prop_assert_eq!(described(&open(&path).unwrap()), now);
    }
}

fn orders(of: usize) -> Vec<Vec<usize>> {
    if of == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(of - 1);
    let at_each = |order: Vec<usize>| {
        (0..of).map(move |place| {
            let mut order = order.clone();
            order.insert(place, of - 1);
            order
        })
    };
    shorter.into_iter().flat_map(at_each).collect()
}

#[test]
fn threads_that_wait_share_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let mut db = open(&path).unwrap();
    define(&mut db);
    let before = db.commits();
    let threads = 8;
    let (db, group) = (Mutex::new(db), Group::default());
    let all_wait = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for id in 0..threads {
            let (db, group, all_wait) = (&db, &group, &all_wait);
            scope.spawn(move || {
                let drawn = (id, 1, true, false, Some(id));
                let prepared = apply_to(&drawn, |changes| Prepared::new(changes, how(&drawn)));
                let own = group.join(prepared.unwrap());
                all_wait.wait();
                let mut db = db.lock().unwrap();
                assert_eq!(group.run(&mut db, &own, &mut |_| Ok(())), Ok(true));
            });
        }
    });
    let db = db.into_inner().unwrap();
    assert_eq!(db.commits() - before, 1);
    let now = described(&db);
    assert_eq!(
        now.iter().filter(|line| line.starts_with("sales")).count(),
        8
    );
    drop(db);
    assert_eq!(described(&open(&path).unwrap()), now);
}

#[test]
fn who_leaves_has_done_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut db = open(&folder.path().join("db")).unwrap();
    define(&mut db);
    let group = Group::default();
    let join = |drawn: Drawn| {
        group.join(apply_to(&drawn, |changes| Prepared::new(changes, how(&drawn))).unwrap())
    };
    let gone = join((1, 1, true, false, None));
    let stays = join((2, 1, true, false, None));
    group.leave(&gone);
    assert_eq!(group.run(&mut db, &stays, &mut |_| Ok(())), Ok(true));
    assert_eq!(gone.outcome(), None);
    assert_eq!(Arc::strong_count(&gone), 1);
    assert_eq!(
        described(&db)
            .iter()
            .filter(|line| line.starts_with("sales"))
            .count(),
        1
    );
}
