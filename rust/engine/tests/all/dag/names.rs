//! Meaning of names in a DAG, listing and dropping, and explanations.
use ringview_core::Error;
use ringview_engine::Options;
use ringview_query::Query;

use crate::common::{apply, database, unpolled};
use crate::dag::cases::{create, int, r, s, shown};
use crate::dag::write::Q;

#[test]
fn blocks_are_not_listed_and_go_with_their_view() {
    let mut db = database(Options::default());
    // A block may have the name of a table, which it reads.
    let positive = Q::over(&["r"])
        .at_least("0.a", 1)
        .by("0.a", "a")
        .sum("b", "0.b");
    let top = Q::over(&["r", "s"])
        .join("0.b", "1.b")
        .by("0.a", "a")
        .count("n");
    create(&mut db, "top", &top.with("r", &positive));
    assert_eq!(db.views(), ["top"]);
    let unknown = db.view_result("r").unwrap_err();
    assert!(matches!(unknown, Error::UnknownView { .. }));
    apply(
        &mut db,
        &[
            r(&[(0, 3, 0.0), (1, 1, 0.0), (1, 2, 0.0)]),
            s(&[(3, 0, "p")]),
        ],
    )
    .unwrap();
    assert_eq!(shown(&db, "top"), [[int(1), int(1)]]);
    let parts = db.memory_usage();
    assert!(
        parts
            .iter()
            .any(|(part, bytes)| part == "block r of view top" && *bytes > 0)
    );
    match db.drop_table("r").unwrap_err() {
        Error::InUse { views, .. } => assert_eq!(views, ["top"]),
        other => panic!("{other}"),
    }
    db.drop_view("top").unwrap();
    db.drop_table("r").unwrap();
}

#[test]
fn what_is_read_is_not_dropped() {
    let mut db = database(Options::default());
    create(&mut db, "one", &Q::over(&["r"]).by("0.a", "a").count("n"));
    create(&mut db, "two", &Q::over(&["one"]).count("n"));
    let block = Q::over(&["one"]).by("0.n", "n").count("m");
    create(
        &mut db,
        "three",
        &Q::over(&["b"]).count("n").with("b", &block),
    );
    let error = db.drop_view("one").unwrap_err();
    let words = "view \"one\" is in use by two, three; drop these views first";
    assert_eq!(error.to_string(), words);
    db.drop_view("two").unwrap();
    db.drop_view("three").unwrap();
    db.drop_view("one").unwrap();
    db.check();
}

#[test]
fn an_explanation_tells_all_that_is_below() {
    let mut db = database(Options::default());
    create(&mut db, "one", &Q::over(&["r"]).by("0.a", "a").count("n"));
    let block = Q::over(&["one"]).by("0.n", "n").count("m");
    let top = Q::over(&["one", "b"])
        .join("0.n", "1.n")
        .count("n")
        .with("b", &block);
    let planned = db.explanation(&top.0).unwrap();
    create(&mut db, "top", &top);
    let explained = db.view_explanation("top").unwrap();
    let what = |e: &ringview_explain::Explanation| -> Vec<String> {
        e.below.iter().map(|below| below.what.clone()).collect()
    };
    assert_eq!(what(&explained), ["view one", "block b of view top"]);
    assert_eq!(what(&planned), ["view one", "block b"]);
    let texts = [
        explained.text(),
        explained.html(),
        explained.mermaid(),
        explained.graphviz(),
    ];
    for text in texts {
        assert!(text.contains("view one, 0 groups"), "{text}");
        assert!(text.contains("block b of view top"), "{text}");
    }
    // From the root of what is read to the leaf that reads it.
    assert!(
        explained.mermaid().contains("v0n0 --> v1n0"),
        "{}",
        explained.mermaid()
    );
    assert!(explained.graphviz().contains("v0n0 -> v1n0"));
    let read = serde_json::from_value(serde_json::to_value(&explained).unwrap()).unwrap();
    assert_eq!(explained, read);
}

#[test]
fn names_that_nobody_has_are_told_with_views_among_the_known() {
    let mut db = database(Options::default());
    create(&mut db, "one", &Q::over(&["r"]).count("n"));
    let query: Query = Q::over(&["nobody"]).count("n").0;
    match db.create_view("v", &query, &mut unpolled).unwrap_err() {
        Error::UnknownTable { known, .. } => assert_eq!(known, ["r", "s", "u", "one"]),
        other => panic!("{other}"),
    }
    // A block is known to those behind it alone.
    let early = Q::over(&["late"]).count("n");
    let late = Q::over(&["r"]).count("n");
    let query = Q::over(&["early"])
        .count("n")
        .with("early", &early)
        .with("late", &late);
    let refused = db.create_view("v", &query.0, &mut unpolled);
    assert!(matches!(refused, Err(Error::UnknownTable { .. })));
    assert_eq!(db.views(), ["one"]);
}
