//! Blocks: what names mean, and what a bound query is to those that read its result.

use std::sync::Arc;

use ringview_core::{Error, Field, Result, Schema, Type};
use ringview_query::{Catalog, Query, TableInfo, bind};

/// One table `t`, and one view `v` with a COFACTOR `m`.
struct TestCatalog {
    is_static: bool,
}

impl Catalog for TestCatalog {
    fn table(&self, name: &str) -> Result<TableInfo> {
        let field = |name, nullable| Field::new(name, Type::Int64, nullable);
        let fields = vec![field("k", false), field("x", true)];
        let cofactors = if name == "v" {
            vec!["m".to_owned()]
        } else {
            Vec::new()
        };
        Ok(TableInfo {
            schema: Arc::new(Schema::new(fields)?),
            is_static: self.is_static,
            cancels: false,
            rows: None,
            unique: None,
            cofactors,
        })
    }
}

fn query(table: &str, groups: &str, outputs: &str, more: &str) -> Query {
    let atoms = format!(r#"[{{"table": "{table}", "alias": "a"}}]"#);
    let text =
        format!(r#"{{"atoms": {atoms}, "group_by": [{groups}], "outputs": [{outputs}]{more}}}"#);
    Query::from_json(&text).unwrap()
}

const K: &str = r#"{"atom": 0, "column": "k"}"#;
const X: &str = r#"{"atom": 0, "column": "x"}"#;

fn group(name: &str, column: &str) -> String {
    format!(r#"{{"kind": "group", "name": "{name}", "column": {column}}}"#)
}

fn aggregate(name: &str, function: &str, column: &str) -> String {
    format!(
        r#"{{"kind": "aggregate", "name": "{name}", "function": "{function}",
            "argument": "\"0\".\"{column}\""}}"#
    )
}

fn seen(query: &Query, is_static: bool) -> TableInfo {
    bind(query, &TestCatalog { is_static })
        .unwrap()
        .as_table(Some(7))
        .unwrap()
}

fn names(info: &TableInfo) -> Vec<(&str, bool)> {
    let fields = info.schema.fields().iter();
    fields
        .map(|field| (field.name.as_str(), field.nullable))
        .collect()
}

#[test]
fn blocks_are_the_same_when_read_again() {
    let block = |name: &str, table: &str| {
        let own = query(table, K, &group("k", K), "");
        format!(
            r#"{{"name": "{name}", "query": {}}}"#,
            own.to_json().unwrap()
        )
    };
    let blocks = [block("t", "t"), block("s", "t"), block("t", "s")].join(", ");
    let further = format!(r#", "blocks": [{blocks}]"#);
    let whole = query("t", K, &group("k", K), &further);
    assert_eq!(Query::from_json(&whole.to_json().unwrap()).unwrap(), whole);
}

#[test]
fn blocks_without_a_name_or_with_blocks_are_refused() {
    let inner = query("t", K, &group("k", K), "").to_json().unwrap();
    let with = |name: &str, query: &str| {
        let blocks = format!(r#", "blocks": [{{"name": "{name}", "query": {query}}}]"#);
        let atoms = r#""atoms": [{"table": "b", "alias": "b"}]"#;
        format!(r#"{{{atoms}, "outputs": [{}]{blocks}}}"#, group("k", K))
    };
    assert!(Query::from_json(&with("b", &inner)).is_ok());
    let refused = |text: &str, words: &str| match Query::from_json(text) {
        Err(Error::Value { problem, .. }) => assert!(problem.contains(words), "{problem}"),
        other => panic!("{other:?}"),
    };
    refused(&with("", &inner), "give it one");
    refused(&with("b", &with("c", &inner)), "put them before it");
}

#[test]
fn groups_that_are_shown_whole_are_the_key_of_a_result() {
    let both = format!("{K}, {X}");
    let sum = aggregate("sum", "sum", "k");
    let shown = [group("x", X), sum.clone(), group("k", K)].join(", ");
    let info = seen(&query("t", &both, &shown, ""), true);
    assert_eq!(info.unique, Some(vec![0, 2]));
    assert_eq!(names(&info), [("x", true), ("sum", false), ("k", false)]);
    assert!(info.is_static);
    assert_eq!(info.rows, Some(7));
    // A group that is not shown: rows may agree.
    let info = seen(
        &query("t", &both, &[group("x", X), sum.clone()].join(", "), ""),
        false,
    );
    assert_eq!(info.unique, None);
    assert!(!info.is_static);
    // Rows of a join, each as often as it is there.
    let info = seen(&query("t", K, &group("k", K), r#", "bag": {}"#), false);
    assert_eq!(info.unique, None);
    // Over nothing a sum is NULL, and a count is not.
    let outputs = [sum, aggregate("count", "count", "x")].join(", ");
    let info = seen(&query("t", "", &outputs, ""), false);
    assert_eq!(names(&info), [("sum", true), ("count", false)]);
    assert_eq!(info.unique, None);
}

#[test]
fn a_cofactor_is_no_column_to_read() {
    let cofactor = r#"{"kind": "cofactor", "name": "m", "columns": [{"atom": 0, "column": "k"}]}"#;
    let info = seen(
        &query("t", K, &[cofactor, &group("k", K)].join(", "), ""),
        false,
    );
    assert_eq!(names(&info), [("k", false)]);
    assert_eq!(info.cofactors, ["m"]);
    assert_eq!(info.unique, Some(vec![0]));
    let reads = query("v", "", &aggregate("sum", "sum", "m"), "");
    match bind(&reads, &TestCatalog { is_static: false }) {
        Err(Error::Unsupported { what, .. }) => assert!(what.contains("\"m\" of view \"v\"")),
        other => panic!("{other:?}"),
    }
}
