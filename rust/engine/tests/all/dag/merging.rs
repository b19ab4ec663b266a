//! Views over one join with the same groups and other sums: kept in one tree, and each as if it were alone.

use ringview_core::Error;
use ringview_engine::{Database, Direction, Options};
use ringview_query::Function;

use crate::common::{Change, Row, Value, apply, database, from_arrow, unpolled};
use crate::dag::cases::{create, int, r, s, shown};
use crate::dag::write::{Q, count_at_least};

/// r joined with s, by a.
fn joined() -> Q {
    Q::over(&["r", "s"]).join("0.b", "1.b").by("0.a", "a")
}

/// The sum of an expression over that.
fn sum(of: &str) -> Q {
    joined().call("total", Function::Sum, of)
}

/// Sixteen different sums.
fn sums() -> Vec<Q> {
    let factors = ["\"0\".\"b\"", "\"1\".\"c\"", "\"0\".\"a\"", "\"0\".\"x\""];
    let pair = |at: usize| format!("{} * {} + {at}", factors[at % 4], factors[at / 4]);
    (0..16).map(|at| sum(&pair(at))).collect()
}

fn rows(of: &[&[i64]]) -> Vec<Row> {
    let row = |row: &&[i64]| row.iter().copied().map(int).collect();
    of.iter().map(row).collect()
}

fn with(unshared: bool) -> Database {
    database(Options {
        unshared,
        ..Options::default()
    })
}

fn steps(db: &mut Database, views: &[String]) -> u64 {
    let all = |db: &Database| -> u64 {
        let mut seen = Vec::new();
        for view in views {
            let merged = db.view_explanation(view).unwrap().merged;
            let others = merged.map(|merged| merged.with).unwrap_or_default();
            if !seen.iter().any(|other| others.contains(other)) {
                seen.push(view.clone());
            }
        }
        seen.iter().map(|view| db.view_steps(view).unwrap()).sum()
    };
    let before = all(db);
    apply(db, &[r(&[(7, 1, 0.0), (8, 1, 0.0)])]).unwrap();
    all(db) - before
}

#[test]
fn sixteen_views_of_other_sums_take_the_steps_of_one() {
    let of = |number: usize, unshared: bool| {
        let mut db = with(unshared);
        let names: Vec<String> = (0..number).map(|at| format!("v{at}")).collect();
        for (name, query) in names.iter().zip(sums()) {
            create(&mut db, name, &query);
        }
        apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(7, 1, 0.0)])]).unwrap();
        let taken = steps(&mut db, &names);
        db.check();
        taken
    };
    let (one, merged, apart) = (of(1, false), of(16, false), of(16, true));
    assert!(one > 0);
    assert_eq!(merged, one);
    assert_eq!(apart, 16 * one);
}

#[test]
fn what_is_merged_is_told_and_counted_once() {
    let mut db = with(false);
    create(&mut db, "v", &sum("\"0\".\"b\""));
    let alone = db.view_explanation("v").unwrap();
    assert_eq!(alone.merged, None);
    create(&mut db, "w", &sum("\"1\".\"c\""));
    create(&mut db, "x", &joined().count("n"));
    let told = db.view_explanation("w").unwrap();
    let merged = told.merged.clone().unwrap();
    assert!(merged.with.contains(&"v".to_owned()) && merged.with.contains(&"x".to_owned()));
    assert!(merged.own < merged.all, "{merged:?}");
    assert!(
        told.text().contains("one tree with v, x"),
        "{}",
        told.text()
    );
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(1, 1, 0.0)])]).unwrap();
    let parts = db.memory_usage();
    let bytes = |view: &str| {
        let mut found = parts.iter();
        found
            .find(|(part, _)| part == view)
            .map(|(_, bytes)| *bytes)
    };
    assert!(bytes("view v").unwrap() > 0);
    assert_eq!((bytes("view w"), bytes("view x")), (Some(0), Some(0)));
    db.drop_view("v").unwrap();
    let parts = db.memory_usage();
    let held = |view: &str| parts.iter().any(|(part, bytes)| part == view && *bytes > 0);
    assert!(held("view w") && !held("view x"));
    db.drop_view("w").unwrap();
    db.drop_view("x").unwrap();
    assert!(
        !db.memory_usage()
            .iter()
            .any(|(part, _)| part.starts_with("view "))
    );
}

