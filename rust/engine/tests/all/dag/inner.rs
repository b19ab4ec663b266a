//! Views over one join with other groups: inner views that their trees have in common are kept once, and each view is
//! as if it were alone.

use std::num::NonZeroUsize;

use ringview_core::{Error, Type};
use ringview_engine::{Database, Direction, NewView, Options, Product, ProductFactor};
use ringview_explain::NodeFacts;
use ringview_query::Function;

use crate::common::{Change, Row, Value, apply, database, from_arrow, to_arrow, unpolled};
use crate::dag::cases::{create, int, r, s, shown};
use crate::dag::write::Q;

/// r with s and u, of which u is static.
fn joined() -> Q {
    let all = Q::over(&["r", "s", "u"]);
    all.join("0.b", "1.b").join("1.c", "2.c")
}

/// Groupings above the join of r and s by c.
fn groupings() -> [Q; 3] {
    let by_c = joined().by("1.c", "c");
    let by_d = joined().by("2.d", "d");
    let both = joined().by("1.c", "c").by("2.d", "d");
    [by_c, by_d, both].map(|query| query.count("n").sum("b", "0.b"))
}

fn with(unshared: bool) -> Database {
    let mut db = database(Options {
        unshared,
        ..Options::default()
    });
    apply(&mut db, &[u(&[(3, 7), (4, 7), (4, 8)])]).unwrap();
    db
}

fn u(rows: &[(i64, i64)]) -> Change {
    let row = |&(c, d): &(i64, i64)| vec![int(c), int(d)];
    Change::insert(2, rows.iter().map(row).collect())
}

fn gone(change: Change) -> Change {
    Change {
        direction: Direction::Delete,
        ..change
    }
}

fn node(db: &Database, view: &str, label: &str) -> NodeFacts {
    let explanation = db.view_explanation(view).unwrap();
    let mut nodes = explanation.nodes.iter();
    let found = nodes.find(|node| node.label == label);
    found
        .unwrap_or_else(|| panic!("{}", explanation.text()))
        .clone()
}

fn bytes(db: &Database) -> Vec<(String, usize)> {
    let parts = db.memory_usage().into_iter();
    parts
        .filter(|(part, _)| part.starts_with("view "))
        .collect()
}

fn rows(of: &[&[i64]]) -> Vec<Row> {
    let row = |row: &&[i64]| row.iter().copied().map(int).collect();
    of.iter().map(row).collect()
}

#[test]
fn the_work_of_an_inner_view_is_done_once_for_all_that_have_it() {
    let taken = |unshared: bool, queries: &[Q]| {
        let mut db = with(unshared);
        for (at, query) in queries.iter().enumerate() {
            create(&mut db, &format!("v{at}"), query);
        }
        apply(
            &mut db,
            &[s(&[(1, 3, "p"), (2, 4, "q")]), r(&[(7, 1, 0.0)])],
        )
        .unwrap();
        let steps = |db: &Database| -> u64 {
            let all = (0..queries.len()).map(|at| db.view_steps(&format!("v{at}")).unwrap());
            match unshared {
                true => all.sum(),
                // They have one tree.
                false => all.max().unwrap(),
            }
        };
        let before = steps(&db);
        apply(&mut db, &[r(&[(8, 1, 0.0), (9, 2, 0.0)])]).unwrap();
        db.check();
        steps(&db) - before
    };
    let all = groupings();
    let [one, two, three] = [1, 2, 3].map(|number| taken(false, &all[..number]));
    let alone: Vec<u64> = all
        .iter()
        .map(|query| taken(true, std::slice::from_ref(query)))
        .collect();
    assert_eq!(alone[0], one);
    // Two rows are read, stored, met, paired with one of s each, and stored again; the rest is each view's own.
    let shared = 10;
    assert_eq!(two, one + alone[1] - shared);
    assert_eq!(three, two + alone[2] - shared);
    assert_eq!(taken(true, &all), alone.iter().sum::<u64>());
}

