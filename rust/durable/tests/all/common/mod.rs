//! A small database with views, and what is in it.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use ringview_core::{Field, Result, Schema, Type};
use ringview_durable::{BatchId, Durability, DurableDatabase, Opening, ViewDefinition};
use ringview_engine::{ByKey, Change, Direction, Keyed, Op, Options};
use ringview_query::Query;

pub(crate) fn open(path: &Path) -> Result<DurableDatabase> {
    open_as(path, Durability::Transaction)
}

pub(crate) fn open_as(path: &Path, durability: Durability) -> Result<DurableDatabase> {
    let opening = Opening {
        durability,
        ..opening()
    };
    DurableDatabase::open(path, Options::default(), opening, &mut |_| Ok(()))
}

/// Binds the texts of the views of these tests to the queries next to them.
pub(crate) fn opening() -> Opening<'static> {
    Opening {
        bind: &bind,
        ..Opening::default()
    }
}

pub(crate) fn bind(text: &str, environment: &str) -> Result<Query> {
    assert!(text.starts_with("the text of "), "{text}");
    Query::from_json(environment)
}

/// Sales by units and shops, with a key; two views, one over the other.
pub(crate) fn define(db: &mut DurableDatabase) {
    let columns = vec![
        Field::new("id", Type::Int64, true),
        Field::new("shop", Type::Utf8, true),
        Field::new("units", Type::Int64, true),
    ];
    let key = ["id".to_owned()];
    db.create_table("sales", Schema::new(columns).unwrap(), Some(&key), false)
        .unwrap();
    db.create_view(by_shop("by_shop"), &mut |_| Ok(())).unwrap();
    db.create_view(total("total", "by_shop"), &mut |_| Ok(()))
        .unwrap();
}

pub(crate) fn by_shop(name: &str) -> ViewDefinition {
    view(
        name,
        &format!(
            r#"{{"atoms": [{{"table": "sales", "alias": "s"}}],
        "group_by": [{{"atom": 0, "column": "shop"}}],
        "outputs": [{{"kind": "group", "name": "shop", "column": {{"atom": 0, "column": "shop"}}}},
            {sum}]}}"#,
            sum = sum("units")
        ),
    )
}

pub(crate) fn total(name: &str, of: &str) -> ViewDefinition {
    let sum = sum("units");
    let query = format!(r#"{{"atoms": [{{"table": "{of}", "alias": "b"}}], "outputs": [{sum}]}}"#);
    // Its query is in the file, for it has a text that binds to nothing.
    ViewDefinition {
        environment: None,
        ..view(name, &query)
    }
}

fn sum(column: &str) -> String {
    format!(
        r#"{{"kind": "aggregate", "name": "units", "function": "sum",
            "argument": "\"0\".\"{column}\""}}"#
    )
}

pub(crate) fn view(name: &str, query: &str) -> ViewDefinition {
    ViewDefinition {
        name: name.to_owned(),
        query: Query::from_json(query).unwrap(),
        text: Some(format!("the text of {name}")),
        environment: Some(query.to_owned()),
        engine: None,
        sample: None,
        suspends: false,
    }
}

pub(crate) fn rows(rows: &[(i64, &str, i64)]) -> RecordBatch {
    let ids = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let shops = StringArray::from_iter_values(rows.iter().map(|row| row.1));
    let units = Int64Array::from_iter_values(rows.iter().map(|row| row.2));
    let column = |array: ArrayRef| array;
    RecordBatch::try_from_iter([
        ("id", column(Arc::new(ids))),
        ("shop", column(Arc::new(shops))),
        ("units", column(Arc::new(units))),
    ])
    .unwrap()
}

pub(crate) fn upsert(
    db: &mut DurableDatabase,
    rows: &RecordBatch,
    id: Option<BatchId>,
) -> Result<bool> {
    let change = Change::Keyed(Keyed {
        table: "sales",
        by: ByKey::Upsert,
        rows: std::slice::from_ref(rows),
    });
    db.apply(&[change], (false, id), &mut |_| Ok(()))
}

pub(crate) fn change(
    db: &mut DurableDatabase,
    direction: Direction,
    rows: &RecordBatch,
) -> Result<bool> {
    let change = Change::Rows(Op {
        table: "sales",
        direction,
        rows: std::slice::from_ref(rows),
        multiplicity: None,
    });
    db.apply(&[change], (false, None), &mut |_| Ok(()))
}

/// Everything that can be read, as text in a fixed order.
pub(crate) fn described(db: &DurableDatabase) -> Vec<String> {
    let mut described = Vec::new();
    let mut tell = |name: &str, rows: &RecordBatch| {
        let mut lines: Vec<String> = (0..rows.num_rows())
            .map(|row| format!("{name}: {:?}", rows.slice(row, 1).columns()))
            .collect();
        lines.sort();
        described.extend(lines);
    };
    for name in db.tables() {
        tell(&name, &db.table_rows(&name, Some("times")).unwrap());
    }
    let mut names = db.views();
    names.sort();
    for name in names {
        let text = db.view_text(&name).unwrap();
        tell(&format!("{name} {text:?}"), &db.view_result(&name).unwrap());
    }
    db.check();
    described
}