#[test]
fn a_view_tells_its_own_changes_alone() {
    for unshared in [false, true] {
        let mut db = with(unshared);
        create(&mut db, "count", &joined().count("n"));
        create(&mut db, "sum", &sum("\"0\".\"b\" * \"1\".\"c\""));
        create(
            &mut db,
            "many",
            &joined().count("n").having(count_at_least(2)),
        );
        let names = ["count", "sum", "many"];
        for name in names {
            db.view_changes(name).unwrap();
        }
        let told =
            |db: &mut Database| names.map(|name| from_arrow(&db.view_changes(name).unwrap()));
        apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(1, 1, 0.0)])]).unwrap();
        let found = told(&mut db);
        assert_eq!(found, [rows(&[&[1, 1, 1]]), rows(&[&[1, 3, 1]]), rows(&[])]);
        // A row takes the place of another: the count of the group stays.
        let out = Change {
            direction: Direction::Delete,
            ..s(&[(1, 3, "p")])
        };
        apply(&mut db, &[out, s(&[(1, 4, "p")])]).unwrap();
        let found = told(&mut db);
        assert_eq!(
            found,
            [rows(&[]), rows(&[&[1, 3, -1], &[1, 4, 1]]), rows(&[])]
        );
        // One that adds nothing to the sum.
        apply(&mut db, &[s(&[(1, 0, "q")])]).unwrap();
        let found = told(&mut db);
        let count = rows(&[&[1, 1, -1], &[1, 2, 1]]);
        assert_eq!(found, [count, rows(&[]), rows(&[&[1, 2, 1]])]);
    }
}

#[test]
fn a_view_comes_and_goes_among_others_that_are_followed() {
    let mut db = with(false);
    create(&mut db, "first", &sum("\"0\".\"b\""));
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(1, 1, 0.0)])]).unwrap();
    let follower = db.follow("first", true).unwrap();
    create(
        &mut db,
        "above",
        &Q::over(&["first"]).by("0.total", "total").count("n"),
    );
    // The groups are made anew, for both.
    create(&mut db, "second", &sum("\"1\".\"c\""));
    assert_eq!(db.changes(&follower).unwrap().num_rows(), 0);
    assert_eq!(
        db.view_explanation("first").unwrap().merged.unwrap().with,
        ["second"]
    );
    apply(&mut db, &[r(&[(1, 1, 0.0), (2, 1, 0.0)])]).unwrap();
    db.check();
    let changes = from_arrow(&db.changes(&follower).unwrap());
    assert_eq!(changes, rows(&[&[1, 1, -1], &[1, 2, 1], &[2, 1, 1]]));
    assert_eq!(shown(&db, "second"), rows(&[&[1, 6], &[2, 3]]));
    assert_eq!(shown(&db, "above"), rows(&[&[1, 1], &[2, 1]]));
    db.drop_view("second").unwrap();
    apply(&mut db, &[r(&[(3, 1, 0.0)])]).unwrap();
    db.check();
    assert_eq!(shown(&db, "above"), rows(&[&[1, 2], &[2, 1]]));
    assert!(db.view_explanation("first").unwrap().merged.is_none());
}

#[test]
fn sums_of_doubles_that_are_read_are_not_added_up_again() {
    let mut db = with(false);
    create(&mut db, "real", &joined().sum("x", "0.x"));
    create(
        &mut db,
        "mean",
        &joined().agg("x", Function::Avg, Some("0.x")),
    );
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(1, 1, 0.1)])]).unwrap();
    create(&mut db, "beside", &sum("\"1\".\"c\""));
    create(&mut db, "further", &sum("\"0\".\"b\""));
    let with = |view: &str| {
        db.view_explanation(view)
            .unwrap()
            .merged
            .map(|one| one.with)
    };
    assert_eq!(with("real"), Some(vec!["mean".to_owned()]));
    assert_eq!(with("beside"), Some(vec!["further".to_owned()]));
}

