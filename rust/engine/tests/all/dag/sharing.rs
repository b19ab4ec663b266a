//! Views and blocks of equal queries: kept once, as long as anybody reads them.

use ringview_core::Error;
use ringview_engine::{Database, Options};

use crate::common::{Row, apply, database, from_arrow, unpolled};
use crate::dag::cases::{create, int, r, shown};
use crate::dag::write::Q;

/// SUM(b) by a.
fn sums() -> Q {
    Q::over(&["r"]).by("0.a", "a").sum("total", "0.b")
}

/// Number of groups with each sum, over a view or block.
fn counts(of: &str) -> Q {
    Q::over(&[of]).by("0.total", "total").count("n")
}

fn rows(of: &[&[i64]]) -> Vec<Row> {
    let row = |row: &&[i64]| row.iter().copied().map(int).collect();
    of.iter().map(row).collect()
}

fn apart() -> Database {
    database(Options {
        unshared: true,
        ..Options::default()
    })
}

/// Steps of all views by which a transaction changed them.
fn steps(db: &mut Database, views: &[String]) -> u64 {
    let all = |db: &Database| views.iter().map(|view| db.view_steps(view).unwrap()).max();
    let before = all(db).unwrap();
    apply(db, &[r(&[(7, 1, 0.0)])]).unwrap();
    all(db).unwrap() - before
}

fn bytes(db: &Database) -> usize {
    let parts = db.memory_usage().into_iter();
    let views = parts.filter(|(part, _)| part.starts_with("view ") || part.starts_with("block "));
    views.map(|(_, bytes)| bytes).sum()
}

#[test]
fn sixteen_views_of_one_query_cost_what_one_does() {
    let one = {
        let mut db = database(Options::default());
        create(&mut db, "v", &sums());
        apply(&mut db, &[r(&[(1, 2, 0.0)])]).unwrap();
        bytes(&db)
    };
    let names: Vec<String> = (0..16).map(|at| format!("v{at}")).collect();
    for (mut db, nodes) in [(database(Options::default()), 1), (apart(), 16)] {
        for name in &names {
            create(&mut db, name, &sums());
        }
        apply(&mut db, &[r(&[(1, 2, 0.0)])]).unwrap();
        assert_eq!(bytes(&db), nodes * one);
        let found = db.memory_usage();
        let is_told = |name: &String| {
            found
                .iter()
                .any(|(part, _)| *part == format!("view {name}"))
        };
        assert!(names.iter().all(is_told), "{found:?}");
        assert!(steps(&mut db, &names) > 0);
        for name in &names {
            assert_eq!(shown(&db, name), rows(&[&[1, 2], &[7, 1]]));
        }
        assert_eq!(db.views(), names);
    }
}

#[test]
fn what_is_shared_is_told() {
    let mut db = database(Options::default());
    for name in ["v", "w", "x"] {
        create(&mut db, name, &sums());
    }
    let told = db.view_explanation("w").unwrap();
    assert_eq!(told.view.as_deref(), Some("w"));
    assert_eq!(told.shared_with, ["v", "x"]);
    assert!(told.text().contains("kept once for this view and v, x"));
    db.drop_view("v").unwrap();
    db.drop_view("x").unwrap();
    assert!(db.view_explanation("w").unwrap().shared_with.is_empty());
}

#[test]
fn aliases_tell_nothing_apart_and_names_of_columns_do() {
    let mut db = database(Options::default());
    create(&mut db, "v", &sums());
    let mut other = sums();
    other.0.atoms[0].alias = "orders".to_owned();
    create(&mut db, "w", &other);
    create(
        &mut db,
        "x",
        &Q::over(&["r"]).by("0.a", "a").sum("sum", "0.b"),
    );
    assert_eq!(db.view_explanation("v").unwrap().shared_with, ["w"]);
    let names = |view: &str| db.view_schema(view).unwrap().field(1).name().clone();
    assert_eq!(
        (names("w"), names("x")),
        ("total".to_owned(), "sum".to_owned())
    );
}

