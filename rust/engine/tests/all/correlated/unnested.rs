//! Conditions on the value of one query within: views over views where these are cheaper, aggregate indexes where not.
use ringview_core::Error;
use ringview_engine::Database;
use ringview_explain::{Explanation, Other};
use ringview_oracle::{Tables, evaluate};
use serde_json::{Value as Json, json};

use crate::correlated::TABLES;
use crate::correlated::cases::vwap;
use crate::correlated::follow::{apply, database, event, model, parsed, rows_of};
use crate::correlated::grammar::{
    Random, all, any, atoms, column, compare, decimal, own, sum_of, times, within,
};

fn whole(value: i64) -> Json {
    decimal(&value.to_string())
}

/// That a query within agrees with the row around in a column.
fn same(name: &str) -> Json {
    compare(&column(0, 0, name), "eq", &column(1, 0, name))
}

/// `COUNT(*), SUM(r.v)` over the rows that a condition chooses.
fn chosen(condition: &Json) -> Json {
    json!({
        "atoms": atoms(&["r"]),
        "outputs": [{"kind": "aggregate", "name": "n", "function": "count"},
                    {"kind": "aggregate", "name": "t", "function": "sum", "argument": own(0, "v")}],
        "condition": condition,
    })
}

fn count(condition: Option<Json>) -> Json {
    within("s", "count", None, condition)
}

/// Conditions that hold for all rows of a key or for none.
fn of_keys() -> Vec<Json> {
    let total = sum_of("s", "v", Some(same("p")));
    let mean = within("r", "avg", Some(own(0, "x")), Some(same("g")));
    let positive = compare(&column(0, 0, "v"), "gt", &whole(0));
    let twice = count(Some(all(&[same("p"), same("g"), positive])));
    let many = compare(&count(None), "gt", &whole(3));
    vec![
        compare(&whole(1), "lt", &total),
        compare(&times(&decimal("0.5"), &mean), "le", &decimal("0.25")),
        compare(&twice, "gt", &whole(0)),
        compare(&twice, "eq", &whole(1)),
        // It has one row even over nothing, so it may hold there.
        compare(&count(None), "le", &whole(3)),
        all(&[compare(&whole(1), "lt", &total), many.clone()]),
        // Other conditions on a row stay conditions.
        all(&[many, compare(&column(0, 0, "v"), "lt", &column(0, 0, "p"))]),
    ]
}

fn by(explanation: &Explanation, name: &str) -> Other {
    let mut others = explanation.others.iter();
    let found = others.find(|other| other.name == name);
    found
        .unwrap_or_else(|| panic!("{name}: {explanation:?}"))
        .clone()
}

/// Holds a view of a query, and another by a named engine, to nested loops.
fn follow_both(query: &Json, seed: u64) {
    let query = parsed(query);
    let (mut db, mut tables, mut random) = (database(false), model(), Random::new(seed));
    db.create_view("free", &query, &mut |_| Ok(())).unwrap();
    db.create_view_with("named", &query, Some("rpai"), &mut |_| Ok(()))
        .unwrap();
    assert_eq!(
        *db.view_query("free").unwrap(),
        query,
        "as it was asked for"
    );
    assert_eq!(db.view_explanation("named").unwrap().engine.name, "rpai");
    for _ in 0..40 {
        let (change, _) = event(&mut random, &tables);
        let before = tables.clone();
        let add = |tables: &mut Tables| {
            let mut rows = change.iter();
            rows.all(|(table, row, times)| {
                tables.get_mut(TABLES[*table]).add(&[(row.clone(), *times)])
            })
        };
        let fits = add(&mut tables);
        assert_eq!(apply(&mut db, &change).is_ok(), fits);
        if !fits {
            tables = before;
        }
        db.check();
        let expected = evaluate(&query, &tables);
        assert_eq!(
            rows_of(&db, "free"),
            expected,
            "{}",
            query.to_json().unwrap()
        );
        assert_eq!(rows_of(&db, "named"), expected);
    }
}