#[test]
fn what_cannot_be_made_anew_is_made_beside() {
    let mut db = database(Options {
        trust_deletes: true,
        ..Options::default()
    });
    create(&mut db, "v", &joined().sum("total", "1.c").count("n"));
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(1, 1, 0.0)])]).unwrap();
    // The rows are not kept, and not needed.
    create(&mut db, "n", &joined().count("n"));
    create(
        &mut db,
        "mean",
        &joined().agg("mean", Function::Avg, Some("1.c")),
    );
    assert_eq!(shown(&db, "n"), rows(&[&[1, 1]]));
    let refused = db.create_view("b", &sum("\"0\".\"b\"").0, &mut unpolled);
    assert!(
        matches!(refused, Err(Error::Unsupported { .. })),
        "{refused:?}"
    );
    db.check();
    assert_eq!(db.views(), ["v", "n", "mean"]);
    apply(&mut db, &[r(&[(1, 1, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "n"), rows(&[&[1, 2]]));
}

#[test]
fn an_interrupted_birth_leaves_all_as_it_was() {
    let mut db = with(false);
    create(&mut db, "v", &sum("\"0\".\"b\""));
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(1, 1, 0.0)])]).unwrap();
    let before = db.memory_usage();
    for last in 0..4 {
        let mut asked = 0;
        let mut poll = |_| {
            asked += 1;
            match asked > last {
                true => Err(Error::Interrupted),
                false => Ok(()),
            }
        };
        let made = db.create_view("w", &sum("\"1\".\"c\"").0, &mut poll);
        db.check();
        if made.is_ok() {
            db.drop_view("w").unwrap();
            continue;
        }
        assert_eq!(db.memory_usage(), before);
        assert_eq!(shown(&db, "v"), rows(&[&[1, 1]]));
    }
}

#[test]
fn a_view_is_replaced_by_one_with_other_sums() {
    let mut db = with(false);
    create(&mut db, "v", &sum("\"1\".\"c\""));
    create(&mut db, "w", &sum("\"0\".\"b\" + 1"));
    create(
        &mut db,
        "above",
        &Q::over(&["v"]).by("0.total", "total").count("n"),
    );
    apply(
        &mut db,
        &[s(&[(1, 3, "p")]), r(&[(1, 1, 0.0), (2, 1, 0.0)])],
    )
    .unwrap();
    db.view_changes("above").unwrap();
    db.replace_view("v", &sum("\"1\".\"c\" * \"0\".\"b\" + 1").0, &mut unpolled)
        .unwrap();
    db.check();
    assert_eq!(shown(&db, "above"), rows(&[&[4, 2]]));
    assert_eq!(
        from_arrow(&db.view_changes("above").unwrap()),
        rows(&[&[3, 2, -1], &[4, 2, 1]])
    );
    assert_eq!(shown(&db, "w"), rows(&[&[1, 2], &[2, 2]]));
    // A failure at the end, after the groups were taken over, leaves all as it was.
    let mut full = || Err(Error::Interrupted);
    let again = sum("\"1\".\"c\" * \"0\".\"a\"");
    let failed = db.replace_view_with("v", &again.0, None, &mut unpolled, &mut full);
    assert_eq!(failed, Err(Error::Interrupted));
    db.check();
    apply(&mut db, &[r(&[(3, 1, 0.0)])]).unwrap();
    assert_eq!(shown(&db, "above"), rows(&[&[4, 3]]));
    assert_eq!(shown(&db, "w"), rows(&[&[1, 2], &[2, 2], &[3, 2]]));
}

