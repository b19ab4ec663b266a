//! Random transactions over several tables and views, against the naive database, whichever engine keeps
//! the views.
use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::Error;
use ringview_engine::{Database, Direction, Options};
use ringview_query::Query;

use crate::common::{
    Change, Model, Row, TABLES, Value, apply, from_arrow, sort, unpolled, ways, with_recompute,
};

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Change>),
    /// One of two views of a query.
    CreateView(usize, bool),
    DropView(usize, bool),
}

fn small() -> impl Strategy<Value = Value> {
    prop_oneof![5 => (-2i64..3).prop_map(Value::Int), 1 => Just(Value::Null)]
}

fn row(table: usize) -> BoxedStrategy<Row> {
    let real = prop_oneof![
        5 => (-4i8..5).prop_map(|v| Value::Real(f64::from(v) / 2.0 + 0.0)),
        1 => Just(Value::Null),
    ];
    let text = prop_oneof![
        3 => prop::sample::select(vec!["", "p", "q"]).prop_map(|t| Value::Text(t.to_owned())),
        1 => Just(Value::Null),
    ];
    match table {
        0 => (small(), small(), real)
            .prop_map(|(a, b, x)| vec![a, b, x])
            .boxed(),
        1 => (small(), small(), text)
            .prop_map(|(b, c, t)| vec![b, c, t])
            .boxed(),
        _ => (small(), small()).prop_map(|(c, d)| vec![c, d]).boxed(),
    }
}

fn change(tables: std::ops::Range<usize>) -> impl Strategy<Value = Change> {
    let direction = prop_oneof![3 => Just(Direction::Insert), 1 => Just(Direction::Delete)];
    (tables, direction, any::<bool>()).prop_flat_map(|(table, direction, counted)| {
        let count = if counted { -1i64..4 } else { 1..2 };
        vec((row(table), count), 0..6).prop_map(move |rows| Change {
            table,
            direction,
            rows,
            counted,
        })
    })
}

fn step() -> impl Strategy<Value = Step> {
    let views = crate::common::queries::all().len();
    prop_oneof![
        6 => vec(change(0..2), 0..4).prop_map(Step::Apply),
        2 => (0..views, any::<bool>()).prop_map(|(view, twin)| Step::CreateView(view, twin)),
        1 => (0..views, any::<bool>()).prop_map(|(view, twin)| Step::DropView(view, twin)),
    ]
}

/// A view under test with what its changes add up to.
struct Watched {
    name: String,
    query: Query,
    rows: Vec<Row>,
}

fn check(db: &mut Database, model: &Model, views: &mut [Watched]) {
    for view in views {
        let expected = model.evaluate(&view.query);
        let found = from_arrow(&db.view_result(&view.name).unwrap());
        assert_eq!(found, expected, "view {}", view.name);
        assert_eq!(db.view_len(&view.name), Ok(expected.len()));
        for mut change in from_arrow(&db.view_changes(&view.name).unwrap()) {
            match change.pop() {
                Some(Value::Int(1)) => view.rows.push(change),
                Some(Value::Int(-1)) => {
                    let at = view.rows.iter().position(|row| *row == change);
                    view.rows.swap_remove(at.expect("what leaves was there"));
                }
                other => panic!("multiplicity {other:?}"),
            }
        }
        sort(&mut view.rows);
        assert_eq!(view.rows, expected, "changes of view {}", view.name);
    }
    for (index, (name, ..)) in TABLES.iter().enumerate() {
        assert_eq!(db.table(name).unwrap().rows, model.len(index));
    }
}

/// Whether an engine says that it can keep a query.
fn can(db: &Database, query: &Query, engine: &str) -> bool {
    match db.explanation_with(query, Some(engine)) {
        Err(Error::Unsupported { .. }) => false,
        description => description.unwrap().engine.name == engine,
    }
}

fn named(index: usize, twin: bool) -> String {
    format!("v{index}{}", if twin { "b" } else { "a" })
}

/// A history with all views kept by one engine.
fn live(
    engine: &str,
    fixed: Vec<Row>,
    steps: Vec<Step>,
    (trust_deletes, way): (bool, Options),
) -> Result<(), TestCaseError> {
    let mut db = with_recompute(Options {
        trust_deletes,
        ..way
    });
    let queries: Vec<Query> = crate::common::queries::all();
    let takes: Vec<bool> = queries
        .iter()
        .map(|query| can(&db, query, engine))
        .collect();
    let mut model = Model::default();
    let mut views: Vec<Watched> = Vec::new();
    let fill = [Change::insert(2, fixed)];
    apply(&mut db, &fill).unwrap();
    model.apply(&fill);
    for step in steps {
        match step {
            Step::Apply(changes) => {
                let possible = model.apply(&changes);
                if possible {
                    prop_assert_eq!(apply(&mut db, &changes), Ok(()));
                } else if !trust_deletes {
                    let outcome = apply(&mut db, &changes);
                    let refused = matches!(outcome, Err(Error::OverDelete { .. }));
                    prop_assert!(refused, "{:?}", outcome);
                }
            }
            Step::CreateView(index, twin) => {
                let name = named(index, twin);
                let query = queries[index].clone();
                let known = views.iter().any(|view| view.name == name);
                let read = |table: usize| query.atoms.iter().any(|a| a.table == TABLES[table].0);
                let gone = trust_deletes && (0..2).any(|t| read(t) && model.len(t) > 0);
                // The node of the other view also serves this one.
                let other = named(index, !twin);
                let shared = !way.unshared && views.iter().any(|view| view.name == other);
                let gone = gone && !shared;
                let outcome = db.create_view_with(&name, &query, Some(engine), &mut unpolled);
                match outcome {
                    Err(Error::Exists { .. }) => prop_assert!(known),
                    Err(Error::Unsupported { .. }) => prop_assert!(gone || !takes[index]),
                    outcome => {
                        prop_assert_eq!(outcome, Ok(()));
                        // Or what keeps the sums of others has its own.
                        let description = db.view_explanation(&name).unwrap();
                        let gone = gone && (way.unshared || description.merged.is_none());
                        prop_assert!(!known && !gone && takes[index]);
                        views.push(Watched {
                            name,
                            query,
                            rows: Vec::new(),
                        });
                    }
                }
            }
            Step::DropView(index, twin) => {
                let name = named(index, twin);
                let at = views.iter().position(|view| view.name == name);
                prop_assert_eq!(db.drop_view(&name).is_ok(), at.is_some());
                at.map(|at| views.remove(at));
            }
        }
        check(&mut db, &model, &mut views);
        db.check();
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn views_equal_recomputation(
        fixed in vec(row(2), 0..6),
        steps in vec(step(), 1..14),
        options in (any::<bool>(), ways()),
    ) {
        live("viewtree", fixed, steps, options)?;
    }

    #[test]
    fn views_of_a_toy_engine_do_too(
        fixed in vec(row(2), 0..6),
        steps in vec(step(), 1..14),
        options in (any::<bool>(), ways()),
    ) {
        live("recompute", fixed, steps, options)?;
    }
}
