//! Random views over few joins with few groups and many sums, which are created, dropped and replaced in the middle of
//! random transactions, of which some fail: against the oracle after every step, merged and separate.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::Error;
use ringview_engine::{Database, Options};
use ringview_query::Function;

use crate::common::{Change, Model, apply, database, unpolled, ways};
use crate::dag::random::{Draft, Seed, Views, apply_until, draft, empty, row};
use crate::dag::write::{Q, count_at_least};

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// A transaction, and at which question it is interrupted, if at any.
    Apply(Vec<Draft>, Option<u8>),
    /// A view, and at which question its birth is interrupted, if at any.
    Create(Vec<u8>, Option<u8>),
    Drop(usize),
    Replace(usize, Vec<u8>),
    /// Follows one from here on anew.
    Follow(usize),
}

fn interrupted() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![3 => Just(None), 1 => (0u8..6).prop_map(Some)]
}

fn seed() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 16)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (vec(draft(), 1..3), interrupted()).prop_map(|(all, last)| Step::Apply(all, last)),
        5 => (seed(), interrupted()).prop_map(|(seed, last)| Step::Create(seed, last)),
        2 => (0usize..16).prop_map(Step::Drop),
        2 => (0usize..16, seed()).prop_map(|(at, seed)| Step::Replace(at, seed)),
        1 => (0usize..16).prop_map(Step::Follow),
    ]
}

/// Sums over one of few joins, by one of few groups; now and then as a block under another query.
fn query(seed: &mut Seed<'_>) -> Q {
    let joins = seed.pick(4);
    let mut query = match joins {
        0 => Q::over(&["r"]),
        1 | 2 => Q::over(&["r", "s"]).join("0.b", "1.b"),
        _ => {
            let all = Q::over(&["r", "s", "u"]);
            all.join("0.b", "1.b").join("1.c", "2.c")
        }
    };
    if seed.pick(4) == 0 {
        query = query.at_least("0.a", 1);
    }
    query = match seed.pick(8) {
        0 => query,
        1 if joins > 0 => query.by("0.a", "a").by("1.c", "c"),
        2 => query.hidden("0.b").by("0.a", "a"),
        3 if joins > 0 => query.by("1.c", "c"),
        4 if joins > 0 => query.by("1.t", "t"),
        5 if joins == 3 => query.by("2.d", "d"),
        6 => query.by("0.b", "b"),
        _ => query.by("0.a", "a"),
    };
    for at in 0..1 + seed.pick(3) {
        let name = format!("c{at}");
        let (b, x, c) = ("\"0\".\"b\"", "\"0\".\"x\"", "\"1\".\"c\"");
        let product = match joins {
            0 => format!("{b} * \"0\".\"a\""),
            _ => format!("{b} * {c}"),
        };
        query = match seed.pick(9) {
            0 => query.count(&name),
            1 => query.agg(&name, Function::Count, Some("0.b")),
            2 => query.call(&name, Function::Sum, b),
            3 => query.call(&name, Function::Sum, x),
            4 => query.call(&name, Function::Avg, b),
            5 => query.call(&name, Function::Sum, &product),
            6 => query.call(&name, Function::Sum, &format!("{product} + {b}")),
            7 => query.or_else(&name, &format!("sum({b})"), "0"),
            _ => query.agg(&name, Function::Max, Some("0.b")),
        };
    }
    if seed.pick(4) == 0 {
        query = query.having(count_at_least(2));
    }
    match seed.pick(5) {
        0 => {
            let above = Q::over(&["block"]).count("n");
            above.with("block", &query)
        }
        _ => query,
    }
}

/// A query over a view, which may have become another by then.
fn above(view: &str, seed: &mut Seed<'_>) -> Q {
    match seed.pick(2) {
        0 => Q::over(&[view]).count("n"),
        _ => Q::over(&[view, "u"])
            .count("n")
            .agg("d", Function::Sum, Some("1.d")),
    }
}

