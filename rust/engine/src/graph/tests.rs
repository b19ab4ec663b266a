//! Cost of linking views that are created one after the other, counted.

use ringview_core::{Field, Result, Schema, Type};
use ringview_query::{Atom, ColumnRef, Function, Output, Query};

use crate::{Database, NewView, Options};

const VIEWS: u64 = 400;

fn unpolled(_: u64) -> Result<()> {
    Ok(())
}

fn filled() -> Database {
    let mut db = Database::new(Options::default());
    let column = |name: &str| Field::new(name, Type::Int64, true);
    let schema = Schema::new(vec![column("a"), column("b")]).unwrap();
    db.create_table("r", schema, None, false).unwrap();
    db
}

/// A sum of r by a, of rows that pass a filter.
fn sum(of: &str, filter: Option<&str>) -> Query {
    let a = ColumnRef {
        atom: 0,
        column: "a".to_owned(),
    };
    let total = Output::Aggregate {
        name: "total".to_owned(),
        function: Function::Sum,
        argument: Some(of.parse().unwrap()),
    };
    let empty = r#"{"atoms": [{"table": "r", "alias": "r"}],
        "outputs": [{"kind": "aggregate", "name": "n", "function": "count", "argument": null}]}"#;
    Query {
        atoms: vec![Atom {
            table: "r".to_owned(),
            alias: "r".to_owned(),
            filter: filter.map(|filter| filter.parse().unwrap()),
        }],
        group_by: vec![a],
        outputs: vec![total],
        ..Query::from_json(empty).unwrap()
    }
}

/// The same for each of many views: of other rows, or other sums of the same.
fn queries(of_rows: bool) -> Vec<(String, Query)> {
    let query = |at: u64| match of_rows {
        true => sum("\"0\".\"b\"", Some(&format!("\"b\" > {at}"))),
        false => sum(&format!("\"0\".\"b\" + {at}"), None),
    };
    (0..VIEWS).map(|at| (format!("v{at}"), query(at))).collect()
}

#[test]
fn views_that_come_are_wired_once() {
    for of_rows in [true, false] {
        let mut db = filled();
        for (name, query) in &queries(of_rows) {
            db.create_view(name, query, &mut unpolled).unwrap();
        }
        // A view, its facet, its union and the atom of that; some unions take another's place.
        let wired = db.state.graph.wired;
        assert!(wired <= 5 * VIEWS, "{wired} steps to wire {VIEWS} views");
        assert_eq!(db.views().len() as u64, VIEWS);
        db.check();
        let before = db.state.graph.wired;
        db.drop_view("v7").unwrap();
        assert!(db.state.graph.wired - before <= 5 * VIEWS);
    }
}

#[test]
fn views_that_come_together_are_wired_once() {
    let queries = queries(false);
    let new = queries.iter().map(|(name, query)| NewView {
        name,
        query,
        engine: None,
    });
    let new: Vec<NewView<'_>> = new.collect();
    let mut db = filled();
    db.create_views(&new, &mut unpolled).unwrap();
    assert!(db.state.graph.wired <= 3 * VIEWS);
    db.check();
}