#[test]
fn what_is_shared_is_told() {
    let mut db = with(false);
    let [by_c, by_d, both] = groupings();
    create(&mut db, "by_c", &by_c);
    assert!(
        !db.view_explanation("by_c")
            .unwrap()
            .text()
            .contains("kept once")
    );
    create(&mut db, "by_d", &by_d);
    create(&mut db, "both", &both);
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(7, 1, 0.0)])]).unwrap();
    let inner = node(&db, "by_d", "V@b[c]");
    assert_eq!(inner.shared_with, ["by_c", "both"]);
    // u is static, so nothing meets it and it is passed through: once.
    assert_eq!((inner.rows, inner.updates), (None, Some(1)));
    // The table by c alone is that of one, the table by both columns that of two.
    assert_eq!(node(&db, "by_c", "a2[c]").shared_with, Vec::<String>::new());
    assert_eq!(node(&db, "by_d", "a2[c, d]").shared_with, ["both"]);
    let told = db.view_explanation("by_d").unwrap();
    let line = "4 of the 5 views of its tree are kept once for it and by_c, both\n";
    assert!(told.text().contains(line), "{}", told.text());
    assert!(
        told.text().contains(", also of by_c, both\n"),
        "{}",
        told.text()
    );
    assert!(
        told.mermaid().contains("also of by#95;c, both"),
        "{}",
        told.mermaid()
    );
    assert!(told.graphviz().contains("also of by_c, both"));
    assert!(told.html().contains("also of by_c, both"));
    assert_eq!(told.merged, None);
    // Another sum by the same groups is merged with them.
    create(&mut db, "sum", &joined().by("2.d", "d").sum("a", "0.a"));
    let told = db.view_explanation("sum").unwrap();
    assert_eq!(told.merged.unwrap().with, ["by_d"]);
    assert_eq!(
        node(&db, "by_c", "V@b[c]").shared_with,
        ["by_d", "sum", "both"]
    );
    for view in ["by_c", "both", "sum"] {
        db.drop_view(view).unwrap();
        db.check();
    }
    let alone = db.view_explanation("by_d").unwrap();
    assert!(alone.nodes.iter().all(|node| node.shared_with.is_empty()));
    assert_eq!(shown(&db, "by_d"), rows(&[&[7, 1, 1]]));
}

#[test]
fn what_is_shared_is_counted_once() {
    let fill = |db: &mut Database| {
        let many = |from: i64| {
            (from..from + 500)
                .map(|at| (at, at % 50, 0.0))
                .collect::<Vec<_>>()
        };
        let some: Vec<_> = (0..50).map(|b| (b, 3 + b % 2, "p")).collect();
        apply(db, &[s(&some), r(&many(0))]).unwrap();
    };
    let held = |unshared: bool, queries: &[Q]| {
        let mut db = with(unshared);
        for (at, query) in queries.iter().enumerate() {
            create(&mut db, &format!("v{at}"), query);
        }
        fill(&mut db);
        let parts = bytes(&db);
        if !unshared {
            // All of it is counted at the oldest.
            assert!(parts[1..].iter().all(|(_, bytes)| *bytes == 0), "{parts:?}");
            let all = (0..queries.len()).map(|at| db.view_explanation(&format!("v{at}")).unwrap());
            let mut nodes: Vec<NodeFacts> = Vec::new();
            for node in all.flat_map(|view| view.nodes) {
                if !nodes
                    .iter()
                    .any(|other| other.label == node.label && !node.shared_with.is_empty())
                {
                    nodes.push(node);
                }
            }
            let kept: u64 = nodes.iter().filter_map(|node| node.bytes).sum();
            assert!(parts[0].1 as u64 >= kept, "{kept} in {parts:?}");
            assert!(parts[0].1 as u64 <= kept + 4096, "{kept} in {parts:?}");
        }
        parts.iter().map(|(_, bytes)| bytes).sum::<usize>()
    };
    let all = groupings();
    let (shared, apart) = (held(false, &all), held(true, &all));
    assert!(shared < apart, "{shared} of {apart} bytes");
    // Dropping a view frees what it alone had.
    let mut db = with(false);
    for (at, query) in all.iter().enumerate() {
        create(&mut db, &format!("v{at}"), query);
    }
    fill(&mut db);
    let sum = |db: &Database| bytes(db).iter().map(|(_, bytes)| bytes).sum::<usize>();
    let mut before = sum(&db);
    for view in ["v0", "v2"] {
        db.drop_view(view).unwrap();
        db.check();
        let now = sum(&db);
        assert!(now < before);
        before = now;
    }
    db.drop_view("v1").unwrap();
    assert_eq!(bytes(&db), []);
}

