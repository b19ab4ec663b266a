//! Recursions against a naive model, over random transactions some of which fail or are interrupted.

mod naive;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::{Query, Rows, Strategy as Found};
use ringview_sql::{Definition, Options as SqlOptions};

use crate::common::ways;
use naive::{closure, reached, twice, walks};

type Edge = (Option<i64>, Option<i64>);
/// Rows of numbers with multiplicities.
type Bag = BTreeMap<Vec<Option<i64>>, i64>;

const CLOSURE: &str = "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e
    UNION SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) SELECT a, b FROM r";
const REACHED: &str = "WITH RECURSIVE r(n) AS (SELECT 0 AS n
    UNION SELECT e.b FROM r JOIN e ON r.n = e.a) SELECT n FROM r";
const WITHIN: &str = "WITH RECURSIVE r(n) AS (SELECT 0 AS n
    UNION SELECT b FROM e WHERE a IN (SELECT n FROM r)) SELECT n FROM r";
const WALKS: &str = "WITH RECURSIVE r(a, b, h) AS (SELECT a, b, 1 FROM e
    UNION ALL SELECT r.a, e.b, h + 1 FROM r JOIN e ON r.b = e.a WHERE h < 3) SELECT a, b, h FROM r";
const TWICE: &str = "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e
    UNION SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a) SELECT a, b FROM r";

fn database(way: Options) -> Database {
    let mut db = Database::new(way);
    let columns = ["a", "b"].map(|name| Field::new(name, Type::Int64, true));
    let schema = Schema::new(columns.to_vec()).unwrap();
    db.create_table("e", schema, None, false).unwrap();
    db
}

fn meant(db: &Database, text: &str) -> Query {
    let found = Definition::new(text, SqlOptions::default(), &db.tables(), &db.catalog());
    found.unwrap().bind().unwrap()
}

fn view(db: &mut Database, name: &str, text: &str) {
    let query = meant(db, text);
    db.create_view(name, &query, &mut |_| Ok(())).unwrap();
}