#[test]
fn partials_of_merged_views_are_those_of_views_apart() {
    let queries = [
        joined().count("n"),
        sum("\"1\".\"c\""),
        sum("\"0\".\"b\" + \"1\".\"c\""),
    ];
    let partials = |unshared: bool| {
        let mut db = with(unshared);
        for (at, query) in queries.iter().enumerate() {
            create(&mut db, &format!("v{at}"), query);
        }
        apply(
            &mut db,
            &[s(&[(1, 3, "p")]), r(&[(1, 1, 0.0), (2, 1, 0.0)])],
        )
        .unwrap();
        let of = |at: usize| db.view_partials(&format!("v{at}"), &mut unpolled).unwrap();
        (0..queries.len()).map(of).collect::<Vec<_>>()
    };
    assert_eq!(partials(false), partials(true));
    // A partial merged into one of them is in no other.
    let mut db = with(false);
    for (at, query) in queries.iter().enumerate() {
        create(&mut db, &format!("v{at}"), query);
    }
    db.merge_partials("v1", &partials(true)[1], &mut unpolled)
        .unwrap();
    db.check();
    assert_eq!(shown(&db, "v1"), rows(&[&[1, 3], &[2, 3]]));
    assert_eq!((shown(&db, "v0"), shown(&db, "v2")), (rows(&[]), rows(&[])));
}

#[test]
fn a_view_of_groups_that_are_there_is_refused_if_it_cannot_be_shown() {
    let product = "\"0\".\"a\" * \"1\".\"c\"";
    let four = vec![format!("sum({product})"); 4].join(" + ");
    let too_much = joined().expression("total", four);
    for unshared in [false, true] {
        let mut db = with(unshared);
        create(&mut db, "product", &sum(product));
        let most = i64::MAX;
        apply(&mut db, &[s(&[(1, most, "p")]), r(&[(most, 1, 0.0)])]).unwrap();
        let refused = db.create_view("fourfold", &too_much.0, &mut unpolled);
        assert!(
            matches!(refused, Err(Error::Overflow { .. })),
            "{refused:?}"
        );
        db.check();
        assert_eq!(db.views(), ["product"]);
    }
}

#[test]
fn a_term_goes_with_the_last_view_that_reads_it() {
    let cube = "\"0\".\"b\" * \"0\".\"b\" * \"0\".\"b\"";
    let of_r = || Q::over(&["r"]).by("0.a", "a");
    let huge = || [r(&[(1, i64::MAX, 0.5)])];
    for unshared in [false, true] {
        let mut db = with(unshared);
        create(&mut db, "n", &of_r().count("n"));
        create(&mut db, "cube", &of_r().call("total", Function::Sum, cube));
        create(&mut db, "sum", &of_r().sum("b", "0.b").sum("x", "0.x"));
        apply(&mut db, &[r(&[(1, 2, 1.5), (2, 3, 0.25)])]).unwrap();
        let refused = apply(&mut db, &huge());
        assert!(
            matches!(refused, Err(Error::Overflow { .. })),
            "{refused:?}"
        );
        db.check();
        assert_eq!(shown(&db, "cube"), rows(&[&[1, 8], &[2, 27]]));
        let bytes = |db: &Database| -> usize {
            let parts = db.memory_usage().into_iter();
            parts
                .filter(|(part, _)| part.starts_with("view "))
                .map(|(_, bytes)| bytes)
                .sum()
        };
        let before = (bytes(&db), shown(&db, "sum"));
        db.drop_view("cube").unwrap();
        db.check();
        assert!(bytes(&db) < before.0);
        assert_eq!(shown(&db, "sum"), before.1);
        apply(&mut db, &huge()).unwrap();
        db.check();
        assert_eq!(shown(&db, "n"), rows(&[&[1, 2], &[2, 1]]));
        let big = i64::MAX;
        db.drop_view("n").unwrap();
        // Sums have grown by now, and stay as wide.
        apply(&mut db, &huge()).unwrap();
        create(
            &mut db,
            "means",
            &of_r().agg("x", Function::Avg, Some("0.x")),
        );
        db.drop_view("sum").unwrap();
        apply(&mut db, &[r(&[(3, big, 0.5)])]).unwrap();
        db.check();
        let real = Value::Real;
        let means = [(1, 2.5 / 3.0), (2, 0.25), (3, 0.5)];
        assert_eq!(
            shown(&db, "means"),
            means.map(|(a, x)| vec![int(a), real(x)])
        );
    }
}
