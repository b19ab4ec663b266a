//! Queries that are run once: forms that no view has, for a view would keep more for them.

use ringview_core::Result;
use ringview_query::Query;
use ringview_sql::Options;

use crate::catalog::{definition, query};

fn asked_once(text: &str) -> Result<Query> {
    let once = true;
    let options = Options {
        once,
        ..Options::default()
    };
    definition(text, options)?.bind()
}

/// Texts whose pairs of rows are never listed, and the function that replaces the partners of a key.
const GROUPED: &[(&str, &str)] = &[
    (
        "SELECT r.a, COUNT(s.c) AS n FROM r LEFT JOIN s USING (b) GROUP BY r.a",
        "Count",
    ),
    (
        "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM t WHERE t.a = r.a AND t.at < r.d)",
        "Min",
    ),
    (
        "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM t WHERE t.a = r.a AND t.at > r.d)",
        "Max",
    ),
    (
        "SELECT r.a FROM r SEMI JOIN t ON t.a = r.a AND t.at <> r.d",
        "Max",
    ),
    (
        "SELECT r.a FROM r ANTI JOIN t ON t.a = r.a AND t.at <= r.d",
        "Min",
    ),
];

/// Whether some block has groups of one side alone, with a function.
fn groups_one_side(query: &Query, function: &str) -> bool {
    query.blocks.iter().any(|block| {
        let outputs = format!("{:?}", block.query.outputs);
        block.query.atoms.len() == 1 && outputs.contains(&format!("function: {function}"))
    })
}

#[test]
fn partners_are_grouped_by_key_where_a_query_is_asked_once() {
    for (text, function) in GROUPED {
        let (once, kept) = (asked_once(text).unwrap(), query(text).unwrap());
        assert!(groups_one_side(&once, function), "{text}: {once:?}");
        assert_ne!(once, kept, "{text}");
    }
}

#[test]
fn other_partners_are_as_in_views() {
    let texts = [
        "SELECT s.c, COUNT(*) AS n FROM r LEFT JOIN s USING (b) GROUP BY s.c",
        "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM t WHERE t.a = r.a)",
        "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM t WHERE t.a = r.a AND t.at < r.d AND t.at <> r.d)",
    ];
    for text in texts {
        assert_eq!(asked_once(text).unwrap(), query(text).unwrap(), "{text}");
    }
}