#[test]
fn a_view_goes_on_when_the_one_that_was_first_is_dropped() {
    let mut db = database(Options::default());
    create(&mut db, "first", &sums());
    create(&mut db, "second", &sums());
    let first = db.follow("first", true).unwrap();
    assert!(db.view_changes("second").unwrap().num_rows() == 0);
    db.drop_view("first").unwrap();
    assert!(matches!(db.changes(&first), Err(Error::UnknownView { .. })));
    apply(&mut db, &[r(&[(1, 2, 0.0)])]).unwrap();
    db.check();
    assert_eq!(shown(&db, "second"), rows(&[&[1, 2]]));
    let moved = from_arrow(&db.view_changes("second").unwrap());
    assert_eq!(moved, rows(&[&[1, 2, 1]]));
    // The name is free, for something else.
    create(&mut db, "first", &Q::over(&["r"]).count("n"));
    assert_eq!(shown(&db, "first"), rows(&[&[1]]));
    db.drop_view("second").unwrap();
    assert_eq!(db.views(), ["first"]);
    assert!(
        db.memory_usage()
            .iter()
            .all(|(part, _)| part != "view second")
    );
}

#[test]
fn each_view_has_followers_of_its_own() {
    let mut db = database(Options::default());
    create(&mut db, "v", &sums());
    create(&mut db, "w", &sums());
    db.view_changes("v").unwrap();
    apply(&mut db, &[r(&[(1, 2, 0.0)])]).unwrap();
    assert_eq!(
        from_arrow(&db.view_changes("v").unwrap()),
        rows(&[&[1, 2, 1]])
    );
    assert_eq!(
        from_arrow(&db.view_changes("w").unwrap()),
        rows(&[&[1, 2, 1]])
    );
    assert_eq!(db.view_changes("v").unwrap().num_rows(), 0);
    db.forget_changes("v").unwrap();
    apply(&mut db, &[r(&[(1, 3, 0.0)])]).unwrap();
    assert_eq!(
        from_arrow(&db.view_changes("w").unwrap()),
        rows(&[&[1, 2, -1], &[1, 5, 1]])
    );
    assert_eq!(
        from_arrow(&db.view_changes("v").unwrap()),
        rows(&[&[1, 5, 1]])
    );
}

#[test]
fn blocks_are_shared_with_views_and_with_each_other() {
    let mut db = database(Options::default());
    create(&mut db, "sums", &sums());
    create(&mut db, "v", &counts("q").with("q", &sums()));
    create(&mut db, "w", &counts("p").with("p", &sums()));
    let parts = db.memory_usage();
    let blocks = parts.iter().filter(|(part, _)| part.starts_with("block "));
    assert_eq!(blocks.count(), 0, "{parts:?}");
    assert_eq!(db.view_explanation("v").unwrap().shared_with, ["w"]);
    // Nobody reads the view by its name.
    assert_eq!(db.rests_on("v").unwrap(), ["v"]);
    db.drop_view("sums").unwrap();
    apply(&mut db, &[r(&[(1, 2, 0.0), (3, 2, 0.0)])]).unwrap();
    db.check();
    assert_eq!(shown(&db, "v"), rows(&[&[2, 2]]));
    let parts = db.memory_usage();
    assert!(
        parts.iter().any(|(part, _)| part == "block sums of view v"),
        "{parts:?}"
    );
    db.drop_view("v").unwrap();
    db.drop_view("w").unwrap();
    assert_eq!(bytes(&db), 0);
}

#[test]
fn a_block_that_is_there_twice_is_kept_once() {
    let mut db = database(Options::default());
    let both = Q::over(&["p", "q"]).join("0.a", "1.a").count("n");
    create(&mut db, "v", &both.with("p", &sums()).with("q", &sums()));
    let parts = db.memory_usage();
    let blocks = parts.iter().filter(|(part, _)| part.starts_with("block "));
    assert_eq!(blocks.count(), 1, "{parts:?}");
    apply(&mut db, &[r(&[(1, 2, 0.0), (3, 2, 0.0)])]).unwrap();
    db.check();
    assert_eq!(shown(&db, "v"), rows(&[&[2]]));
}