fn batch(edges: &[Edge]) -> RecordBatch {
    let column = |of: fn(&Edge) -> Option<i64>| {
        Arc::new(Int64Array::from(edges.iter().map(of).collect::<Vec<_>>())) as ArrayRef
    };
    let columns = [
        ("a", column(|edge| edge.0), true),
        ("b", column(|edge| edge.1), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn apply(db: &mut Database, changes: &[(Direction, &[Edge])]) -> Result<()> {
    polled(db, changes, &mut |_| Ok(()))
}

fn polled(
    db: &mut Database,
    changes: &[(Direction, &[Edge])],
    poll: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let batches: Vec<RecordBatch> = changes.iter().map(|(_, edges)| batch(edges)).collect();
    let op = |((direction, _), batch): (&(Direction, &[Edge]), _)| Op {
        table: "e",
        direction: *direction,
        rows: std::slice::from_ref(batch),
        multiplicity: None,
    };
    let ops: Vec<Op<'_>> = changes.iter().zip(&batches).map(op).collect();
    db.apply(&ops, poll)
}

/// The rows of a batch of integers; the last column is how often where that is said.
fn bag(batch: &RecordBatch, has_counts: bool) -> Bag {
    let columns: Vec<&Int64Array> = batch.columns().iter().map(|c| c.as_primitive()).collect();
    let mut bag = Bag::new();
    for row in 0..batch.num_rows() {
        let mut values: Vec<Option<i64>> =
            columns.iter().map(|c| c.iter().nth(row).unwrap()).collect();
        let often = match has_counts {
            true => values.pop().unwrap().unwrap(),
            false => 1,
        };
        *bag.entry(values).or_default() += often;
    }
    bag.retain(|_, often| *often != 0);
    bag
}

type Case = (&'static str, &'static str, fn(&[Edge]) -> Bag);
const CASES: [Case; 5] = [
    ("closure", CLOSURE, closure),
    ("reached", REACHED, reached),
    ("within", WITHIN, reached),
    ("walks", WALKS, walks),
    ("twice", TWICE, twice),
];

fn edges(most: usize) -> impl Strategy<Value = Vec<Edge>> {
    let node = || prop_oneof![1 => Just(None), 12 => (0..6i64).prop_map(Some)];
    vec((node(), node()), 0..most)
}

proptest! {
    #[test]
    fn rows_are_those_of_a_naive_model(
        way in ways(),
        early in edges(10),
        batches in vec((edges(4), vec(any::<prop::sample::Index>(), 0..4), any::<bool>()), 1..10),
    ) {
        let mut db = database(way);
        let mut held = early;
        apply(&mut db, &[(Direction::Insert, &held)]).unwrap();
        for (name, text, _) in CASES {
            view(&mut db, name, text);
        }
        let followers = CASES.map(|(name, ..)| db.follow(name, false).unwrap());
        let mut told = CASES.map(|_| Bag::new());
        for (come, gone, fails) in batches {
            let mut then = held.clone();
            let mut left: Vec<Edge> = Vec::new();
            for at in gone.iter().take(held.len()) {
                left.push(then.swap_remove(at.index(then.len())));
            }
            then.extend(&come);
            let missing = [(Some(99), Some(99))];
            let mut changes: Vec<(Direction, &[Edge])> =
                vec![(Direction::Delete, &left), (Direction::Insert, &come)];
            if fails {
                changes.push((Direction::Delete, &missing));
                let is_refused = matches!(apply(&mut db, &changes), Err(Error::OverDelete { .. }));
                prop_assert!(is_refused);
            } else {
                apply(&mut db, &changes).unwrap();
                held = then;
            }
            for (at, (name, _, model)) in CASES.into_iter().enumerate() {
                let expected = model(&held);
                let found = bag(&db.view_result(name).unwrap(), false);
                prop_assert_eq!(&found, &expected, "{}", name);
                let rows: i64 = expected.values().sum();
                prop_assert_eq!(db.view_len(name).unwrap() as i64, rows, "{}", name);
                let moved = bag(&db.changes(&followers[at]).unwrap(), true);
                db.advance(&followers[at]).unwrap();
                for (row, often) in moved {
                    *told[at].entry(row).or_default() += often;
                }
                told[at].retain(|_, often| *often != 0);
                prop_assert_eq!(&told[at], &expected, "{}", name);
            }
            db.check();
        }
    }
}

#[test]
fn strategies_are_those_that_the_step_allows() {
    let db = database(Options::default());
    let of = |text: &str| {
        let query = meant(&db, text);
        let rows = query
            .blocks
            .iter()
            .filter_map(|block| block.query.rows.as_ref());
        let mut found = rows.chain(&query.rows).filter_map(|rows| match rows {
            Rows::Recursive(recursion) => Some(recursion.strategy.clone()),
            _ => None,
        });
        found.next().unwrap()
    };
    assert!(matches!(of(CLOSURE), Found::Ranked { .. }));
    assert!(matches!(of(WITHIN), Found::Rederived));
    assert!(matches!(of(WALKS), Found::Levels { .. }));
    assert!(matches!(of(TWICE), Found::Anew { distinct: true }));
}

/// Edges from each node to the next one.
fn chain(number: i64) -> Vec<Edge> {
    (0..number).map(|at| (Some(at), Some(at + 1))).collect()
}

#[test]
fn a_cycle_that_loses_its_way_in_leaves_as_a_whole() {
    let mut db = database(Options::default());
    let mut edges = chain(20);
    edges.push((Some(20), Some(1)));
    apply(&mut db, &[(Direction::Insert, &edges)]).unwrap();
    view(&mut db, "v", REACHED);
    view(&mut db, "w", WITHIN);
    assert_eq!(db.view_len("v").unwrap(), 21);
    apply(&mut db, &[(Direction::Delete, &[(Some(0), Some(1))])]).unwrap();
    for name in ["v", "w"] {
        assert_eq!(bag(&db.view_result(name).unwrap(), false), reached(&[]));
    }
    db.check();
}

#[test]
fn an_interrupt_at_any_ask_undoes_all() {
    let mut db = database(Options::default());
    let (early, late) = (chain(40), chain(400));
    apply(&mut db, &[(Direction::Insert, &early)]).unwrap();
    for (name, text, _) in [CASES[1], CASES[2]] {
        view(&mut db, name, text);
    }
    let late: Vec<Edge> = late[40..].to_vec();
    let cut = [(Some(0), Some(1))];
    let changes: [(Direction, &[Edge]); 3] = [
        (Direction::Insert, &late),
        (Direction::Delete, &cut),
        (Direction::Insert, &cut),
    ];
    let mut stopped = 0;
    for stop in 1.. {
        let mut asks = 0;
        let done = polled(&mut db, &changes, &mut |_| {
            asks += 1;
            match asks == stop {
                true => Err(Error::Interrupted),
                false => Ok(()),
            }
        });
        db.check();
        let Err(problem) = done else { break };
        assert_eq!(problem, Error::Interrupted);
        stopped += 1;
        for name in ["reached", "within"] {
            let found = bag(&db.view_result(name).unwrap(), false);
            assert_eq!(found, reached(&early), "{name}, stopped at ask {stop}");
        }
    }
    // Polls happen at rows of both tables and views, and at some hundred levels.
    assert!(stopped > 6, "asked {stopped} times");
    let all = reached(&chain(400));
    for name in ["reached", "within"] {
        assert_eq!(bag(&db.view_result(name).unwrap(), false), all);
    }
}

#[test]
fn levels_that_nobody_supports_go_round_no_more() {
    let mut db = database(Options::default());
    let text = "WITH RECURSIVE r(n) AS (SELECT 0 AS n UNION ALL
        SELECT e.b FROM r JOIN e ON r.n = e.a) SELECT n FROM r";
    view(&mut db, "v", text);
    apply(&mut db, &[(Direction::Insert, &[(Some(0), Some(1))])]).unwrap();
    assert_eq!(db.view_len("v").unwrap(), 2);
    // The loop is unreachable from the moment of its insertion.
    let changes: [(Direction, &[Edge]); 2] = [
        (Direction::Insert, &[(Some(1), Some(1))]),
        (Direction::Delete, &[(Some(0), Some(1))]),
    ];
    apply(&mut db, &changes).unwrap();
    assert_eq!(db.view_len("v").unwrap(), 1);
    let problem = apply(&mut db, &[(Direction::Insert, &[(Some(0), Some(1))])]).unwrap_err();
    assert!(problem.to_string().contains("may have no end"), "{problem}");
    assert_eq!(db.view_len("v").unwrap(), 1);
    db.check();
}

#[test]
fn memory_is_counted_and_given_back() {
    let mut db = database(Options::default());
    view(&mut db, "v", CLOSURE);
    let held = |db: &Database| -> usize { db.memory_usage().iter().map(|(_, bytes)| bytes).sum() };
    let empty = held(&db);
    let edges = chain(100);
    apply(&mut db, &[(Direction::Insert, &edges)]).unwrap();
    let full = held(&db);
    assert!(
        full > empty + 5_050 * 20,
        "{full} bytes, {empty} of nothing"
    );
    apply(&mut db, &[(Direction::Delete, &edges)]).unwrap();
    assert_eq!(db.view_len("v").unwrap(), 0);
    let left = held(&db);
    assert!(
        left < empty + (full - empty) / 4,
        "{left} bytes of {full} stay"
    );
}

#[test]
fn texts_of_steps_are_read_again() {
    let db = database(Options::default());
    for (_, text, _) in CASES {
        let query = meant(&db, text);
        assert_eq!(Query::from_json(&query.to_json().unwrap()).unwrap(), query);
    }
}