/// Creates a view, interrupted at a poll; returns whether it was created before that.
fn create(db: &mut Database, name: &str, query: &Q, last: Option<u8>) -> bool {
    let mut asked = 0;
    let made = db.create_view(name, &query.0, &mut |_| {
        asked += 1;
        match last.is_some_and(|last| asked > last) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    });
    match made {
        Ok(()) => true,
        Err(Error::Interrupted) => false,
        Err(problem) => panic!("{problem}: {query:?}"),
    }
}

fn history(way: Options, fixed: Vec<crate::common::Row>, steps: &[Step]) {
    let (mut db, mut model) = (database(way), Model::default());
    let load = [Change::insert(2, fixed)];
    assert!(model.apply(&load));
    apply(&mut db, &load).unwrap();
    let mut views = Views { all: Vec::new() };
    for (number, step) in steps.iter().enumerate() {
        let count = views.all.len().max(1);
        match step {
            Step::Apply(drafts, last) => {
                let changes = drafts.iter().map(|draft| draft.change(&model));
                let changes: Vec<Change> = changes.collect();
                match apply_until(&mut db, &changes, *last) {
                    Ok(()) => assert!(model.apply(&changes)),
                    Err(Error::Interrupted) => assert!(last.is_some()),
                    Err(problem) => assert!(!model.apply(&changes), "{problem}"),
                }
            }
            Step::Create(seed, last) => {
                let mut seed = Seed(seed, 0);
                let (name, query) = (
                    format!("v{number}"),
                    match views.all.last() {
                        Some((below, ..)) if seed.pick(5) == 0 => above(below, &mut seed),
                        _ => query(&mut seed),
                    },
                );
                if create(&mut db, &name, &query, *last) {
                    let follower = db.follow(&name, false).unwrap();
                    views.all.push((name, query.0, follower, BTreeMap::new()));
                }
            }
            Step::Drop(at) if !views.all.is_empty() => {
                let at = at % count;
                let name = &views.all[at].0;
                let is_read = views
                    .all
                    .iter()
                    .any(|view| view.1.reads().contains(&**name));
                match db.drop_view(name) {
                    Err(Error::InUse { .. }) => assert!(is_read),
                    done => {
                        done.unwrap();
                        views.all.remove(at);
                    }
                }
            }
            Step::Replace(at, seed) if !views.all.is_empty() => {
                let (at, query) = (at % count, query(&mut Seed(seed, 0)));
                let name = views.all[at].0.clone();
                let is_read = views.all.iter().any(|view| view.1.reads().contains(&*name));
                match db.replace_view(&name, &query.0, &mut unpolled) {
                    // Those above could not read the new one.
                    Err(Error::InUse { .. }) => assert!(is_read),
                    done => {
                        done.unwrap();
                        let follower = db.follow(&name, false).unwrap();
                        views.all[at] = (name, query.0, follower, BTreeMap::new());
                    }
                }
            }
            Step::Follow(at) if !views.all.is_empty() => {
                let view = &mut views.all[at % count];
                view.2 = db.follow(&view.0, true).unwrap();
            }
            _ => {}
        }
        views.check(&mut db, &model);
    }
    empty(&mut db, &mut model);
    views.check(&mut db, &model);
    while !views.all.is_empty() {
        // Views that nothing reads are dropped first.
        views.all.retain(|(name, ..)| db.drop_view(name).is_err());
    }
    let parts = db.memory_usage();
    let mut views = parts.iter().filter(|(part, _)| part.starts_with("view "));
    assert_eq!(views.next(), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn random_views_over_few_joins_equal_recomputation(
        fixed in vec(row(2), 0..4),
        steps in vec(step(), 1..16),
        way in ways(),
    ) {
        history(way, fixed, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "the same for minutes"]
    fn many_random_views_over_few_joins_equal_recomputation(
        fixed in vec(row(2), 0..4),
        steps in vec(step(), 4..32),
        way in ways(),
    ) {
        history(way, fixed, &steps);
    }
}