#[test]
fn a_view_that_is_read_is_replaced_for_its_readers_alone() {
    let mut db = database(Options::default());
    create(&mut db, "v", &sums());
    create(&mut db, "w", &sums());
    create(&mut db, "of v", &counts("v"));
    create(&mut db, "of w", &counts("w"));
    apply(&mut db, &[r(&[(1, 2, 0.0), (3, 2, 0.0), (3, 1, 0.0)])]).unwrap();
    db.view_changes("of v").unwrap();
    let large = sums().at_least("0.b", 2);
    db.replace_view("v", &large.0, &mut unpolled).unwrap();
    db.check();
    assert_eq!(shown(&db, "of v"), rows(&[&[2, 2]]));
    assert_eq!(shown(&db, "of w"), rows(&[&[2, 1], &[3, 1]]));
    let moved = from_arrow(&db.view_changes("of v").unwrap());
    assert_eq!(moved, rows(&[&[2, 1, -1], &[2, 2, 1], &[3, 1, -1]]));
    // And back, by what the other view keeps.
    db.replace_view("v", &sums().0, &mut unpolled).unwrap();
    assert_eq!(db.view_explanation("v").unwrap().shared_with, ["w"]);
    apply(&mut db, &[r(&[(5, 2, 0.0)])]).unwrap();
    db.check();
    for view in ["of v", "of w"] {
        assert_eq!(shown(&db, view), rows(&[&[2, 2], &[3, 1]]));
    }
    assert!(matches!(db.drop_view("v"), Err(Error::InUse { .. })));
    db.drop_view("of v").unwrap();
    db.drop_view("v").unwrap();
}

#[test]
fn a_view_is_not_replaced_by_what_reads_it_through_another() {
    let mut db = database(Options::default());
    create(&mut db, "v", &sums());
    create(
        &mut db,
        "above",
        &Q::over(&["v"]).by("0.a", "a").sum("total", "0.total"),
    );
    let again = Q::over(&["above"]).by("0.a", "a").sum("total", "0.total");
    create(&mut db, "top", &again);
    let refused = db.replace_view("v", &again.0, &mut unpolled);
    assert!(matches!(refused, Err(Error::InUse { .. })), "{refused:?}");
    apply(&mut db, &[r(&[(1, 2, 0.0)])]).unwrap();
    db.check();
    assert_eq!(shown(&db, "top"), rows(&[&[1, 2]]));
}

#[test]
fn what_is_merged_into_a_view_is_not_merged_into_others() {
    let part = {
        let mut db = database(Options::default());
        create(&mut db, "v", &sums());
        apply(&mut db, &[r(&[(1, 5, 0.0)])]).unwrap();
        db.view_partials("v", &mut unpolled).unwrap()
    };
    let mut db = database(Options::default());
    create(&mut db, "v", &sums());
    create(&mut db, "w", &sums());
    create(&mut db, "of w", &counts("q").with("q", &sums()));
    db.merge_partials("v", &part, &mut unpolled).unwrap();
    db.check();
    assert_eq!(shown(&db, "v"), rows(&[&[1, 5]]));
    assert_eq!(shown(&db, "w"), rows(&[]));
    assert_eq!(shown(&db, "of w"), rows(&[]));
    assert!(db.is_merged("v").unwrap() && !db.is_merged("w").unwrap());
    // A sum of partials is not what its query would be.
    create(&mut db, "x", &sums());
    assert_eq!(db.view_explanation("x").unwrap().shared_with, ["w"]);
}

#[test]
fn samples_share_nothing() {
    let mut db = database(Options::default());
    let all = Q::over(&["r"])
        .by("0.a", "a")
        .by("0.b", "b")
        .rows(None, false);
    create(&mut db, "rows", &all);
    for name in ["few", "others"] {
        db.create_sample(name, &all.0, (2, 7), &mut unpolled)
            .unwrap();
    }
    for name in ["rows", "few", "others"] {
        assert!(db.view_explanation(name).unwrap().shared_with.is_empty());
    }
}

#[test]
fn a_view_that_shares_needs_no_rows_that_are_gone() {
    let mut db = database(Options {
        trust_deletes: true,
        ..Options::default()
    });
    create(&mut db, "v", &sums());
    apply(&mut db, &[r(&[(1, 2, 0.0)])]).unwrap();
    create(&mut db, "w", &sums());
    assert_eq!(shown(&db, "w"), rows(&[&[1, 2]]));
    let refused = db.create_view("x", &counts("r").0, &mut unpolled);
    assert!(refused.is_err());
}