#[test]
fn views_come_go_and_are_undone_in_any_order() {
    let all = groupings();
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for (coming, going) in orders
        .iter()
        .flat_map(|one| orders.map(|other| (one, other)))
    {
        let mut db = with(false);
        let mut alone = with(true);
        let fill = [
            s(&[(1, 3, "p"), (2, 4, "q")]),
            r(&[(7, 1, 0.0), (8, 2, 0.0)]),
        ];
        apply(&mut db, &fill).unwrap();
        apply(&mut alone, &fill).unwrap();
        let mut followers = Vec::new();
        let check = |db: &mut Database, alone: &mut Database, views: &[usize]| {
            for at in views {
                let name = format!("v{at}");
                assert_eq!(shown(db, &name), shown(alone, &name));
            }
        };
        let step = |db: &mut Database, alone: &mut Database, times: i64| {
            for db in [db, alone] {
                apply(
                    db,
                    &[
                        r(&[(times, 1, 0.0)]),
                        gone(r(&[(times, 1, 0.0)])),
                        s(&[(times, 4, "p")]),
                    ],
                )
                .unwrap();
                // The last row does not exist, so the others are undone.
                let refused = apply(db, &[r(&[(5, 2, 0.0)]), gone(s(&[(9, 9, "p")]))]);
                assert!(refused.is_err());
            }
        };
        for &at in coming {
            for db in [&mut db, &mut alone] {
                create(db, &format!("v{at}"), &all[at]);
            }
            followers.push((
                db.follow(&format!("v{at}"), true).unwrap(),
                alone.follow(&format!("v{at}"), true).unwrap(),
            ));
            step(&mut db, &mut alone, at as i64);
            db.check();
        }
        check(&mut db, &mut alone, &[0, 1, 2]);
        for (own, other) in &followers {
            let [mut own, mut other] = [(&db, own), (&alone, other)]
                .map(|(db, follower)| from_arrow(&db.changes(follower).unwrap()));
            own.sort();
            other.sort();
            assert_eq!(own, other);
        }
        let mut left = vec![0, 1, 2];
        for &at in &going {
            for db in [&mut db, &mut alone] {
                db.drop_view(&format!("v{at}")).unwrap();
                db.check();
            }
            left.retain(|other| *other != at);
            step(&mut db, &mut alone, at as i64);
            db.check();
            check(&mut db, &mut alone, &left);
        }
        assert_eq!(bytes(&db), []);
    }
}

#[test]
fn what_does_not_fit_one_of_them_is_refused_and_undone_in_all() {
    let mut db = with(false);
    let [by_c, ..] = groupings();
    create(&mut db, "by_c", &by_c);
    let cube = "\"0\".\"a\" * \"0\".\"a\" * \"0\".\"a\"";
    create(
        &mut db,
        "cube",
        &joined().by("2.d", "d").call("cube", Function::Sum, cube),
    );
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(2, 1, 0.0)])]).unwrap();
    assert_eq!(node(&db, "cube", "V@b[c]").shared_with, ["by_c"]);
    let before = (shown(&db, "by_c"), shown(&db, "cube"));
    let refused = apply(&mut db, &[r(&[(3, 1, 0.0), (i64::MAX, 1, 0.0)])]);
    assert!(
        matches!(refused, Err(Error::Overflow { .. })),
        "{refused:?}"
    );
    db.check();
    assert_eq!((shown(&db, "by_c"), shown(&db, "cube")), before);
    db.drop_view("cube").unwrap();
    apply(&mut db, &[r(&[(i64::MAX, 1, 0.0)])]).unwrap();
    db.check();
}