fn description(query: &Json) -> Explanation {
    let mut db = database(false);
    let query = parsed(query);
    db.create_view("q", &query, &mut |_| Ok(())).unwrap();
    let description = db.view_explanation("q").unwrap();
    let planned = db.explanation(&query).unwrap();
    assert_eq!(
        (&planned.engine, &planned.others),
        (&description.engine, &description.others)
    );
    assert_eq!(planned.query, description.query);
    description
}

#[test]
fn what_holds_for_a_key_is_a_join_with_its_groups() {
    for (seed, condition) in of_keys().iter().enumerate() {
        let query = chosen(condition);
        let description = description(&query);
        assert_eq!(description.engine.name, "viewtree", "{condition}");
        let because = "as views over views a change costs O(1) at the worst, as it stands O(log N)";
        assert!(
            description.engine.because.starts_with(because),
            "{:?}",
            description.engine
        );
        assert_eq!(by(&description, "rpai").cost.as_deref(), Some("O(log N)"));
        assert!(
            description
                .below
                .iter()
                .any(|below| below.what.starts_with("block groups 1"))
        );
        follow_both(&query, seed as u64);
    }
}

#[test]
fn what_differs_from_row_to_row_stays() {
    let why = |query: &Json| {
        let description = description(query);
        assert_eq!(description.engine.name, "rpai", "{query}");
        by(&description, "views over views")
    };
    let standing = why(&vwap("r"));
    assert_eq!(standing.cost, None);
    assert!(standing.because.contains("compared with each other"));
    let upto = compare(&column(0, 0, "p"), "le", &column(1, 0, "p"));
    let upto = compare(&whole(1), "lt", &sum_of("s", "v", Some(upto)));
    let reason = why(&chosen(&upto)).because;
    assert!(reason.contains("correlated by more than equal columns"));
    let total = sum_of("s", "v", Some(same("p")));
    let own_value = chosen(&compare(&column(0, 0, "v"), "lt", &total));
    assert!(why(&own_value).because.contains("differs from row to row"));
    // Over no rows a count is 0.
    let few = chosen(&compare(&count(Some(same("p"))), "lt", &whole(2)));
    assert!(why(&few).because.contains("has no rows"));
    let either = any(&[
        compare(&whole(1), "lt", &total),
        compare(&total, "lt", &whole(-1)),
    ]);
    assert!(why(&chosen(&either)).because.contains("must hold"));
    for (seed, query) in [own_value, few, chosen(&either)].iter().enumerate() {
        follow_both(query, seed as u64);
    }
}

#[test]
fn a_join_that_costs_as_much_is_not_taken() {
    let least = within("s", "min", Some(own(0, "v")), Some(same("p")));
    let query = chosen(&compare(&least, "ne", &whole(0)));
    let description = description(&query);
    assert_eq!(description.engine.name, "rpai");
    let other = by(&description, "views over views");
    assert_eq!(other.cost.as_deref(), Some("O(log N)"));
    follow_both(&query, 3);
}

#[test]
fn a_join_that_would_cost_more_is_not_taken() {
    // The rows that are left are compared with sums up to their keys, and would be so with groups beside them.
    let mut query = vwap("r");
    let many = compare(&count(Some(same("p"))), "gt", &whole(0));
    query["condition"] = all(&[query["condition"].clone(), many]);
    let description = description(&query);
    assert_eq!(description.engine.name, "rpai");
    assert_eq!(
        by(&description, "views over views").cost.as_deref(),
        Some("O(N^2)")
    );
    follow_both(&query, 7);
}

#[test]
fn an_engine_that_is_named_takes_what_it_can() {
    let mut db: Database = database(false);
    let query = parsed(&chosen(&of_keys()[0]));
    db.create_view_with("q", &query, Some("viewtree"), &mut |_| Ok(()))
        .unwrap();
    assert_eq!(db.view_explanation("q").unwrap().engine.name, "viewtree");
    let refused = db.create_view_with("v", &parsed(&vwap("r")), Some("viewtree"), &mut |_| Ok(()));
    assert!(
        matches!(refused, Err(Error::Unsupported { .. })),
        "{refused:?}"
    );
    assert_eq!(db.views(), ["q"]);
    db.drop_view("q").unwrap();
}