#[test]
fn sums_that_grow_grow_for_all_groupings() {
    let results = [false, true].map(|unshared| {
        let mut db = with(unshared);
        let [by_c, by_d, both] = groupings().map(|query| query.sum("a", "0.a"));
        create(&mut db, "by_c", &by_c);
        create(&mut db, "by_d", &by_d);
        let large = i64::MAX / 2 + 1;
        let rows = r(&[(large, 1, 0.0), (large, 1, 0.0)]);
        apply(&mut db, &[s(&[(1, 3, "p")]), rows.clone()]).unwrap();
        db.check();
        let grown = ["by_c", "by_d"].map(|view| db.view_result(view).unwrap());
        create(&mut db, "later", &both);
        db.drop_view("by_c").unwrap();
        apply(&mut db, &[rows]).unwrap();
        db.check();
        (
            grown,
            ["by_d", "later"].map(|view| db.view_result(view).unwrap()),
        )
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn products_of_factors_go_along_all_branches() {
    let product = |db: &mut Database, direction: Direction| {
        let part = |name: &str, values: &[i64]| {
            let rows: Vec<Row> = values.iter().map(|&v| vec![int(v)]).collect();
            ringview_oracle::arrow::to_arrow(&[(name, Type::Int64)], &rows, None)
        };
        let x = to_arrow(0, &[vec![int(0), int(0), Value::Real(1.0)]], None);
        let x = x.project(&[2]).unwrap();
        let factors = [[part("a", &[1, 2])], [part("b", &[1, 2, 5])], [x]];
        let factors = factors.each_ref().map(|rows| ProductFactor {
            rows,
            multiplicity: None,
        });
        let product = Product {
            table: "r",
            direction,
            factors: &factors,
        };
        db.apply(&[ringview_engine::Change::Product(product)], &mut unpolled)
            .unwrap();
        db.check();
    };
    let results = [false, true].map(|unshared| {
        let mut db = with(unshared);
        let [by_c, by_d, both] = groupings().map(|query| query.sum("a", "0.a"));
        let by_a = joined().by("0.a", "a").sum("b", "0.b");
        let all = [
            ("by_c", by_c),
            ("by_d", by_d),
            ("both", both),
            ("by_a", by_a),
        ];
        for (name, query) in &all {
            create(&mut db, name, query);
        }
        apply(
            &mut db,
            &[s(&[(1, 3, "p"), (2, 4, "q")]), r(&[(7, 1, 0.0)])],
        )
        .unwrap();
        product(&mut db, Direction::Insert);
        let full = all.each_ref().map(|(name, _)| shown(&db, name));
        product(&mut db, Direction::Delete);
        (full, all.each_ref().map(|(name, _)| shown(&db, name)))
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].1[3], rows(&[&[7, 1]]));
}

#[test]
fn an_order_is_chosen_for_what_it_shares() {
    // A chain of tables that all change: without groups both ends cost the same.
    let chain = || {
        Q::over(&["r", "s", "s"])
            .join("0.b", "1.b")
            .join("1.c", "2.b")
    };
    let by_c = chain().by("1.c", "c").count("n");
    let mut db = with(false);
    create(&mut db, "alone", &chain().count("n"));
    assert_eq!(db.view_explanation("alone").unwrap().order[0].variable, "b");
    db.drop_view("alone").unwrap();
    create(&mut db, "by_c", &by_c);
    create(&mut db, "all", &chain().count("n"));
    let told = db.view_explanation("all").unwrap();
    assert_eq!(told.order[0].variable, "c", "{}", told.text());
    let shared = told
        .nodes
        .iter()
        .filter(|node| !node.shared_with.is_empty());
    assert_eq!(shared.count(), told.nodes.len() - 1);
}

#[test]
fn views_that_are_created_together_are_filled_once() {
    let mut db = with(false);
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(7, 1, 0.0)])]).unwrap();
    let all = groupings();
    let names = ["v0", "v1", "v2"];
    let views = names.iter().zip(&all).map(|(name, query)| NewView {
        name,
        query: &query.0,
        engine: None,
    });
    db.create_views(&views.collect::<Vec<_>>(), &mut unpolled)
        .unwrap();
    db.check();
    assert_eq!(node(&db, "v0", "V@b[c]").shared_with, ["v1", "v2"]);
    assert_eq!(shown(&db, "v2"), rows(&[&[3, 7, 1, 1]]));
}

#[test]
fn what_shares_nothing_has_a_tree_of_its_own() {
    let mut db = with(false);
    let of_r = |column: &str| {
        Q::over(&["r"])
            .by(&format!("0.{column}"), column)
            .count("n")
    };
    create(&mut db, "a", &of_r("a"));
    create(&mut db, "b", &of_r("b"));
    apply(&mut db, &[r(&[(7, 1, 0.0)])]).unwrap();
    assert!(bytes(&db).iter().all(|(_, bytes)| *bytes > 0));
    // Threads share out trees.
    let mut db = database(Options {
        threads: NonZeroUsize::new(2),
        ..Options::default()
    });
    for (at, query) in groupings().iter().enumerate() {
        create(&mut db, &format!("v{at}"), query);
    }
    apply(&mut db, &[s(&[(1, 3, "p")]), r(&[(7, 1, 0.0)])]).unwrap();
    assert!(bytes(&db).iter().all(|(_, bytes)| *bytes > 0));
}
